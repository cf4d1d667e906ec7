import { describe, expect, it } from 'vitest'
import { controllerOf } from '../../operator/kube/controller-of.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  DEPLOYMENT,
  KUBEVIRT_VIRTUAL_MACHINE,
  NAMESPACE,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { type DataVolume, MACHINE, WORKSPACE } from '../harness/kinds.ts'
import { MINUTE, SECOND } from '../prepared/runtime/times.ts'
import { FARM, SimulatedOperator, TEAM, TEMPLATE } from './simulated-operator.ts'

// kubectl delete --cascade=orphan: the garbage collector removes the owner reference of the children, before or after the operator observes it.

let world: SimulatedOperator

const ORPHAN = { propagationPolicy: 'Orphan' } as const
const deleteImage = (name: string) => world.simulated.cluster.admin.delete(IMAGE, { namespace: FARM, name }, ORPHAN)
const isSynced = (name: string) => () => world.image(name)?.status?.phase === 'Succeeded'
const volumes = () => world.simulated.cluster.admin.list<DataVolume>(DATA_VOLUME, { namespace: FARM }).items
const unfinished = () => volumes().filter(({ status }) => status?.phase !== 'Succeeded')

const ownedIn =
  (namespace: string, ...types: readonly ResourceType[]) =>
  () =>
    types.flatMap((type) => world.simulated.cluster.admin.list(type, { namespace }).items)

function expectOrphans(objects: readonly KubeObject[]): void {
  for (const one of objects)
    expect([controllerOf(one), one.metadata.deletionTimestamp], one.kind).toEqual([undefined, undefined])
}

type Phased = KubeObject & { readonly status?: { readonly phase?: string } }

/** For a minute, the operator's watches tell of these kinds 5 to 30 s late. */
function holdBack(kinds: readonly string[]): void {
  for (const kind of kinds) {
    const window = { do: 'watchFaults', fault: 'held', percent: 100, forMs: MINUTE, kind } as const
    world.network.open(window)
    world.simulated.time.schedule(MINUTE, () => world.network.close(window))
  }
}

/** Names a kind with its group: KubeVirt has a VirtualMachine too. */
const inFull = ({ group, kind }: ResourceType) => `${kind}.${group}`

describe('a download that is orphaned before an operator sees that its image goes', () => {
  /** One slot, held for a DataVolume that has no owner and no importer yet, while another image waits. */
  async function orphaned() {
    world = await SimulatedOperator.start({ concurrency: '1' })
    const { cdi } = world.simulated.simulators
    const provision = cdi.script({ namespace: FARM }, { type: 'unprovisioned' })
    let most = 0
    world.simulated.cluster.onCommit(({ resource }) => {
      if (resource === DATA_VOLUME) most = Math.max(most, unfinished().length)
    })
    world.createImage('first')
    await world.until('a download', () => unfinished().length === 1)
    world.createImage('second')
    await world.pass(SECOND)
    world.killOperator()
    deleteImage('first')
    await world.until('the orphan', () => unfinished().every((one) => controllerOf(one) === undefined))
    const [orphan] = unfinished()
    // Its importer is lost with a node, and a quota keeps CDI from creating another one.
    const allow = cdi.script({ namespace: FARM }, { type: 'quota', of: 'pod' })
    for (const { metadata } of world.simulated.pods(FARM)) world.delete(POD, FARM, metadata.name)
    await world.until('the end of its importer', () => world.simulated.pods(FARM).length === 0)
    provision()
    world.startOperator()
    // Longer than any request about its claim can be in flight.
    await world.pass(10 * MINUTE)
    expect(unfinished().map(({ metadata }) => metadata.uid)).toEqual([orphan?.metadata.uid])
    expect(world.image('first')?.status?.message).toContain(
      `DataVolume ${orphan?.metadata.name}, which has lost its owner`,
    )
    return { orphan, allow, mostDownloads: () => most }
  }

  it('keeps its slot until it has Succeeded, and is left to whoever asked for that', async () => {
    const { orphan, allow, mostDownloads } = await orphaned()
    allow()
    await world.until('the next image', isSynced('second'))
    await world.until('the end of the first', () => world.image('first') === undefined)
    expect(volumes().find(({ metadata }) => metadata.uid === orphan?.metadata.uid)?.status?.phase).toBe('Succeeded')
    expect(world.written).not.toContain(`MODIFIED DataVolume ${FARM}/${orphan?.metadata.name}`)
    expect(mostDownloads()).toBe(1)
  })

  it('keeps its slot until somebody deletes it', async () => {
    const { orphan, allow, mostDownloads } = await orphaned()
    world.delete(DATA_VOLUME, FARM, orphan?.metadata.name ?? '')
    await world.until('the next download', () =>
      unfinished().some(({ metadata }) => metadata.uid !== orphan?.metadata.uid),
    )
    allow()
    await world.until('the next image', isSynced('second'))
    await world.until('the end of the first', () => world.image('first') === undefined)
    expect(mostDownloads()).toBe(1)
  })
})

