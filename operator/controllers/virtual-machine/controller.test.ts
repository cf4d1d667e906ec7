import { POLICY_DEFAULTS } from '@open-terrain/constructs'
import { afterEach, expect, it } from 'vitest'
import { FakeClock } from '../../kube/fake-clock.fixtures.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { EventRecorder } from '../../runtime/event-recorder.ts'
import { fakeLog } from '../../runtime/fake-log.fixtures.ts'
import { RuntimeMetrics } from '../../runtime/metrics.ts'
import { MACHINE } from './caches.ts'
import { MachineController } from './controller.ts'
import { aNamespace, CachesBench } from './machine-caches.fixtures.ts'
import { MachineMetrics } from './machine-metrics.ts'
import { FINALIZER } from './machine-plan.ts'
import { aClaim, aDisk, aMachine, anImage, aVM, KUBEVIRT, SECOND } from './machine-world.fixtures.ts'
import type { MachineView } from './views.ts'

const stopping: AbortController[] = []
afterEach(() => {
  for (const one of stopping.splice(0)) one.abort()
})

/** A machine of which the caches know no disk; the API server has what it is given. */
async function build(...live: readonly KubeObject[]) {
  const bench = new CachesBench()
  const { client, caches } = bench
  await bench.look()
  const vm = aVM({ finalizers: [FINALIZER] }, { status: { bootedAt: '2026-01-01T00:00:00Z' } })
  for (const name of ['team', 'farm']) bench.put(bench.namespaces, aNamespace(name))
  bench.put(bench.images, anImage())
  // The fake API server has one object of a kind and name: KubeVirt's machine is in the caches alone.
  caches.machines.put(client.put(vm))
  caches.kubevirt.put(aMachine(KUBEVIRT.stopped))
  for (const object of live) client.put(object)
  client.calls.length = 0
  const clock = new FakeClock()
  const [log, runtimeMetrics, random] = [fakeLog(), new RuntimeMetrics(), () => 0.5]
  const controller = new MachineController({
    client,
    caches,
    clock,
    random,
    log,
    runtimeMetrics,
    events: new EventRecorder({ client, clock, log, random, component: 'test', instance: 'me' }),
    metrics: new MachineMetrics(runtimeMetrics.registry),
    imageType: { ...MACHINE, kind: 'VMDiskImage', plural: 'vmdiskimages' },
    policy: () => POLICY_DEFAULTS,
    onPolicyChange: () => () => undefined,
  })
  const stop = new AbortController()
  stopping.push(stop)
  void controller.run(stop.signal)
  await clock.advance(SECOND / 2)
  return client
}

it('KubeVirt’s machine that has no disk, by a live look too, is removed', async () => {
  const client = await build()
  expect(client.said('get', 'delete').slice(0, 3)).toEqual([
    'get DataVolume team/vm-root',
    'get PersistentVolumeClaim team/vm-root',
    'delete VirtualMachine team/vm',
  ])
})

it('KubeVirt’s machine that has but a stranger’s claim is removed', async () => {
  const client = await build(aClaim({ labels: {}, ownerReferences: [] }))
  expect(client.said('delete')).toEqual(['delete VirtualMachine team/vm'])
})

it('KubeVirt’s machine whose DataVolume the caches have not heard of is not, and they have from then on', async () => {
  const client = await build(aDisk())
  expect(client.said('delete')).toEqual([])
  expect(client.peek<MachineView>('VirtualMachine', 'team/vm')?.status.clone).toMatchObject({ phase: 'Succeeded' })
})

it('KubeVirt’s machine whose claim the caches have not heard of is not, and nothing is told', async () => {
  const client = await build(aClaim())
  expect(client.said('status', 'create', 'patch', 'delete')).toEqual([])
})
