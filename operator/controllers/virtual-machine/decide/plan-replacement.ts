import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  ABOUT_LOSSES,
  formatDuration,
  ROOT_DISK,
  rootDiskGeneration,
  rootDiskName,
  uuidFrom,
  type VirtualMachineStatus,
  virtualMachine,
  vmChildNames,
} from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { fromTime, toTime } from '../../../base/time.ts'
import { CLONE_SOURCES } from '../../../cluster/clone-sources.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  RESOURCE_QUOTA,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../kube/resource-types.ts'
import { referTo, removalOf, type Touch, unchanged } from '../../../runtime/plan.ts'
import type { Precondition } from '../../../runtime/preconditions.ts'
import { SERVER_TIME_REQUEUE, sooner } from '../../../runtime/requeue.ts'
import { steadyOf } from '../../../runtime/summary.ts'
import { IS_ON, type KubeVirtView } from '../kubevirt-views.ts'
import type { CloneFacts, MachineWorld, NextDisk, RootDisk } from '../world.ts'
import { isTrusted, withAbsence } from './absence.ts'
import { CLONE_REQUEUE } from './deadline.ts'
import { answeredRequests, isRebuildAsked, isResetAsked } from './disk-requests.ts'
import { nodeOf, summaryOfDisk, waitsForConsumer } from './judge.ts'
import { type MachineDraft, NOT_BOOTED, type Step, type Work, waiting } from './machine-plan.ts'
import { changedSince, cloneRecord, wantedClone, wantsOf } from './plan-children.ts'
import type { ImageState } from './plan-image.ts'
import { isCut } from './plan-shared-lists.ts'
import { isGivenUp, isToBeDeletedFirst, isUnmade, isWordGiven, lackingQuota, whyNoRoom } from './second-disk.ts'
import type { MachineSummary, Remark } from './status.ts'
import { diskAge } from './up-to-date.ts'

type Replacement = NonNullable<VirtualMachineStatus['replacement']>
type OldDisk = NonNullable<VirtualMachineStatus['oldDisk']>

const ASKED_BY = {
  Reset: ANNOTATIONS.resetRequestedAt,
  Rebuild: ANNOTATIONS.rebuildRequestedAt,
} as const satisfies Readonly<Record<Replacement['asked'], string>>

/** States of KubeVirt's machine between off and on. */
const IS_CHANGING: ReadonlySet<string> = new Set(['Starting', 'Stopping', 'Terminating'])

/**
 * Plans a machine that has its root disk, and the replacement of that disk if somebody asks for it:
 * ```
 * asked ─▶ recorded ─▶ new disk is cloned, the guest runs on ─▶ guest is stopped ─▶ KubeVirt's machine gets the new disk ─▶ recorded: old disk ─▶ deleted
 * ```
 * Each arrow is one write. What comes next is seen from the status and the objects alone. Nothing of the old disk is touched before the new one is complete, or
 * waits only for its first guest; exactly one of them is in KubeVirt's machine.
 * @param run plans the machine with the root disk that it has
 * @param blocksAnew what would keep KubeVirt's machine from being made once more; undefined if nothing would
 */
export function withReplacement(
  draft: MachineDraft,
  image: ImageState,
  run: () => Step,
  blocksAnew: () => MachineSummary | undefined,
): Step {
  const { world } = draft
  const { replacement } = world.vm.status
  if (replacement === undefined) return withRequest(draft, withOldDisk(draft, run()))
  const next = world.next ?? NOT_THERE(replacement)
  // Nobody has worked on the new disk yet: what is asked until then is answered by it.
  return withAnswers(world, unswapped(draft, image, replacement, next, { run, blocksAnew }))
}

function withAnswers(world: MachineWorld, step: Step): Step {
  return { ...step, status: { ...answeredRequests(world), ...step.status } }
}

