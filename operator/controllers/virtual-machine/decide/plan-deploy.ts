import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  CORES_FROM_SPEC,
  cloudInitFingerprint,
  isHalted,
  namesFromSpec,
  shortHash,
  type VirtualMachineInterface,
  type VirtualMachineStatus,
  vmChildNames,
} from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { firstFew } from '../../../base/messages.ts'
import { toTime } from '../../../base/time.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { ownsEqual } from '../../../runtime/owned-fields.ts'
import { removalOf } from '../../../runtime/plan.ts'
import { sooner } from '../../../runtime/requeue.ts'
import { withMore } from '../../../runtime/summary.ts'
import { IS_ON, type KubeVirtView } from '../kubevirt-views.ts'
import type { MachineWorld } from '../world.ts'
import { withAbsence } from './absence.ts'
import { judged, withRetry } from './deadline.ts'
import { diskLoss, noDisk, planLoss } from './disk-loss.ts'
import { planDiskClones, withDiskClones } from './further-clones.ts'
import { planLostDisks, planNewDisks } from './further-disk-loss.ts'
import { diskRecords, missingDisks, sharedDisk, titleOfDisk, unfinishedDisk } from './further-disks.ts'
import { impossibleOverride } from './impossible-overrides.ts'
import { nodeOf, summaryOfDisk, summaryOfMachine, waitsForConsumer } from './judge.ts'
import { refusedOverride } from './machine-overrides.ts'
import {
  failed,
  hasBooted,
  hasDisk,
  type MachineDraft,
  NOT_BOOTED,
  ready,
  runStrategyOf,
  type Step,
  waiting,
} from './machine-plan.ts'
import { wantedClaims, wantedMachine, wantedSecret } from './plan-children.ts'
import { cloneStatus, planDisk, summaryOfClone } from './plan-disk.ts'
import type { ImageState } from './plan-image.ts'
import { remarksOnRun } from './plan-remarks.ts'
import { recordOfSwap, withReplacement } from './plan-replacement.ts'
import { planRestore, remarksOnRestore } from './plan-restore.ts'
import { withOthers } from './plan-shared-lists.ts'
import { leftClaim, type MachineSummary, type Remark } from './status.ts'
import { firstStartRecord } from './up-to-date.ts'

/** No watch event reports that access was granted, or that the API server can read a Secret again. */
const SECRET_REQUEUE = { afterMs: 60_000, because: 'the Secret may be readable by then' } as const

/** Plans disk, Secret and machine, once the image is ready or the machine is deployed already. */
export function planDeploy(draft: MachineDraft, image: ImageState): Step {
  const still = planRestore(draft)
  if (still !== undefined)
    return { ...still, summary: withAbsence(draft.world, still.summary), status: shownRun(draft.world) }
  const record = recordOfSwap(draft)
  if (record !== undefined) return { ...record, status: { ...shownRun(draft.world), ...record.status } }
  return planDisks(draft, image)
}

function planDisks(draft: MachineDraft, image: ImageState): Step {
  const { cloudInit } = draft.world
  const blocked = whatBlocks(draft)
  const loss = diskLoss(draft.world)
  // A machine that is to go on with the disk of before a restore keeps it: other disks wait.
  const isKept = isDiskless(draft.world) || loss?.left === 'other'
  const again = blocked === undefined && !isKept ? planNewDisks(draft) : undefined
  if (again !== undefined) return { ...again, status: { ...shownRun(draft.world), ...again.status } }
  const lost = loss && planLoss(draft, loss, blocked)
  if (lost !== undefined) return { ...lost, status: { ...shownRun(draft.world), ...firstStart(draft), ...lost.status } }
  const step: Step =
    planDiskless(draft, blocked) ??
    standstill(draft, blocked) ??
    withDiskClones(draft, planDisk(draft, image) ?? planDiskClones(draft) ?? planRootAndRun(draft, image))
  if (cloudInit.kind === 'rendered') return step
  const requeue = cloudInit.isRefused ? sooner(step.requeue, SECRET_REQUEUE) : step.requeue
  if (step.summary.reason === cloudInit.reason) return { ...step, requeue }
  // The guest keeps what cloud-init set up at its first start.
  return { ...step, requeue, summary: withMore(step.summary, `; ${cloudInit.message}`) }
}

function planRootAndRun(draft: MachineDraft, image: ImageState): Step {
  const anew = { ...draft, world: { ...draft.world, machine: undefined } }
  const step = withReplacement(
    draft,
    image,
    () => planRun(draft),
    () => whatBlocks(anew),
  )
  return { ...step, status: { ...shownRun(draft.world), ...step.status } }
}

