import { type VirtualMachineStatus, virtualMachine } from '@open-terrain/constructs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isChildOf } from '../../../cluster/ownership.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { toTime } from '../../../runtime/conditions.ts'
import { ownsEqual } from '../../../runtime/owned-fields.ts'
import { reasonOf } from '../../../runtime/standing.ts'
import { HOUR, START } from '../../../runtime/times.fixtures.ts'
import { aClaim, aDisk, aStorageClass, DISK, NO_DISK } from '../machine-disks.fixtures.ts'
import {
  ARTIFACT,
  aMachine,
  anImage,
  anInstance,
  aSecret,
  KUBEVIRT,
  type KubeVirtStatus,
  PASSWORD,
  PUBLISHED,
  QUEUED,
  REFERRING,
  TEMPLATE,
} from '../machine-objects.fixtures.ts'
import { aWorld, NO_PASSWORD, type WorldOverrides } from '../machine-world.fixtures.ts'
import { type KubeVirtView, viewKubeVirt } from '../views.ts'
import type { MachineWorld } from '../world.ts'
import { FINALIZER, hasDisk } from './machine-plan.ts'
import { planMachine } from './plan.ts'
import { storageClassOf } from './plan-children.ts'
import { isMachineStatusDue } from './status.ts'

const time = fc.integer({ min: -2 * HOUR, max: 2 * HOUR }).map((offset) => toTime(START + offset))
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
/** Metadata of an object that is being deleted, now and then. */
const going = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: time.map((deletionTimestamp) => ({ deletionTimestamp })) },
)
const DISK_UID = 'uid of vm-root'
const EARLIER = toTime(START - HOUR)
const rarely = fc.integer({ min: 0, max: 9 }).map((digit) => digit === 0)

const spec = fc.constantFrom<Readonly<Record<string, unknown>>>(
  {},
  {},
  {},
  { ignoreOnDeploy: true },
  { runStrategy: 'Halted' },
  { runStrategy: 'Manual' },
  { vmDiskImageMode: 'FailIfNotExist' },
  { vmDiskImageTemplate: undefined },
  { interfaces: undefined, users: undefined, name: undefined },
  { users: [{ name: 'demo user', plain_text_passwd: PASSWORD }] },
  { users: REFERRING },
  { resources: { cpu: '1500m', memory: '1.5Gi', diskSize: '8Gi' } },
  { resources: { cpu: '513', memory: '1' } },
  { users: [{ name: 'demo', plain_text_passwd: `${PASSWORD}\n` }] },
)
const image = fc
  .record({
    status: fc.constantFrom(
      PUBLISHED,
      PUBLISHED,
      PUBLISHED,
      {},
      QUEUED,
      { phase: 'Syncing', progress: '42.0%', artifact: ARTIFACT } as const,
      { phase: 'Failed', message: 'm'.repeat(4_096) } as const,
      { ...PUBLISHED, artifact: { ...ARTIFACT, kind: 'PersistentVolumeClaim' } } as const,
    ),
    meta: going,
    fields: fc.constantFrom(TEMPLATE, TEMPLATE, {}, null),
  })
  .map(({ status, meta, fields }) => anImage(status, meta, fields))
const clone = fc
  .record({
    state: fc.constantFrom(...Object.values(DISK)),
    meta: going,
    cloneType: fc.constantFrom('snapshot', 'copy'),
    bound: fc.constantFrom('', '', 'ErrExceededQuota'),
  })
  .map(({ state, meta, cloneType, bound }) =>
    aDisk(
      { ...state, bound: { reason: bound, message: '' } },
      { ...meta, annotations: { 'cdi.kubevirt.io/cloneType': cloneType } },
    ),
  )
const SHOWN: KubeVirtStatus[] = [
  ...Object.values(KUBEVIRT),
  ...['CrashLoopBackOff', 'ErrorUnschedulable', 'WaitingForVolumeBinding', 'Stopping'].map((printableStatus) => ({
    printableStatus,
  })),
  { printableStatus: 'Stopped', conditions: [{ type: 'Failure', status: 'True', message: 'refused' }] },
  { printableStatus: 'Running', conditions: [{ type: 'RestartRequired', status: 'True', message: 'x'.repeat(9_000) }] },
]
const machine = fc.record({ shown: fc.constantFrom(...SHOWN), meta: going, isWanted: fc.boolean() })
const instance = fc
  .record({
    phase: fc.constantFrom('Running', 'Running', 'Scheduling', 'Failed', ''),
    isReady: fc.boolean(),
    uid: fc.constantFrom('instance-1', 'instance-2'),
    meta: going,
  })
  .map(({ uid, meta, ...more }) => anInstance(more, { uid, ...meta }))