function unswapped(
  draft: MachineDraft,
  image: ImageState,
  replacement: Replacement,
  next: NextDisk,
  { run, blocksAnew }: { readonly run: () => Step; readonly blocksAnew: () => MachineSummary | undefined },
): Step {
  const { world } = draft
  const moot = whyMoot(world, replacement)
  if (moot !== undefined) return cancelled(world, replacement, next, { why: moot, step: withOldDisk(draft, run()) })
  // KubeVirt's machine is made anew, and what that may not have keeps the disk.
  const blocked = isWordGiven(world) ? blocksAnew() : undefined
  const first = blocked === undefined || isGivenUp(world) ? deletedFirst(draft, image, replacement, next) : undefined
  if (first !== undefined) return first
  // The word is taken back, or there is room: the disk stays, and its loss would be one.
  const { givenUp, ...kept } = replacement
  if (givenUp !== undefined && world.claim !== undefined && !isGivenUp(world)) {
    const step = withOldDisk(draft, run())
    return { ...step, status: { ...step.status, replacement: kept } }
  }
  if (!isReady(draft, replacement, next))
    return withNextDisk(draft, image, replacement, next, withOldDisk(draft, run()), blocked)
  const why = whyNotSwapped(world)
  if (why === undefined) return switchedOver(draft, replacement, next)
  return withRemark(withOldDisk(draft, run()), remarkOn(world, replacement, why))
}

/** Returns why the present disk is to stay after all; undefined if it is to be replaced. */
function whyMoot(world: MachineWorld, { asked, claim, claimUID }: Replacement): string | undefined {
  const present = presentClaim(world)
  const isOther = claim !== undefined && present.claim !== undefined && present.claim !== claim
  const isAnew = claimUID !== undefined && present.claimUID !== undefined && present.claimUID !== claimUID
  if (isOther || isAnew) return `the machine has another root disk meanwhile, PersistentVolumeClaim ${present.claim}`
  return asked === 'Rebuild' && diskAge(world)?.is === 'current' ? 'the root disk is up to date again' : undefined
}

/** Returns the claim of the root disk that KubeVirt's machine has. */
function presentClaim({ claim, clone, restoredClaim, isDiskElsewhere, rootName }: MachineWorld) {
  const name = (claim ?? clone)?.metadata.name ?? (isDiskElsewhere ? restoredClaim : rootName)
  return { claim: name, claimUID: claim?.metadata.uid }
}

/** The new disk goes first: until it is gone, the status says what it was for. */
function cancelled(
  world: MachineWorld,
  replacement: Replacement,
  { clone, claim }: NextDisk,
  { why, step }: { readonly why: string; readonly step: Step },
): Step {
  const message = `the root disk is not replaced by DataVolume ${replacement.disk.name}: ${why}`
  const isLeft = clone !== undefined || (claim !== undefined && isTerminating(claim))
  if (!isLeft) {
    const event = { type: 'Normal', reason: 'ReplacementCancelled', message } as const
    return { ...step, status: { ...step.status, replacement: undefined }, events: [...(step.events ?? []), event] }
  }
  const removals = clone === undefined || isTerminating(clone) ? [] : removalOf(clone, ...notInMachine(world))
  const requeue = sooner(step.requeue, CLONE_REQUEUE)
  return withRemark(
    { ...step, remove: [...(step.remove ?? []), ...removals], requeue },
    {
      type: 'Replacing',
      reason: 'Replacing',
      message,
    },
  )
}

/**
 * Plans the record that KubeVirt's machine has the new disk. Nothing else comes before it: a restored disk is seen only as long as that machine names it, so that
 * the machine looks as if its disk were gone.
 */
export function recordOfSwap(draft: MachineDraft): Step | undefined {
  const { replacement } = draft.world.vm.status
  if (replacement === undefined) return undefined
  const next = draft.world.next ?? NOT_THERE(replacement)
  return isSwapped(draft.world, next) ? swapped(draft, replacement, next) : undefined
}

const NOT_THERE = ({ disk }: Replacement): NextDisk => ({
  name: disk.name,
  clone: undefined,
  claim: undefined,
  foreign: undefined,
  hasCloneSource: true,
})

function withRemark(step: Step, ...remarks: readonly Remark[]): Step {
  return { ...step, remarks: [...(step.remarks ?? []), ...remarks] }
}

