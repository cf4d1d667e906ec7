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

it('what could not be read for now is read again, and does not count as nothing', async () => {
  const { client, clock, ranges, changes } = build()
  let isDown = true
  client.before = ({ verb, key }) => {
    if (verb === 'list' && isDown) throw apiError('Unavailable', { status: 503, message: `${key} is not available` })
  }
  expect([ranges.look(), ranges.lookWhole()]).toEqual([undefined, undefined])
  await clock.advance(MINUTE)
  // Networks do not wait for it.
  expect([ranges.look(), ranges.lookWhole()]).toEqual([[], 'unknown'])
  isDown = false
  await clock.advance(9 * MINUTE)
  expect([ranges.lookWhole(), changes()]).toEqual([[...SERVICES, PODS], 2])
  isDown = true
  await clock.advance(20 * MINUTE)
  expect([ranges.lookWhole(), changes()]).toEqual([[...SERVICES, PODS], 2])
})

it('addresses of nodes count for access to the internet, and not for networks', async () => {
  const { client, clock, ranges } = build()
  const addresses = ['192.0.2.7', '2600:1F18:0::7', 'node-c', 7].map((address) => ({ type: 'ExternalIP', address }))
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'c' }, spec: {}, status: { addresses } }
  client.put(node as KubeObject)
  ranges.look()
  await clock.advance(MINUTE)
  const one = (cidr: string) => ({ cidr, what: 'an address of node c', isNode: true })
  expect(ranges.look()).toEqual([...SERVICES, PODS])
  expect(ranges.lookWhole()).toEqual([...SERVICES, PODS, one('192.0.2.7/32'), one('2600:1f18::7/128')])
})
