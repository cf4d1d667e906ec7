import { LABELS } from '@open-terrain/constructs'
import { type VMDiskImageStatus, vmChildNames } from '@open-terrain/constructs/operator'
import { beforeEach, describe, expect, it } from 'vitest'
import { aNamespace, CachesBench } from '../../../test/prepared/virtual-machine/machine-caches.ts'
import { aClaim, aDisk, aStorageClass, DISK } from '../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  ARTIFACT,
  aMachine,
  anImage,
  anInstance,
  aSecret,
  aVM,
  KUBEVIRT,
  PUBLISHED,
  QUEUED,
  REFERRING,
  SPEC,
} from '../../../test/prepared/virtual-machine/machine-objects.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import type { Store } from '../../runtime/store.ts'
import { roomFor } from './room.ts'
import { listenForMachineTriggers } from './triggers.ts'

const LONG = 'v'.repeat(60)
const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
const FOREIGN = { ownerReferences: [], labels: {} }
const READY = { status: { phase: 'Ready' } } as const

let bench: CachesBench
let enqueued: string[]
let stops: readonly (() => void)[]
beforeEach(() => {
  bench = new CachesBench()
  const { machines } = bench.caches
  bench.put(machines, aVM())
  bench.put(
    machines,
    aVM({ name: 'bystander', uid: 'bystander' }, { ...READY, spec: { vmDiskImageRef: { name: 'x' } } }),
  )
  enqueued = []
  stops = listenForMachineTriggers(bench.caches, (key) => enqueued.push(key))
})
/** Keys that were enqueued since the last call, each once. */
const taken = () => [...new Set(enqueued.splice(0))].toSorted()

/** Adds, repeats, changes and removes an object of a cache, and checks which of these enqueue its machine. */
function lives<T extends KubeObject>(store: (of: CachesBench) => Store<T>, object: T, changed: T): void {
  const cache = store(bench)
  bench.put(cache, object)
  expect(taken()).toEqual(['team/vm'])
  bench.put(cache, object)
  expect(taken()).toEqual([])
  bench.put(cache, changed)
  expect(taken()).toEqual(['team/vm'])
  bench.drop(cache, changed)
  expect(taken()).toEqual(['team/vm'])
}