function askedFor(world: MachineWorld): Replacement['asked'] | undefined {
  if (isResetAsked(world)) return 'Reset'
  return isRebuildDue(world) ? 'Rebuild' : undefined
}

/**
 * Reports whether somebody asks for a new disk in the place of one that is there and outdated. A value that was set while the status told of a loss is about
 * that. So is any that was there when the operator first looked for resets: older versions knew this annotation for losses alone.
 */
export function isRebuildDue(world: MachineWorld): boolean {
  const { phase, resetRequest, conditions = [] } = world.vm.status
  const isKnown =
    phase !== undefined && resetRequest !== undefined && !conditions.some(({ type }) => type === 'DiskLost')
  // Its workspace told of a loss when somebody asked.
  if (world.vm.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt]?.endsWith(ABOUT_LOSSES)) return false
  return isKnown && isRebuildAsked(world) && diskAge(world)?.is === 'outdated'
}

/** Records a request. It is carried out by the plans that find it in the status. */
function withRequest(draft: MachineDraft, step: Step): Step {
  const { world } = draft
  const asked = askedFor(world)
  if (asked === undefined) return step
  const why = whyNotBegun(world)
  const names = [world.rootName, ...world.otherRoots.map(({ name }) => name)]
  const { name } = world.vm.metadata
  const generation = Math.max(...names.map((one) => rootDiskGeneration(name, one) ?? 1))
  const disk = { name: rootDiskName(name, generation + 1), ...wantsOf(draft) }
  const replacement: Replacement = { asked, disk, ...withoutUndefined(presentClaim(world)) }
  if (why !== undefined) return withRemark(step, remarkOn(world, replacement, why))
  const status = { ...step.status, replacement, ...answeredRequests(world) }
  return withRemark({ ...step, status }, remarkOn(world, replacement))
}

/** A machine has at most two root disks at a time. */
function whyNotBegun({ vm, old, otherRoots, restoredClaim, machine }: MachineWorld): string | undefined {
  const { oldDisk } = vm.status
  const [other] = [...(old === undefined ? [] : [old]), ...otherRoots]
  if (other === undefined) return undefined
  if (other.name === restoredClaim || other.name === machine?.rootClaim)
    return `the machine runs from PersistentVolumeClaim ${other.name} since a restore of KubeVirt, beside a newer root disk: restore it once more, or make a machine of another name`
  const command = `to go on at once: ${deleteCommand(vm.metadata.namespace, other)}`
  if (other !== old)
    return `DataVolume ${other.name} is another root disk of the machine, which is not used; ${command}`
  const until = oldDisk?.expiresAt === undefined ? 'the present one is complete' : oldDisk.expiresAt
  return `the disk that was replaced last, PersistentVolumeClaim ${other.name}, is kept until ${until}; ${command}`
}

/** A disk of a DataVolume goes with that. */
function deleteCommand(namespace: string | undefined, { name, clone }: RootDisk): string {
  return `kubectl -n ${namespace} delete ${clone === undefined ? 'pvc' : 'dv'} ${name}`
}

/** Adds the new disk beside the present one. */
function withNextDisk(
  draft: MachineDraft,
  image: ImageState,
  replacement: Replacement,
  next: NextDisk,
  step: Step,
  blocked: MachineSummary | undefined,
): Step {
  const { why, applyIf, apply = [], remove = [], status } = planNext(draft, image, replacement, next)
  const given = why !== undefined && isUnmade(draft.world) && isWordGiven(draft.world) ? `; ${WORD_IS_TAKEN}` : ''
  const remark = remarkOn(
    draft.world,
    replacement,
    why === undefined ? why : `${why}${given}${whyKept(draft.world, given, blocked)}`,
  )
  const work = {
    ...step,
    apply: [...(step.apply ?? []), ...apply],
    applyIf: [...(step.applyIf ?? []), ...(applyIf ?? [])],
    remove: [...(step.remove ?? []), ...remove],
    status: { ...step.status, ...status },
    requeue: sooner(step.requeue, CLONE_REQUEUE),
  }
  return withRemark(work, remark)
}

const WORD_IS_TAKEN =
  'the present disk is given up already: it is deleted as soon as the image can be cloned and nothing reads from the disk, if that makes the room which is lacking'

