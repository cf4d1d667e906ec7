import { LABELS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import { DEPLOYMENT } from '../../operator/kube/resource-types.ts'
import { inParallel } from './in-parallel.ts'
import { MACHINE, WORKSPACE } from './kinds.ts'

interface Large {
  readonly type: ResourceType
  readonly count: number
  readonly object: (at: number) => object
}

/** Valid objects, about as large as an API server stores them: 200 MB in all, more than the heap of the operator. */
const LARGE: readonly Large[] = [
  { type: WORKSPACE, count: 20, object: (at) => ({ spec: workspaceOf(at) }) },
  { type: MACHINE, count: 20, object: (at) => ({ spec: machineOf(at) }) },
  {
    type: DEPLOYMENT,
    count: 240,
    object: (at) => ({ metadata: { labels: { [LABELS.workspaceUid]: `made-up-${at}` } }, spec: deploymentOf(at) }),
  },
]

/** For the report of a benchmark: how many there are of each kind. */
export const LARGE_OBJECTS = LARGE.map(({ count, type }) => `${count} ${type.kind}s`).join(', ')

/** Creates what a tenant can store in a namespace of their own, and as Workspaces. The namespace exists. */
export async function storeLargeObjects(client: KubeClient, namespace: string): Promise<void> {
  for (const { type, count, object } of LARGE)
    await inParallel(count, async (at) => {
      const { metadata = {}, ...rest } = object(at) as { readonly metadata?: object }
      const where = { name: `${namespace}-${at}`, ...(type !== WORKSPACE && { namespace }) }
      const made = { apiVersion: apiVersionOf(type), kind: type.kind, metadata: { ...where, ...metadata }, ...rest }
      await client.create(type, made as KubeObject)
    })
}

/** Every tenth one says as much as it can in many words, the others in one. */
function workspaceOf(at: number): object {
  if (at % 10 === 3) return wordyLabOf(at)
  const variables = { text: `${at}`.padEnd(1_300_000, 'x') }
  const ansible = { roles: { build: [{ role: 'large', variables }] } }
  return { vms: [{ name: 'vm', backingVMDiskImage: 'nothing', resources: { cpu: '1', memory: '1Gi' }, ansible }] }
}

/** A lab whose members all know each other by name, with as many of each, and as much text, as the schema allows. */
function wordyLabOf(at: number): WorkspaceSpecInput {
  const address = (host: number) => `10.77.${Math.floor(host / 250)}.${(host % 250) + 1}/16`
  const on = (host: number) => ({ interfaces: [{ network: 'net', ipAddress: address(host) }] })
  const text = (what: string, length: number) => `${what} of ${at}: `.padEnd(length, 'x')
  const vms = Array.from({ length: 100 }, (_, vm) => ({
    name: `vm-${vm}`,
    backingVMDiskImage: 'nothing',
    resources: { cpu: '1', memory: '1Gi' },
    ...on(vm),
    users: [{ name: 'student', lock_passwd: false, passwordSecretRef: { name: 'secret-0', key: 'password' } }],
    ...(vm < 4 && { userData: text(`#!/bin/sh\n# ${vm}`, 65_536) }),
    ...(vm % 10 === 0 && { overrides: { template: { spec: { domain: { cpu: { model: 'host-model' } } } } } }),
  }))
  const containerClusters = Array.from({ length: 3 }, (_, cluster) => ({
    name: `cluster-${cluster}`,
    ...on(200 + cluster),
    containers: [
      {
        name: 'main',
        image: 'registry.example.com/main:1',
        files: Array.from({ length: 8 }, (__, file) => ({
          path: `/etc/lab/${file}`,
          content: text(`file ${file}`, 32_768),
        })),
      },
    ],
  }))
  const secrets = Array.from({ length: 16 }, (_, secret) => ({
    name: `secret-${secret}`,
    generate: [{ key: 'password' }],
  }))
  return { names: 'hosts', networks: [{ name: 'net', cidr: '10.77.0.0/16' }], vms, containerClusters, secrets }
}

function machineOf(at: number): object {
  const users = Array.from({ length: 14 }, (_, user) => ({
    name: `user-${user}`,
    ssh_authorized_keys: Array.from(
      { length: 16 },
      (_, key) => `ssh-rsa AAAA${String(at * 10_000 + user * 100 + key).padEnd(4_000, 'A')}`,
    ),
  }))
  return { users, resources: { cpu: '1', memory: '1Gi' }, vmDiskImageRef: { name: 'nothing' } }
}

function deploymentOf(at: number): object {
  const labels = { app: `tenant-${at}` }
  const args = Array.from({ length: 170 }, (_, arg) => `${at}-${arg}`.padEnd(4_000, 'x'))
  const containers = [{ name: 'main', image: 'registry.example.com/main:1', args }]
  return { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } }
}
