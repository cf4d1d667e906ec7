import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { POLICY_NAME } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DEPLOYMENT, KUBEVIRT_VIRTUAL_MACHINE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { DEPLOYED, Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

type WithSpec = KubeObject & { readonly spec: unknown }

const VM = { ...DEPLOYED.vms[0], interfaces: [], ansible: undefined } as NonNullable<WorkspaceSpecInput['vms']>[number]
const WEB = { name: 'web', containers: [{ name: 'web', image: 'registry.example.com/web:1' }] }
const POLICY = { allowedOverrides: 'vm:template.spec pod:spec' }
/** Every form that the API server and KubeVirt may write in other words. */
const OF_MACHINE = {
  template: {
    spec: {
      terminationGracePeriodSeconds: 0,
      dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
      domain: {
        cpu: { model: 'host-model', isolateEmulatorThread: false, features: [{ name: 'svm', policy: 'disable' }] },
        features: { acpi: {}, kvm: { hidden: true } },
        memory: { maxGuest: '8192Mi' },
        devices: { disks: [{ name: 'rootdisk', cache: 'none', disk: { readonly: false } }], sound: { name: 'a' } },
      },
    },
  },
}
const OF_POD = {
  spec: {
    terminationGracePeriodSeconds: 5,
    enableServiceLinks: false,
    hostAliases: [{ ip: '10.0.0.9', hostnames: ['db'] }],
    securityContext: {
      fsGroup: 0,
      supplementalGroups: [0],
      sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '0' }],
    },
    containers: [
      {
        name: 'web',
        imagePullPolicy: 'Always',
        env: [
          { name: 'LIMIT', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1024Ki' } } },
          { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
        ],
        lifecycle: { preStop: { sleep: { seconds: 1 } } },
        resources: { limits: { 'ephemeral-storage': '2048Mi' } },
        securityContext: { readOnlyRootFilesystem: false, allowPrivilegeEscalation: false },
        volumeMounts: [{ mountPath: '/dev/shm', name: 'shm', readOnly: true }],
      },
    ],
    volumes: [{ name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: '2048Mi' } }],
  },
}

it('overrides are written once, whoever leads, stay where the policy does not allow them any more, and go with the spec', async () => {
  await using workspaces = await Workspaces.start(cluster(), POLICY)
  const { world } = workspaces
  const vms = [{ ...VM, name: 'vm', overrides: OF_MACHINE }]
  const containerClusters = [{ ...WEB, overrides: OF_POD }]
  const { metadata } = await workspaces.deploy('overrides', { vms, containerClusters })
  const { name } = metadata
  const read = async () => ({
    vm: await world.client.get<WithSpec>(KUBEVIRT_VIRTUAL_MACHINE, { namespace: name, name: 'vm' }),
    pod: await world.client.get<WithSpec>(DEPLOYMENT, { namespace: name, name: 'web' }),
  })
  const generations = async () => Object.values(await read()).map((one) => one.metadata.generation)
  const before = await generations()
  expect(JSON.stringify(await read())).toMatch(/host-model.*10\.0\.0\.9/s)

  // Another process leads, and writes none of it again: also not what the API server has written in other words.
  await world.operator?.stop()
  const { requests } = world.startOperator()
  await workspaces.patch(name, { volumes: [{ name: 'more', size: '1Gi' }] })
  await workspaces.untilComponent(name, 'Volume', 'more', ({ phase }) => phase === 'Ready')
  await workspaces.untilReady(name)
  const patched = requests.filter(
    ({ verb, resource }) => verb === 'patch' && /^(virtualmachines|deployments)$/.test(resource),
  )
  expect([patched, await generations()]).toEqual([[], before])

  const policy = { namespace: world.operatorNamespace, name: POLICY_NAME }
  await world.client.mergePatch(CONFIG_MAP, policy, { data: { allowedOverrides: '' } })
  const refused = await workspaces.untilComponent(name, 'ContainerCluster', 'web', ({ phase }) => phase === 'Failed')
  expect(refused.message).toMatch(/does not list pod:spec.* stays as it is/)
  expect(await generations()).toEqual(before)

  await workspaces.patch(name, { vms: [{ ...VM, name: 'vm' }], containerClusters: [WEB] })
  await workspaces.untilReady(name)
  const specs = async () => JSON.stringify(Object.values(await read()).map(({ spec }) => spec))
  await expect
    .poll(specs)
    .not.toMatch(/host-model|"hidden"|maxGuest|"sound"|10\.0\.0\.9|LIMIT|preStop|ephemeral-storage|sysctls|emptyDir/)
  await workspaces.delete(name)
  await world.finish()
})