/** Returns the plan of a machine that is left as it is. */
function standstill(draft: MachineDraft, blocked: MachineSummary | undefined): Step | undefined {
  const lost = planLostDisks(draft, blocked)
  const { world } = draft
  if (lost !== undefined) return { ...lost, status: { ...shownRun(world), ...(hasBooted(world) && firstStart(draft)) } }
  return blocked && { summary: blocked }
}

function isDiskless(world: MachineWorld): boolean {
  return world.machine !== undefined && !hasDisk(world)
}

/**
 * KubeVirt starts a machine from any claim that has the name of its disk. So KubeVirt's machine is removed if it has no disk: before a foreign
 * claim appears, or with the guest that was started from one. The disk is made when the machine is gone.
 */
function planDiskless(draft: MachineDraft, blocked: MachineSummary | undefined): Step | undefined {
  const { world } = draft
  const { machine, clone } = world
  if (machine === undefined || !isDiskless(world)) return undefined
  const again = waiting('Cloning', 'the root disk is gone, and is recreated')
  const stands = blocked ?? (clone === undefined ? again : summaryOfClone(draft, clone))
  const why = `VirtualMachine ${machine.metadata.name} of KubeVirt has no disk from the operator, and is removed: it would start from any claim of that name`
  const removed = withMore(stands, `; ${why}`)
  const remove = removalOf(machine)
  const onlyIf = [noDisk(world)]
  const step = { remove, ...(remove.length > 0 && { onlyIf }), status: { addresses: undefined } }
  return blocked === undefined ? judged(draft, removed, step) : { ...step, summary: removed }
}

function whatBlocks(draft: MachineDraft): MachineSummary | undefined {
  const { vm, conflict, orphan, leaving, hasDataVolumes, hasKubeVirt, cloudInit, secret } = draft.world
  if (conflict !== undefined) {
    const message = `${conflict} exists and belongs to somebody else: it is left alone; delete it if nobody needs it, or give the virtual machine another name`
    return failed('NameConflict', message)
  }
  // Unlike a foreign object, an orphan cannot be deleted without losing what it holds.
  if (orphan !== undefined) {
    const owner = `uid ${vm.metadata.uid}, controller: true`
    const message = `${orphan} was made for this virtual machine and has lost its ownerReference to it: it is left alone; put the ownerReference back (${owner}), or delete it with all that it holds, and it is recreated`
    return failed('NameConflict', message)
  }
  if (leaving !== undefined) {
    const message = `${leaving} does not belong to this virtual machine and is being deleted: the virtual machine waits for its name; if it is not deleted, check its finalizers`
    return waiting('NamesakeTerminating', message)
  }
  if (!hasDataVolumes) return waiting('CDIMissing', 'the cluster does not serve DataVolumes: install CDI')
  if (!hasKubeVirt) {
    const message = 'the cluster does not serve VirtualMachines of KubeVirt: install KubeVirt'
    return waiting('KubeVirtMissing', message)
  }
  const shared = sharedDisk(draft.world)
  if (shared !== undefined) {
    const message = `spec.disks: ${titleOfDisk(shared)}, is another disk of this virtual machine, too: name another volume`
    return failed('InvalidSpec', message)
  }
  const refused = refusedNetwork(draft)
  if (refused !== undefined) {
    const message = `interface ${refused.network} is to be attached to NetworkAttachmentDefinition ${refused.attach}, which the policy key attachableNetworks does not list: remove attach, or have the policy allow it`
    return failed('NetworkNotAllowed', message)
  }
  const override = refusedOverride(draft) ?? impossibleOverride(draft)
  if (override !== undefined) return failed('OverrideNotAllowed', `spec.overrides: ${override.path} ${override.why}`)
  const isKnown = cloudInit.kind === 'rendered' || secret !== undefined
  return isKnown ? undefined : waiting(cloudInit.reason, cloudInit.message)
}

/** Returns an interface whose network the policy does not list. What KubeVirt's machine is attached to already stays. */
function refusedNetwork({ world, spec }: MachineDraft): VirtualMachineInterface | undefined {
  const { template } = (world.machine?.spec ?? {}) as GuestNetworks
  const attached = (template?.spec?.networks ?? []).map(({ multus }) => multus?.networkName)
  const allowed = new Set([...world.policy.attachableNetworks, ...attached])
  return spec.interfaces?.find(({ attach }) => attach !== undefined && !allowed.has(attach))
}

