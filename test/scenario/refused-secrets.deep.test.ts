import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { QuotingWebhook } from '../harness/quoting-webhook.ts'
import { DEPLOYED, Workspaces } from '../harness/workspaces.ts'

// The webhook and the default storage class make this cluster unsuitable for other tests.
const cluster = useOwnCluster()

/** In each secret. None is a part of another: what takes one out must not take another out with it. */
const CANARY = 'canary-5ec2e7'
const canary = (of: string): string => `${CANARY}-${of}`

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
  const variables = {
    admin_password: canary('variable'),
    nested: { token: canary('nested') },
    logins: [canary('item7')],
  }
  const env = [
    { name: 'DB_PASSWORD', value: canary('env') },
    { name: 'LOGIN', value: canary('login7') },
  ]
  const files = [
    {
      path: '/etc/redis.conf',
      content: `bind 0.0.0.0\nrequirepass ${canary('file')}\nmasterauth ${canary('line-of-a-file')}\n`,
    },
  ]
  const args = ['--requirepass', canary('flag'), `--admin-password=${canary('argument')}`]
  return {
    ...DEPLOYED,
    vms: [
      {
        ...vm,
        vmDiskImageTemplate: { url: `${url}?X-Amz-Signature=${canary('query')}` },
        users: [{ name: 'demo', plain_text_passwd: canary('user'), lock_passwd: false }],
        ansible: { roles: { deploy: [{ role: 'runtimeChecks', variables }] } },
        overrides: { template: { spec: { domain: { chassis: { serial: canary('serial') } } } } },
      },
      {
        name: 'setup',
        backingVMDiskImage: vm.backingVMDiskImage,
        resources: vm.resources,
        userData: `#cloud-config\nhostname: ${canary('hostname')}\nruncmd: [[login, --password=${canary('command')}]]\n`,
      },
    ],
    containerClusters: DEPLOYED.containerClusters.map((one) => ({
      ...one,
      containers: one.containers.map((container) => ({ ...container, env, files, args })),
    })),
  }
}
