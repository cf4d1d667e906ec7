import { LABELS } from '@open-terrain/constructs'
import type { ReclaimPolicy } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf, IMAGE, type Image } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { type SpecInput, World } from '../harness/world.ts'

const cluster = useCluster()

interface Rule {
  readonly reclaimPolicy: ReclaimPolicy
  readonly unreferencedTTL: string
}

/** By field of a spec, or key of the policy, which have the same name. */
const RETAIN: Rule = { reclaimPolicy: 'Retain', unreferencedTTL: '0s' }
const AT_ONCE: Rule = { reclaimPolicy: 'Delete', unreferencedTTL: '0s' }
const LATER: Rule = { reclaimPolicy: 'Delete', unreferencedTTL: '2s' }
const MUCH_LATER: Rule = { reclaimPolicy: 'Delete', unreferencedTTL: '72h' }

function start(rule: Rule): Promise<World> {
  return World.start(cluster(), { policy: { concurrency: '1', ...rule } })
}

describe('when its last machine has gone, an image that machines had created', () => {
  describe.each([
    ['by policy', (rule: Rule) => ({ spec: {}, policy: rule })],
    // The policy says the opposite.
    ['by its spec', (rule: Rule) => ({ spec: rule, policy: rule === RETAIN ? AT_ONCE : RETAIN })],
  ] as const)('%s', (_who, ruled) => {
    it('stays', async () => {
      const { spec, policy } = ruled(RETAIN)
      await using world = await start(policy)
      const { metadata } = await liveAndGo(world, spec)
      await outlast(world)
      const image = await world.untilImage('golden', 'unreferenced', isUnreferenced)
      expect(image.metadata).toMatchObject({ uid: metadata.uid, labels: { [LABELS.createdBy]: 'VirtualMachine' } })
      expect(image.metadata.deletionTimestamp).toBeUndefined()
      await world.finish()
    })

    it('goes at that moment', async () => {
      const { spec, policy } = ruled(AT_ONCE)
      await using world = await start(policy)
      await liveAndGo(world, spec)
      await world.untilGone('golden')
      await world.finish()
    })

    it('goes when its time is over', async () => {
      const { spec, policy } = ruled(LATER)
      await using world = await start(policy)
      const left = world.untilImage('golden', 'left', ({ status }) => status?.lastReferencedTime !== undefined)
      await liveAndGo(world, spec)
      const since = Date.parse((await left).status?.lastReferencedTime ?? '')
      await world.untilGone('golden')
      // The timestamp has whole seconds, rounded down.
      expect((await deletedAt(world, 'golden')) + 999).toBeGreaterThanOrEqual(since + 2_000)
      await world.finish()
    })
  })
})

describe('an image', () => {
  it('that people made stays when its last machine has gone, whatever the policy says', async () => {
    await using world = await start(AT_ONCE)
    await world.createImage('golden')
    const { metadata } = await liveAndGo(world)
    await outlast(world)
    const image = await world.untilImage('golden', 'unreferenced', isUnreferenced)
    expect(image.metadata).toMatchObject({ uid: metadata.uid })
    expect(image.metadata.deletionTimestamp).toBeUndefined()
    await world.finish()
  })

  it('that stays by the policy of today goes by that of tomorrow', async () => {
    await using world = await start(MUCH_LATER)
    await liveAndGo(world)
    await world.untilImage('golden', 'unreferenced', isUnreferenced)
    await outlast(world)
    expect(world.getImage('golden')?.metadata.deletionTimestamp).toBeUndefined()
    await world.setPolicy({ concurrency: '1', ...AT_ONCE })
    await world.untilGone('golden')
    await world.finish()
  })

  it('without a snapshot is cloned from its volume, also to a larger disk, and goes with the machine', async () => {
    await using world = await start(AT_ONCE)
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
    await machines.delete('vm')
    await world.untilGone('golden')
    await world.finish()
  })
})

describe('what somebody changes in the machine of KubeVirt', () => {
  it('is put back where the operator has set it, and left alone elsewhere', async () => {
    await using world = await start(AT_ONCE)
    const machines = new Machines(world)
    await machines.create('vm')
    await machines.untilReady('vm')
    const before = kubevirtMachine(world)
    const key = { namespace: world.namespace, name: 'vm' }
    await world.client.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, key, {
      metadata: { labels: { 'example.com/team': 'blue', [LABELS.vmName]: 'other' } },
      spec: { runStrategy: 'Halted', template: { spec: { hostname: 'other', domain: { cpu: { sockets: 7 } } } } },
    })
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

/** A machine causes the creation of the image, uses it for longer than any TTL of this file, and is deleted. Returns the image as it was in use. */
async function liveAndGo(world: World, spec: SpecInput = {}): Promise<Image> {
  const machines = new Machines(world)
  await machines.create('vm', { vmDiskImageTemplate: world.image('golden', spec).spec as never })
  await machines.untilReady('vm')
  await outlast(world)
  const image = await world.untilImage('golden', 'one reference', ({ status }) => status?.references?.count === 1)
  expect(image.metadata.deletionTimestamp).toBeUndefined()
  await machines.delete('vm')
  return image
}

/** Waits longer than {@link LATER}: another image, without references, is created and deleted by that rule. */
async function outlast(world: World): Promise<void> {
  await world.syncImage('witness', LATER)
  await world.untilGone('witness')
}

function isUnreferenced({ status }: Image): boolean {
  return status?.references?.count === 0 && status.unreferencedSince !== undefined
}

/** When the API server accepted the deletion of an image, in ms. */
async function deletedAt(world: World, name: string): Promise<number> {
  await world.history.catchUp()
  const isIt = ({ kind, object }: (typeof world.history.events)[number]) =>
    kind === IMAGE.kind && object.metadata.namespace === world.namespace && object.metadata.name === name
  const times = world.history.events.filter(isIt).map(({ object }) => object.metadata.deletionTimestamp)
  return Date.parse(times.find((time) => time !== undefined) ?? '')
}

interface KubeVirtMachine extends KubeObject {
  readonly spec: { readonly runStrategy?: string }
}

function kubevirtMachine(world: World): KubeVirtMachine | undefined {
  return world.mirror.kubevirtMachines.get(`${world.namespace}/vm`) as KubeVirtMachine | undefined
}
