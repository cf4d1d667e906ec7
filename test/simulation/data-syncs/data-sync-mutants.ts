import type { Mutant } from '../mutant.ts'
import { DATA_SYNCS, SHARED } from '../mutants/product-modules.ts'
import { countingFromCaches, countingNothing } from '../mutants/reference-breaks.ts'
import { altered, seam } from '../seam.ts'

/** Deliberate defects in what the operator does for DataSyncs. */
export const DATA_SYNC_MUTANTS: readonly Mutant[] = [
  {
    name: 'an image is looked for under a name that can be read in two ways',
    invariant: 7,
    alsoCaughtAs: [6],
    seam: seam(SHARED.constructs, 'dataSyncImageName', () => ({ workspaceId, version, vm }) => {
      return [workspaceId, version, vm].filter((part) => part !== undefined).join('-')
    }),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'an image that has the name is taken over',
    invariant: 6,
    seam: seam(DATA_SYNCS.ownership, 'isOwn', () => () => true),
    kind: 'dataSyncsLate',
  },
  {
    name: 'a DataSync changes what one had created that is gone',
    invariant: 6,
    alsoCaughtAs: [7],
    seam: seam(DATA_SYNCS.ownership, 'isOwn', () => ({ metadata: { annotations } }) => {
      return annotations?.['pelotech.ot/workspace-vm'] !== undefined
    }),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'what all vms have in common is left out',
    invariant: 6,
    seam: seam(SHARED.constructs, 'imageSpecOf', (imageSpecOf) => ({ snapshotClass: _common, ...spec }, vm) => {
      return imageSpecOf(spec, vm)
    }),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'an image does not have the name of its vm',
    invariant: 6,
    seam: seam(SHARED.constructs, 'imageSpecOf', (imageSpecOf) => (spec, vm) => {
      const { name: _name, ...rest } = imageSpecOf(spec, vm)
      return rest
    }),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'an image is changed though DataSyncs disagree about it',
    invariant: 6,
    seam: seam(DATA_SYNCS.image, 'planImageOf', (planImageOf) => (namespace, image, policy) => {
      return planImageOf(namespace, { ...image, others: [] }, policy)
    }),
    kind: 'dataSyncsCalm',
    seed: 13,
  },
  {
    name: 'a DataSync does not keep its images',
    invariant: 5,
    alsoCaughtAs: [7],
    seam: seam(DATA_SYNCS.references, 'DataSyncReferences', countingNothing),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'the references of DataSyncs are not counted at the moment of the decision',
    invariant: 5,
    seam: seam(DATA_SYNCS.references, 'DataSyncReferences', countingFromCaches),
    kind: 'dataSyncsUnseen',
  },
  {
    name: 'an image that was just changed counts as ready',
    invariant: 7,
    seam: seam(DATA_SYNCS.image, 'planImageOf', (planImageOf) => (namespace, world, policy) => {
      const step = planImageOf(namespace, world, policy)
      const wasReady = step.reason === 'ImageChanged' && world.image?.status.phase === 'Succeeded'
      return wasReady ? { ...step, phase: 'Succeeded', reason: 'Synced', percent: 100 } : step
    }),
    kind: 'dataSyncsCalm',
    seed: 6,
  },
  {
    name: 'a DataSync is Failed while other images are under way',
    invariant: 7,
    seam: seam(DATA_SYNCS.status, 'summaryOf', (summaryOf) => (images) => {
      const failed = images.filter(({ phase }) => phase === 'Failed')
      return summaryOf(failed.length > 0 ? failed : images)
    }),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'images that are under way are not told of',
    invariant: 7,
    seam: seam(DATA_SYNCS.status, 'dataSyncStatusOf', (statusOf, { summaryOf }) => (dataSync, _all, images, now) => {
      const over = images.filter(({ phase }) => phase === 'Succeeded' || phase === 'Failed')
      return statusOf(dataSync, summaryOf(over), over, now)
    }),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'progress is that of the first image',
    invariant: 7,
    seam: seam(DATA_SYNCS.status, 'dataSyncStatusOf', (statusOf) => (dataSync, summary, images, now) => {
      const { progress: _all, ...status } = statusOf(dataSync, summary, images, now)
      const { progress } = statusOf(dataSync, summary, images.slice(0, 1), now)
      return { ...status, ...(progress !== undefined && { progress }) }
    }),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'a request reaches an image again and again',
    invariant: 7,
    seam: seam(DATA_SYNCS.requests, 'newRequests', (newRequests) => (asking, all) => newRequests(asking, all, {})),
    kind: 'dataSyncsCalm',
  },
  {
    name: 'a request is written over what another DataSync has just asked for',
    invariant: 7,
    seam: seam(DATA_SYNCS.image, 'planImageOf', (planImageOf) => (namespace, world, policy) => {
      const { touch, ...step } = planImageOf(namespace, world, policy)
      if (touch === undefined) return step
      const { resourceVersion: _seen, ...rest } = touch
      return { ...step, touch: rest }
    }),
    kind: 'dataSyncsLagging',
    seed: 40,
  },
  {
    name: 'nobody looks again when an image of a DataSync changes',
    invariant: 7,
    seam: seam(
      DATA_SYNCS.controller,
      'DataSyncController',
      (DataSyncController) =>
        class extends DataSyncController {
          constructor(options: ConstructorParameters<typeof DataSyncController>[0]) {
            const { caches } = options
            const images = altered(caches.images, { onChange: () => () => undefined })
            super({ ...options, caches: altered(caches, { images }) })
          }
        },
    ),
    kind: 'dataSyncsCalm',
    seed: 3,
  },
  {
    name: 'the status of a DataSync is written though it says nothing new',
    invariant: 7,
    seam: seam(DATA_SYNCS.status, 'dataSyncThrottleOf', () => () => ({ isStatusDue: true })),
    kind: 'dataSyncsCalm',
  },
]
