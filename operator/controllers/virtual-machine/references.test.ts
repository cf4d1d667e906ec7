import { diskClaimName } from '@open-terrain/constructs/operator'
import { beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { CachesBench } from '../../../test/prepared/virtual-machine/machine-caches.ts'
import { aDisk, DISK } from '../../../test/prepared/virtual-machine/machine-disks.ts'
import { aVM, childMeta, SPEC } from '../../../test/prepared/virtual-machine/machine-objects.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { MachineReferences } from './references.ts'
import type { CloneFacts, MachineView } from './world.ts'

const { signal } = new AbortController()
const GOLDEN = { namespace: 'farm', name: 'golden' }
const OTHER = { ...SPEC, vmDiskImageRef: { namespace: 'farm', name: 'other' } }

const vm = (
  name: string,
  more: Partial<MachineView['metadata']> = {},
  spec: unknown = SPEC,
  status: MachineView['status'] = {},
) => aVM({ name, uid: `uid of ${name}`, ...more }, { spec, status })
/** A machine whose status records what its disk was made from. */
const noted = (image: string, spec: unknown, uid = 'uid of the disk of a') =>
  vm('a', {}, spec, { clone: { name: 'a-root', image, uid } })
/** The disk of a machine, or a look-alike, with the fields of the stored object and of the cached one. */
const disk = (name: string, owner = `uid of ${name}`, state: Partial<CloneFacts> = DISK.cloning): CloneFacts => {
  const ownerReferences = (childMeta(name).ownerReferences ?? []).map((one) => ({ ...one, name, uid: owner }))
  const cached = aDisk(state, { name: `${name}-root`, uid: `uid of the disk of ${name}`, ownerReferences })
  return Object.assign(cached, { status: { phase: cached.phase } })
}
const complete = (name: string) => disk(name, `uid of ${name}`, DISK.succeeded)

/** Objects of one cluster, and the references that are counted. */
type Row = readonly [string, machines: MachineView[], disks: CloneFacts[], names: string[], users: string[]]

const A = ['VirtualMachine/team/a']
/** A machine with a disk of the image beside a root disk of another one. */
const further = (more: Partial<MachineView['metadata']> = {}, root: object = OTHER) =>
  vm('a', more, {
    ...root,
    disks: [
      { name: 'data', size: '1Gi' },
      { name: 'tools', vmDiskImageRef: GOLDEN },
    ],
  })
const furtherDisk = (image: string, owner?: string, state: Partial<CloneFacts> = DISK.cloning) => {
  const one = disk('a', owner, state)
  return { ...one, metadata: { ...one.metadata, name: diskClaimName('a', 'tools', image) } }
}
const ROWS: Row[] = [
  ['nothing', [], [], [], []],
  ['a machine without a disk', [vm('a')], [], A, []],
  ['a machine that makes its disk', [vm('a')], [disk('a')], A, A],
  ['a machine whose disk was made from it', [noted('farm/golden', SPEC)], [complete('a')], A, A],
  [
    'a machine that names it since its disk was made from another image',
    [noted('farm/other', SPEC)],
    [complete('a')],
    A,
    [],
  ],
  [
    'a machine that names it while its disk is made from another image',
    [noted('farm/other', SPEC)],
    [disk('a')],
    A,
    [],
  ],
  [
    'a machine that names it, whose earlier disk was made from another image',
    [noted('farm/other', SPEC, 'uid of an earlier disk')],
    [disk('a')],
    A,
    A,
  ],
  [
    'a machine that names another image while its disk is made from this one',
    [noted('farm/golden', OTHER)],
    [disk('a')],
    A,
    A,
  ],
  [
    'a machine that names another image since its disk was made from this one',
    [noted('farm/golden', OTHER)],
    [complete('a')],
    [],
    [],
  ],
  ['a machine that names another image, and has no disk any more', [noted('farm/golden', OTHER)], [], [], []],
  [
    'a machine that names another image, whose earlier disk was made from this one',
    [noted('farm/golden', OTHER, 'uid of an earlier disk')],
    [disk('a')],
    [],
    [],
  ],
  ['a machine with a disk of somebody else', [vm('a')], [disk('a', 'earlier')], A, []],
  ['a disk without a machine', [], [disk('a')], [], []],
  [
    'a machine that goes, as long as it has a disk',
    [vm('a', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    [disk('a')],
    A,
    A,
  ],
  ['a machine that names it for another disk, and has its root disk only', [further()], [complete('a')], A, []],
  ['a machine that makes another disk of it', [further()], [furtherDisk('golden')], A, A],
  ['a machine that has another disk of it', [further()], [furtherDisk('golden', undefined, DISK.succeeded)], A, A],
  ['a machine whose disk of that name was of another image', [further()], [furtherDisk('other')], A, []],
  ['a machine with such a disk of somebody else', [further()], [furtherDisk('golden', 'earlier')], A, []],
  ['a machine that names it twice, once', [further({}, SPEC)], [furtherDisk('golden'), disk('a')], A, A],
  [
    'machines of all namespaces, in the order of their names',
    [vm('b'), vm('a'), vm('a', { namespace: 'other', uid: 'other' })],
    [disk('b')],
    ['VirtualMachine/other/a', 'VirtualMachine/team/a', 'VirtualMachine/team/b'],
    ['VirtualMachine/team/b'],
  ],
  [
    'a machine that names another image',
    [vm('a', {}, { ...SPEC, vmDiskImageRef: { name: 'golden' } })],
    [disk('a')],
    [],
    [],
  ],
  [
    'a machine beside the image, which names no namespace',
    [vm('a', { namespace: 'farm' }, { ...SPEC, vmDiskImageRef: { name: 'golden' } })],
    [],
    ['VirtualMachine/farm/a'],
    [],
  ],
  ['machines whose spec cannot be read', [vm('a', {}, null), vm('b', {}, { vmDiskImageRef: {} })], [disk('a')], [], []],
  [
    'a machine that is not to be deployed, which is no user',
    [vm('a', {}, { ...SPEC, ignoreOnDeploy: true })],
    [],
    A,
    [],
  ],
]

describe('references and users of an image', () => {
  it.each(ROWS)('from the caches: %s', (_what, machines, disks, names, users) => {
    const bench = new CachesBench()
    for (const one of machines) bench.put(bench.caches.machines, one)
    for (const one of disks) bench.put(bench.dataVolumes, one)
    const references = new MachineReferences(bench.client, bench.caches)
    expect(references.cached(GOLDEN)).toEqual({ count: names.length, names, users })
  })

  it.each(ROWS)('from the cluster as it is now: %s', async (_what, machines, disks, names, users) => {
    const { caches } = new CachesBench()
    const client = new ScriptedClient()
    for (const one of [...machines, ...disks]) client.put(one)
    const references = new MachineReferences(client, caches)
    expect(await references.live(GOLDEN, signal)).toEqual({ count: names.length, names, users })
  })

  it('name all of them, and all users', async () => {
    const names = Array.from({ length: 700 }, (_, at) => `vm-${String(at).padStart(3, '0')}`)
    const { caches } = new CachesBench()
    const client = new ScriptedClient()
    for (const name of names) for (const one of [vm(name), disk(name)]) client.put<KubeObject>(one)
    const found = await new MachineReferences(client, caches).live(GOLDEN, signal)
    expect([found.count, found.names.length, found.users.length]).toEqual([700, 700, 700])
    expect(found.names.at(-1)).toBe('VirtualMachine/team/vm-699')
  })

  it('shares the lists of all who ask together', async () => {
    const { client, caches } = new CachesBench()
    client.put(vm('a'))
    const references = new MachineReferences(client, caches)
    const found = await Promise.all(Array.from({ length: 16 }, () => references.live(GOLDEN, signal)))
    expect(found.map(({ names }) => names)).toEqual(Array.from({ length: 16 }, () => ['VirtualMachine/team/a']))
    expect(client.callsOf('list')).toHaveLength(2)
  })

  it('are no guess: an API server that does not answer is an error, and a kind that is not there is none', async () => {
    const { caches } = new CachesBench()
    const client = new ScriptedClient()
    client.put(vm('a'))
    const references = new MachineReferences(client, caches)
    client.before = () => {
      throw apiError('Unavailable')
    }
    await expect(references.live(GOLDEN, signal)).rejects.toMatchObject({ reason: 'Unavailable' })
    client.before = ({ kind }) => {
      if (kind === 'DataVolume') throw apiError('NotFound')
    }
    expect(await references.live(GOLDEN, signal)).toEqual({ count: 1, names: ['VirtualMachine/team/a'], users: [] })
  })
})

describe('an image is told', () => {
  let bench: CachesBench
  let told: string[]
  let stop: () => void
  beforeEach(() => {
    bench = new CachesBench()
    told = []
    stop = new MachineReferences(bench.client, bench.caches).onChange((key) => told.push(key))
  })
  const taken = () => told.splice(0)

  it('when a machine that names it comes or goes, and not when it changes otherwise', () => {
    bench.put(bench.caches.machines, vm('a'))
    expect(taken()).toEqual(['farm/golden'])
    bench.put(bench.caches.machines, aVM({ name: 'a', uid: 'uid of a' }, { status: { phase: 'Ready' } }))
    bench.put(bench.caches.machines, vm('a', { labels: { a: 'b' } }))
    expect(taken()).toEqual([])
    bench.drop(bench.caches.machines, vm('a'))
    expect(taken()).toEqual(['farm/golden'])
  })

  it('as another one is, when a machine names that instead', () => {
    bench.put(bench.caches.machines, vm('a'))
    taken()
    bench.put(bench.caches.machines, vm('a', {}, OTHER))
    expect(taken()).toEqual(['farm/golden', 'farm/other'])
  })

  it('as the image is that a disk was made from, when the machine names another one', () => {
    bench.put(bench.caches.machines, vm('a', {}, OTHER))
    expect(taken()).toEqual(['farm/other'])
    bench.put(bench.caches.machines, noted('farm/golden', OTHER))
    expect(new Set(taken())).toEqual(new Set(['farm/other', 'farm/golden']))
    bench.put(bench.dataVolumes, disk('a'))
    expect(taken()).toEqual(['farm/other', 'farm/golden'])
    // A complete disk does not need its image any more.
    bench.put(bench.dataVolumes, complete('a'))
    expect(taken()).toEqual(['farm/golden'])
  })

  it('when a machine is another one of the same name', () => {
    bench.put(bench.caches.machines, vm('a'))
    taken()
    bench.put(bench.caches.machines, vm('a', { uid: 'another' }))
    expect(new Set(taken())).toEqual(new Set(['farm/golden']))
  })

  it('when a disk of a machine that names it comes or goes, and not while it is made', () => {
    bench.put(bench.caches.machines, vm('a'))
    taken()
    bench.put(bench.dataVolumes, disk('a'))
    expect(taken()).toEqual(['farm/golden'])
    bench.put(bench.dataVolumes, { ...disk('a'), ...DISK.succeeded })
    expect(taken()).toEqual([])
    bench.drop(bench.dataVolumes, disk('a'))
    expect(taken()).toEqual(['farm/golden'])
  })

  it.each<[string, CloneFacts]>([
    ['that no machine owns', { ...disk('a'), metadata: { ...disk('a').metadata, ownerReferences: [] } }],
    ['of a machine that is not there', disk('b')],
  ])('not of a disk %s', (_what, object) => {
    bench.put(bench.caches.machines, vm('a'))
    taken()
    bench.put(bench.dataVolumes, object)
    expect(taken()).toEqual([])
  })

  it('nothing any more when it does not listen', () => {
    stop()
    bench.put(bench.caches.machines, vm('a'))
    expect(taken()).toEqual([])
  })
})
