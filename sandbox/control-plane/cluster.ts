import { ControlPlane, type ControlPlaneOptions } from './control-plane.ts'
import { type ForeignCrdSource, type ForeignCrds, foreignCrds } from './foreign-crds.ts'
import { ourCrds } from './install.ts'

export const OPERATOR_NAMESPACE = 'sync-operator'

export interface ClusterOptions extends Omit<ControlPlaneOptions, 'crds'> {
  /** Which CRDs of the systems underneath; default: the real ones where they are present. */
  readonly foreign?: ForeignCrdSource
  readonly namespaces?: readonly string[]
}

/** A control plane that is ready for the operator: our CRDs, those of the systems underneath, and the namespaces. */
export interface Cluster extends AsyncDisposable {
  readonly controlPlane: ControlPlane
  readonly foreign: ForeignCrds
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { foreign: source, namespaces = [OPERATOR_NAMESPACE], ...rest } = options
  const [ours, foreign] = await Promise.all([ourCrds(), foreignCrds(source === undefined ? {} : { source })])
  const controlPlane = new ControlPlane({ ...rest, crds: [...ours, ...foreign.crds] })
  await controlPlane.start()
  try {
    for (const name of namespaces) await createNamespace(controlPlane, name)
  } catch (error) {
    await controlPlane.stop()
    throw error
  }
  return { controlPlane, foreign, [Symbol.asyncDispose]: () => controlPlane.stop() }
}

async function createNamespace(controlPlane: ControlPlane, name: string): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
  const { status, text } = await controlPlane.request('POST', '/api/v1/namespaces', namespace)
  if (status !== 201 && status !== 409) throw new Error(`cannot create the namespace ${name}: ${text}`)
}
