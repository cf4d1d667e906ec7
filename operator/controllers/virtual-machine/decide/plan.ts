import { FINALIZERS, problemsText, type VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { isSame } from '../../../base/equality.ts'
import { endingWaits, isKeptByDependentsAlone } from '../../../cluster/dependents.ts'
import { unusableReason } from '../../../cluster/own-view.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { cutMessage } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { NOTHING_TO_DO } from '../../../runtime/plan.ts'
import { steadyOf } from '../../../runtime/summary.ts'
import type { MachineWorld } from '../world.ts'
import { diskLoss, hasRun, remarksOnLoss } from './disk-loss.ts'
import { isUnasked, seenRebuild, seenReset } from './disk-requests.ts'
import { lostDisks, remarksOnLostDisks } from './further-disk-loss.ts'
import { withAwaitedImages } from './further-images.ts'
import {
  failed,
  isDeployed,
  type MachineDraft,
  type MachinePlan,
  ready,
  refused,
  type Step,
  waiting,
} from './machine-plan.ts'
import { planMachineDeletion } from './plan-deletion.ts'
import { firstStart, planDeploy } from './plan-deploy.ts'
import { type ImageState, imageState } from './plan-image.ts'
import { remarksOnSpec } from './plan-remarks.ts'
import { isRebuildDue, remarksOnReplacement } from './plan-replacement.ts'
import { withStandingCloudInit } from './standing-cloud-init.ts'
import { type MachineSummary, machineEventsBetween, type Remark, withMachineSummary, withPending } from './status.ts'
import { eventsOnRequests } from './uncounted-requests.ts'
import { upToDate } from './up-to-date.ts'

/**
 * ```
 * image missing ─▶ made from the template ─▶ image syncs ─▶ clone (and Secret) ─▶ its claim exists ─▶ KubeVirt's machine ─▶ Ready
 *       │                                        │                  ▲ source gone: created again                │
 *       └─▶ no template: waits, or Failed        └─▶ Failed, left by itself                                 └─▶ kicked, within a budget
 * ```
 * Existing objects are used as they are: an image takes precedence over the template, and a disk that has booted is never touched again.
 */
export function planMachine(given: MachineWorld, now: number): MachinePlan {
  const world = withStandingCloudInit(given)
  const { steady, requests = [], ...plan } = decide(world, now)
  const notes = machineEventsBetween(world.vm.status, plan.status, steady)
  // At the beginning, the Event of the plan itself is enough.
  const isBegun = plan.events.length > 0 && world.vm.status.phase === undefined && plan.status.phase === 'Provisioning'
  const events = [...plan.events, ...notes.filter(({ type }) => type === 'Warning' || !isBegun), ...requests]
  const { machine, instance, clone } = world
  // The wait for a guest has no limit: KubeVirt keeps the instance with its own finalizer until the guest has ended.
  const run = instance === undefined ? machine : isKeptByDependentsAlone(instance) ? instance : undefined
  return { ...plan, ...endingWaits(plan, [run, clone], now), events }
}

/** The plan, its message without the parts that change by themselves, and what is told of requests that do not count. */
type Decision = MachinePlan & { readonly steady?: string; readonly requests?: readonly EventNote[] }

function decide(world: MachineWorld, now: number): Decision {
  if (isTerminating(world.vm)) return planMachineDeletion(world, now)
  const losses = lossRemarks(world)
  if (!world.spec.ok) {
    const summary = failed(unusableReason(world.vm), problemsText(world.spec.problems))
    const remarks = [...losses, ...remarksOnReplacement(world, world.vm.status)]
    return finish(world, { summary: afterLoss(summary, losses), remarks }, now)
  }
  const draft: MachineDraft = { world, spec: world.spec.spec, now }
  const image = withAwaitedImages(imageState(draft), world)
  const step = stepOf(draft, image)
  const replacement = remarksOnReplacement(world, { ...world.vm.status, ...step.status }, step.remarks)
  const remarks = [...losses, ...remarksOnSpec(draft, step), ...(step.remarks ?? []), ...replacement]
  return finish(world, { ...step, summary: afterLoss(step.summary, losses), remarks }, now, image)
}

/** One remark on all disks that are lost. What is gone already comes before what is going. */
function lossRemarks(world: MachineWorld): Remark[] {
  const remarks = [...remarksOnLoss(world), ...remarksOnLostDisks(world)]
  const first = remarks.find(({ reason }) => reason === 'DiskLost') ?? remarks[0]
  return first === undefined ? [] : [{ ...first, message: remarks.map(({ message }) => message).join('; ') }]
}

/** Says that a disk is lost before whatever else there is to say. A machine that nobody deploys, or whose spec is not valid, has lost its data, too. */
function afterLoss(summary: MachineSummary, [loss]: readonly Remark[]): MachineSummary {
  if (loss === undefined || summary.reason === 'DiskLost' || summary.reason === 'DiskBeingDeleted') return summary
  return failed(loss.reason, `${loss.message}; ${summary.message}`)
}

function stepOf(draft: MachineDraft, image: ImageState): Step {
  const { world, spec } = draft
  if (world.namespaceTerminating) {
    const message = 'the namespace of the virtual machine is being deleted: nothing can be created in it'
    return { summary: waiting('NamespaceTerminating', message) }
  }
  // A disk that exists, or is being made, or is lost, is managed whatever happens to its image.
  const isManaged = isDeployed(world) || (diskLoss(world) !== undefined && spec.ignoreOnDeploy !== true)
  if (image.kind !== 'ready' && !isManaged) return image.step
  if (spec.ignoreOnDeploy === true) return ignored(draft, image)
  return planDeploy(draft, image)
}

/** With ignoreOnDeploy, the image is still created and corrected. Its state does not matter to a machine that exists already. */
function ignored(draft: MachineDraft, image: ImageState): Step {
  const { world } = draft
  const { apply = [], events = [], onlyIf }: Partial<Step> = image.kind === 'ready' ? {} : image.step
  return {
    apply,
    events,
    onlyIf,
    // The record of the first start is needed when the machine is managed again.
    status: isDeployed(world) && hasRun(world) ? firstStart(draft) : {},
    summary: isDeployed(world)
      ? ready('NotDeployedAnyMore', 'the machine was deployed before ignoreOnDeploy became true: it is left as it is')
      : ready('IgnoredOnDeploy', 'the image is ready; no machine is created'),
  }
}

/** The Workspace of a machine names what is missing for all its members. */
function missingKeys({ cloudInit }: MachineWorld, { reason }: Step['summary']) {
  return cloudInit.kind === 'missing' && reason === cloudInit.reason ? cloudInit.keys : undefined
}

/**
 * A request that a machine was created with, or that it gets while it has its disk and that is not outdated, is over: it does not count when the disk is lost
 * later, nor when it is outdated later.
 */
function isRequestOver(world: MachineWorld): boolean {
  const { status } = world.vm
  const isLost = diskLoss(world) !== undefined || lostDisks(world).length > 0
  const isLeft = world.spec.ok && world.spec.spec.ignoreOnDeploy === true
  return status.phase === undefined || (!isLost && (isLeft || !isRebuildDue(world)))
}

/** A machine that was made before resets were known gets the note that nobody asks for one with the next write, and no write for itself. */
function withoutIdleNote(before: VirtualMachineStatus, after: VirtualMachineStatus): VirtualMachineStatus {
  if (before.phase === undefined || before.resetRequest !== undefined || !isUnasked(after)) return after
  const { resetRequest: _note, ...rest } = after
  return isSame(before, rest) ? rest : after
}

function finish(world: MachineWorld, step: Step, now: number, image?: ImageState): Decision {
  const { vm } = world
  const { summary: stands, status: shown, remarks = [], ...work } = step
  const summary = withPending(refused(stands, world), remarks)
  const isOver = isRequestOver(world)
  const next = {
    ...vm.status,
    // Only the steps that provision a machine have a time limit: waiting for an image, or for CDI to be installed, has none.
    provisioningSince: undefined,
    ...(isOver && seenRebuild(world)),
    ...seenReset(world),
    missingSecretKeys: missingKeys(world, stands),
    ...shown,
  }
  const seen = withMachineSummary(
    next,
    {
      summary,
      upToDate: upToDate(world, { status: next, summary, remarks }),
      image: image?.shown ?? vm.status.image,
      imageReady: image?.condition ?? { holds: false, reason: summary.reason, message: summary.message },
      remarks,
      generation: vm.metadata.generation,
    },
    now,
  )
  const status = withoutIdleNote(vm.status, seen)
  // A disk that is made anyway answers what was asked until then.
  const isAnswered = vm.status.phase !== undefined && shown?.rebuildRequest !== undefined
  return {
    ...NOTHING_TO_DO,
    ...work,
    events: work.events ?? [],
    requests: eventsOnRequests(world, { isInVain: isOver && !isAnswered }),
    status,
    steady: cutMessage(steadyOf(summary)),
    finalizer: vm.metadata.finalizers?.includes(FINALIZERS.virtualMachine) ? 'keep' : 'add',
  }
}