/** Only one that is given up is kept by it. */
function whyKept(world: MachineWorld, given: string, blocked: MachineSummary | undefined): string {
  const why = given === '' ? undefined : (blocked?.message ?? whyNotSwapped(world))
  return why === undefined ? '' : `; before that, ${why}`
}

/** What is to be done for the new disk, and what it waits for that people may have to do something about. */
type NextWork = Pick<Work, 'apply' | 'applyIf' | 'remove' | 'status'> & {
  readonly why?: string | undefined
}

function planNext(draft: MachineDraft, image: ImageState, replacement: Replacement, next: NextDisk): NextWork {
  const { world } = draft
  const { disk } = replacement
  const { clone, foreign, name } = next
  if (foreign !== undefined)
    return {
      why: `${foreign} has the name of the new disk, and belongs to somebody else: delete it if nobody needs it`,
    }
  if (clone === undefined) return planClone(draft, image, replacement)
  if (isTerminating(clone)) return { why: `DataVolume ${name} is being deleted: it is made again when it is gone` }
  const { uid } = clone.metadata
  const status = { replacement: { ...replacement, disk: { ...disk, ...(uid !== undefined && { uid }) } } }
  const again = isTrusted(world, 'CDI') ? whyMadeAgain(draft, disk, next) : undefined
  if (again !== undefined)
    return { status, why: again.why, remove: removalOf(clone, ...again.onlyIf, ...notInMachine(world)) }
  const { reason, message } = summaryOfDisk(clone, undefined, 'the new root disk')
  if (reason !== 'CloneFailed') return { status }
  // It was asked for before the quota showed what others had taken.
  const isRefused = [clone.bound, clone.running].some((one) => one.reason === 'ErrExceededQuota')
  const lack = isRefused && image.kind === 'ready' ? whyNoRoom(draft, image, name) : undefined
  return { status, why: lack ?? message }
}

function planClone(draft: MachineDraft, image: ImageState, replacement: Replacement): NextWork {
  const { disk } = replacement
  if (image.kind !== 'ready') return whileImageIsMissing(image.step)
  if (draft.world.next?.hasCloneSource === false) {
    const { kind, name } = image.artifact
    return { why: `${kind} ${name}, the artifact in the status of the image, does not exist` }
  }
  const lack = whyNoRoom(draft, image, disk.name)
  if (lack !== undefined) return { why: lack }
  const wanted = wantedClone(draft, image, disk.name)
  // Once it has been asked for, no word counts any more.
  const record = { ...cloneRecord(draft, image, disk.name), ...(disk.uid !== undefined && { uid: disk.uid }) }
  return { apply: [wanted], status: { replacement: { ...replacement, disk: record } } }
}

/**
 * Deletes the present disk before the new one is made, where somebody has said so for this disk and this request, and a quota has no room for both. Nothing is
 * stopped for it before the image can be cloned. From there on, the machine gets its disk as one that has lost it.
 */
function deletedFirst(
  draft: MachineDraft,
  image: ImageState,
  replacement: Replacement,
  next: NextDisk,
): Step | undefined {
  const { world } = draft
  const { machine, clone, claim, vm } = world
  if (claim === undefined || !isToBeDeletedFirst(draft, image, next) || whyNotSwapped(world) !== undefined)
    return undefined
  const remarks = [remarkOnDeletion(world, replacement, claim)]
  const which = `PersistentVolumeClaim ${claim.metadata.name}, the root disk,`
  const wait = (text: string): Step => {
    const message = `${which} is deleted before the new one is made, as somebody has asked for it: ${text}`
    // A removal that a precondition holds up is planned again.
    return { summary: withAbsence(world, waiting('Replacing', message)), remarks, requeue: CLONE_REQUEUE }
  }
  const same = unchanged(PERSISTENT_VOLUME_CLAIM, claim)
  const on = machine && switchedOff(world, machine, { wait, onlyIf: [same] })
  if (on !== undefined) return on
  const step = wait('the new one is made when it is gone')
  const { uid } = claim.metadata
  // Its loss is then one that somebody wants, whatever crashes.
  if (replacement.givenUp !== uid) return { ...step, status: { replacement: { ...replacement, givenUp: uid } } }
  const { namespace = '' } = vm.metadata
  const message = `${which} is deleted with all that the guest has written to it: annotation ${ANNOTATIONS.deleteDiskFirst} asks for that, and a ResourceQuota has no room for a second one`
  const event = { type: 'Warning', reason: 'DiskDeletedFirst', message } as const
  const lacking = lackingQuota(draft, image, next)
  const source = { kind: PERSISTENT_VOLUME_CLAIM.kind, namespace, name: claim.metadata.name }
  const asked = [unchanged(virtualMachine, vm), ...(lacking === undefined ? [] : [unchanged(RESOURCE_QUOTA, lacking)])]
  const removals = removalOf(clone ?? claim, same, staysOff(world), ...notInMachine(world), ...asked, {
    uncloned: source,
    read: 'live',
  })
  return { ...step, remove: removals.map((one) => ({ ...one, event })) }
}

