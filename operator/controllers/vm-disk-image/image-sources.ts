import type { Policy } from '@open-terrain/constructs'
import { CdiPulse } from '../../cluster/cdi-pulse.ts'
import { claimRefusals } from '../../cluster/claim-refusals.ts'
import type { EventLooks } from '../../cluster/event-looks.ts'
import { countLive, type ReferenceSource, type References } from '../../images/references.ts'
import type { ObjectKey } from '../../kube/kube-object.ts'
import { DATA_VOLUME } from '../../kube/resource-types.ts'
import type { Services } from '../../runtime/services.ts'
import { Admission } from './admission/admission.ts'
import { SlotLedger } from './admission/slot-ledger.ts'
import { IMAGE, type ImageCaches } from './caches.ts'
import { CloneReferences } from './clone-references.ts'
import { Clones } from './clones.ts'
import type { ImageMetrics } from './image-metrics.ts'
import type { Sources } from './observe.ts'
import { ProgressWatch } from './progress-watch.ts'

export interface ImageControllerOptions extends Services {
  readonly caches: ImageCaches
  /** Whether somebody else may have led since the caches were filled: what that one wrote last, their watches may not have told yet. */
  readonly hadPredecessor: boolean
  readonly metrics: ImageMetrics
  /** Of the operator. */
  readonly namespace: string
  /** Where CDI is installed. Default `cdi`. */
  readonly cdiNamespace?: string | undefined
  readonly identity: string
  readonly policy: () => Policy
  readonly limit: (ledgerLimit: number | undefined) => number
  /** Calls back at each change of the policy; returns how to stop that. */
  readonly onPolicyChange: (listener: (change: { readonly isLimitAlone: boolean }) => void) => () => void
  /** Kinds that name images. */
  readonly references: readonly ReferenceSource[]
}

/** All that images are observed from, for one term. */
export class ImageSources implements Sources {
  readonly caches: ImageCaches
  readonly policy: () => Policy
  readonly admission: Admission
  readonly cdiPulse: CdiPulse
  readonly progress: ProgressWatch
  readonly claimRefusals: EventLooks
  readonly clones: Clones
  readonly references: readonly ReferenceSource[]

  /** @param lookAgain something else is known of the image with this key */
  constructor(options: ImageControllerOptions, lookAgain: (key: string) => void) {
    const { client, caches, clock, log, namespace, identity, policy } = options
    this.caches = caches
    this.policy = policy
    this.cdiPulse = new CdiPulse(options)
    this.progress = new ProgressWatch(clock, this.cdiPulse)
    this.claimRefusals = claimRefusals({ ...options, onNews: lookAgain })
    this.clones = new Clones(client, caches)
    this.references = [...options.references, new CloneReferences(caches, this.clones)]
    this.admission = new Admission({
      ...options,
      images: caches.images,
      dataVolumes: caches.cluster.dataVolumes,
      claims: caches.cluster.claims,
      pods: caches.cluster.pods,
      ledger: new SlotLedger({ client, clock, log, namespace }),
      me: identity,
      patience: policy,
      refresh: async (signal) => {
        if (options.hadPredecessor) await caches.reflectors.refresh([IMAGE, DATA_VOLUME], signal)
      },
      onChange: lookAgain,
    })
  }

  /** All that refers to an image, by a live look. Throws ApiError. */
  readonly countReferences = (image: ObjectKey, signal: AbortSignal): Promise<References> =>
    countLive(this.references, image, signal)

  /** The image is gone. */
  forget(uid: string): void {
    this.admission.forget(uid)
    this.progress.forget(uid)
    this.claimRefusals.drop(uid)
  }
}
