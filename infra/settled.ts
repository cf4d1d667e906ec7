import { GROUP } from '@open-terrain/constructs'
import { API_KINDS } from '@open-terrain/constructs/infra'
import type { Manifest } from '@open-terrain/constructs/platform'

interface Condition {
  readonly type: string
  readonly status: string
  readonly observedGeneration?: number
}

interface Status {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
  readonly observedGeneration?: number
  readonly conditions?: readonly Condition[]
}

/** An object as the API server has it. */
export interface StoredObject {
  readonly metadata: { readonly uid?: string; readonly generation?: number; readonly deletionTimestamp?: string }
  readonly status?: Status
}

/** What an object has come to. `why` is in the operator's words. */
export type Outcome =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'waiting'; readonly why: string }

/** Reports whether the object is of the Open Terrain API, so that the operator writes its status. */
export function isOurs({ apiVersion }: Pick<Manifest, 'apiVersion'>): boolean {
  return apiVersion.startsWith(`${GROUP}/`)
}

/** Name in URLs of a kind of the Open Terrain API. Undefined for all other kinds. */
export function pluralOf(manifest: Pick<Manifest, 'apiVersion' | 'kind'>): string | undefined {
  return isOurs(manifest) ? API_KINDS.find(({ kind }) => kind === manifest.kind)?.plural : undefined
}

/**
 * Returns the object with the annotation by which Pulumi's Kubernetes provider does not wait for it, whatever else it is told: neither
 * `pulumi.com/waitFor` nor PULUMI_K8S_AWAIT_ALL counts then. The provider still waits until a deleted object is gone.
 */
export function unawaited(manifest: Manifest): Manifest {
  const metadata = manifest.metadata as Manifest['metadata'] & { readonly annotations?: Record<string, string> }
  const annotations = { ...metadata.annotations, 'pulumi.com/skipAwait': 'true' }
  return { ...manifest, metadata: { ...metadata, annotations } as Manifest['metadata'] }
}

/**
 * Judges an object by what the operator says of its present spec. Ready without Settled is not enough: an image whose spec has changed is Ready
 * with its earlier disk. It has failed if the new spec has, though that disk still serves.
 */
export function outcomeOf({ metadata, status = {} }: StoredObject): Outcome {
  const { generation = 0, deletionTimestamp } = metadata
  if (deletionTimestamp !== undefined) return { kind: 'failed', why: 'it is being deleted' }
  const { phase, conditions = [], observedGeneration } = status
  const isTrue = (type: string) =>
    conditions.some((one) => {
      const seen = one.observedGeneration ?? observedGeneration ?? generation
      return one.type === type && one.status === 'True' && seen >= generation
    })
  if (isTrue('Settled'))
    return isTrue('Ready') && phase !== 'Failed' ? { kind: 'ready' } : { kind: 'failed', why: wordsOf(status) }
  if (observedGeneration === undefined || observedGeneration < generation)
    return { kind: 'waiting', why: 'the operator has not seen its present spec yet; see whether the operator runs' }
  return { kind: 'waiting', why: wordsOf(status) }
}

function wordsOf({ phase, reason, message }: Status): string {
  const words = [reason ?? phase, message].filter((text) => text !== undefined && text !== '')
  return words.length === 0 ? 'it does not say why' : words.join(': ')
}

/** `Kind namespace/name`. */
export function titleOf({ kind, metadata: { name, namespace } }: Manifest): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}
