import { ComponentResource, type ComponentResourceOptions, type Resource } from '@pulumi/pulumi'

/**
 * Keeps a stack from being destroyed. Pulumi deletes it before everything that it depends on, and refuses to, if it is protected: with or without a
 * preview, a destroy ends before it has deleted anything. An update may still remove one of these resources, which protection of its own would prevent.
 */
export class Protection extends ComponentResource {
  constructor(name: string, resources: readonly Resource[], protect: boolean, options: ComponentResourceOptions = {}) {
    // Registered when it protects nothing too: what leaves the program while its state says protected is not deleted.
    super('open-terrain:index:Protection', name, {}, { ...options, protect, dependsOn: [...resources] })
    this.registerOutputs({})
  }
}