/** The image is made or corrected as for a machine without a disk. */
function whileImageIsMissing({ apply = [], onlyIf = [], summary }: Step): NextWork {
  return { why: steadyOf(summary), applyIf: apply.map((wanted) => ({ wanted, onlyIf })) }
}

/** Only CDI has written to it. */
function whyMadeAgain(
  draft: MachineDraft,
  made: Replacement['disk'],
  { clone, hasCloneSource, name }: NextDisk,
): { readonly why: string; readonly onlyIf: readonly Precondition[] } | undefined {
  const changed = changedSince(made, wantsOf(draft))
  if (changed.length > 0)
    return { why: `${changed.join(' and ')} changed: DataVolume ${name} is made again`, onlyIf: [] }
  const isOver = clone === undefined || clone.phase === 'Succeeded' || clone.phase === 'Failed'
  if (hasCloneSource || isOver || clone.cloneOf === undefined) return undefined
  const { kind, namespace, name: source } = clone.cloneOf
  const why = `what DataVolume ${name} was being cloned from is gone: it is cloned again from the current artifact`
  return { why, onlyIf: [{ absent: [{ type: CLONE_SOURCES[kind], namespace, name: source }], whose: "anybody's" }] }
}

/** The precondition of what must not happen once KubeVirt's machine is another one than was seen: it names another disk, is on, or is being restored. */
function notInMachine({ machine }: MachineWorld): Precondition[] {
  return machine === undefined ? [] : [unchanged(KUBEVIRT_VIRTUAL_MACHINE, machine)]
}

/** Reports whether a disk is complete, or waits only for the first guest that starts from it. */
function isComplete(clone: CloneFacts): boolean {
  return clone.phase === 'Succeeded' || waitsForConsumer(clone)
}

function isReady(draft: MachineDraft, { disk }: Replacement, next: NextDisk): next is ReadyDisk {
  const { clone, claim, foreign } = next
  if (clone === undefined || claim === undefined || foreign !== undefined) return false
  const isThere = ![clone, claim].some(isTerminating) && claim.phase !== 'Lost' && isComplete(clone)
  return isThere && changedSince(disk, wantsOf(draft)).length === 0
}

type ReadyDisk = NextDisk & { readonly clone: CloneFacts; readonly claim: KubeObject }

function isSwapped({ machine }: MachineWorld, { name }: NextDisk): boolean {
  return machine !== undefined && machine.rootDataVolume === name
}

/** Returns why KubeVirt's machine cannot get another disk. The guest is not stopped for nothing. */
function whyNotSwapped({ machine }: MachineWorld): string | undefined {
  if (machine === undefined || !isCut(machine)) return undefined
  return `VirtualMachine ${machine.metadata.name} of KubeVirt is so large that the operator cannot change it: remove what others have added to it`
}