describe('a machine that waits for room for a second root disk', () => {
  const REPLACED = { status: { replacement: { asked: 'Reset', disk: { name: 'vm-root-g2' } } } } as const
  const aQuota = (used: string) =>
    ({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'small', namespace: 'team' },
      hard: { persistentvolumeclaims: '2' },
      used: { persistentvolumeclaims: used },
      spec: undefined,
    }) as const
  const other = { name: 'bystander-root-g2', ...FOREIGN }

  it('is looked at when a quota of its namespace changes, until its disk is asked for', () => {
    bench.put(bench.quotas, aQuota('1'))
    expect(taken()).toEqual([])
    bench.put(bench.caches.machines, aVM({}, REPLACED))
    taken()
    bench.put(bench.quotas, aQuota('1'))
    expect(taken()).toEqual([])
    bench.put(bench.quotas, aQuota('2'))
    expect(taken()).toEqual(['team/vm'])
    bench.put(bench.dataVolumes, aDisk({}, { name: 'vm-root-g2' }))
    taken()
    bench.drop(bench.quotas, aQuota('2'))
    expect(taken()).toEqual([])
  })

  it('is looked at when others of its namespace do not wait any more', () => {
    bench.put(bench.caches.machines, aVM({}, REPLACED))
    taken()
    bench.put(bench.dataVolumes, aDisk({}, other))
    expect(taken()).toEqual([])
    bench.put(bench.dataVolumes, aDisk({}, { ...other, ...GOING }))
    expect(taken()).toEqual(['team/vm'])
    bench.drop(bench.dataVolumes, aDisk({}, { ...other, ...GOING }))
    const bystander = (more: object) => aVM({ name: 'bystander', uid: 'bystander' }, { ...READY, ...more })
    bench.put(bench.caches.machines, bystander(REPLACED))
    taken()
    bench.put(bench.caches.machines, bystander({}))
    expect(taken()).toEqual(['team/vm'])
  })

  it('counts claims that the cache of quotas has not heard of, and is looked at when one goes', () => {
    const used = () => roomFor(aVM(), undefined, bench.caches).quotas.map((one) => one.used['persistentvolumeclaims'])
    bench.put(bench.quotas, aQuota('1'))
    bench.put(bench.claims, aClaim({ name: 'a', ...FOREIGN }))
    bench.put(bench.claims, aClaim({ name: 'elsewhere', namespace: 'elsewhere', ...FOREIGN }))
    expect(used()).toEqual(['1'])
    bench.put(bench.claims, aClaim({ name: 'b', ...FOREIGN }))
    expect(used()).toEqual(['2'])
    bench.put(bench.caches.machines, aVM({}, REPLACED))
    taken()
    bench.drop(bench.claims, aClaim({ name: 'b', ...FOREIGN }))
    expect([used(), taken()]).toEqual([['1'], ['team/vm']])
  })

  it('leaves room for what others have asked for, and not for what nobody can get any more', () => {
    const others = () => roomFor(aVM(), undefined, bench.caches).awaited.length
    const status = { clone: { name: 'bystander-root' }, replacement: { ...REPLACED.status.replacement, disk: other } }
    bench.put(bench.caches.machines, aVM({ name: 'bystander', uid: 'bystander' }, { status } as never))
    bench.put(bench.claims, aClaim({ name: 'bystander-root', ...FOREIGN }))
    bench.put(bench.caches.machines, aVM({}, REPLACED))
    expect(others()).toBe(0)
    bench.caches.asking.add('bystander')
    expect(others()).toBe(1)
    bench.drop(bench.claims, aClaim({ name: 'bystander-root', ...FOREIGN }))
    expect(others()).toBe(2)
    bench.caches.asking.clear()
    expect(others()).toBe(0)
    bench.put(bench.dataVolumes, aDisk(DISK.new, other))
    expect(others()).toBe(1)
    taken()
    const bound = { reason: 'ErrExceededQuota', message: 'no' }
    bench.put(bench.dataVolumes, aDisk({ ...DISK.new, bound }, other))
    expect([others(), taken()]).toEqual([0, expect.arrayContaining(['team/vm'])])
    bench.put(bench.dataVolumes, aDisk(DISK.new, other))
    taken()
    bench.put(bench.dataVolumes, aDisk(DISK.failed, other))
    expect([others(), taken()]).toEqual([0, expect.arrayContaining(['team/vm'])])
    // It has deleted its disk for the new one, which gets the room of that.
    const givenUp = { ...status.replacement, claim: 'bystander-root', claimUID: 'one', givenUp: 'one' }
    const gave = { status: { ...status, replacement: givenUp } }
    bench.put(bench.caches.machines, aVM({ name: 'bystander', uid: 'bystander' }, gave as never))
    bench.put(bench.claims, aClaim({ name: 'bystander-root', ...FOREIGN, uid: 'one' }))
    expect(others()).toBe(0)
    bench.drop(bench.claims, aClaim({ name: 'bystander-root', ...FOREIGN, uid: 'one' }))
    expect(others()).toBe(1)
  })
})