describe('a download whose source sends nothing any more', () => {
  const HANGS = { stallTimeout: '10m', attemptTimeout: '2h' }
  let most = 0
  const transfers = () => world.simulated.pods(FARM).filter(({ status }) => status?.phase === 'Running').length

  async function hanging() {
    world = await SimulatedOperator.start({ concurrency: '1', ...HANGS })
    const isFirst = ({ metadata }: KubeObject) => metadata.name.startsWith('first')
    world.simulated.simulators.cdi.script(isFirst, { type: 'stall', after: 1 }, { times: 1 })
    most = 0
    world.simulated.cluster.onCommit(({ resource }) => {
      if (resource === POD) most = Math.max(most, transfers())
    })
    world.createImage('first')
    await world.until('the download', () => transfers() === 1)
    world.createImage('second')
    await world.pass(30 * SECOND)
    expect(world.image('second')?.status?.phase).toBe('Queued')
  }

  async function abandoned() {
    await hanging()
    const [{ metadata } = { metadata: { name: '' } }] = volumes()
    world.simulated.cluster.admin.delete(DATA_VOLUME, { namespace: FARM, name: metadata.name }, ORPHAN)
    await world.pass(MINUTE)
    expect([volumes(), transfers()]).toEqual([[], 1])
    return metadata.name
  }

  it('keeps its slot, when its DataVolume is orphaned, as long as an attempt may take, says so, and is ended then', async () => {
    const name = await abandoned()
    const told = `its DataVolume is gone, because PersistentVolumeClaim ${name} is still there: the operator deletes that claim if it is not filled`
    expect(world.image('first')?.status).toMatchObject({ phase: 'Syncing', message: expect.stringContaining(told) })
    await world.pass(118 * MINUTE)
    expect([transfers(), world.image('second')?.status?.phase]).toEqual([1, 'Queued'])
    await world.until('the next image', isSynced('second'))
    await world.until('the next attempt', isSynced('first'))
    expect(world.image('first')?.status?.attempts).toMatchObject([{ downloads: 1 }, { outcome: 'Succeeded' }])
    expect(most).toBe(1)
  })

  it('gives its slot back, when its DataVolume is orphaned, as soon as somebody deletes its claim, as it says', async () => {
    const name = await abandoned()
    world.delete(PERSISTENT_VOLUME_CLAIM, FARM, name)
    await world.pass(MINUTE)
    expect(isSynced('second')()).toBe(true)
    expect(most).toBe(1)
  })

  it('is ended, when its DataVolume is orphaned and its image deleted, by an operator that never saw its DataVolume', async () => {
    await abandoned()
    world.killOperator()
    world.delete(IMAGE, FARM, 'first')
    world.startOperator()
    await world.pass(MINUTE)
    expect(world.image('first')?.status?.message).toMatch(
      /being deleted: waiting for its importer pod, which CDI runs .* delete it/,
    )
    await world.pass(125 * MINUTE)
    expect(world.image('first')).toBeUndefined()
    expect(isSynced('second')()).toBe(true)
    expect(most).toBe(1)
  })
})