/** Stops the guest, and gives KubeVirt's machine the new disk when it is off. */
function switchedOver(draft: MachineDraft, replacement: Replacement, next: ReadyDisk): Step {
  const { world } = draft
  const { machine } = world
  const remarks = [remarkOn(world, replacement)]
  const onlyIf = [unchanged(DATA_VOLUME, next.clone)]
  const wait = (text: string): Step => {
    const message = `the root disk is replaced by DataVolume ${next.name}: ${text}`
    return { summary: withAbsence(world, waiting('Replacing', message)), remarks }
  }
  if (machine === undefined) return { ...swapped(draft, replacement, next), onlyIf: [...onlyIf, staysOff(world)] }
  const on = switchedOff(world, machine, { wait, onlyIf })
  if (on !== undefined) return on
  const step = wait(`VirtualMachine ${machine.metadata.name} of KubeVirt gets it`)
  const touch = [touched(machine, startingFrom(world, machine, next))]
  return { ...step, touch, onlyIf: [...onlyIf, staysOff(world)] }
}

/** The precondition of what must not happen once a guest is there, or a machine of KubeVirt where there was none. */
function staysOff({ vm, machine }: MachineWorld): Precondition {
  const { namespace = '' } = vm.metadata
  const { machine: name } = vmChildNames(vm.metadata.name)
  const types = [...(machine === undefined ? [KUBEVIRT_VIRTUAL_MACHINE] : []), VIRTUAL_MACHINE_INSTANCE]
  return { absent: types.map((type) => ({ type, namespace, name })), whose: "anybody's" }
}

/** Stops the guest. Returns undefined once it is off. */
function switchedOff(
  world: MachineWorld,
  machine: KubeVirtView,
  { wait, onlyIf }: { readonly wait: (text: string) => Step; readonly onlyIf: readonly Precondition[] },
): Step | undefined {
  const { name } = machine.metadata
  if (isTerminating(machine)) return wait(`VirtualMachine ${name} of KubeVirt is being deleted`)
  if (machine.runStrategy !== 'Halted')
    return { ...wait('the guest is stopped'), touch: [touched(machine, { runStrategy: 'Halted' })], onlyIf }
  const { instance } = world
  const isBusy = IS_ON.has(machine.printableStatus) || IS_CHANGING.has(machine.printableStatus)
  if (instance === undefined && !isBusy && !machine.isStartAsked && isTrusted(world, 'KubeVirt')) return undefined
  const lasts = `if this lasts, see whether that node is lost: VirtualMachineInstance ${name} ends only when its pod does`
  return wait(`the guest is being stopped${nodeOf(instance)}; ${lasts}`)
}

/** Only in the version that was looked at: a guest that somebody starts meanwhile, or a restore that begins, is seen first. */
function touched(machine: KubeVirtView, spec: object): Touch {
  const { resourceVersion } = machine.metadata
  return { ...referTo(machine), ...(resourceVersion !== undefined && { resourceVersion }), annotations: {}, spec }
}

interface Volume {
  readonly name: string
}

/** The machine stays off in the same write, and is another machine for the guest: cloud-init sets it up from the beginning. */
function startingFrom({ vm }: MachineWorld, { spec }: KubeVirtView, next: ReadyDisk): object {
  const { template } = (spec ?? {}) as {
    readonly template?: { readonly spec?: { readonly volumes?: readonly Volume[] } }
  }
  const root = { name: ROOT_DISK, dataVolume: { name: next.name } }
  const volumes = (template?.spec?.volumes ?? []).map((one) => (one.name === ROOT_DISK ? root : one))
  const firmware = { uuid: uuidFrom([vm.metadata.uid ?? '', next.claim.metadata.uid]) }
  return { runStrategy: 'Halted', template: { spec: { domain: { firmware }, volumes } } }
}

/** Records that the machine has the new disk. The old one is known from here by its uid. */
function swapped({ world }: MachineDraft, replacement: Replacement, next: NextDisk): Step {
  const expiresAt = next.clone?.phase === 'Succeeded' ? endOfGrace(world) : undefined
  const replaced = replacedDisk(world, replacement)
  const oldDisk = replaced === undefined ? undefined : withoutUndefined({ ...replaced, expiresAt })
  const message = `the machine has a new root disk, DataVolume ${next.name}, and starts from it as spec.runStrategy says`
  return {
    summary: waiting('Replacing', message),
    status: {
      ...NOT_BOOTED,
      clone: replacement.disk,
      restoredClaim: undefined,
      replacement: undefined,
      oldDisk,
      kicks: undefined,
    },
  }
}

