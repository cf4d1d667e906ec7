import type { Manifest } from '@open-terrain/constructs/platform'
import kubernetesPackage from '@pulumi/kubernetes/package.json' with { type: 'json' }
import { CustomResource, type CustomResourceOptions, type Output } from '@pulumi/pulumi'

/** A Kubernetes object as a Pulumi resource. All its fields are inputs, so Pulumi owns what is rendered, and nothing that others write. */
export class KubernetesObject extends CustomResource {
  declare readonly metadata: Output<Manifest['metadata']>
  /** Status on the API server at the last apply or refresh. */
  declare readonly status: Output<unknown>

  /** @param name unique in the stack; see `resourceName` */
  constructor(name: string, manifest: Manifest, options: CustomResourceOptions) {
    const { version } = kubernetesPackage
    super(typeOf(manifest), name, { ...manifest, status: undefined }, { version, ...options })
  }
}

/** Returns the type as the classes of @pulumi/kubernetes name it, so that policy packs and aliases recognize it. */
export function typeOf({ apiVersion, kind }: Pick<Manifest, 'apiVersion' | 'kind'>): string {
  return `kubernetes:${apiVersion === 'v1' ? 'core/v1' : apiVersion}:${kind}`
}

/** Built from the object's own names, so that it changes exactly when the object becomes a different one. */
export function resourceName(prefix: string, { kind, metadata: { name, namespace } }: Manifest): string {
  return [prefix, kind.toLowerCase(), namespace, name].filter((part) => part !== undefined).join('/')
}
