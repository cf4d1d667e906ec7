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

/** Reports whether the object is of the Open Terrain API, so that the operator writes its status. */
export function isOurs({ apiVersion }: Pick<Manifest, 'apiVersion'>): boolean {
  return apiVersion.startsWith(`${GROUP}/`)
}

/**
 * Returns the object with the annotation that makes Pulumi's Kubernetes provider wait until it is Ready or has failed with this spec. The provider
 * waits for the condition Settled, because a wait for Ready does not notice a failure before it times out.
 */
export function awaitingSettled(manifest: Manifest): Manifest {
  const metadata = manifest.metadata as Manifest['metadata'] & { readonly annotations?: Record<string, string> }
  const annotations = { ...metadata.annotations, 'pulumi.com/waitFor': 'condition=Settled' }
  return { ...manifest, metadata: { ...metadata, annotations } as Manifest['metadata'] }
}

/** Returns why a settled object failed, as a sentence. Undefined while it is not settled, and if it is Ready and its phase is not Failed. */
export function failureOf({ kind, metadata: { name, namespace } }: Manifest, given: unknown): string | undefined {
  const { phase, reason, message, conditions = [] } = (given ?? {}) as Status
  const isTrue = (type: string) => conditions.some((one) => one.type === type && one.status === 'True')
  // An image whose refresh failed stays Ready, because its previous artifact still serves.
  if (!isTrue('Settled') || (isTrue('Ready') && phase !== 'Failed')) return undefined
  const object = `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
  const why = [reason, message].filter((text) => text !== undefined && text !== '').join(': ')
  return `${object} has failed: ${why === '' ? 'it does not say why' : why} (after you fix it, run: pulumi up --refresh)`
}
