import { diskClaimName, FINALIZERS, type VirtualMachineStatus } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { toTime } from '../../../operator/base/time.ts'
import { planMachine } from '../../../operator/controllers/virtual-machine/decide/plan.ts'
import { type KubeVirtView, viewKubeVirt } from '../../../operator/controllers/virtual-machine/kubevirt-views.ts'
import type { ClaimFacts, MachineWorld } from '../../../operator/controllers/virtual-machine/world.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { Laws } from '../runtime/laws.ts'
import { HOUR, START } from '../runtime/times.ts'
import { aClaim, aDisk, aStorageClass, DISK } from './machine-disks.ts'
import {
  ARTIFACT,
  aMachine,
  anImage,
  anInstance,
  aSecret,
  childMeta,
  KUBEVIRT,
  type KubeVirtStatus,
  PASSWORD,
  PUBLISHED,
  QUEUED,
  REFERRING,
  TEMPLATE,
} from './machine-objects.ts'
import { aMachineWorld, type MachineWorldOverrides, NO_PASSWORD } from './machine-world.ts'

const time = fc.integer({ min: -2 * HOUR, max: 2 * HOUR }).map((offset) => toTime(START + offset))

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

/** Metadata of an object that is sometimes being deleted. */
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

/** A disk beside the root disk, whose claim is there, or is not, and that KubeVirt's machine has, or has not. */
const disk = fc
  .record({
    source: fc.constantFrom<{ readonly size: string } | { readonly volume: string }>(
      { size: '8Gi' },
      { volume: 'course' },
    ),
    claim: fc.constantFrom(undefined, 'Bound', 'Bound', 'Lost'),
    meta: going,
    isRestored: rarely,
    isGiven: fc.boolean(),
    isKnown: fc.boolean(),
  })
  .map(({ source, claim: phase, meta, isRestored, isGiven, isKnown }) => {
    const one = { name: 'data', ...source }
    const ownClaim = 'volume' in source ? source.volume : diskClaimName('vm', one.name)
    const claimName = isRestored ? 'restore-1-data' : ownClaim
    const metadata = childMeta(claimName, meta)
    const found: ClaimFacts | undefined =
      phase === undefined ? undefined : { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, phase }
    const isOurs = found !== undefined && !isRestored && 'size' in source
    return {
      spec: { disks: [one] },
      disks: [{ spec: one, claimName, ownClaim, claim: found, given: isGiven ? { claimName, ownClaim } : undefined }],
      diskClaims: isOurs ? [found] : [],
      status: { disks: [{ ...one, claim: claimName, ...(isKnown && { claimUID: metadata.uid }) }] },
    }
  })

const world = fc
  .record({
    meta: going,
    finalizers: fc.constantFrom([], [FINALIZERS.virtualMachine]),
    status,
    spec,
    image: maybe(image),
    imageNamespace: fc.constantFrom('there', 'there', 'missing', 'terminating'),
    clone: maybe(clone),
    hasCloneSource: fc.boolean(),
    claim: maybe(going),
    disk: maybe(disk),
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
    const overrides: MachineWorldOverrides = {
      metadata: { finalizers: one.finalizers, ...one.meta },
      status: { ...one.status, ...one.disk?.status } as MachineWorldOverrides['status'],
      spec: { ...one.spec, ...one.disk?.spec },
      ...(one.disk && { disks: one.disk.disks, diskClaims: one.disk.diskClaims }),
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
    const base = aMachineWorld(overrides)
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

/** KubeVirt's machine, as desired or different. */
function machineOf(base: MachineWorld, how: { shown: KubeVirtStatus; meta: object; isWanted: boolean }): KubeVirtView {
  const other = aMachine(how.shown, how.meta)
  const { vm, spec, secret, cloudInit, clone: disk } = base
  if (!(how.isWanted && spec.ok)) return other
  // As a plan would make it if there were nothing else to do.
  const plain = aMachineWorld({ secret, cloudInit, clone: aDisk({}, { uid: disk?.metadata.uid }), claim: aClaim() })
  const alive = { ...vm, metadata: { ...vm.metadata, deletionTimestamp: undefined } }
  const deployed = { ...spec, spec: { ...spec.spec, ignoreOnDeploy: false } }
  const { apply } = planMachine({ ...plain, vm: alive, spec: deployed }, START)
  const wanted = apply.find(({ kind }) => kind === 'VirtualMachine')
  if (wanted === undefined) return other
  const metadata = { ...other.metadata, ...wanted.metadata, uid: other.metadata.uid }
  return viewKubeVirt({ ...wanted, metadata, status: how.shown } as KubeObject)
}

/** The same world, but the disk made no progress for an hour, the time of the machine is over, nothing runs, and nothing else blocks it. */
export function hanging(one: MachineWorld): MachineWorld {
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

const laws = new Laws(world)

/** Checks `holds` in many random worlds. */
export function always(holds: (world: MachineWorld) => void, numRuns = 700): void {
  laws.check(holds, numRuns)
}
