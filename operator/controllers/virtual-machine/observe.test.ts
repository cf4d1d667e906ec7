import { LABELS } from '@open-terrain/constructs'
import { diskClaimName, isDiskClaimName, POLICY_DEFAULTS, vmChildNames } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { CachesBench } from '../../../test/prepared/virtual-machine/machine-caches.ts'
import { aClaim, aDisk, DISK } from '../../../test/prepared/virtual-machine/machine-disks.ts'
import {
  aMachine,
  anInstance,
  aSecret,
  aVM,
  childMeta,
  cloudInitOf,
  SPEC,
  VM_UID,
} from '../../../test/prepared/virtual-machine/machine-objects.ts'
import { WITHOUT_CHILDREN } from '../../../test/prepared/virtual-machine/machine-world.ts'
import { build, GOING } from '../../../test/prepared/virtual-machine/observe-bench.ts'
import { BY_CHILD } from '../../cluster/caches.ts'
import type { ObjectMeta, OwnerReference } from '../../kube/kube-object.ts'
import { parsedMachineSpec } from './caches.ts'

const [OWNER] = childMeta('vm').ownerReferences as readonly [OwnerReference]

/** Metadata of a child of an earlier machine of the same name. */
const theirs = (name: string): Partial<ObjectMeta> => ({
  ownerReferences: (childMeta(name).ownerReferences ?? []).map((owner) => ({ ...owner, uid: 'earlier' })),
  labels: { [LABELS.vmUid]: 'earlier' },
})

const OURS = { [LABELS.vmUid]: VM_UID }

/** Metadata of a child of ours that has lost its ownerReference. */
const LOST: Partial<ObjectMeta> = { ownerReferences: [] }

const leaving = (name: string) => ({ ...theirs(name), ...GOING })

type Put = [what: string, put: (bench: CachesBench) => unknown, told: string]

/** An object of each kind that has the name of our child, with this metadata. */
const oneOfEach = (metadataOf: (name: string) => Partial<ObjectMeta>): Put[] => [
  ['DataVolume', (bench) => bench.put(bench.dataVolumes, aDisk({}, metadataOf('vm-root'))), 'DataVolume vm-root'],
  [
    'Secret',
    (bench) => bench.put(bench.secrets, aSecret(undefined, metadataOf('vm-cloudinit'))),
    'Secret vm-cloudinit',
  ],
  [
    'machine',
    (bench) => bench.put(bench.caches.kubevirt, aMachine(undefined, metadataOf('vm'))),
    'VirtualMachine vm of KubeVirt',
  ],
  ['claim', (bench) => bench.put(bench.claims, aClaim(metadataOf('vm-root'))), 'PersistentVolumeClaim vm-root'],
]

describe('a machine that has nothing', () => {
  it('is seen without children, and nothing stands in its way', () => {
    const { look } = build()
    const vm = aVM()
    expect(look(vm)).toEqual({
      vm,
      spec: parsedMachineSpec(vm),
      policy: POLICY_DEFAULTS,
      cloudInit: cloudInitOf(vm),
      refusal: undefined,
      namespaceTerminating: false,
      hasDataVolumes: false,
      hasKubeVirt: false,
      image: undefined,
      isImageShared: false,
      imageClaims: [],
      imageNamespace: 'there',
      hasCloneSource: true,
      storageClass: undefined,
      neighbours: {},
      ...WITHOUT_CHILDREN,
    })
  })
})

