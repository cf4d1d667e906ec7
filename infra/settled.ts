import { GROUP } from '@open-terrain/constructs'
import type { Manifest } from '@open-terrain/constructs/platform'

interface Condition {
  readonly type: string
  readonly status: string
}

interface Status {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
  readonly conditions?: readonly Condition[]
}

/** Whether the object is of the API of Open Terrain, so that the operator reports on it. */
export function isOurs({ apiVersion }: Pick<Manifest, 'apiVersion'>): boolean {
  return apiVersion.startsWith(`${GROUP}/`)
}

/**
 * The object with the annotation by which Pulumi's Kubernetes provider waits until it is Ready or has failed, with this spec. It waits for the
 * condition Settled, since one that waits for Ready learns of no failure before its time is over.
 */
export function awaitingSettled(manifest: Manifest): Manifest {
  const metadata = manifest.metadata as Manifest['metadata'] & { readonly annotations?: Record<string, string> }
  const annotations = { ...metadata.annotations, 'pulumi.com/waitFor': 'condition=Settled' }
  return { ...manifest, metadata: { ...metadata, annotations } as Manifest['metadata'] }
}

/** Why an object that is settled is not Ready, as a sentence; undefined while it is not settled, and when it is Ready. */
export function failureOf({ kind, metadata: { name, namespace } }: Manifest, given: unknown): string | undefined {
  const { phase, reason, message, conditions = [] } = (given ?? {}) as Status
  const isTrue = (type: string) => conditions.some((one) => one.type === type && one.status === 'True')
  // An image whose refresh has failed stays Ready: what it had before still serves.
  if (!isTrue('Settled') || (isTrue('Ready') && phase !== 'Failed')) return undefined
  const object = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
  const said = [reason, message].filter((text) => text !== undefined && text !== '').join(': ')
  return `${object} has failed: ${said === '' ? 'it does not say why' : said} (after you fix it, run: pulumi up --refresh)`
}