/** The part of KubeVirt's machine that names networks. */
interface GuestNetworks {
  readonly template?: {
    readonly spec?: { readonly networks?: readonly { readonly multus?: { readonly networkName?: string } }[] }
  }
}

function planRun(draft: MachineDraft): Step {
  const { world } = draft
  const { machine, clone } = world
  // KubeVirt's machine names the Secret, and has a hash of its content that is salted with the uid of the Secret.
  if (world.secret === undefined) return judged(draft, summary(world), { apply: wantedSecret(world) })
  const missing = missingDisks(world)
  // KubeVirt would report misleading states. How long people need does not count.
  if (machine === undefined && missing !== undefined) return { summary: waiting('DiskMissing', missing) }
  const rendered = wantedMachine(draft)
  const { wanted, others, gone, isTooLarge } = withOthers(world, rendered, machine)
  const isGoing = isTerminating(machine)
  const apply = isGoing || isTooLarge || (machine !== undefined && ownsEqual(wanted, machine)) ? [] : [wanted]
  const fingerprint = rendered.metadata.annotations[ANNOTATIONS.cloudInit]
  const status: Partial<VirtualMachineStatus> = {
    ...(clone && cloneStatus(draft, clone)),
    ...shownRun(world),
    ...(hasBooted(world) ? { ...firstStart(draft, fingerprint), diskUID: world.claim?.metadata.uid } : NOT_BOOTED),
    ...diskRecords(world),
    // The name of a claim that is lost is kept, so that the message names it as long as it is lost.
    restoredClaim: world.isRestoredClaimLost ? world.vm.status.restoredClaim : world.restoredClaim,
  }
  const stands = summary(world)
  const remarks = [
    ...remarksOnRun(draft, { specHash: status.specHash, fingerprint, isTooLarge }),
    ...remarksOnRestore(world),
    ...remarksOnOthers(machine, others, isTooLarge),
  ]
  // Told with the change of the spec, and not again while the write is retried.
  const isNewSpec = world.vm.status.observedGeneration !== world.vm.metadata.generation
  const events = isGoing || !isNewSpec ? [] : gone.map(interfaceRemoved)
  const work = {
    apply: [...wantedSecret(world), ...(isGoing ? [] : wantedClaims(world)), ...apply],
    status,
    remarks,
    events,
  }
  if (missing !== undefined && stands.phase === 'Provisioning')
    return { ...work, summary: withMore(waiting('DiskMissing', missing), `; ${stands.message}`) }
  const step = judged(draft, stands, work)
  return stands.reason === 'StartFailed' ? withRetry(draft, step) : step
}

/** More are only counted. */
const OTHERS_SHOWN = 10

function remarksOnOthers(machine: KubeVirtView | undefined, others: readonly string[], isTooLarge: boolean): Remark[] {
  if (others.length === 0 && !isTooLarge) return []
  const but = isTooLarge ? '; it is so large that the operator cannot change it any more: remove some of that' : ''
  const message = `others have added to VirtualMachine ${machine?.metadata.name} of KubeVirt: ${firstFew(others.length === 0 ? ['fields of its template'] : others, OTHERS_SHOWN)}; that stays${but}`
  return [{ type: 'AddedByOthers', reason: 'AddedByOthers', message }]
}

function interfaceRemoved(network: string): EventNote {
  const message = `spec.interfaces does not name network ${network} any more: its interface is removed from the VirtualMachine of KubeVirt`
  return { type: 'Normal', reason: 'InterfaceRemoved', message }
}

function shownRun({ vm, machine, instance }: MachineWorld): Partial<VirtualMachineStatus> {
  const fromSpec = namesFromSpec(machine?.metadata.annotations?.[ANNOTATIONS.fieldsFromSpec])
  return {
    kubevirt: withoutUndefined({
      name: vmChildNames(vm.metadata.name).machine,
      uid: machine?.metadata.uid,
      printableStatus: machine?.printableStatus || undefined,
      nodeName: instance?.nodeName,
      // With its node, so that it costs no write of its own.
      instanceUID: instance?.nodeName === undefined ? undefined : instance.metadata.uid,
      cores: machine === undefined ? vm.status.kubevirt?.cores : fromSpec.has(CORES_FROM_SPEC) || undefined,
    }),
    addresses: instance === undefined || instance.addresses.length === 0 ? undefined : [...instance.addresses],
  }
}

/**
 * Returns when the operator first observed that the guest runs, and which cloud-init data it started with: the content of the Secret at that
 * moment, since the spec may change later. If the Secret was recreated since, the present fingerprint is used: the old one has another salt.
 * @param fingerprint of the desired data, used if the Secret has no hash of its content
 */
