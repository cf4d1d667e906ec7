import { ANNOTATIONS } from '@open-terrain/constructs'
import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { isFinished } from '../../../cluster/import-facts.ts'
import { type DataVolumeView, hasLostVolume } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import type { ImageWorld } from '../world.ts'
import { type Adoption, adoptionOf } from './adoption.ts'
import { withRetryTime } from './attempts.ts'
import { type Expiry, expiryOf } from './expiry.ts'
import type { SayingOnAdoption } from './judge-adoption.ts'
import { requesterOf } from './status.ts'
import type { ResolvedSpec, Target } from './target.ts'

/** An image with a valid spec: what it wants, and its status brought up to that. Every situation of such an image is chosen and planned from it. */
export interface ImageDraft {
  readonly world: ImageWorld
  readonly now: number
  readonly target: Target
  /** Of the wanted revision. */
  readonly dataVolume: DataVolumeView | undefined
  readonly isSuspended: boolean
  /** What takes the place of a download of the wanted revision; undefined: nothing. */
  readonly adoption: Adoption | undefined
  /** The condition that tells of it. */
  readonly adopted: SayingOnAdoption | undefined
  /** The status so far, brought up to the wanted revision and budget. */
  readonly status: VMDiskImageStatus
  readonly expiry: Expiry
}

export function draftOf(
  world: ImageWorld,
  { spec, target }: Extract<ResolvedSpec, { ok: true }>,
  now: number,
): ImageDraft {
  const dataVolume = world.dataVolumes.find(({ metadata }) => metadata.name === target.volumeName)
  const kept = dropLostArtifact(turnTo(target, world), world)
  const { status, adoption, adopted } = adoptionOf(world, target, kept, dataVolume)
  const expiry = expiryOf(world, status, spec, now)
  return { world, now, target, dataVolume, isSuspended: spec.suspend === true, adoption, adopted, status, expiry }
}

/**
 * Updates the status to the wanted revision and budget and to the current policy. Drops what belongs to another revision, except
 * history. Drops the ticket too, or a place in the queue could be held for a different download.
 */
function turnTo(target: Target, { image, policy }: ImageWorld): VMDiskImageStatus {
  const { status } = image
  const isSameRevision = status.revision === target.revision
  const isSameBudget = isSameRevision && status.budget?.key === target.budgetKey
  const next: VMDiskImageStatus = {
    ...status,
    revision: target.revision,
    defaults: target.defaults,
    ...(!isSameRevision && { ticket: undefined, snapshotStartedAt: undefined, progress: undefined }),
    ...withRequester(causeOf(status, isSameRevision, isSameBudget), image),
    ...(!isSameBudget && { budget: { key: target.budgetKey, downloads: 0 }, nextRetryTime: undefined }),
    // A change that people request restarts the unreferenced time of an image that was never referenced.
    ...(!isSameBudget && status.lastReferencedTime === undefined && { unreferencedSince: undefined }),
  }
  return withRetryTime(next, policy)
}

/** Returns what the next download is for, if that has changed. What has its artifact needs none. */
function causeOf(
  { revision, artifact, budget }: VMDiskImageStatus,
  isSameRevision: boolean,
  isSameBudget: boolean,
): Pick<VMDiskImageStatus, 'cause'> {
  if (revision === undefined) return { cause: 'the image is new' }
  if (!isSameRevision) return { cause: `its spec or annotation ${ANNOTATIONS.syncRequestedAt} has changed` }
  if (isSameBudget || budget === undefined || artifact?.revision === revision) return {}
  return { cause: `annotation ${ANNOTATIONS.retryRequestedAt} or a name of its credentials has changed` }
}

/** Adds who asked. That is fixed with the cause: who writes the image later did not ask for this download. */
function withRequester(
  because: Pick<VMDiskImageStatus, 'cause'>,
  image: ImageView,
): Pick<VMDiskImageStatus, 'cause' | 'requestedBy'> {
  return because.cause === undefined ? because : { ...because, requestedBy: requesterOf(image) }
}

/** Drops an artifact that is gone, or is about to be overwritten by a download that nobody requested. */
function dropLostArtifact(status: VMDiskImageStatus, world: ImageWorld): VMDiskImageStatus {
  const { snapshots, claims, dataVolumes } = world
  const { artifact } = status
  if (artifact === undefined) return status
  const isIt = ({ metadata }: KubeObject) => metadata.name === artifact.name
  const made: readonly KubeObject[] =
    artifact.kind === 'VolumeSnapshot' ? snapshots : claims.filter((claim) => !hasLostVolume(claim))
  const { adoptedArtifact: adopted } = world
  const isUsable = adopted !== undefined && !('phase' in adopted && hasLostVolume(adopted))
  const candidates = artifact.adoptedUID === undefined ? made : isUsable ? [adopted] : []
  const isThere = candidates.some((one) => isIt(one) && !isTerminating(one))
  const isOverwritten =
    artifact.kind === 'PersistentVolumeClaim' && dataVolumes.some((one) => isIt(one) && !isFinished(one))
  if (isThere && !isOverwritten) return status
  const cause = `its artifact, ${artifact.kind} ${artifact.name}, is lost`
  return { ...status, artifact: undefined, cause: artifact.revision === status.revision ? cause : status.cause }
}
