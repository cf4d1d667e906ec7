import {
  childName,
  LABELS,
  parseDuration,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
} from '@open-terrain/constructs'
import { isOrphaning } from '../../../cluster/dependents.ts'
import { isFinished } from '../../../cluster/import-facts.ts'
import { childrenOf } from '../../../cluster/ownership.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { fromTime, mergeConditions } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { firstFew } from '../../../runtime/first-few.ts'
import { removalOf } from '../../../runtime/plan.ts'
import { sooner } from '../../../runtime/wake.ts'
import type { ImageWorld } from '../world.ts'
import {
  type Expiry,
  type ImageDraft,
  type ImagePlan,
  planWith,
  uncloned,
  unreferenced,
  withImporter,
} from './image-plan.ts'
import { type ImageStanding, OUT_OF_QUEUE, timesOfReferences, withImageStanding } from './status.ts'

const LOOK_MS = 60_000
/** The end of a running clone causes its own watch event. This is for the helper volumes, which nobody watches. */
export const CLONED_LOOK_MS = 60_000
/** There may be thousands of users. */
const NAMED = 10

/**
 * Plans for an image that somebody deleted. Downloads end at once. The artifact stays as long as somebody uses it, unless the whole
 * namespace is deleted. The finalizer is released only when nothing of the image is left. With `--cascade=orphan` the children stay:
 * until the garbage collector has removed their owner reference, only downloads are removed.
 */
export function planImageDeletion(world: ImageWorld, now: number): ImagePlan {
  const { image, namespaceTerminating, references } = world
  const users = namespaceTerminating ? [] : references.users
  const downloads = world.dataVolumes.filter((one) => !isFinished(one))
  if (users.length > 0) {
    const wake = { afterMs: LOOK_MS, because: 'its users may be gone by then' }
    return planWith(blockedStatus(world, users, now), { remove: downloads.flatMap((one) => removalOf(one)), wake })
  }
  const alias = childrenOf(image, world.dataSource === undefined ? [] : [world.dataSource])
  const children: KubeObject[] = [...alias, ...world.snapshots, ...world.dataVolumes]
  if (children.length === 0 && world.slot === undefined) return planWith(image.status, { finalizer: 'release' })
  const due: readonly KubeObject[] = isOrphaning(image) ? downloads : children
  const remove = due.flatMap((one) => removalOf(one))
  return planWith(leavingStatus(world, children, due, now), {
    remove,
    ...(remove.length > 0 && !namespaceTerminating && { onlyIf: [unreferenced(world, 'users')] }),
    wake: { afterMs: LOOK_MS, because: 'its children should be gone by then' },
  })
}

function blockedStatus(world: ImageWorld, users: readonly string[], now: number): VMDiskImageStatus {
  const { image } = world
  const isOf = (user: string) => user.startsWith('DataSync/')
  const remedies = [
    ...(users.some(isOf) ? ['remove the vm from these DataSyncs'] : []),
    ...(users.every(isOf) ? [] : [users.some(isOf) ? 'delete the other objects' : 'delete these objects']),
  ]
  const message = `deletion is blocked: the image is used by ${firstFew(users, NAMED)}; to complete the deletion, ${remedies.join(', and ')}`
  const { phase: before = 'Queued', artifact } = image.status
  const resting = artifact === undefined ? 'Queued' : 'Succeeded'
  const phase = world.slot === undefined && before === 'Syncing' ? resting : before
  const blocked = { type: 'DeletionBlocked', status: 'True', reason: 'InUse', message } as const
  const { conditions = [], ...status } = withImageStanding(
    { ...withImporter(image.status, world), ticket: undefined, ...OUT_OF_QUEUE },
    { phase, reason: 'InUse', message, stalled: phase === 'Failed' },
    { world, now },
  )
  return { ...status, conditions: mergeConditions(conditions, [blocked], image.metadata.generation, now) }
}

/** @param due the children that the operator deletes; the others lose their owner */
function leavingStatus(
  world: ImageWorld,
  children: readonly KubeObject[],
  due: readonly KubeObject[],
  now: number,
): VMDiskImageStatus {
  const { image, slot } = world
  const { phase = 'Queued', conditions = [] } = image.status
  const names = children.map((child) => {
    const orphaned = due.includes(child) ? '' : ', which stays without an owner (--cascade=orphan)'
    return `${child.kind} ${child.metadata.name}${orphaned}`
  })
  const waitsFor = names.length > 0 ? names.join(', ') : whatDownloads(world)
  const oldest = Math.min(...children.map(({ metadata }) => fromTime(metadata.deletionTimestamp) ?? now))
  const late =
    now - oldest >= LOOK_MS
      ? '; check which finalizers are left, and that CDI with its webhook (cdi-apiserver) and the snapshot controller run'
      : ''
  const message = `being deleted: waiting for ${waitsFor}${late}`
  const free: VMDiskImageStatus = {
    ...withImporter(image.status, world),
    ticket: undefined,
    ...OUT_OF_QUEUE,
    nextRetryTime: undefined,
    conditions: conditions.filter(({ type }) => type !== 'DeletionBlocked'),
  }
  const resting = phase === 'Syncing' ? 'Queued' : phase
  const standing = {
    phase: slot === undefined ? resting : 'Syncing',
    reason: 'Deleting',
    message,
    upToDate: false,
  } as const
  return withImageStanding(free, standing, { world, now })
}

