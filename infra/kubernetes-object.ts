import type { Manifest } from '@open-terrain/constructs/platform'
import kubernetesPackage from '@pulumi/kubernetes/package.json' with { type: 'json' }
import { CustomResource, type CustomResourceOptions, type Output, output } from '@pulumi/pulumi'
import { withSecretsMarked } from './secret-values.ts'

/**
 * A Kubernetes object as a Pulumi resource. All its fields are inputs, so Pulumi owns what is rendered, and nothing that others write. What may be
 * secret in it is encrypted in the state of the stack.
 */
export class KubernetesObject extends CustomResource {
  /** After an update, that of the object on the API server. A provider that applies nothing gives no `uid`. */
  declare readonly metadata: Output<Manifest['metadata'] & { readonly uid?: string }>
  /** Status on the API server at the last apply or refresh. */
  declare readonly status: Output<unknown>

  /**
   * @param name unique in the stack; see `resourceName`
   * @param later the object, if more of it than its kind and name is known only later
   */
  constructor(name: string, manifest: Manifest, options: CustomResourceOptions, later?: Output<Manifest>) {
    const { version } = kubernetesPackage
    const { fields, secretFields } = withSecretsMarked(manifest)
    const entries = Object.entries(fields).map(([field, value]) => [
      field,
      later === undefined || IDENTITY.includes(field) ? value : later.apply((whole) => markedField(whole, field)),
    ])
    super(
      typeOf(manifest),
      name,
      { ...Object.fromEntries(entries), status: undefined },
      // Of the inputs, only what is secret is encrypted; of what the cluster answers, each field that has it.
      {
        version,
        ...(secretFields.length === 0 ? {} : { additionalSecretOutputs: [...secretFields, INPUTS] }),
        ...options,
      },
    )
  }
}

/** Where the provider keeps what it was given, beside what the cluster answers. */
const INPUTS = '__inputs'
const IDENTITY = ['apiVersion', 'kind']

function markedField(manifest: Manifest, field: string): Output<unknown> {
  return output(withSecretsMarked(manifest).fields[field])
}

/** Returns the type as the classes of @pulumi/kubernetes name it, so that policy packs and aliases recognize it. */
export function typeOf({ apiVersion, kind }: Pick<Manifest, 'apiVersion' | 'kind'>): string {
  return `kubernetes:${apiVersion === 'v1' ? 'core/v1' : apiVersion}:${kind}`
}

/** Built from the object's own names, so that it changes exactly when the object becomes a different one. */
export function resourceName(prefix: string, { kind, metadata: { name, namespace } }: Manifest): string {
  return [prefix, kind.toLowerCase(), namespace, name].filter((part) => part !== undefined).join('/')
}