const status = fc.record(
  {
    phase: fc.constantFrom('Provisioning', 'Failed', 'Ready'),
    observedGeneration: fc.constantFrom(1, 1, 1, 2),
    provisioningSince: time,
    bootedAt: time,
    specHash: fc.constant('0123456789abcdef'),
    addresses: fc.constant(['10.0.0.1']),
    clone: fc.constantFrom({ name: 'vm-root', sourceRevision: 'old' }, { name: 'other' }),
    kicks: fc.record(
      {
        count: fc.nat(4),
        lastTime: fc.constantFrom(EARLIER, toTime(START)),
        instanceUID: fc.constantFrom('instance-1', 'instance-2'),
        dataVolumeUID: fc.constantFrom(DISK_UID, 'another'),
      },
      { requiredKeys: ['count'] },
    ),
  },
  { requiredKeys: [] },
)

const world = fc
  .record({
    meta: going,
    finalizers: fc.constantFrom([], [FINALIZER]),
    status,
    spec,
    image: maybe(image),
    imageNamespace: fc.constantFrom('there', 'there', 'missing', 'terminating'),
    clone: maybe(clone),
    hasCloneSource: fc.boolean(),
    claim: maybe(going),
    secret: fc.constantFrom('none', 'stale', 'right', 'right', 'going'),
    machine: maybe(machine),
    instance: maybe(instance),
    conflict: rarely,
    orphan: rarely,
    leaving: rarely,
    foreignClaim: rarely,
    storageClass: fc.constantFrom(undefined, aStorageClass(), aStorageClass(false)),
    namespaceTerminating: rarely,
    lacks: rarely,
    isPasswordMissing: rarely,
    isRefused: rarely,
    kickLimit: fc.nat(3),
  })
  .map((one): MachineWorld => {
    const overrides: WorldOverrides = {
      metadata: { finalizers: one.finalizers, ...one.meta },
      status: one.status as WorldOverrides['status'],
      spec: one.spec,
      image: one.image,
      imageNamespace: one.imageNamespace as MachineWorld['imageNamespace'],
      clone: one.clone,
      hasCloneSource: one.hasCloneSource,
      claim: one.claim && aClaim(one.claim),
      conflict: one.conflict ? 'Secret vm-cloudinit' : undefined,
      orphan: one.orphan ? 'Secret vm-cloudinit' : undefined,
      leaving: one.leaving ? 'DataVolume vm-root' : undefined,
      foreignClaim: one.foreignClaim && one.claim === undefined ? 'PersistentVolumeClaim vm-root' : undefined,
      storageClass: one.storageClass,
      namespaceTerminating: one.namespaceTerminating,
      hasKubeVirt: !one.lacks,
      refusal: one.isRefused ? 'r'.repeat(5_000) : undefined,
      policy: { kickLimit: one.kickLimit },
    }
    const base = aWorld(overrides)
    const secret = secretOf(base, one.secret)
    const found = one.machine && machineOf({ ...base, secret }, one.machine)
    return {
      ...base,
      secret,
      machine: found,
      instance: found && one.instance,
      ...(one.isPasswordMissing && { cloudInit: NO_PASSWORD }),
    }
  })

function secretOf({ cloudInit }: MachineWorld, how: string): KubeObject | undefined {
  if (how === 'none') return undefined
  if (how === 'going') return aSecret(cloudInit, { deletionTimestamp: toTime(START) })
  return aSecret(how === 'right' ? cloudInit : NO_PASSWORD)
}

/** KubeVirt's machine, as it is wanted or otherwise. */
function machineOf(base: MachineWorld, how: { shown: KubeVirtStatus; meta: object; isWanted: boolean }): KubeVirtView {
  const other = aMachine(how.shown, how.meta)
  const { vm, spec, secret, cloudInit, clone: disk } = base
  if (!(how.isWanted && spec.ok)) return other
  // As it would be made if there were nothing else to do.
  const plain = aWorld({ secret, cloudInit, clone: aDisk({}, { uid: disk?.metadata.uid }), claim: aClaim() })
  const alive = { ...vm, metadata: { ...vm.metadata, deletionTimestamp: undefined } }
  const deployed = { ...spec, spec: { ...spec.spec, ignoreOnDeploy: false } }
  const { apply } = planMachine({ ...plain, vm: alive, spec: deployed }, START)
  const wanted = apply.find(({ kind }) => kind === 'VirtualMachine')
  if (wanted === undefined) return other
  const metadata = { ...other.metadata, ...wanted.metadata, uid: other.metadata.uid }
  return viewKubeVirt({ ...wanted, metadata, status: how.shown } as KubeObject)
}