/**
 * Returns the disk that the machine had. A restored one is known from the request alone: KubeVirt's machine does not name it any more, and the disk from before
 * the restore looks like the present one.
 */
function replacedDisk({ rootName, clone, claim }: MachineWorld, { claim: had, claimUID }: Replacement) {
  if (had !== undefined && had !== rootName) return { claim: had, claimUID } as OldDisk
  const name = (claim ?? clone)?.metadata.name
  if (name === undefined) return undefined
  return { claim: name, claimUID: claim?.metadata.uid, dataVolumeUID: clone?.metadata.uid } as OldDisk
}

/** Returns until when a disk is kept that is replaced now; undefined while the time of the API server is not known: another leader has another clock. */
function endOfGrace({ serverNow, policy }: MachineWorld): string | undefined {
  return serverNow === undefined ? undefined : toTime(serverNow + policy.resetGraceMs)
}

/** Deletes the disk that was replaced when its time is over. */
function withOldDisk({ world }: MachineDraft, step: Step): Step {
  const { old, vm, serverNow } = world
  const { oldDisk } = vm.status
  if (oldDisk === undefined) return step
  if (old === undefined || !isKept(world, old, oldDisk))
    return { ...step, status: { ...step.status, oldDisk: undefined } }
  // Until then, somebody may need it: nobody knows whether the new one gets complete.
  if (!hasPresent(world)) return step
  const expiresAt = oldDisk.expiresAt ?? endOfGrace(world)
  const endMs = fromTime(expiresAt)
  if (serverNow === undefined || endMs === undefined)
    return { ...step, requeue: sooner(step.requeue, SERVER_TIME_REQUEUE) }
  const status = { ...step.status, oldDisk: { ...oldDisk, expiresAt } }
  const left = endMs - serverNow
  // Somebody saves what is on it.
  if (left <= 0 && old.isBeingCloned) return { ...step, status, requeue: sooner(step.requeue, CLONE_REQUEUE) }
  // It is deleted only after the status has said when.
  const isOver = left <= 0 && oldDisk.expiresAt !== undefined
  if (!isOver) {
    const requeue = sooner(step.requeue, { afterMs: Math.max(left, 0), because: 'the old root disk is deleted then' })
    return { ...step, status, requeue }
  }
  const onlyIf = [...notInMachine(world), ...(old.claim ? [unchanged(PERSISTENT_VOLUME_CLAIM, old.claim)] : [])]
  const message = `PersistentVolumeClaim ${old.name}, the root disk that was replaced, is deleted with what the guest had written to it`
  const removals = removalOf(old.clone ?? old.claim, ...onlyIf)
  const event = { type: 'Normal', reason: 'OldDiskDeleted', message } as const
  return { ...step, status, remove: [...(step.remove ?? []), ...removals.map((one) => ({ ...one, event }))] }
}

/** Reports whether it is still the disk that was replaced. KubeVirt may have put a restored one in its place, and people may have deleted its claim. */
function isKept(
  { machine, restoredClaim, rootName }: MachineWorld,
  { name, claim }: RootDisk,
  oldDisk: OldDisk,
): boolean {
  const used = [rootName, restoredClaim, machine?.rootDataVolume, machine?.rootClaim]
  return !used.includes(name) && (oldDisk.claimUID === undefined || claim !== undefined)
}

/** Reports whether the machine has its present disk for good, and KubeVirt's machine names it. */
function hasPresent({ clone, claim, machine, rootName, isDiskElsewhere }: MachineWorld): boolean {
  const isWhole = claim !== undefined && !isTerminating(claim) && (clone === undefined || clone.phase === 'Succeeded')
  return isWhole && (isDiskElsewhere || machine === undefined || machine.rootDataVolume === rootName)
}

