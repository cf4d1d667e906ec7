import { Secret } from '@pulumi/kubernetes/core/v1/secret.js'
import { ComponentResource, type ComponentResourceOptions, type Output, type Resource } from '@pulumi/pulumi'

/** Text by key, by name of the Secret. */
export type SecretTexts = Readonly<Record<string, Readonly<Record<string, string>>>>

export interface SourceSecretsArgs {
  /** Where images look for Secrets: their own namespace. */
  readonly namespace: string
  /** Names of the Secrets. The names are not secret. */
  readonly names: readonly string[]
  readonly texts: Output<SecretTexts>
  readonly after?: readonly Resource[]
}

/** Credentials for image sources, encrypted in the stack's file and in its state. */
export class SourceSecrets extends ComponentResource {
  readonly resources: readonly Secret[]

  constructor(name: string, args: SourceSecretsArgs, options: ComponentResourceOptions = {}) {
    super('open-terrain:index:SourceSecrets', name, {}, options)
    const { namespace, names, texts, after = [] } = args
    this.resources = names.map((secret) => {
      const stringData = texts.apply((all) => ({ ...all[secret] }))
      const metadata = { name: secret, namespace }
      const options = { parent: this, dependsOn: [...after] }
      return new Secret(`${name}/secret/${namespace}/${secret}`, { metadata, type: 'Opaque', stringData }, options)
    })
    this.registerOutputs({})
  }
}