/** The same world, in which the disk is as it was an hour ago, the time of the machine is over, nothing runs, and nothing else stands in the way. */
function hanging(one: MachineWorld): MachineWorld {
  const stays = <T extends KubeObject>(object: T): T => ({
    ...object,
    metadata: { ...object.metadata, deletionTimestamp: undefined },
  })
  const { phase, progress } = one.clone ?? {}
  const clone = { name: 'vm-root', uid: DISK_UID, phase, progress, progressTime: EARLIER }
  const times = { observedGeneration: 1, provisioningSince: EARLIER, bootedAt: undefined }
  const status = { ...one.vm.status, ...times, clone } as VirtualMachineStatus
  const [image, disk] = [one.image && stays(one.image), one.clone && stays(one.clone)]
  const vm = { ...stays(one.vm), status }
  const named = { conflict: undefined, orphan: undefined, leaving: undefined }
  const free = { namespaceTerminating: false, hasKubeVirt: true, ...named }
  return { ...one, ...free, vm, image, clone: disk, machine: undefined, instance: undefined }
}

function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  for (const member of Object.values(value)) frozen(member)
  return value
}

/** Checks `holds` in many random worlds. */
function always(holds: (world: MachineWorld) => void, numRuns = 700): void {
  fc.assert(
    fc.property(world, (one) => {
      holds(frozen(one))
    }),
    { numRuns },
  )
}

const isDeleted = ({ vm }: MachineWorld) => vm.metadata.deletionTimestamp !== undefined
const kindsOf = (objects: readonly { readonly kind: string }[]): string[] => objects.map(({ kind }) => kind)
const hasRun = ({ vm, instance: run }: MachineWorld) => vm.status.bootedAt !== undefined || run?.phase === 'Running'

