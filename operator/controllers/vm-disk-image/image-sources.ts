import type { Policy } from '@open-terrain/constructs'
import { CdiPulse } from '../../cluster/cdi-pulse.ts'
import { claimRefusals } from '../../cluster/event-looks.ts'
import type { ReferenceSource } from '../../images/references.ts'
import { DATA_VOLUME } from '../../kube/resource-types.ts'
import type { Services } from '../../runtime/services.ts'
import { Admission } from './admission/admission.ts'
import { SlotLedger } from './admission/slot-ledger.ts'
import { IMAGE, type ImageCaches } from './caches.ts'
import { Clones } from './clones.ts'
import type { ImageMetrics } from './image-metrics.ts'
import { ProgressWatch } from './progress-watch.ts'

export interface ImageControllerOptions extends Services {
  readonly caches: ImageCaches
  /** Whether another process may have led since the caches were filled: the watches may not have reported its last writes yet. */
  readonly hadPredecessor: boolean
  readonly metrics: ImageMetrics
  /** Namespace of the operator. */
  readonly namespace: string
  /** Where CDI is installed. Default `cdi`. */
  readonly cdiNamespace?: string | undefined
  readonly identity: string
  readonly policy: () => Policy
  readonly limit: (ledgerLimit: number | undefined) => number
  /** Calls `listener` at each change of the policy; returns a function that stops that. */
  readonly onPolicyChange: (listener: (change: { readonly isLimitAlone: boolean }) => void) => () => void
  /** Kinds that name images. */
  readonly references: readonly ReferenceSource[]
}

export type ImageSources = ReturnType<typeof imageSources>

/** Creates the sources that images are observed from, for one term. @param lookAgain called with the key of an image that must be reconciled */
export function imageSources(options: ImageControllerOptions, lookAgain: (key: string) => void) {
  const { client, caches, clock, log, namespace, identity, policy } = options
  const cdiPulse = new CdiPulse(options)
  const clones = new Clones(client, caches)
  return {
    caches,
    policy,
    cdiPulse,
    clones,
    progress: new ProgressWatch(clock, cdiPulse),
    claimRefusals: claimRefusals({ ...options, onChange: lookAgain }),
    references: [...options.references, clones],
    admission: new Admission({
      ...options,
      ...caches.cluster,
      images: caches.images,
      ledger: new SlotLedger({ client, clock, log, namespace }),
      me: identity,
      patience: policy,
      refresh: async (signal) => {
        if (options.hadPredecessor) await caches.reflectors.refresh([IMAGE, DATA_VOLUME], signal)
      },
      onChange: lookAgain,
    }),
  }
}
