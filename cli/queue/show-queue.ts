import { vmDiskImage } from '@open-terrain/constructs/operator'
import {
  type LedgerObject,
  type LedgerState,
  parseLedger,
} from '../../operator/controllers/vm-disk-image/admission/decide/ledger-content.ts'
import { LEDGER_NAME } from '../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { listWhole } from '../../operator/kube/list-all.ts'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { follow } from '../live/follow.ts'
import { redraw } from '../live/redraw.ts'
import { structuredText } from '../structured-text.ts'
import type { Surroundings } from '../surroundings.ts'
import { type ImageInQueue, imageInQueue, queuePicture } from './queue-picture.ts'
import { queueText } from './queue-text.ts'

export const QUEUE_FORMS = ['table', 'json', 'yaml'] as const
export type QueueForm = (typeof QUEUE_FORMS)[number]

export interface QueueOptions {
  /** Images of this namespace alone. */
  readonly namespace?: string | undefined
  readonly operatorNamespace: string
  readonly output: QueueForm
  /** Whether long tables are shown to their ends. */
  readonly isAll: boolean
}

/** Rows of each table, unless all are asked for. */
const ROWS = 20

/** What is known of the slots. */
export interface LedgerSeen {
  readonly ledger?: LedgerState
  /** Why it is not known. */
  readonly unseen?: string
}

type Images = ReadonlyMap<string, ImageInQueue>

/** Returns the queue as it is now, as text for standard output. Throws ApiError. */
export async function showQueue(client: KubeClient, options: QueueOptions, now: number): Promise<string> {
  const { namespace, operatorNamespace } = options
  const inNamespace = namespace === undefined ? {} : { namespace }
  const [seen, images] = await Promise.all([
    readLedger(client, operatorNamespace),
    listWhole(client, vmDiskImage, { ...inNamespace, project: imageInQueue }),
  ])
  return frameOf(new Map(images.map((image) => [image.key, image])), seen, options, now).text
}

/** Shows the queue, and each change of it, until somebody interrupts it. Throws ApiError. */
export async function watchQueue(
  surroundings: Surroundings & { readonly client: KubeClient },
  options: QueueOptions,
  interrupted: AbortSignal,
): Promise<void> {
  const { client, clock } = surroundings
  const { namespace, operatorNamespace } = options
  const ended = new AbortController()
  const signal = AbortSignal.any([interrupted, ended.signal])
  let images: Images | undefined
  let version = 0
  let seen = await readLedger(client, operatorNamespace)
  const followed = [
    follow({
      ...{ client, clock, signal, type: vmDiskImage, project: imageInQueue },
      ...(namespace !== undefined && { selection: { namespace } }),
      onChange: (all) => {
        images = all
        version++
      },
    }),
    // Who may read the ledger alone may not be allowed to watch it: then it stays as it was read.
    seen.unseen === undefined
      ? follow({
          ...{ client, clock, signal, type: CONFIG_MAP, project: (object) => object as LedgerObject },
          selection: { namespace: operatorNamespace, fieldSelector: `metadata.name=${LEDGER_NAME}` },
          onChange: (all) => {
            seen = ledgerIn(all.values().next().value)
            version++
          },
        }).catch((error: unknown) => {
          if (!isApiError(error, 'Rejected')) throw error
          seen = { unseen: unseenLedger(operatorNamespace, 'watch') }
          version++
        })
      : undefined,
  ]
  const take = () => images && frameOf(images, seen, options, clock.now())
  const shown = redraw(surroundings, { version: () => version, take }, signal)
  try {
    await Promise.all(followed)
  } finally {
    ended.abort()
    await shown
  }
}

async function readLedger(client: KubeClient, namespace: string): Promise<LedgerSeen> {
  try {
    return ledgerIn(await find<LedgerObject>(client, CONFIG_MAP, { namespace, name: LEDGER_NAME }))
  } catch (error) {
    if (isApiError(error, 'Rejected')) return { unseen: unseenLedger(namespace, 'get') }
    throw error
  }
}

/** Returns why the ledger is not known to somebody who lacks a right. */
export function unseenLedger(namespace: string, verb: string): string {
  return `the limit is not visible to you: that needs ${verb} of configmaps in ${namespace}`
}

/** Returns what the ledger says, or why that is not known. */
export function ledgerIn(object: LedgerObject | undefined): LedgerSeen {
  if (object === undefined)
    return {
      unseen: `there is no ConfigMap ${LEDGER_NAME}: the operator has not run yet, or is in another namespace (--operator-namespace)`,
    }
  const state = parseLedger(object)
  return typeof state === 'string' ? { unseen: `ConfigMap ${LEDGER_NAME} cannot be read: ${state}` } : { ledger: state }
}

function frameOf(images: Images, { ledger, unseen }: LedgerSeen, options: QueueOptions, now: number) {
  const isWhole = options.namespace === undefined
  const picture = queuePicture({ images: images.values(), ledger, isWhole }, now)
  const { output, isAll } = options
  const content = JSON.stringify(picture, (key, value) => (TIMES.has(key) ? undefined : value))
  if (output !== 'table') return { text: structuredText({ ...picture, unseen }, output), content }
  return { text: queueText(picture, { now, rows: isAll ? images.size : ROWS, unseen }), content }
}

/** Fields that change by themselves. */
const TIMES: ReadonlySet<string> = new Set(['percentPerMinute', 'secondsLeft', 'secondsToStart'])
