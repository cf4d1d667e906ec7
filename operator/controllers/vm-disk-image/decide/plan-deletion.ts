import { childName, type VMDiskImageStatus } from '@open-terrain/constructs'
import { isOrphaning } from '../../../cluster/dependents.ts'
import { childrenOf } from '../../../cluster/ownership.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { fromTime, mergeConditions } from '../../../runtime/conditions.ts'
import { firstFew } from '../../../runtime/first-few.ts'
import { removalOf } from '../../../runtime/plan.ts'
import type { ImageWorld } from '../world.ts'
import { type ImagePlan, planWith, unreferenced } from './image-plan.ts'
import { isFinished } from './judge.ts'
import { OUT_OF_QUEUE, withImageStanding } from './status.ts'

const LOOK_MS = 60_000

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
    const remove = downloads.flatMap((one) => removalOf(one))
    return planWith(blockedStatus(world, users, now), {
      remove,
      wake: { afterMs: LOOK_MS, because: 'its users may be gone by then' },
    })
  }
  const alias = childrenOf(image, world.dataSource === undefined ? [] : [world.dataSource])
  const children: KubeObject[] = [...alias, ...world.snapshots, ...world.dataVolumes]
  const isDone = children.length === 0 && world.slot === undefined
  if (isDone) return planWith(image.status, { finalizer: 'release' })
  const due: readonly KubeObject[] = isOrphaning(image) ? downloads : children
  const remove = due.flatMap((one) => removalOf(one))
  return planWith(leavingStatus(world, children, due, now), {
    remove,
    ...(remove.length > 0 && !namespaceTerminating && { onlyIf: [unreferenced(world, 'users')] }),
    wake: { afterMs: LOOK_MS, because: 'its children should be gone by then' },
  })
}

/** There may be thousands of users. */
const NAMED = 10

function blockedStatus(world: ImageWorld, users: readonly string[], now: number): VMDiskImageStatus {
  const { image } = world
  const message = `deletion is blocked: the image is used by ${firstFew(users, NAMED)}; remove the vm from these DataSyncs and Workspaces, and delete the other objects, to complete the deletion`
  const { phase: before = 'Queued', artifact } = image.status
  const resting = artifact === undefined ? 'Queued' : 'Succeeded'
  const phase = world.slot === undefined && before === 'Syncing' ? resting : before
  const blocked = { type: 'DeletionBlocked', status: 'True', reason: 'InUse', message } as const
  const { conditions = [], ...status } = withImageStanding(
    { ...image.status, ticket: undefined, ...OUT_OF_QUEUE },
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
  const free: VMDiskImageStatus = {
    ...image.status,
    ticket: undefined,
    ...OUT_OF_QUEUE,
    nextRetryTime: undefined,
    conditions: conditions.filter(({ type }) => type !== 'DeletionBlocked'),
  }
  const message = `being deleted: waiting for ${waitsFor}${late}`
  const resting = phase === 'Syncing' ? 'Queued' : phase
  return withImageStanding(
    free,
    { phase: slot === undefined ? resting : 'Syncing', reason: 'Deleting', message, upToDate: false },
    { world, now },
  )
}

/** Names what the slot is held for when no child is left. */
function whatDownloads({ image, slot, lookup }: ImageWorld): string {
  const orphan = slot && lookup.foreignVolume(childName(image.metadata.name, slot.revision))
  if (orphan === undefined) return 'its importer pod'
  return `${orphan}, which has lost its owner and may still download: it keeps the slot until it has Succeeded, or has taken as long as an attempt may; delete it to free the slot now`
}