describe('children', () => {
  it('of the machine are seen, whatever the length of its name', () => {
    for (const name of ['vm', 'v'.repeat(63)]) {
      const { bench, caches, look } = build()
      const names = vmChildNames(name)
      const ofMachine = { ownerReferences: [{ ...OWNER, name }] }
      const clone = bench.put(bench.dataVolumes, aDisk({}, { name: names.clone, ...ofMachine }))
      const claim = bench.put(bench.claims, aClaim({ name: names.clone }))
      const secret = bench.put(bench.secrets, aSecret(undefined, { name: names.cloudInit, ...ofMachine }))
      const machine = bench.put(caches.kubevirt, aMachine(undefined, { name: names.machine, ...ofMachine }))
      const [ofKubeVirt] = anInstance().metadata.ownerReferences ?? []
      const ofRun = ofKubeVirt && { ownerReferences: [{ ...ofKubeVirt, name: names.machine }] }
      const instance = bench.put(caches.instances, anInstance({}, { name: names.machine, ...ofRun }))
      const { conflict, ...world } = look(aVM({ name }))
      expect(world).toMatchObject({ clone, claim, secret, machine, instance })
      expect(conflict).toBeUndefined()
    }
  })

  it.each<[string, Partial<OwnerReference> & { readonly namespace?: string }]>([
    ['of another group', { apiVersion: 'nope.example/v1' }],
    ['of another kind', { kind: 'VMDiskImage' }],
    ['of another name', { name: 'other' }],
    ['of an earlier life', { uid: 'earlier' }],
    ['that is not responsible', { controller: false }],
    ['in another namespace', { namespace: 'tenant' }],
  ])('are not those of an owner %s', (_what, { namespace = 'team', ...change }) => {
    const { bench, caches, look } = build()
    const forged = { namespace, ownerReferences: [{ ...OWNER, ...change }], labels: {} }
    bench.put(bench.dataVolumes, aDisk({}, forged))
    bench.put(bench.secrets, aSecret(undefined, forged))
    bench.put(caches.kubevirt, aMachine(undefined, forged))
    expect(look()).toMatchObject({ clone: undefined, secret: undefined, machine: undefined, instance: undefined })
  })

  it.each<Put>([
    ...oneOfEach(theirs),
    [
      'Secret of nobody',
      (bench) => bench.put(bench.secrets, aSecret(undefined, { ownerReferences: [], labels: {} })),
      'Secret vm-cloudinit',
    ],
    [
      'Secret that a stranger has adopted',
      (bench) => bench.put(bench.secrets, aSecret(undefined, { ...theirs('vm-cloudinit'), labels: OURS })),
      'Secret vm-cloudinit',
    ],
  ])('of somebody else are in the way, and are not ours: a %s', (_what, put, expected) => {
    const { bench, look } = build()
    put(bench)
    const { clone, secret, machine, claim, instance, conflict, orphan } = look()
    expect([conflict, orphan]).toEqual([expected, undefined])
    expect([clone, secret, machine, claim, instance]).toEqual([undefined, undefined, undefined, undefined, undefined])
  })

  it.each(oneOfEach(leaving))(
    'of somebody else that are being deleted are not ours, and no conflict: a %s',
    (_what, put, expected) => {
      const { bench, look } = build()
      put(bench)
      const { clone, secret, machine, claim, instance, ...world } = look()
      expect(world).toMatchObject({ conflict: undefined, leaving: expected })
      expect([clone, secret, machine, claim, instance]).toEqual([undefined, undefined, undefined, undefined, undefined])
    },
  )

  it.each(oneOfEach(() => LOST).filter(([what]) => what !== 'claim'))(
    'that have lost their owner are not ours, and not taken for a stranger’s: a %s',
    (_what, put, expected) => {
      const { bench, look } = build()
      put(bench)
      const { clone, secret, machine, ...world } = look()
      expect(world).toMatchObject({ conflict: undefined, leaving: undefined, orphan: expected })
      expect([clone, secret, machine]).toEqual([undefined, undefined, undefined])
    },
  )

  it('of somebody else are told apart from what has lost its owner', () => {
    const { bench, look } = build()
    bench.put(bench.dataVolumes, aDisk({}, LOST))
    bench.put(bench.secrets, aSecret(undefined, theirs('vm-cloudinit')))
    expect(look()).toMatchObject({ conflict: 'Secret vm-cloudinit', orphan: 'DataVolume vm-root' })
  })

  it('of somebody else may be both: what stays is a conflict, what goes is not', () => {
    const { bench, look } = build()
    bench.put(bench.dataVolumes, aDisk({}, leaving('vm-root')))
    bench.put(bench.secrets, aSecret(undefined, theirs('vm-cloudinit')))
    expect(look()).toMatchObject({ conflict: 'Secret vm-cloudinit', leaving: 'DataVolume vm-root' })
  })

  it('of our own that are being deleted are ours still', () => {
    const { bench, look } = build()
    bench.put(bench.dataVolumes, aDisk({}, GOING))
    bench.put(bench.claims, aClaim(GOING))
    expect(look()).toMatchObject({ conflict: undefined, leaving: undefined })
  })

  it('in another namespace are nobody’s concern', () => {
    const { bench, look } = build()
    bench.put(bench.secrets, aSecret(undefined, { namespace: 'other', ...theirs('vm-cloudinit') }))
    expect(look().conflict).toBeUndefined()
  })
})

describe('the claim of the root disk', () => {
  const owned = (uid: string) => (aClaim().metadata.ownerReferences ?? []).map((owner) => ({ ...owner, uid }))

  it.each<[string, Partial<ObjectMeta>, boolean]>([
    ['of our DataVolume', {}, true],
    ['of our DataVolume, whose label somebody took off', { labels: {} }, true],
    ['of our DataVolume, whose label somebody changed', { labels: { [LABELS.vmUid]: 'nobody' } }, true],
    ['with our label, which nothing owns', { ownerReferences: [] }, true],
    ['with our label, of a DataVolume that was', { ownerReferences: owned('earlier') }, true],
    ['of a stranger', { labels: {}, ownerReferences: [] }, false],
    ['of a DataVolume that was, and not of ours', { labels: {}, ownerReferences: owned('earlier') }, false],
  ])('is one %s', (_what, more, isOurs) => {
    const { bench, look } = build()
    bench.put(bench.dataVolumes, aDisk())
    const claim = bench.put(bench.claims, aClaim(more))
    const foreignClaim = isOurs ? undefined : 'PersistentVolumeClaim vm-root'
    expect(look()).toMatchObject({ claim: isOurs ? claim : undefined, conflict: foreignClaim, foreignClaim })
  })

  it.each<[string, Partial<ObjectMeta>, boolean]>([
    ['with our label', {}, true],
    ['of nobody', { labels: {} }, false],
  ])('may outlive its DataVolume: one %s', (_what, more, isOurs) => {
    const { bench, look } = build()
    const claim = bench.put(bench.claims, aClaim(more))
    expect(look().claim).toEqual(isOurs ? claim : undefined)
  })

  it('of a machine that was is CDI’s to wait for, where our DataVolume is there already', () => {
    const { bench, look } = build()
    bench.put(bench.dataVolumes, aDisk(DISK.new))
    bench.put(bench.claims, aClaim(leaving('vm-root')))
    const foreignClaim = 'PersistentVolumeClaim vm-root'
    expect(look()).toMatchObject({ claim: undefined, conflict: undefined, leaving: undefined, foreignClaim })
  })
})