describe('a machine is looked at', () => {
  it('when it is left alone with an image that has no artifact, and no sooner', () => {
    const refer = (count: number, artifact?: typeof ARTIFACT) =>
      bench.put(bench.images, anImage({ references: { count, names: [] }, ...(artifact && { artifact }) }))
    refer(3)
    taken()
    refer(2)
    expect(taken()).toEqual([])
    refer(1)
    expect(taken()).toEqual(['team/vm'])
    refer(2, ARTIFACT)
    taken()
    refer(1, ARTIFACT)
    expect(taken()).toEqual([])
  })

  it('when its disk comes, changes or goes, and not for a new version of the same', () => {
    lives(({ dataVolumes }) => dataVolumes, aDisk(DISK.cloning), aDisk())
  })

  it('when the claim of its disk does', () => {
    lives(({ claims }) => claims, aClaim(), aClaim(GOING))
  })

  it('when its Secret does', () => {
    lives(({ secrets }) => secrets, aSecret(), aSecret(undefined, { annotations: {} }))
  })

  it('when KubeVirt’s machine does', () => {
    lives(({ caches }) => caches.kubevirt, aMachine(KUBEVIRT.starting), aMachine())
  })

  it('when its instance does', () => {
    lives(({ caches }) => caches.instances, anInstance({ phase: 'Scheduling' }), anInstance())
  })

  it.each<[string, (of: CachesBench) => Store<KubeObject>, KubeObject]>([
    ['DataVolume', ({ dataVolumes }) => dataVolumes as never, aDisk({}, FOREIGN)],
    ['claim', ({ claims }) => claims, aClaim(FOREIGN)],
    ['Secret', ({ secrets }) => secrets, aSecret(undefined, FOREIGN)],
    ['machine', ({ caches }) => caches.kubevirt as never, aMachine(undefined, FOREIGN)],
  ])('when a foreign %s takes a name that it needs, and when it frees it', (_what, store, object) => {
    bench.put(store(bench), object)
    expect(taken()).toEqual(['team/vm'])
    bench.drop(store(bench), object)
    expect(taken()).toEqual(['team/vm'])
  })

  it('when a child is given to it, and when it is taken from it', () => {
    const name = 'called-otherwise'
    bench.put(bench.secrets, aSecret(undefined, { ...FOREIGN, name }))
    expect(taken()).toEqual([])
    bench.put(bench.secrets, aSecret(undefined, { name }))
    expect(taken()).toEqual(['team/vm'])
    bench.put(bench.secrets, aSecret(undefined, { ...FOREIGN, name }))
    expect(taken()).toEqual(['team/vm'])
  })

  it('by the label of its claim, which CDI’s DataVolume owns', () => {
    const uid = 'long'
    bench.put(bench.caches.machines, aVM({ name: LONG, uid }))
    taken()
    const { clone: name } = vmChildNames(LONG)
    bench.put(bench.claims, aClaim({ name, labels: { [LABELS.vmUid]: uid } }))
    expect(taken()).toEqual([`team/${LONG}`])
  })

  it('when somebody frees a name that it needs, also where its own name is too long for its children', () => {
    bench.put(bench.caches.machines, aVM({ name: LONG, uid: 'long' }))
    const foreign = bench.put(bench.secrets, aSecret(undefined, { ...FOREIGN, name: vmChildNames(LONG).cloudInit }))
    taken()
    bench.drop(bench.secrets, foreign)
    expect(taken()).toEqual([`team/${LONG}`])
  })

  it('when a Secret with a password of its users comes, changes or goes', () => {
    bench.put(bench.caches.machines, aVM({}, { spec: { ...SPEC, users: REFERRING } }))
    taken()
    const login = aSecret(undefined, { ...FOREIGN, name: 'login' })
    bench.put(bench.secrets, login)
    expect(taken()).toEqual(['team/vm'])
    // Its watch has no data, so each version may be another password.
    bench.put(bench.secrets, login)
    expect(taken()).toEqual(['team/vm'])
    bench.drop(bench.secrets, login)
    expect(taken()).toEqual(['team/vm'])
    bench.put(bench.secrets, aSecret(undefined, { ...FOREIGN, name: 'login', namespace: 'other' }))
    expect(taken()).toEqual([])
  })
})