/** Names what the slot is held for when no child is left. */
function whatDownloads({ image, slot, lookup }: ImageWorld): string {
  const orphan = slot && lookup.foreignVolume(childName(image.metadata.name, slot.revision))
  if (orphan === undefined) return 'its importer pod'
  return `${orphan}, which has lost its owner and may still download: it keeps the slot until it has Succeeded, or has taken as long as an attempt may; delete it to free the slot now`
}

/** What decides about {@link expiryOf}. */
type ExpiryFacts = Pick<ImageWorld, 'image' | 'policy'> & { readonly references: { readonly count: number } }

/**
 * Returns when an image is deleted because nothing refers to it. One rule for all states: it is applied before anything else that may be
 * done for the image, and uses only two facts of the status: whether anything ever referred to it, and since when nothing does.
 */
export function expiryOf(world: ExpiryFacts, status: VMDiskImageStatus, spec: VMDiskImageSpec, now: number): Expiry {
  const { reclaimPolicy, ttlMs } = ruleFor(spec, world)
  const isCounting = status.unreferencedSince !== undefined
  const { lastReferencedTime, unreferencedSince } = timesOfReferences(status, world.references.count, isCounting, now)
  const since = fromTime(unreferencedSince)
  // 0 means at the moment when the last reference is removed. A preloaded image that was never referenced has had no such moment.
  const isSpared = ttlMs === 0 && lastReferencedTime === undefined
  if (reclaimPolicy !== 'Delete' || since === undefined || isSpared) return { isReached: false }
  const leftMs = since + ttlMs - now
  if (leftMs <= 0) return { isReached: true }
  return { isReached: false, wake: { afterMs: leftMs, because: 'the image was unreferenced for long enough then' } }
}

/** The spec takes precedence, field by field. The policy has one rule for images that the operator created, and one for all others. */
function ruleFor(spec: VMDiskImageSpec, world: ExpiryFacts) {
  const { reclaimPolicy, unreferencedTtlMs, userReclaimPolicy, userUnreferencedTtlMs } = world.policy
  const rule = isOfOurs(world)
    ? { reclaimPolicy, ttlMs: unreferencedTtlMs }
    : { reclaimPolicy: userReclaimPolicy, ttlMs: userUnreferencedTtlMs ?? unreferencedTtlMs }
  const ttlMs = parseDuration(spec.unreferencedTTL ?? '') ?? rule.ttlMs
  return { reclaimPolicy: spec.reclaimPolicy ?? rule.reclaimPolicy, ttlMs }
}

const REMOVED: EventNote = {
  type: 'Normal',
  reason: 'Unreferenced',
  message: 'nothing has referred to the image for its unreferencedTTL: it is deleted',
}

/** Adds to a plan what happens to an expired image: no download starts, and once none is left the image is deleted. */
export function withExpiry(plan: ImagePlan, { world, expiry }: ImageDraft): ImagePlan {
  if (!expiry.isReached) return expiry.wake === undefined ? plan : { ...plan, wake: sooner(plan.wake, expiry.wake) }
  const isQuiet = world.slot === undefined && world.dataVolumes.every(isFinished)
  if (!isQuiet) return plan
  const { start: _none, ...rest } = plan
  const again = { afterMs: CLONED_LOOK_MS, because: 'clones of it may be finished by then' }
  // An unfinished clone still needs the child that it reads from.
  const clones = [...world.snapshots, ...world.dataVolumes].map((child) => uncloned(child, 'live'))
  const [itself] = removalOf(world.image, unreferenced(world, 'anyone'), ...clones)
  const remove = [...plan.remove, ...(itself === undefined ? [] : [{ ...itself, event: REMOVED }])]
  return { ...rest, remove, wake: sooner(plan.wake, again) }
}

/** Reports that the image has expired. Only for an image without an artifact, which would be reported instead. */
export function expired({ expiry }: ImageDraft): ImageStanding | undefined {
  if (!expiry.isReached) return undefined
  const message = 'nothing has referred to this image for its unreferencedTTL: it is being removed'
  return { phase: 'Queued', reason: 'Unreferenced', message, isHeldBack: true }
}

/** Takes an image that the operator created out of the queue when nothing refers to it any more: nobody needs the download. */
export function abandoned({ world, status }: ImageDraft): ImageStanding | undefined {
  const wasReferenced = status.lastReferencedTime !== undefined || (status.references?.count ?? 0) > 0
  if (!isOfOurs(world) || world.references.count > 0 || !wasReferenced) return undefined
  const message = 'nothing refers to this image any more: it is downloaded when something refers to it again'
  return { phase: 'Queued', reason: 'Unreferenced', message }
}

/** Reports whether the operator created the image, for a VirtualMachine, a Workspace or a DataSync. */
function isOfOurs({ image }: Pick<ImageWorld, 'image'>): boolean {
  return image.metadata.labels?.[LABELS.createdBy] !== undefined
}