describe('the instance', () => {
  it.each<[string, Partial<ObjectMeta>, boolean]>([
    ['of our machine', {}, true],
    ['of a machine that was', { ownerReferences: [] }, false],
  ])('is one %s', (_what, more, isOurs) => {
    const { bench, caches, look } = build()
    bench.put(caches.kubevirt, aMachine())
    const instance = bench.put(caches.instances, anInstance({}, more))
    expect(look().instance).toEqual(isOurs ? instance : undefined)
  })

  it('of a machine that is not ours is none', () => {
    const { bench, caches, look } = build()
    bench.put(caches.kubevirt, aMachine(undefined, theirs('vm')))
    bench.put(caches.instances, anInstance())
    expect(look().instance).toBeUndefined()
  })
})

it('a spec is read once, as long as it is the same object', () => {
  const { spec } = aVM()
  expect(parsedMachineSpec({ spec })).toBe(parsedMachineSpec({ spec }))
  expect(parsedMachineSpec({ spec: { ...SPEC } })).not.toBe(parsedMachineSpec({ spec }))
})

describe('disks beside the root disk', () => {
  const DATA = diskClaimName('vm', 'data')
  const vm = aVM(
    {},
    {
      spec: {
        ...SPEC,
        disks: [
          { name: 'data', size: '8Gi' },
          { name: 'b', volume: 'course' },
        ],
      },
    },
  )
  const aFurtherClaim = (name: string, metadata: Partial<ObjectMeta> = {}) => ({
    ...aClaim(),
    metadata: childMeta(name, metadata),
  })

  it('are found by name and owner, and one that the spec does not name any more by its owner', () => {
    const { bench, look } = build()
    const claim = bench.put(bench.claims, aFurtherClaim(DATA))
    const course = bench.put(bench.claims, aFurtherClaim('course', { ownerReferences: [], labels: {} }))
    const former = bench.put(bench.claims, aFurtherClaim(diskClaimName('vm', 'former')))
    const { disks, diskClaims, conflict } = look(vm)
    expect(disks.map((one) => [one.claimName, one.claim])).toEqual([
      [DATA, claim],
      ['course', course],
    ])
    expect(diskClaims).toEqual([claim, former])
    expect(conflict).toBeUndefined()
    expect(bench.caches.machines.find(BY_CHILD, 'team/course')).toEqual([])
    bench.put(bench.caches.machines, vm)
    for (const key of [`team/${DATA}`, 'team/course']) expect(bench.caches.machines.find(BY_CHILD, key)).toHaveLength(1)
  })

  it('are not what somebody else has tied to the machine: its name is none that the operator gives', () => {
    const { bench, look } = build()
    for (const name of ['theirs', 'vm-theirs', 'other-data-0123abcd']) {
      bench.put(bench.claims, aFurtherClaim(name))
      bench.put(bench.dataVolumes, aDisk({ phase: 'Pending' }, childMeta(name)))
    }
    expect(look(vm)).toMatchObject({ diskClaims: [], diskClones: [], strayClones: [] })
  })

  it.each(['vm', 'a-b-c', 'dotted.name', 'x'.repeat(63), `${'long.'.repeat(50)}name`])(
    'have names by which they are known: those of %s',
    (machine) => {
      for (const disk of ['data', 'a', 'a-b', 'd'.repeat(20)])
        for (const image of [undefined, 'tools', 'i'.repeat(253)])
          expect(isDiskClaimName(machine, diskClaimName(machine, disk, image))).toBe(true)
    },
  )

  it.each<[string, Partial<ObjectMeta>, object]>([
    ['is in the way', theirs(DATA), { conflict: `PersistentVolumeClaim ${DATA}` }],
    ['is waited for while it goes', leaving(DATA), { leaving: `PersistentVolumeClaim ${DATA}` }],
    ['that was ours is left to people', LOST, { orphan: `PersistentVolumeClaim ${DATA}` }],
  ])('are not those of somebody else: a claim with the name of one %s', (_what, metadata, told) => {
    const { bench, look } = build()
    bench.put(bench.claims, aFurtherClaim(DATA, metadata))
    const { disks, diskClaims, ...world } = look(vm)
    expect(disks[0]?.claim).toBeUndefined()
    expect(diskClaims).toEqual([])
    expect(world).toMatchObject(told)
  })
})
