import {
  DATA_SYNC_CONDITION_RULES,
  DATA_SYNC_REASON_HELP,
  type Policy,
  quietReasons,
  vmDiskImage,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import { BY_NAMESPACE } from '../../cluster/caches.ts'
import { triggersOf } from '../../cluster/triggers.ts'
import { BY_IMAGE } from '../../images/references.ts'
import { isTerminating } from '../../kube/kube-object.ts'
import { ObjectController } from '../../runtime/object-controller.ts'
import type { PhaseGauge } from '../../runtime/phase-gauge.ts'
import { Refusals } from '../../runtime/refusals.ts'
import type { Services } from '../../runtime/services.ts'
import type { WorkQueue } from '../../runtime/work-queue.ts'
import { DATA_SYNC, type DataSyncCaches, imagesOf } from './caches.ts'
import { type DataSyncPlan, planDataSync } from './decide/plan.ts'
import { dataSyncThrottleOf } from './decide/status.ts'
import { observeDataSync } from './observe.ts'
import type { DataSyncView } from './world.ts'

/** A hundred images of one DataSync may change at once: one reconcile handles them together. */
const IMAGES_SETTLE_MS = 200

type Options = Services & {
  readonly caches: DataSyncCaches
  readonly phases: PhaseGauge
  readonly policy: () => Policy
  /** Calls `listener` on each change of the policy. Returns a function that stops this. */
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** Reconciles DataSyncs, as long as this process leads. */
export class DataSyncController extends ObjectController<DataSyncView, DataSyncPlan, undefined> {
  constructor(options: Options) {
    const { caches, phases, clock, policy, onPolicyChange } = options
    const refusals = new Refusals()
    super(options, caches.reflectors, {
      type: DATA_SYNC,
      children: [{ type: vmDiskImage, propagationPolicy: 'Background' }],
      areChildrenApart: true,
      store: caches.dataSyncs,
      listen: (queue) => [
        ...listenForTriggers(caches, queue),
        onPolicyChange(() => {
          for (const key of caches.dataSyncs.keys()) queue.add(key)
        }),
      ],
      gauges: phases,
      quietReasons: quietReasons(DATA_SYNC_REASON_HELP),
      states: { reasons: DATA_SYNC_REASON_HELP, conditions: DATA_SYNC_CONDITION_RULES },
      plan: (dataSync) => {
        const refusal = refusals.of(dataSync.metadata.uid ?? '')
        return planDataSync(observeDataSync(dataSync, caches, policy(), refusal), clock.now())
      },
      throttle: ({ status }, plan, sinceWriteMs) => dataSyncThrottleOf(status, plan.status, sinceWriteMs),
      factsBetween: (_before, status) => ({ images: (status as DataSyncView['status']).ready }),
      refusals,
    })
  }
}

function listenForTriggers({ dataSyncs, images, namespaces }: DataSyncCaches, queue: WorkQueue) {
  const { all, refersTo } = triggersOf(dataSyncs, (key) => queue.addAfter(key, IMAGES_SETTLE_MS))
  return [
    dataSyncs.onChange(({ before, after }) => {
      if (after !== undefined && isSame(before?.spec, after.spec) && isTerminating(before) === isTerminating(after))
        return
      // A change of what one DataSync wants concerns all that share an image with it.
      const keys = [before, after].flatMap((one) => (one === undefined ? [] : imagesOf(one)))
      for (const key of new Set(keys)) all(dataSyncs.find(BY_IMAGE, key))
    }),
    refersTo(images, BY_IMAGE),
    refersTo(namespaces, BY_NAMESPACE, isTerminating),
  ]
}
