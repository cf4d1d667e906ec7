import { describe, expect, it } from 'vitest'
import { parseExposition, sumOf } from './exposition.ts'

const TEXT = `# HELP rest_client_requests_total Requests
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",method="get",resource="leases"} 5
rest_client_requests_total{code="409",method="get",resource="leases"} 2
rest_client_requests_total{code="201",method="create",resource="a\\"b"} 1e+2
ot_sync_active 3
`

describe('parseExposition', () => {
  it('reads samples with and without labels', () => {
    const samples = parseExposition(TEXT)
    expect(samples).toHaveLength(4)
    expect(samples[2]).toEqual({
      name: 'rest_client_requests_total',
      labels: { code: '201', method: 'create', resource: 'a\\"b' },
      value: 100,
    })
    expect(sumOf(samples, 'ot_sync_active')).toBe(3)
  })

  it('sums what has these labels, whatever else it has', () => {
    const samples = parseExposition(TEXT)
    expect(sumOf(samples, 'rest_client_requests_total', { method: 'get' })).toBe(7)
    expect(sumOf(samples, 'rest_client_requests_total', { method: 'get', code: '409' })).toBe(2)
    expect(sumOf(samples, 'nothing')).toBe(0)
  })
})
