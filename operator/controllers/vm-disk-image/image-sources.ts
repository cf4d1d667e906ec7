import type { Policy } from '@open-terrain/constructs/operator'
import { claimRefusals } from '../../cluster/event-reads.ts'
import type { Neighbours } from '../../cluster/neighbours.ts'
import type { ReferenceSource } from '../../images/references.ts'
import { keyOf } from '../../kube/kube-object.ts'
import { DATA_VOLUME, SECRET } from '../../kube/resource-types.ts'
import type { Services } from '../../runtime/services.ts'
import { Admission } from './admission/admission.ts'
import { SlotLedger } from './admission/slot-ledger.ts'
import { AdoptionReads } from './adoption-reads.ts'
import { BY_CONFIG_MAP, BY_SECRET, IMAGE, type ImageCaches, unfinished } from './caches.ts'
import { Clones } from './clones.ts'
import { DATA_VOLUME_FIELDS } from './decide/sent-fields.ts'
import type { ImageMetrics } from './image-metrics.ts'
import { ImporterRemains } from './importer-remains.ts'
import { ProgressWatch } from './progress-watch.ts'
import { ServedFields } from './served-fields.ts'
import { SourceContents } from './source-contents.ts'

export interface ImageControllerOptions extends Services {
  readonly caches: ImageCaches
  /** Whether another process may have led since the caches were filled: the watches may not have reported its last writes yet. */
  readonly hadPredecessor: boolean
  readonly metrics: ImageMetrics
  /** Namespace of the operator. */
  readonly namespace: string
  readonly neighbours: Pick<Neighbours, 'cdi' | 'noteFailure'>
  readonly identity: string
  readonly policy: () => Policy
  readonly limit: (ledgerLimit: number | undefined) => number
  /** Calls `listener` at each change of the policy; returns a function that stops that. */
  readonly onPolicyChange: (listener: (change: { readonly isLimitAlone: boolean }) => void) => () => void
  /** Kinds that name images. */
  readonly references: readonly ReferenceSource[]
}

export type ImageSources = ReturnType<typeof imageSources>

/** Creates the sources that images are observed from, for one term. @param requeue called with the key of an image that must be reconciled */
export function imageSources(options: ImageControllerOptions, requeue: (key: string) => void) {
  const { client, caches, clock, log, namespace, identity, policy } = options
  const clones = new Clones(client, caches)
  return {
    caches,
    policy,
    clones,
    progress: new ProgressWatch(clock, options.neighbours.cdi),
    adoptionReads: new AdoptionReads({
      ...options,
      isThere: (key) => caches.images.get(key) !== undefined,
      onChange: requeue,
    }),
    importerRemains: new ImporterRemains(options),
    claimRefusals: claimRefusals({ ...options, onChange: requeue }),
    fields: new ServedFields({
      ...options,
      definitions: caches.reflectors.definitions,
      type: DATA_VOLUME,
      fields: DATA_VOLUME_FIELDS,
      onRead: () => {
        for (const [key, { status }] of caches.images.entries()) if (status.phase !== 'Succeeded') requeue(key)
      },
    }),
    contents: new SourceContents({
      ...options,
      ...caches.cluster,
      onRead: ({ kind }, key) => {
        for (const image of unfinished(caches.images, kind === SECRET.kind ? BY_SECRET : BY_CONFIG_MAP, key))
          requeue(keyOf(image.metadata))
      },
    }),
    references: [...options.references, clones],
    admission: new Admission({
      ...options,
      ...caches.cluster,
      images: caches.images,
      ledger: new SlotLedger({
        ...{ client, clock, log, namespace },
        isCached: (key) => caches.cluster.configMaps.get(key) !== undefined,
      }),
      me: identity,
      patience: policy,
      refresh: async (signal) => {
        if (options.hadPredecessor) await caches.reflectors.refresh([IMAGE, DATA_VOLUME], signal)
      },
      onChange: requeue,
      onUnreached: (message) => options.neighbours.noteFailure(message),
    }),
  }
}
