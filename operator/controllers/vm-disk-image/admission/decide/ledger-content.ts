import { CONCURRENCY_MAX, dnsLabel, objectName } from '@open-terrain/constructs/operator'
import { z } from 'zod'
import { isTerminating, type KubeObject, type ObjectMeta } from '../../../../kube/kube-object.ts'
import type { Holder } from '../../world.ts'

/** The current limit and the holders of slots under it, as in one version of one object. */
export interface LedgerState {
  readonly limit: number
  readonly holders: readonly Holder[]
  /** Recreated after a loss. Earlier requests and importers may be unknown, so each leader waits before it admits anybody, until one wait is over. */
  readonly isSettling?: true
}

export interface LedgerObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
  readonly immutable?: boolean
}

const LEDGER_LABELS: Readonly<Record<string, string>> = { 'app.kubernetes.io/managed-by': 'open-terrain-operator' }
const KEYS: ReadonlySet<string> = new Set(['limit', 'holders', 'settling'])

/** A lowered limit and a handover leave more holders than the limit in force allows. Twice the highest limit must be forged. */
const HOLDERS_MAX = 2 * CONCURRENCY_MAX
/** Maximum number of characters of all holders together. A ConfigMap may have 1 MiB. */
const HOLDERS_SIZE = 1_000_000

/** Allows only what a real holder can have, since names are used in requests. */
const holderSchema = z.object({
  uid: z.string().min(1).max(64),
  namespace: dnsLabel(),
  name: objectName(),
  revision: z.string().regex(/^[0-9a-f]{8}$/),
  attempt: z.int().min(1),
  claimant: z.string().max(300),
})

/** Returns those of these holders that a ledger can have, the first ones. Anybody may make the DataVolumes that they were found by. */
export function fitting(holders: readonly Holder[]): Holder[] {
  const fit: Holder[] = []
  let size = 0
  for (const holder of holders.filter((one) => holderSchema.safeParse(one).success)) {
    size += JSON.stringify(holder).length + 1
    if (size > HOLDERS_SIZE || fit.length === HOLDERS_MAX) break
    fit.push(holder)
  }
  return fit
}

/** Renders the whole object: the write drops anything else in it. */
export function renderLedger(metadata: ObjectMeta, { limit, holders, isSettling }: LedgerState): LedgerObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, labels: LEDGER_LABELS },
    data: { limit: String(limit), holders: JSON.stringify(holders), ...(isSettling && { settling: 'true' }) },
  }
}

/**
 * Returns the state in the object, or why it cannot serve as the ledger. Then it counts as missing, and is recreated from what runs.
 * @param most maximum number of holders
 */
export function parseLedger(object: LedgerObject, most = HOLDERS_MAX): LedgerState | string {
  if (object.immutable === true) return 'it is immutable'
  if (isTerminating(object)) return 'it is being deleted'
  const { limit = '', holders: text = '[]', settling } = object.data ?? {}
  if (!/^\d{1,9}$/.test(limit) || Number(limit) > CONCURRENCY_MAX)
    return 'its limit is no number that the policy allows'
  const parsed = parseJson(text)
  if (!Array.isArray(parsed)) return 'its holders are no list'
  // Checked before each entry is: a megabyte of other content can be hundreds of thousands of entries.
  if (parsed.length > most) return `it has more than ${most} holders`
  const { success, data: holders = [] } = z.array(holderSchema).safeParse(parsed)
  if (!success) return 'one of its holders makes no sense'
  if (new Set(holders.map(({ uid }) => uid)).size < holders.length) return 'one image has two of its slots'
  return { limit: Number(limit), holders, ...(settling === 'true' && { isSettling: true }) }
}

/** Returns what somebody else has put into the object. */
export function foreignIn({ metadata, data = {}, binaryData = {} }: LedgerObject): readonly string[] {
  const { labels = {}, annotations = {}, finalizers = [], ownerReferences = [] } = metadata
  return [
    ...Object.keys(data).filter((key) => !KEYS.has(key)),
    ...Object.keys(binaryData),
    ...Object.keys(labels).flatMap((key) => (key in LEDGER_LABELS ? [] : [`label ${key}`])),
    ...Object.keys(annotations).map((key) => `annotation ${key}`),
    ...finalizers.map((one) => `finalizer ${one}`),
    ...ownerReferences.map(({ kind, name }) => `owner ${kind} ${name}`),
  ]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
