import { vmDiskImage } from '@open-terrain/constructs'
import { isTerminating, keyOf } from '../../kube/kube-object.ts'
import { onlyNews } from '../../runtime/news.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import type { Removal } from '../../runtime/plan-writer.ts'
import { Refusals } from '../../runtime/refusals.ts'
import type { Services } from '../../runtime/services.ts'
import { stopAll } from '../../runtime/stops.ts'
import { BY_IMAGE, BY_NAMESPACE, DATA_SYNC, type DataSyncCaches, wanted } from './caches.ts'
import type { DataSyncMetrics } from './data-sync-metrics.ts'
import { paceOf } from './decide/pace.ts'
import { type DataSyncPlan, planDataSync } from './decide/plan.ts'
import { observeDataSync } from './observe.ts'
import type { DataSyncView } from './world.ts'

/** A hundred images of one DataSync may change at once: they are looked at together. */
const IMAGES_SETTLE_MS = 200

export interface DataSyncControllerOptions extends Services {
  readonly caches: DataSyncCaches
  readonly metrics: DataSyncMetrics
}

/** DataSyncs, for as long as this process leads. */
export class DataSyncController {
  readonly #caches: DataSyncCaches
  readonly #metrics: DataSyncMetrics
  readonly #controller: ObjectController<DataSyncView, Removal, DataSyncPlan, undefined>

  constructor(options: DataSyncControllerOptions) {
    const { caches, clock } = options
    const refusals = new Refusals()
    this.#caches = caches
    this.#metrics = options.metrics
    this.#controller = new ObjectController(options, caches.reflectors, {
      type: DATA_SYNC,
      children: { VMDiskImage: { type: vmDiskImage, propagationPolicy: 'Background' } },
      store: caches.dataSyncs,
      plan: (dataSync) => {
        const refusal = refusals.of(dataSync.metadata.uid ?? '')
        return planDataSync(observeDataSync(dataSync, caches, refusal), clock.now())
      },
      pace: ({ status }, plan, sinceWriteMs) => paceOf(status, plan.status, sinceWriteMs),
      factsBetween: (_before, status) => ({ images: (status as DataSyncView['status']).ready }),
      refusals,
    })
  }

  /** Serves until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { queue } = this.#controller
    const stop = this.#listen()
    const { dataSyncs } = this.#caches
    this.#metrics.readFrom(() => Array.from(dataSyncs.values(), ({ status }) => status.phase))
    for (const key of dataSyncs.keys()) queue.add(key)
    try {
      await this.#controller.run(signal)
    } finally {
      stop()
      this.#metrics.readFrom(undefined)
    }
  }

  #listen(): () => void {
    const { dataSyncs, images, namespaces } = this.#caches
    const { queue } = this.#controller
    const about = (index: string, key: string) => {
      for (const { metadata } of dataSyncs.find(index, key)) queue.addAfter(keyOf(metadata), IMAGES_SETTLE_MS)
    }
    const stops = [
      dataSyncs.onChange(({ key, before, after }) => {
        queue.add(key)
        if (after === undefined) this.#controller.forget(before?.metadata.uid ?? '')
        // What one of them wants concerns all that share an image with it.
        const keys = [before, after].flatMap((one) => (one === undefined ? [] : wanted(one).map(({ key: its }) => its)))
        if (!isSame(before?.spec, after?.spec) || after === undefined)
          for (const its of new Set(keys)) about(BY_IMAGE, its)
      }),
      images.onChange(onlyNews(({ key }) => about(BY_IMAGE, key))),
      namespaces.onChange(({ key, before, after }) => {
        if (isTerminating(before) !== isTerminating(after)) about(BY_NAMESPACE, key)
      }),
    ]
    return stopAll(stops)
  }
}
