import { CONCURRENCY_MAX } from '@open-terrain/constructs'
import { z } from 'zod'
import type { KubeObject, ObjectMeta } from '../../../../kube/kube-object.ts'
import type { Holder } from '../../world.ts'

/** The current limit and who downloads under it, as one object says at one version. */
export interface LedgerState {
  readonly limit: number
  readonly holders: readonly Holder[]
  /** It was made again in place of one that was lost. Requests and importers from before may be unknown, so each leader waits for them before it admits anybody, until one has waited to the end. */
  readonly isSettling?: true
}

export interface LedgerObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
  readonly binaryData?: Readonly<Record<string, string>>
  readonly immutable?: boolean
}

const LABELS: Readonly<Record<string, string>> = { 'app.kubernetes.io/managed-by': 'open-terrain-operator' }
const KEYS: ReadonlySet<string> = new Set(['limit', 'holders', 'settling'])

/** After a hand-over there may be more holders than the limit allows, and never twice as many. */
const HOLDERS_MAX = 2 * CONCURRENCY_MAX
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** No more than a real holder can have: names go into requests. */
const holderSchema = z.object({
  uid: z.string().min(1).max(64),
  namespace: z.string().max(63).regex(DNS_LABEL),
  name: z.string().max(253).regex(DNS_SUBDOMAIN),
  revision: z.string().regex(/^[0-9a-f]{8}$/),
  attempt: z.int().min(1),
  claimant: z.string().max(300),
})

/** The whole object: whatever else there is goes with the write. */
export function renderLedger(metadata: ObjectMeta, { limit, holders, isSettling }: LedgerState): LedgerObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { ...metadata, labels: LABELS },
    data: { limit: String(limit), holders: JSON.stringify(holders), ...(isSettling && { settling: 'true' }) },
  }
}

/**
 * What the object says, or why it cannot serve as the ledger: it is as good as none then, and made again from what runs.
 * @param most holders that it can have
 */
export function parseLedger(object: LedgerObject, most = HOLDERS_MAX): LedgerState | string {
  if (object.immutable === true) return 'it is immutable'
  if (object.metadata.deletionTimestamp !== undefined) return 'it is being deleted'
  const { limit = '', holders: text = '[]', settling } = object.data ?? {}
  if (!/^\d{1,9}$/.test(limit) || Number(limit) > CONCURRENCY_MAX)
    return 'its limit is no number that the policy allows'
  const parsed = parseJson(text)
  if (!Array.isArray(parsed)) return 'its holders are no list'
  // Before each one is looked at: a megabyte of something else is hundreds of thousands.
  if (parsed.length > most) return `it has more than ${most} holders`
  const { success, data: holders = [] } = z.array(holderSchema).safeParse(parsed)
  if (!success) return 'one of its holders makes no sense'
  if (new Set(holders.map(({ uid }) => uid)).size < holders.length) return 'one image has two of its slots'
  return { limit: Number(limit), holders, ...(settling === 'true' && { isSettling: true }) }
}

/** What somebody else has put into the object. */
export function foreignIn({ metadata, data = {}, binaryData = {} }: LedgerObject): readonly string[] {
  const { labels = {}, annotations = {}, finalizers = [], ownerReferences = [] } = metadata
  return [
    ...Object.keys(data).filter((key) => !KEYS.has(key)),
    ...Object.keys(binaryData),
    ...Object.keys(labels)
      .filter((key) => !(key in LABELS))
      .map((key) => `label ${key}`),
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