describe('an image that is orphaned while the operator looks on', () => {
  it.each<[string, readonly string[]]>([
    ['all at once', []],
    ['the image first, and its children later', ['DataVolume', 'VolumeSnapshot', 'DataSource']],
    ['the children first, and their image later', ['VMDiskImage']],
  ])('leaves its children without an owner, as asked, when watches tell of %s', async (_order, late) => {
    world = await SimulatedOperator.start()
    world.createImage('golden')
    await world.until('the image', isSynced('golden'))
    holdBack(late)
    deleteImage('golden')
    await world.until('its end', () => world.image('golden') === undefined)
    await world.pass(10 * MINUTE)
    for (const type of [DATA_VOLUME, VOLUME_SNAPSHOT, DATA_SOURCE]) {
      const { items } = world.simulated.cluster.admin.list(type, { namespace: FARM })
      expect(items.map(({ kind }) => kind)).toEqual([type.kind])
      expectOrphans(items)
    }
  })

  it('ends its download all the same, or waits for it, and the next one starts then', async () => {
    world = await SimulatedOperator.start({ concurrency: '1' })
    const provision = world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'unprovisioned' })
    world.createImage('first')
    await world.until('a download', () => unfinished().length === 1)
    const [first] = volumes()
    world.createImage('second')
    await world.pass(SECOND)
    deleteImage('first')
    await world.pass(MINUTE)
    const isStopped = !volumes().some(({ metadata }) => metadata.uid === first?.metadata.uid)
    expect(volumes()).toHaveLength(1)
    expect(world.image('first') === undefined).toBe(isStopped)
    provision()
    await world.until('the next image', isSynced('second'))
    await world.until('the end of the first', () => world.image('first') === undefined)
  })
})

describe('a virtual machine that is orphaned while the operator looks on', () => {
  it.each<[string, readonly string[]]>([
    ['all at once', []],
    ['the virtual machine first, and its children later', [inFull(KUBEVIRT_VIRTUAL_MACHINE), 'DataVolume', 'Secret']],
    ['the children first, and their owner later', [inFull(MACHINE)]],
  ])('leaves its guest and its disk without an owner, as asked, when watches tell of %s', async (_order, late) => {
    world = await SimulatedOperator.running()
    const left = ownedIn(TEAM, KUBEVIRT_VIRTUAL_MACHINE, DATA_VOLUME, SECRET)
    expect(left().map(({ kind }) => kind)).toEqual(['VirtualMachine', 'DataVolume', 'Secret'])
    const made = left().map(({ metadata }) => metadata.uid)
    holdBack(late)
    world.simulated.cluster.admin.delete(MACHINE, { namespace: TEAM, name: 'vm' }, ORPHAN)
    await world.until('its end', () => world.vm('vm') === undefined)
    await world.pass(10 * MINUTE)
    expect(left().map(({ metadata }) => metadata.uid)).toEqual(made)
    expectOrphans(left())
  })
})

describe('a workspace that is orphaned while the operator looks on', () => {
  it.each<[string, readonly string[]]>([
    ['all at once', []],
    ['the workspace first, and what it is made of later', [inFull(MACHINE), 'Deployment', 'Namespace']],
    ['its parts first, and the workspace later', ['Workspace']],
  ])('leaves what it is made of without an owner, as asked, when watches tell of %s', async (_order, late) => {
    world = await SimulatedOperator.start({ imageNamespace: FARM })
    const resources = { cpu: '1', memory: '1Gi' }
    const vm = { name: 'router', backingVMDiskImage: 'golden', vmDiskImageTemplate: TEMPLATE, resources }
    const containers = [{ name: 'web', image: 'registry.example/web:1' }]
    const spec = { vms: [vm], containerClusters: [{ name: 'web', containers }] }
    world.simulated.create(WORKSPACE, { name: 'lab' }, { spec })
    const find = () => world.simulated.cluster.admin.list<Phased>(WORKSPACE).items[0]
    await world.until('the workspace', () => find()?.status?.phase === 'Ready')
    const left = ownedIn('lab', MACHINE, DEPLOYMENT)
    const made = left().map(({ metadata }) => metadata.uid)
    expect(made).toHaveLength(2)
    holdBack(late)
    world.simulated.cluster.admin.delete(WORKSPACE, { name: 'lab' }, ORPHAN)
    await world.until('its end', () => find() === undefined)
    await world.pass(10 * MINUTE)
    expect(left().map(({ metadata }) => metadata.uid)).toEqual(made)
    const namespace = world.simulated.cluster.admin
      .list(NAMESPACE)
      .items.filter(({ metadata }) => metadata.name === 'lab')
    expect(namespace).toHaveLength(1)
    expectOrphans([...left(), ...namespace])
  })
})
