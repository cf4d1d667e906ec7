import { type DataSyncStatus, problemsText } from '@open-terrain/constructs/operator'
import { unusableReason } from '../../../cluster/own-view.ts'
import { NOTHING_TO_DO, type ObjectPlan } from '../../../runtime/plan.ts'
import { withRefusal } from '../../../runtime/summary.ts'
import type { DataSyncWorld } from '../world.ts'
import { type ImageStep, planImageOf } from './image.ts'
import { type DataSyncSummary, dataSyncEventsBetween, dataSyncStatusOf, summaryOf } from './status.ts'

/**
 * What to do about one DataSync, as printable data. An image without a resourceVersion is only ever created: if it has appeared in between,
 * the next reconcile handles it. Nothing is removed, since images are deleted by their own rules.
 */
export type DataSyncPlan = ObjectPlan & { readonly status: DataSyncStatus }

/**
 * ```
 * image missing ─▶ created ─▶ Queued, Syncing ─▶ Succeeded ── vm changed, and all DataSyncs that share it agree ─▶ updated ─▶ Queued, Syncing
 *                                   └─────────▶ Failed    └── they disagree, or the name is taken ─▶ NameConflict, and nothing is written
 * ```
 * A DataSync that is deleted, or loses a vm, no longer refers to the image. Nothing else is to be done, so it needs no finalizer.
 */
export function planDataSync(world: DataSyncWorld, now: number): DataSyncPlan {
  const { dataSync, images, policy } = world
  const { namespace = '', deletionTimestamp } = dataSync.metadata
  const nothing = { ...NOTHING_TO_DO, touch: [] } as const
  if (deletionTimestamp !== undefined) return { ...nothing, status: dataSync.status }
  const obstacle = obstacleIn(world)
  const steps = obstacle === undefined ? images.map((image) => planImageOf(namespace, image, policy)) : []
  const summary = obstacle ?? withRefusal(summaryOf(steps), world.refusal, REFUSED)
  const status = dataSyncStatusOf(dataSync, summary, steps, now)
  return {
    ...nothing,
    status,
    apply: steps.flatMap(({ apply }: ImageStep) => apply ?? []),
    touch: steps.flatMap(({ touch }: ImageStep) => touch ?? []),
    events: dataSyncEventsBetween(dataSync.status, status),
  }
}

const REFUSED = { phase: 'Queued', reason: 'Refused' } as const

/** Returns why nothing can be done about any image, or undefined. */
function obstacleIn({ spec, namespaceTerminating, dataSync }: DataSyncWorld): DataSyncSummary | undefined {
  if (!spec.ok) return { phase: 'Failed', reason: unusableReason(dataSync), message: problemsText(spec.problems) }
  if (!namespaceTerminating) return undefined
  const message = `namespace ${dataSync.metadata.namespace} is being deleted, and its images with it: nothing can be created in it`
  return { phase: 'Queued', reason: 'NamespaceTerminating', message }
}
