import { expect, it } from 'vitest'
import { requestTable } from './request-table.ts'

it('requestTable has a row for each kind, with the mean of all runs for each image', () => {
  const runs = [
    new Map([['create events', 4]]),
    new Map([
      ['create events', 8],
      ['update configmaps', 1],
    ]),
  ]
  expect(requestTable(runs, { count: 4, of: 'image' })).toEqual({
    title: 'API requests by kind',
    head: ['request', 'count in each run', 'per image'],
    rows: [
      ['create events', '4, 8', '1.50'],
      ['update configmaps', '0, 1', '0.13'],
    ],
  })
})