describe('an image', () => {
  it.each<[string, VMDiskImageStatus]>([
    ['another phase', { phase: 'Syncing' }],
    ['another message', { ...QUEUED, message: 'waits' }],
    ['another place in the queue', { ...QUEUED, queuePosition: 6 }],
    ['progress', { ...QUEUED, progress: '1.0%' }],
    ['another revision', { ...QUEUED, revision: 'next' }],
    ['an artifact', PUBLISHED],
  ])('concerns the machines that name it, when it has %s', (_what, status) => {
    bench.put(bench.images, anImage(QUEUED))
    expect(taken()).toEqual(['team/vm'])
    bench.put(bench.images, anImage(status))
    expect(taken()).toEqual(['team/vm'])
  })

  it.each<[string, KubeObject & { readonly spec: unknown; readonly status: VMDiskImageStatus }]>([
    ['is being deleted', anImage(QUEUED, GOING)],
    ['has another spec', anImage(QUEUED, {}, {})],
    ['is another one of its name', anImage(QUEUED, { uid: 'another' })],
  ])('concerns the machines that name it, when it %s', (_what, image) => {
    bench.put(bench.images, anImage(QUEUED))
    taken()
    bench.put(bench.images, image)
    expect(taken()).toEqual(['team/vm'])
    bench.drop(bench.images, image)
    expect(taken()).toEqual(['team/vm'])
  })

  it('does not, for what no machine rests on: with each machine its count of them changes', () => {
    bench.put(bench.images, anImage({ ...QUEUED, references: { count: 4_999, names: [] } }))
    taken()
    bench.put(bench.images, anImage({ ...QUEUED, references: { count: 5_000, names: [] }, attempt: 2 }))
    expect(taken()).toEqual([])
  })

  it('of a DataSync concerns the machines that name it without its hash, when it comes and goes', () => {
    const labels = { [LABELS.createdBy]: 'DataSync' }
    const image = anImage(QUEUED, { name: `${anImage(QUEUED).metadata.name}-9cef6943`, labels })
    bench.put(bench.images, image)
    expect(taken()).toEqual(['team/vm'])
    expect(bench.caches.imageWithHash('farm/golden')).toBe(keyOf(image.metadata))
    bench.put(bench.images, { ...image, status: { ...QUEUED, queuePosition: 9 } })
    expect(taken()).toEqual([])
    bench.drop(bench.images, image)
    expect(taken()).toEqual(['team/vm'])
    expect(bench.caches.imageWithHash('farm/golden')).toBeUndefined()
  })

  it('that no machine names concerns none', () => {
    bench.put(bench.images, anImage(QUEUED, { name: 'other' }))
    bench.put(bench.images, anImage(QUEUED, { name: `${anImage(QUEUED).metadata.name}-9cef6943` }))
    expect(taken()).toEqual([])
  })
})

describe('a namespace', () => {
  it.each(['team', 'farm'])(
    'that comes, terminates or goes concerns the machines that are in it, or whose image is: %s',
    (name) => {
      const concerned = name === 'team' ? ['team/bystander', 'team/vm'] : ['team/vm']
      bench.put(bench.namespaces, aNamespace(name))
      expect(taken()).toEqual(concerned)
      bench.put(bench.namespaces, aNamespace(name, { labels: { a: 'b' } }))
      expect(taken()).toEqual([])
      bench.put(bench.namespaces, aNamespace(name, GOING))
      expect(taken()).toEqual(concerned)
      bench.drop(bench.namespaces, aNamespace(name))
      expect(taken()).toEqual(concerned)
    },
  )
})

it('a StorageClass concerns the machines that are not ready, when it comes, changes or goes', () => {
  lives(({ storageClasses }) => storageClasses, aStorageClass(false), aStorageClass())
})

it('a kind that comes concerns the machines that are not ready', async () => {
  await bench.look()
  expect(taken()).toContain('team/vm')
})

it('nothing concerns anybody once nobody listens', async () => {
  for (const stop of stops) stop()
  bench.put(bench.dataVolumes, aDisk())
  bench.put(bench.images, anImage(QUEUED))
  await bench.look()
  expect(taken()).toEqual([])
})
