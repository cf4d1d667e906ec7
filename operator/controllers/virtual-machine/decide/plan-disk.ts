import type { VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { toTime } from '../../../base/time.ts'
import { CLONE_SOURCES } from '../../../cluster/clone-sources.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { removalOf } from '../../../runtime/plan.ts'
import { withMore } from '../../../runtime/summary.ts'
import type { CloneFacts } from '../world.ts'
import { judged } from './deadline.ts'
import { answeredRequests, isResetAsked } from './disk-requests.ts'
import { summaryOfDisk } from './judge.ts'
import { hasBooted, type MachineDraft, NOT_BOOTED, type Step, waiting } from './machine-plan.ts'
import { changedSince, cloneRecord, wantedClone, wantedSecret, wantsOf } from './plan-children.ts'
import { canHang } from './plan-hung.ts'
import type { ImageState } from './plan-image.ts'
import { isGivenUp } from './second-disk.ts'
import type { MachineSummary } from './status.ts'

/** Plans the disk and the Secret. Returns undefined once the disk exists, or is far enough for KubeVirt's machine. */
export function planDisk(draft: MachineDraft, image: ImageState): Step | undefined {
  const { clone, claim } = draft.world
  const hasClaim = claim !== undefined
  if (draft.world.isDiskElsewhere) return undefined
  if (clone === undefined) return hasClaim ? undefined : newDisk(draft, image)
  // A guest that has started may have written to its disk: from then on only people decide about it.
  if (!hasBooted(draft.world) && clone.phase !== 'Succeeded') return unfinishedDisk(draft, clone)
  return hasClaim ? undefined : judged(draft, summaryOfClone(draft, clone), { status: cloneStatus(draft, clone) })
}

/** Returns the summary of a disk. If a foreign claim is in the place of its own, CDI waits until that is gone and may not report it. */
export function summaryOfClone({ world: { claim, foreignClaim } }: MachineDraft, clone: CloneFacts): MachineSummary {
  const summary = summaryOfDisk(clone)
  if (claim !== undefined || foreignClaim === undefined) return summary
  const why = `; ${foreignClaim} has the name of its claim and belongs to somebody else: CDI continues when that is deleted; if it is not deleted, check its finalizers`
  return withMore(summary, why)
}

/** Plans a disk that only CDI has written to. */
function unfinishedDisk(draft: MachineDraft, clone: CloneFacts): Step | undefined {
  const { claim, machine } = draft.world
  const status = cloneStatus(draft, clone)
  if (isTerminating(clone)) {
    const message = `DataVolume ${clone.metadata.name} is being deleted: the root disk is recreated when it is gone`
    return judged(draft, waiting('Cloning', message), { status, remove: removalOf(machine) })
  }
  const why = whyReplaced(draft, clone)
  if (why !== undefined) return judged(draft, why.summary, { status, remove: removalOf(clone, ...(why.onlyIf ?? [])) })
  if (clone.phase === 'Failed') return { summary: summaryOfDisk(clone), status }
  const secret = wantedSecret(draft.world)
  if (claim !== undefined && (secret.length === 0 || machine !== undefined)) return undefined
  return judged(draft, summaryOfClone(draft, clone), { apply: secret, status })
}

function whyReplaced(draft: MachineDraft, clone: CloneFacts): Pick<Step, 'summary' | 'onlyIf'> | undefined {
  const { vm, claim, hasCloneSource } = draft.world
  const wants = wantsOf(draft)
  const madeFor = vm.status.clone?.generation ?? wants.generation
  if (clone.phase === 'Failed' && wants.generation !== madeFor)
    return { summary: waiting('Cloning', 'the spec changed: the root disk that failed is recreated') }
  // What a new request asks for is answered when the disk is made: until then, each plan finds it.
  if (isResetAsked(draft.world))
    return {
      summary: waiting('Cloning', 'somebody asks for a new root disk: the one that is not complete is recreated'),
    }
  const changed = changedSince(vm.status.clone, wants)
  if (changed.length > 0)
    return { summary: waiting('Cloning', `${changed.join(' and ')} changed: the root disk is recreated`) }
  // A disk that CDI has not looked at yet may have been filled in another life of the cluster.
  const isUntouched = claim === undefined || (clone.phase !== '' && clone.phase !== 'Unknown')
  if (hasCloneSource || clone.phase === 'Failed' || !isUntouched) return undefined
  const message = 'what the root disk was being cloned from is gone: it is cloned again from the current artifact'
  const summary = waiting('CloneSourceGone', message)
  if (clone.cloneOf === undefined) return { summary }
  const { kind, namespace, name } = clone.cloneOf
  return { summary, onlyIf: [{ absent: [{ type: CLONE_SOURCES[kind], namespace, name }], whose: "anybody's" }] }
}

/** Plans a disk for a machine that has none: the first one, or a replacement for one that people deleted. */
function newDisk(draft: MachineDraft, image: ImageState): Step {
  if (image.kind !== 'ready') return image.step
  const wanted = wantedClone(draft, image)
  const { kind, name } = image.artifact
  const which = `${kind} ${image.shown?.namespace}/${name}`
  return judged(draft, waiting('Cloning', `the root disk is cloned from ${which}`), {
    apply: [...wantedSecret(draft.world), wanted],
    status: {
      clone: cloneRecord(draft, image, wanted.metadata.name),
      ...NOT_BOOTED,
      restoredClaim: undefined,
      // It is the one that was asked for.
      ...(isGivenUp(draft.world) && { replacement: undefined }),
      ...answeredRequests(draft.world),
    },
  })
}

export function cloneStatus({ world, now }: MachineDraft, clone: CloneFacts): Partial<VirtualMachineStatus> {
  const { clone: before } = world.vm.status
  const { name, uid } = clone.metadata
  const { image, diskSize, generation, sourceRevision, imageUID } = before?.name === name ? before : {}
  const { phase, progress } = clone
  const isSame = before?.uid === uid && (before?.phase ?? '') === phase && (before?.progress ?? '') === progress
  const since = isSame ? before?.progressTime : undefined
  return {
    clone: withoutUndefined({
      name,
      uid,
      image,
      diskSize,
      generation,
      sourceRevision,
      imageUID,
      phase: phase || undefined,
      progress: progress || undefined,
      progressTime: canHang(world, clone) ? (since ?? toTime(now)) : undefined,
    }) as NonNullable<VirtualMachineStatus['clone']>,
  }
}
