import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { SHARED_LABEL } from '@open-terrain/constructs/operator'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, NAMESPACE, NETWORK_ATTACHMENT_DEFINITION, SECRET } from '../../operator/kube/resource-types.ts'
import { EXAMPLES, readManifests } from '../../sandbox/demo/manifests.ts'

export interface ExampleLab extends KubeObject {
  readonly spec: WorkspaceSpecInput
}

/** What the labs of the examples need of the policy. */
export const EXAMPLE_LABS_POLICY = {
  allowedCapabilities: 'NET_ADMIN,NET_RAW,SYS_ADMIN',
  allowedDevices: 'tun',
  attachableNetworks: 'vlans/vlan-100',
  sharedSecretNamespaces: 'registry-logins',
  allowedOverrides:
    'vm:template.spec.domain.cpu vm:template.spec.domain.devices.disks.cache pod:spec.hostAliases pod:spec.volumes.emptyDir pod:spec.containers.volumeMounts',
} as const

/** What a Secret or ConfigMap has of which a lab takes all keys. */
export const [WHOLE_KEY, WHOLE_VALUE] = ['key', 'value']

/** Returns the labs of the examples, by the names of their files. */
export async function exampleLabs(): Promise<ReadonlyMap<string, ExampleLab>> {
  const files = await readdir(join(EXAMPLES, 'labs'))
  const labs = files.map(async (file): Promise<[string, ExampleLab]> => {
    const [lab] = await readManifests(`labs/${file}`)
    if (lab === undefined) throw new Error(`${file} has no manifest`)
    return [file.replace(/[.]yaml$/, ''), lab as unknown as ExampleLab]
  })
  return new Map(await Promise.all(labs))
}

/** Makes what a platform team makes once for them. */
export async function makeSurroundings(client: Pick<KubeClient, 'create'>): Promise<void> {
  await makeNetwork(client, 'vlans', 'vlan-100')
  await shareLogin(client, 'registry-logins', 'pull')
}

/** Creates the Secrets and ConfigMaps that a lab names and does not make itself. */
export async function createNamed(
  client: Pick<KubeClient, 'create'>,
  namespace: string,
  spec: WorkspaceSpecInput,
): Promise<void> {
  const wholes = [...JSON.stringify(spec).matchAll(/"(secretRef|configMapRef)":{"name":"([^"]+)"}/g)]
  const secrets = secretsIn(spec)
  for (const [, field, name = ''] of wholes)
    if (field === 'secretRef') secrets.set(name, { [WHOLE_KEY]: WHOLE_VALUE, ...secrets.get(name) })
  for (const { name } of spec.secrets ?? []) secrets.delete(name)
  for (const [name, stringData] of secrets)
    await client.create(SECRET, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace, name },
      stringData,
    } as KubeObject)
  const configMaps = new Set(wholes.flatMap(([, field, name = '']) => (field === 'configMapRef' ? name : [])))
  for (const name of configMaps)
    await client.create(CONFIG_MAP, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace, name },
      data: { [WHOLE_KEY]: WHOLE_VALUE },
    } as KubeObject)
}

/** The Secrets of which it names keys, each with what a machine takes as a password and as user data. */
function secretsIn(spec: WorkspaceSpecInput): Map<string, Record<string, string>> {
  const secrets = new Map<string, Record<string, string>>()
  const refs = JSON.stringify(spec).matchAll(/"(\w+)":{"name":"([^"]+)","key":"([^"]+)"}/g)
  for (const [, field = '', name = '', key = ''] of refs)
    secrets.set(name, { ...secrets.get(name), [key]: field === 'userDataSecretRef' ? '#!/bin/sh\n' : 'secret' })
  return secrets
}

/** A login that labs have copies of, as its owner shares it. */
async function shareLogin(client: Pick<KubeClient, 'create'>, namespace: string, name: string): Promise<void> {
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name: namespace } })
  await client.create(SECRET, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name, labels: { [SHARED_LABEL]: 'true' } },
    type: 'kubernetes.io/dockerconfigjson',
    stringData: { '.dockerconfigjson': '{"auths":{}}' },
  } as KubeObject)
}

/** A network of the site, as a platform team makes it once. */
async function makeNetwork(client: Pick<KubeClient, 'create'>, namespace: string, name: string): Promise<void> {
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name: namespace } })
  const config = { cniVersion: '0.3.1', name, type: 'bridge', bridge: 'vlan100', capabilities: { mac: true }, ipam: {} }
  await client.create(NETWORK_ATTACHMENT_DEFINITION, {
    apiVersion: apiVersionOf(NETWORK_ATTACHMENT_DEFINITION),
    kind: NETWORK_ATTACHMENT_DEFINITION.kind,
    metadata: { namespace, name },
    spec: { config: JSON.stringify(config) },
  } as KubeObject)
}