export function firstStart({ world, now }: MachineDraft, fingerprint?: string): Partial<VirtualMachineStatus> {
  const { secret } = world
  const { status } = world.vm
  const bootedAt = status.bootedAt ?? toTime(now)
  if (secret === undefined) return { bootedAt }
  const { uid = '', annotations } = secret.metadata
  const hash = annotations?.[ANNOTATIONS.cloudInit]
  // The uid is the salt of the fingerprint, and more people can read the status than the Secret.
  const secretHash = shortHash([uid])
  const isSame = status.secretHash === undefined || status.secretHash === secretHash
  const specHash = hash === undefined ? fingerprint : cloudInitFingerprint(uid, hash)
  const known = (isSame && status.specHash) || specHash
  return {
    bootedAt,
    specHash: known,
    secretHash,
    firstStart: firstStartRecord(world, { isSame, specHash: known, secretHash }),
  }
}

function summary(world: MachineWorld): MachineSummary {
  const left = leftClaim(world)
  const stands = summaryOf(world)
  if (left === undefined) return stands
  return withMore(stands, `; ${left} has no owner: it is kept when the virtual machine is deleted`)
}

function summaryOf(world: MachineWorld): MachineSummary {
  const { machine, clone, obstacle, instance, spec } = world
  const isCloning = clone !== undefined && clone.phase !== 'Succeeded'
  if (machine === undefined)
    return isCloning ? summaryOfDisk(clone) : waiting('Starting', 'VirtualMachine of KubeVirt is being created')
  if (isTerminating(machine)) {
    const message = `VirtualMachine ${machine.metadata.name} of KubeVirt is being deleted: it is recreated when it is gone`
    return waiting('Starting', message)
  }
  const off = summaryOff(world)
  if (off !== undefined) return off
  // Until the disk is complete, KubeVirt's state is stale or about something else.
  if (isCloning && !machine.isReady) return summaryOfDisk(clone, machine)
  const further = unfinishedDisk(world)
  if (further?.given !== undefined && !machine.isReady)
    return summaryOfDisk(further.ofImage.clone, machine, `disk ${further.spec.name}`)
  return summaryOfMachine(machine, obstacle, instance, spec.ok ? spec.spec.readiness : undefined)
}

/**
 * Returns the summary of a machine that is off or stopping, as its spec requires or allows; undefined if it is to run, runs, or starts.
 * A disk that waits for its first consumer waits for the first start: a machine that is off has all that it can have until then.
 */
function summaryOff(world: MachineWorld): MachineSummary | undefined {
  const { machine, clone } = world
  const strategy = runStrategyOf(world)
  const hasDisk = clone === undefined || clone.phase === 'Succeeded' || waitsForConsumer(clone)
  if (strategy === 'Always' || machine === undefined || !hasDisk) return undefined
  return strategy === 'Halted' ? halted(world, machine) : leftOff(world, machine)
}

function halted({ instance, spec }: MachineWorld, machine: KubeVirtView): MachineSummary {
  const field = spec.ok && isHalted(spec.spec) ? 'spec.powerState' : 'spec.runStrategy'
  if (machine.runStrategy !== 'Halted') return waiting('Stopping', `${field} is Halted: the machine is switched off`)
  if (instance !== undefined || isOn(machine)) {
    const message = `${field} is Halted: the guest is being stopped${nodeOf(instance)}; if this lasts, see whether that node is lost`
    return waiting('Stopping', message)
  }
  return ready('Halted', `the machine is off, as ${field} says (Halted); its disk stays`)
}

/** Under `Manual` people start and stop the guest, and KubeVirt does nothing by itself. */
function leftOff({ instance }: MachineWorld, machine: KubeVirtView): MachineSummary | undefined {
  const isOver = instance === undefined || instance.phase === 'Succeeded' || instance.phase === 'Failed'
  const isBusy = isOn(machine) || machine.isStartAsked
  if (machine.runStrategy !== 'Manual' || !isOver || isBusy || machine.failure !== '') return undefined
  const end = instance?.phase === 'Failed' ? 'the guest has failed, and is off' : 'the machine is off'
  const message = `${end}: virtctl start ${machine.metadata.name} starts it (spec.runStrategy is Manual); its disk stays`
  return ready('Halted', message)
}

function isOn({ printableStatus }: KubeVirtView): boolean {
  return IS_ON.has(printableStatus) || printableStatus === 'Stopping'
}
