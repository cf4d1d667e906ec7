import { expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { aLiveReadBench } from '../../../test/prepared/runtime/look-bench.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { ClusterRanges } from './cluster-ranges.ts'

const MINUTE = 60_000

function build() {
  const { client, clock, basics, run } = aLiveReadBench()
  let changes = 0
  const onChange = () => {
    changes += 1
  }
  const ranges = run(new ClusterRanges({ ...basics, onChange }))
  const put = (apiVersion: string, kind: string, name: string, spec: object) =>
    client.put({ apiVersion, kind, metadata: { name }, spec } as KubeObject)
  put('networking.k8s.io/v1', 'ServiceCIDR', 'kubernetes', { cidrs: ['10.96.0.0/16', 'fd00::/108'] })
  put('v1', 'Node', 'a', { podCIDRs: ['10.244.0.0/24'] })
  put('v1', 'Node', 'b', {})
  return { client, clock, ranges, changes: () => changes }
}

const SERVICES = ['10.96.0.0/16', 'fd00::/108'].map((cidr) => ({ cidr, what: 'the range of Services kubernetes' }))
const PODS = { cidr: '10.244.0.0/24', what: 'the range of pods on node a' }

it('the ranges of a cluster are read when they are first needed, and every ten minutes', async () => {
  const { client, clock, ranges, changes } = build()
  await clock.advance(MINUTE)
  expect(client.calls).toEqual([])
  expect(ranges.look()).toBeUndefined()
  await clock.advance(10 * MINUTE)
  expect([changes(), ranges.look()]).toEqual([1, [...SERVICES, PODS]])
  client.cluster.admin.delete(
    { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false },
    { name: 'a' },
  )
  await clock.advance(10 * MINUTE)
  expect([changes(), ranges.look()]).toEqual([2, SERVICES])
})

it('what may not be read is unknown, and holds up nothing', async () => {
  const { client, clock, ranges } = build()
  client.before = ({ verb, key }) => {
    if (verb === 'list') throw apiError('Rejected', { status: 403, message: `${key} is forbidden` })
  }
  expect(ranges.look()).toBeUndefined()
  await clock.advance(MINUTE)
  expect(ranges.look()).toEqual([])
})
