import type { Manifest } from '@open-terrain/constructs/platform'
import kubernetesPackage from '@pulumi/kubernetes/package.json' with { type: 'json' }
import { CustomResource, type CustomResourceOptions, type Output } from '@pulumi/pulumi'

/** One object of Kubernetes as a Pulumi resource. All its fields are inputs, so that Pulumi owns what is rendered, and nothing that others write. */
export class KubernetesObject extends CustomResource {
  declare readonly metadata: Output<Manifest['metadata']>
  /** As the API server had it when the object was last applied or refreshed. */
  declare readonly status: Output<unknown>

  /** @param name unique in the stack; see `resourceName` */
  constructor(name: string, manifest: Manifest, options: CustomResourceOptions) {
    const { version } = kubernetesPackage
    super(typeOf(manifest), name, { ...manifest, status: undefined }, { version, ...options })
  }
}

/** The type as the classes of @pulumi/kubernetes have it, so that policy packs and aliases know it. */
export function typeOf({ apiVersion, kind }: Pick<Manifest, 'apiVersion' | 'kind'>): string {
  return `kubernetes:${apiVersion === 'v1' ? 'core/v1' : apiVersion}:${kind}`
}

/** Made of the object's own names: it changes when the object is another one, and never else. */
export function resourceName(prefix: string, { kind, metadata: { name, namespace } }: Manifest): string {
  return [prefix, kind.toLowerCase(), namespace, name].filter((part) => part !== undefined).join('/')
}
