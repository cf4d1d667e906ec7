import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf, type Image } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

const AT_ONCE = { concurrency: '1', reclaimPolicy: 'Delete', unreferencedTTL: '0s' }
const MUCH_LATER = { concurrency: '1', reclaimPolicy: 'Delete', unreferencedTTL: '72h' }

describe('when its last machine has gone, an image', () => {
  it('that machines had created goes by the policy of today, unless its spec says otherwise, and one that people made stays', async () => {
    await using world = await World.start(cluster(), { policy: MUCH_LATER })
    const machines = new Machines(world)
    const uses = (name: string) => ({ vmDiskImageRef: { name } })
    await world.syncImage('made')
    await machines.create('one', { ...uses('made'), vmDiskImageTemplate: undefined as never })
    await machines.create('two', {
      ...uses('kept'),
      vmDiskImageTemplate: world.image('kept', { reclaimPolicy: 'Retain', unreferencedTTL: '0s' }).spec as never,
    })
    await machines.create('three', uses('golden'))
    for (const name of ['one', 'two', 'three']) await machines.untilReady(name)
    const uids = new Map<string, string | undefined>()
    for (const name of ['made', 'kept', 'golden']) {
      const image = await world.untilImage(name, 'one reference', ({ status }) => status?.references?.count === 1)
      uids.set(name, image.metadata.uid)
    }
    await machines.delete('one', 'two', 'three')
    for (const name of uids.keys()) await world.untilImage(name, 'unreferenced', isUnreferenced)
    expect(world.getImage('golden')?.metadata.labels).toMatchObject({ [LABELS.createdBy]: 'VirtualMachine' })
    await world.setPolicy(AT_ONCE)
    await world.untilGone('golden')
    // What a machine had created and used goes at once by that policy. What it does not concern is there after that.
    await machines.create('witness')
    await machines.untilReady('witness')
    await machines.delete('witness')
    await world.untilGone('golden')
    for (const name of ['made', 'kept']) {
      expect(world.getImage(name)?.metadata, name).toMatchObject({ uid: uids.get(name) })
      expect(world.getImage(name)?.metadata.deletionTimestamp, name).toBeUndefined()
    }
    await world.finish()
  })

  it('that has no snapshot, and was cloned from its volume to a larger disk, goes at that moment; what somebody changed in the machine of KubeVirt was put back', async () => {
    await using world = await World.start(cluster(), { policy: AT_ONCE })
    const machines = new Machines(world)
    const release = world.gate.hold(world.urlOf('golden'))
    await machines.create('vm', {
      resources: { cpu: '1', memory: '1Gi', diskSize: '32Mi' },
      vmDiskImageTemplate: world.image('golden', { snapshotClass: undefined }).spec as never,
    })
    const warned = await machines.until('vm', 'warned', (vm) => conditionOf(vm, 'SpecWarning') !== undefined)
    expect(conditionOf(warned, 'SpecWarning')).toMatchObject({ status: 'True', reason: 'NoVolumeExpansion' })
    release()
    const vm = await machines.untilReady('vm')
    const { artifact } = (await world.untilSynced('golden')).status ?? {}
    expect(artifact?.kind).toBe('PersistentVolumeClaim')
    expect(machines.disk('vm')?.spec).toMatchObject({
      source: { pvc: { namespace: world.namespace, name: artifact?.name } },
      storage: { resources: { requests: { storage: '32Mi' } } },
    })
    expect(conditionOf(vm, 'FullCopy')?.status).toBe('True')
    expect(conditionOf(vm, 'SpecWarning')).toBeUndefined()

    const before = kubevirtMachine(world)
    await world.client.mergePatch(
      KUBEVIRT_VIRTUAL_MACHINE,
      { namespace: world.namespace, name: 'vm' },
      {
        metadata: { labels: { 'example.com/team': 'blue', [LABELS.vmName]: 'other' } },
        spec: { runStrategy: 'Halted', template: { spec: { hostname: 'other', domain: { cpu: { sockets: 7 } } } } },
      },
    )
    const halted = () => (kubevirtMachine(world)?.metadata.generation ?? 0) > (before?.metadata.generation ?? 0)
    await world.until('the change', halted)
    await world.until('the repair', () => kubevirtMachine(world)?.spec.runStrategy === 'Always')
    const after = kubevirtMachine(world)
    expect(after?.spec).toEqual(before?.spec)
    expect(after?.metadata.labels).toEqual({ ...before?.metadata.labels, 'example.com/team': 'blue' })
    expect(after?.metadata.uid).toBe(before?.metadata.uid)
    await machines.untilReady('vm')
    await machines.delete('vm')
    await world.untilGone('golden')
    await world.finish()
  })
})

function isUnreferenced({ status }: Image): boolean {
  return status?.references?.count === 0 && status.unreferencedSince !== undefined
}

interface KubeVirtMachine extends KubeObject {
  readonly spec: { readonly runStrategy?: string }
}

function kubevirtMachine(world: World): KubeVirtMachine | undefined {
  return world.mirror.kubevirtMachines.get(`${world.namespace}/vm`) as KubeVirtMachine | undefined
}