/** @param why what it waits for that people may have to do something about */
function remarkOn(world: MachineWorld, { asked, disk }: Replacement, why?: string): Remark {
  const { policy } = world
  const { claim: old } = presentClaim(world)
  const when = policy.resetGraceMs === 0 ? 'at once' : `${formatDuration(policy.resetGraceMs)} later`
  const what = `annotation ${ASKED_BY[asked]} asks for a new root disk: when DataVolume ${disk.name}, a clone of VMDiskImage ${disk.image}, is complete, the guest is stopped, and starts from it`
  const loss = `PersistentVolumeClaim ${old} is deleted ${when} (policy key resetGrace), with all that the guest has written to it: save before what is needed`
  const message = `${what}; ${loss}${keptState(world)}${why === undefined ? '' : `; it waits, and nothing is stopped or deleted: ${why}`}`
  return { type: 'Replacing', reason: why === undefined ? 'Replacing' : 'ReplacementBlocked', message }
}

function remarkOnGone({ asked, disk }: Replacement): Remark {
  const message = `annotation ${ASKED_BY[asked]} asks for a new root disk, and annotation ${ANNOTATIONS.deleteDiskFirst} had the former one deleted: the new one is a clone of VMDiskImage ${disk.image}, as soon as that can be cloned`
  return { type: 'Replacing', reason: 'Replacing', message }
}

function remarkOnDeletion(world: MachineWorld, { asked, disk }: Replacement, claim: KubeObject): Remark {
  const { name } = claim.metadata
  const message = `annotation ${ASKED_BY[asked]} asks for a new root disk, and annotation ${ANNOTATIONS.deleteDiskFirst} to delete the present one before: PersistentVolumeClaim ${name} is deleted when the guest is off, with all that the guest has written to it, and is not kept for resetGrace; the new one is a clone of VMDiskImage ${disk.image}. VirtualMachine ${world.vm.metadata.name} of KubeVirt is made anew, without what others added to it, and without the state of a TPM or of UEFI`
  return { type: 'Replacing', reason: 'Replacing', message }
}

/** KubeVirt keeps the state of a TPM, and UEFI variables, in a claim of its own. Nobody but people knows whether the new guest needs it. */
function keptState({ machine }: MachineWorld): string {
  const { tpm, bootloader } = machine?.hardware ?? {}
  const { efi } = (bootloader ?? {}) as { readonly efi?: object }
  const isKept = [tpm, efi].some((one) => (one as { readonly persistent?: boolean } | undefined)?.persistent === true)
  if (machine === undefined || !isKept) return ''
  return `; what its TPM and its UEFI variables have stays, in the claim of KubeVirt whose name begins with persistent-state-for-${machine.metadata.name}: for new ones, delete that claim while the machine is off`
}

function remarkOnOld({ vm: { metadata }, old }: MachineWorld, { claim, expiresAt, dataVolumeUID }: OldDisk): Remark {
  const until = expiresAt ?? 'the new one is complete, and then as long as the policy key resetGrace says'
  const at = old ?? {
    name: claim,
    clone: dataVolumeUID === undefined ? undefined : ({} as CloneFacts),
    claim: undefined,
  }
  const message = `PersistentVolumeClaim ${claim}, the root disk that was replaced, is kept until ${until}: it is then deleted with what the guest had written to it; to keep that, clone it before (docs/virtual-machines.md); to delete it at once: ${deleteCommand(metadata.namespace, at)}`
  return { type: 'OldDiskKept', reason: 'OldDiskKept', message }
}

/**
 * Returns what to say about a replacement, whatever else there is to say about the machine.
 * @param status as it is to be written
 * @param said what the step says by itself
 */
export function remarksOnReplacement(
  world: MachineWorld,
  status: Pick<VirtualMachineStatus, 'replacement' | 'oldDisk'>,
  said: readonly Remark[] = [],
): Remark[] {
  const { replacement, oldDisk } = status
  const isSaid = said.some(({ type }) => type === 'Replacing')
  return [
    ...(replacement === undefined || isSaid
      ? []
      : [isGivenUp(world) ? remarkOnGone(replacement) : remarkOn(world, replacement)]),
    ...(oldDisk === undefined ? [] : [remarkOnOld(world, oldDisk)]),
  ]
}
