import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { QuotingWebhook } from '../harness/quoting-webhook.ts'
import { DEPLOYED, Workspaces } from '../harness/workspaces.ts'

// The webhook and the default storage class make this cluster unsuitable for other tests.
const cluster = useOwnCluster()

const CANARY = 'canary-5ec2e7'

it('what is secret is in no status, Event, log or metric when a webhook quotes each object that it refuses', async () => {
  await using workspaces = await Workspaces.start(
    cluster(),
    { allowedOverrides: 'vm:template.spec.domain.chassis' },
    { idle: true },
  )
  const { world } = workspaces
  const account = `system:serviceaccount:${world.operatorNamespace}:open-terrain-operator`
  await using webhook = await QuotingWebhook.start(world.client, account, CANARY)
  const told = new Set<string>()
  const { workspaces: labs, machines, images, events } = world.mirror
  for (const store of [labs, machines, images, events]) {
    store.onChange(() => {
      for (const object of store.values()) told.add(JSON.stringify(outputOf(object)))
    })
  }
  world.startOperator()
  const lab = workspaces.name('lab')
  await workspaces.create(lab, SPEC(world.urlOf('golden')))
  await workspaces.untilReady(lab)
  const metrics = await world.operator?.operator.metrics.registry.metrics()
  for (const text of [...told, ...world.logs.lines, metrics]) expect(text).not.toContain(CANARY)
  expect([...webhook.quoted.keys()]).toEqual(expect.arrayContaining(WRITES))
  // What was refused was told, without the secrets.
  expect([...told].filter((text) => text.includes('is too simple'))).not.toEqual([])
  await workspaces.delete(lab)
  await world.finish()
})

/** Writes of the operator that a webhook could quote a secret from. */
const WRITES = [
  'CREATE configmaps',
  'CREATE datavolumes',
  'CREATE deployments',
  'CREATE secrets',
  'CREATE virtualmachines',
  'CREATE vmdiskimages',
  'UPDATE pods',
  'UPDATE virtualmachines',
  'UPDATE vmdiskimages',
  'UPDATE workspaces',
]

/** What people see beside their own spec and annotations. */
function outputOf({ kind, metadata, ...rest }: KubeObject): object {
  const { spec: _, ...others } = rest as { readonly spec?: unknown }
  return { kind, name: metadata.name, ...others }
}

/** A secret wherever one can be written. */
const SPEC = (url: string): WorkspaceSpecInput => {
  const [vm] = DEPLOYED.vms as [(typeof DEPLOYED.vms)[number]]
  const variables = { admin_password: CANARY, nested: { token: CANARY } }
  const env = [{ name: 'DB_PASSWORD', value: CANARY }]
  const files = [{ path: '/etc/redis.conf', content: `bind 0.0.0.0\nrequirepass ${CANARY}\n` }]
  const args = ['--requirepass', CANARY]
  return {
    ...DEPLOYED,
    vms: [
      {
        ...vm,
        vmDiskImageTemplate: { url: `${url}?X-Amz-Signature=${CANARY}` },
        users: [{ name: 'demo', plain_text_passwd: CANARY, lock_passwd: false }],
        ansible: { roles: { deploy: [{ role: 'runtimeChecks', variables }] } },
        overrides: { template: { spec: { domain: { chassis: { serial: CANARY } } } } },
      },
      {
        name: 'setup',
        backingVMDiskImage: vm.backingVMDiskImage,
        resources: vm.resources,
        userData: `#cloud-config\nhostname: ${CANARY}\nruncmd: [[login, --password=${CANARY}]]\n`,
      },
    ],
    containerClusters: DEPLOYED.containerClusters.map((one) => ({
      ...one,
      containers: one.containers.map((container) => ({ ...container, env, files, args })),
    })),
  }
}