describe('in any world, however odd, a plan', { timeout: 60_000 }, () => {
  it('is a function of the world and the time, and leaves the world alone', () => {
    always((one) => expect(planMachine(one, START)).toEqual(planMachine(one, START)))
  })

  it('removes nothing but children of the machine that are there and not on their way out, and never the image', () => {
    always((one) => {
      const children = [one.machine, one.instance, one.clone, one.secret].filter((child) => child !== undefined)
      for (const { kind, name, uid } of planMachine(one, START).remove) {
        const child = children.find((each) => each.kind === kind && each.metadata.uid === uid)
        expect(child?.metadata).toMatchObject({ name, namespace: 'team' })
        expect(child?.metadata.deletionTimestamp).toBeUndefined()
        const owner = kind === 'VirtualMachineInstance' ? one.machine : one.vm
        expect(child && owner && isChildOf(child, owner)).toBe(true)
      }
    })
  })

  it('never removes a disk that has booted or is complete, nor its machine, unless the machine is deleted', () => {
    always((one) => {
      if (isDeleted(one)) return
      const kinds = kindsOf(planMachine(one, START).remove)
      if (hasRun(one) || one.clone?.phase === 'Succeeded') {
        expect(kinds).not.toContain('DataVolume')
        if (hasDisk(one)) expect(kinds).not.toContain('VirtualMachine')
      }
      expect(kinds).not.toContain('Secret')
    })
  })

  it('removes an instance only when it has run, is not ready, and the budget is not spent', () => {
    always((one) => {
      if (isDeleted(one)) return
      const { remove, status: next } = planMachine(one, START)
      if (!kindsOf(remove).includes('VirtualMachineInstance')) return
      expect(next.kicks?.instanceUID).toBe(one.instance?.metadata.uid)
      const isOwed = one.vm.status.kicks?.instanceUID === one.instance?.metadata.uid
      if (isOwed) return
      const { printableStatus, isReady } = one.machine ?? {}
      expect([one.instance?.phase, printableStatus, isReady]).toEqual(['Running', 'Running', false])
      expect(one.spec.ok && (one.spec.spec.runStrategy ?? 'Always')).toBe('Always')
      expect(next.kicks?.count).toBeLessThanOrEqual(one.policy.kickLimit)
    })
  })

  it('removes a disk that hangs only while CDI should get further, and another one can be made within the budget', () => {
    let isSeen = false
    always((any) => {
      const one = hanging(any)
      const { remove, status: next } = planMachine(one, START)
      const [was, is] = [one.vm.status.kicks?.count ?? 0, next.kicks?.count ?? 0]
      if (isDeleted(one) || is <= was || !kindsOf(remove).includes('DataVolume')) return
      isSeen = true
      expect(next.kicks).toMatchObject({ count: was + 1, dataVolumeUID: one.clone?.metadata.uid })
      expect(is).toBeLessThanOrEqual(one.policy.kickLimit)
      expect(['CloneScheduled', 'CloneInProgress']).toContain(one.clone?.phase)
      expect(one.clone?.bound.reason).toBe('')
      expect([hasRun(one), one.hasCloneSource]).toEqual([false, true])
      expect(one.image?.status.artifact).toBeDefined()
      expect(one.storageClass ?? storageClassOf(one.image)).toBe(one.storageClass)
    }, 2_000)
    expect(isSeen).toBe(true)
  })

  it('makes a disk only where there is none, nor a guest, of an image and an artifact that are there to stay', () => {
    let isSeen = false
    const check = (one: MachineWorld) => {
      if (!kindsOf(planMachine(one, START).apply).includes('DataVolume')) return
      isSeen = true
      expect([one.clone, one.claim, one.machine, one.instance]).toEqual([undefined, undefined, undefined, undefined])
      expect(one.image?.status.artifact).toBeDefined()
      expect(one.image?.metadata.deletionTimestamp).toBeUndefined()
      expect(one.hasCloneSource).toBe(true)
    }
    always((one) => {
      check(one)
      check({ ...one, clone: undefined, claim: undefined, machine: undefined, instance: undefined })
    })
    expect(isSeen).toBe(true)
  })

  it('leaves a guest alone that has the last copy of its disk', () => {
    let isSeen = false
    always((one) => {
      const isLost = [one.clone, one.claim].every((part) => part === undefined || part.metadata.deletionTimestamp)
      if (isDeleted(one) || !isLost || one.foreignClaim !== undefined) return
      if (one.instance?.phase !== 'Running' || one.vm.status.bootedAt === undefined) return
      isSeen = true
      expect(planMachine(one, START).remove).toEqual([])
    }, 4_000)
    expect(isSeen).toBe(true)
  })

  it('makes a machine only of a disk that has a claim, and a Secret that the guest can read', () => {
    always((one) => {
      if (!kindsOf(planMachine(one, START).apply).includes('VirtualMachine')) return
      expect(one.claim).toBeDefined()
      expect(one.secret).toBeDefined()
      expect(one.machine?.metadata.deletionTimestamp).toBeUndefined()
    })
  })

  it('writes nothing over what is as it should be', () => {
    always((one) => {
      for (const child of planMachine(one, START).apply) {
        const there = [one.image, one.secret, one.machine].find((object) => object?.kind === child.kind)
        // A Secret is known by the hash of its content.
        const wanted = child.kind === 'Secret' ? { ...there, metadata: child.metadata } : child
        expect(there !== undefined && ownsEqual(wanted as KubeObject, there)).toBe(false)
      }
    })
  })

  it('has nothing more to say when its status is written, and tells nobody twice', () => {
    always((one) => {
      const { status: next, remove } = planMachine(one, START)
      // A kick is followed by what comes of it.
      const isKick = (next.kicks?.count ?? 0) > (one.vm.status.kicks?.count ?? 0)
      if (kindsOf(remove).includes('VirtualMachineInstance') || isKick || isDeleted(one)) return
      const stored = JSON.parse(JSON.stringify(next)) as typeof next
      const again = planMachine({ ...one, vm: { ...one.vm, status: stored } }, START)
      expect(isMachineStatusDue(stored, again.status, undefined)).toBe(false)
      expect(again.events.filter(({ reason }) => reason !== 'ImageCreated')).toEqual([])
    })
  })

  it('makes nothing, and removes nothing, where it must not', () => {
    always((one) => {
      const isReadable = one.spec.ok
      const isBlocked = one.namespaceTerminating || !isReadable
      if (isDeleted(one) || !isBlocked) return
      const { apply, remove } = planMachine(one, START)
      expect([apply, remove]).toEqual([[], []])
    })
  })

  it('touches nothing but the image where there is a conflict, nor where nothing is to be deployed; but for a machine without a disk', () => {
    always((one) => {
      const isIgnored = one.spec.ok && one.spec.spec.ignoreOnDeploy === true
      const isNamed = [one.conflict, one.orphan, one.leaving].some((name) => name !== undefined)
      if (isDeleted(one) || !(isIgnored || isNamed)) return
      const { apply, remove } = planMachine(one, START)
      expect(kindsOf(apply).filter((kind) => kind !== 'VMDiskImage')).toEqual([])
      expect(kindsOf(remove).filter((kind) => isIgnored || hasDisk(one) || kind !== 'VirtualMachine')).toEqual([])
    })
  })

  it('leaves no machine of KubeVirt without a disk that could start by a claim of somebody else', () => {
    let isSeen = false
    always((one) => {
      const isPlanned = one.spec.ok && one.spec.spec.ignoreOnDeploy !== true && !one.namespaceTerminating
      const isGoing = one.machine?.metadata.deletionTimestamp !== undefined
      if (isDeleted(one) || !isPlanned || one.machine === undefined || isGoing || hasDisk(one)) return
      if (one.foreignClaim === undefined && hasRun(one)) return
      isSeen = true
      const { apply, remove, onlyIf } = planMachine(one, START)
      const ended = remove.find(({ kind }) => kind === 'VirtualMachine' || kind === 'VirtualMachineInstance')
      expect([kindsOf(apply), ended]).toEqual([[], expect.anything()])
      if (ended?.kind === 'VirtualMachine') expect(onlyIf).toEqual(NO_DISK)
    }, 4_000)
    expect(isSeen).toBe(true)
  })

  it('lets a machine go only when nothing of it is left, in the order machine, disk, Secret', () => {
    always((one) => {
      if (!isDeleted(one)) return
      const { finalizer, apply, remove } = planMachine(one, START)
      const left = [one.machine ?? one.instance, one.clone, one.secret].filter((child) => child !== undefined)
      expect([finalizer, apply]).toEqual([left.length === 0 ? 'release' : 'keep', []])
      const next = left.slice(0, 1).filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      expect(kindsOf(remove)).toEqual(kindsOf(next))
    })
  })

  it('never adds a finalizer to a machine that is being deleted, nor releases one that is not', () => {
    always((one) => {
      const { finalizer } = planMachine(one, START)
      expect(finalizer).not.toBe(isDeleted(one) ? 'add' : 'release')
    })
  })

  it('leaves the status as it is, or says for which generation it is, and the reason of its conditions', () => {
    always((one) => {
      const { status: next } = planMachine(one, START)
      if (next === one.vm.status) return
      expect(next.observedGeneration).toBe(one.vm.metadata.generation)
      expect(next.reason).toBe(reasonOf(next))
    })
  })

  it('has a status that the API server takes, which says one thing', () => {
    always((one) => {
      const { status: next, finalizer } = planMachine(one, START)
      if (finalizer === 'release') return
      expect(virtualMachine.status.safeParse(next).error).toBeUndefined()
      const holds = (type: string) => next.conditions?.find((condition) => condition.type === type)?.status
      const told = ['Ready', 'Reconciling', 'Stalled'].map(holds)
      expect(told).toEqual(
        ['Ready', 'Provisioning', 'Failed'].map((phase) => (phase === next.phase ? 'True' : 'False')),
      )
      expect(holds('Settled')).toBe(next.phase === 'Provisioning' ? 'False' : 'True')
      const types = (next.conditions ?? []).map(({ type }) => type)
      expect(new Set(types).size).toBe(types.length)
      expect(Object.values(next)).not.toContain(undefined)
    })
  })

  it('is Ready only when the machine is, or is not to be deployed, or off as wanted', () => {
    always((one) => {
      const { status: next } = planMachine(one, START)
      if (next.phase !== 'Ready' || isDeleted(one)) return
      const isIgnored = one.spec.ok && one.spec.spec.ignoreOnDeploy === true
      const isOff = one.spec.ok && one.spec.spec.runStrategy !== undefined && one.instance?.phase !== 'Running'
      expect(isIgnored || isOff || one.machine?.isReady).toBe(true)
    })
  })

  it('wakes in the future, and when something is to be expected', () => {
    always((one) => {
      const { wake } = planMachine(one, START)
      if (wake === undefined) return
      expect(wake.afterMs).toBeGreaterThan(0)
      expect(wake.because).not.toBe('')
    })
  })

  it('shows no password but in the data of the Secret', () => {
    let isSeen = false
    always((one) => {
      const { apply, ...plan } = planMachine(one, START)
      const shown = apply.map((child) => (child.kind === 'Secret' ? { ...child, stringData: undefined } : child))
      isSeen ||= JSON.stringify(apply).includes(PASSWORD)
      expect(JSON.stringify([plan, shown])).not.toContain(PASSWORD)
    })
    expect(isSeen).toBe(true)
  })
})
