import { INSTALLATION_PARTS, renderInstallation } from '@open-terrain/constructs/platform'
import * as k8s from '@pulumi/kubernetes'
import * as pulumi from '@pulumi/pulumi'
import { installationProps, PROJECT, parseConfig } from '../../infra/config.ts'

const KEPT = ['CustomResourceDefinition', 'Namespace']

/** All objects of an installation, as the configuration of the stack says, part after part. */
export async function program(): Promise<void> {
  const all = Object.entries(pulumi.runtime.allConfig()).filter(([key]) => key.startsWith(`${PROJECT}:`))
  const config = parseConfig(Object.fromEntries(all.map(([key, value]) => [key.slice(PROJECT.length + 1), value])))
  const parts = renderInstallation(installationProps(config))
  const provider = new k8s.Provider('cluster', {
    kubeconfig: new pulumi.Config('kubernetes').requireSecret('kubeconfig'),
    enableConfigMapMutable: true,
    enablePatchForce: true,
    upsertExistingObjects: true,
  })
  let before: pulumi.Resource[] = []
  for (const part of INSTALLATION_PARTS) {
    const made = parts[part].map(
      (manifest) =>
        new k8s.apiextensions.CustomResource(`${part}/${manifest.kind}/${manifest.metadata.name}`, manifest as never, {
          provider,
          dependsOn: before,
          retainOnDelete: KEPT.includes(manifest.kind),
        }),
    )
    if (made.length > 0) before = made
  }
}
