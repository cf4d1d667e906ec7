import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { SHARED_LABEL, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { NAMESPACE, NETWORK_ATTACHMENT_DEFINITION, SECRET } from '../../operator/kube/resource-types.ts'
import { EXAMPLES, readManifests } from '../../sandbox/demo/manifests.ts'
import { useCluster } from '../harness/cluster.ts'
import { WORKSPACE } from '../harness/kinds.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

/** Real kinds of lab, each of which a file of the examples says: without it, nothing proves that people can say it. */
const KINDS = {
  'a course on high availability, with packages and commands': ['ha-course'],
  'machines on a VLAN of the site': ['vlan-machines'],
  'a web server by cloud-init': ['web-server-cloud-init'],
  'a Windows member of a domain': ['windows-domain'],
  'FRR, and hosts with layer-2 links': ['frr-routers', 'layer-2-links'],
  'DVWA, and an attacker with a terminal': ['web-attack'],
  'a small sandbox as KYPO has them': ['training-sandbox'],
  'IPv4 and IPv6': ['dual-stack'],
  'a firewall with clients of its DHCP server': ['firewall-dhcp'],
  'a range that Ansible sets up': ['ansible-range'],
}

/** The Secrets that a lab names and does not make itself, each with what a machine takes as a password and as user data. */
function secretsIn(spec: WorkspaceSpecInput): Map<string, Record<string, string>> {
  const secrets = new Map<string, Record<string, string>>()
  const refs = JSON.stringify(spec).matchAll(/"(\w+)":{"name":"([^"]+)","key":"([^"]+)"}/g)
  for (const [, field = '', name = '', key = ''] of refs)
    secrets.set(name, { ...secrets.get(name), [key]: field === 'userDataSecretRef' ? '#!/bin/sh\n' : 'secret' })
  for (const { name } of spec.secrets ?? []) secrets.delete(name)
  return secrets
}

/** A login that labs have copies of, as its owner shares it. */
async function shareLogin(client: KubeClient, namespace: string, name: string): Promise<void> {
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
async function makeNetwork(client: KubeClient, namespace: string, name: string): Promise<void> {
  await client.create(NAMESPACE, { apiVersion: 'v1', kind: NAMESPACE.kind, metadata: { name: namespace } })
  const config = { cniVersion: '0.3.1', name, type: 'bridge', bridge: 'vlan100', capabilities: { mac: true }, ipam: {} }
  await client.create(NETWORK_ATTACHMENT_DEFINITION, {
    apiVersion: apiVersionOf(NETWORK_ATTACHMENT_DEFINITION),
    kind: NETWORK_ATTACHMENT_DEFINITION.kind,
    metadata: { namespace, name },
    spec: { config: JSON.stringify(config) },
  } as KubeObject)
}

it('the labs of the examples become Ready as they are, with the Secrets that they name', async () => {
  const files = await readdir(join(EXAMPLES, 'labs'))
  const named = Object.values(KINDS).flat()
  expect(files).toEqual(expect.arrayContaining(named.map((name) => `${name}.yaml`)))
  await using workspaces = await Workspaces.start(cluster(), {
    allowedCapabilities: 'NET_ADMIN,NET_RAW,SYS_ADMIN',
    allowedDevices: 'tun',
    attachableNetworks: 'vlans/vlan-100',
    sharedSecretNamespaces: 'registry-logins',
    allowedOverrides:
      'vm:template.spec.domain.cpu vm:template.spec.domain.devices.disks.cache pod:spec.hostAliases pod:spec.volumes.emptyDir pod:spec.containers.volumeMounts',
  })
  const { world } = workspaces
  await makeNetwork(world.client, 'vlans', 'vlan-100')
  await shareLogin(world.client, 'registry-logins', 'pull')
  const isReady = async (file: string): Promise<void> => {
    const [lab] = await readManifests(`labs/${file}`)
    if (lab === undefined) throw new Error(`${file} has no manifest`)
    expect([lab.kind, `${lab.metadata.name}.yaml`]).toEqual([WORKSPACE.kind, file])
    const { metadata } = await workspaces.create(workspaces.name(lab.metadata.name), lab.spec as never)
    const { name } = metadata
    await expect.poll(() => find(world.client, NAMESPACE, { name }), { timeout: 60_000 }).toBeDefined()
    for (const [secret, stringData] of secretsIn(lab.spec as WorkspaceSpecInput))
      await world.client.create(SECRET, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace: name, name: secret },
        stringData,
      } as KubeObject)
    const { status } = await workspaces.untilReady(name)
    expect([file, status?.reason]).toEqual([file, 'Ready'])
  }
  await Promise.all(files.map(isReady))
})
