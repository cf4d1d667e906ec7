import type { VirtualMachineSpecInput, WorkspaceSpecInput } from '@open-terrain/constructs'
import { virtualMachine } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { MINUTE, SECOND } from '../../../test/prepared/runtime/times.ts'
import {
  DEPLOYED,
  NAME,
  startReady,
  VM,
  type WorkspaceBench,
  WRITES,
} from '../../../test/prepared/workspace/workspace-bench.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import {
  CONFIG_MAP,
  DEPLOYMENT,
  NETWORK_ATTACHMENT_DEFINITION,
  NETWORK_POLICY,
  PERSISTENT_VOLUME_CLAIM,
} from '../../kube/resource-types.ts'

type Cluster = NonNullable<WorkspaceSpecInput['containerClusters']>[number]
type Network = NonNullable<WorkspaceSpecInput['networks']>[number]
const [CHEF, ANSIBLE] = DEPLOYED.containerClusters as readonly Cluster[] as [Cluster, Cluster]
const [FIRST, ...OTHER_NETWORKS] = DEPLOYED.networks as readonly Network[] as [Network, ...Network[]]

/** Changes an object as another client would. */
function meddle(bench: WorkspaceBench, type: typeof DEPLOYMENT, name: string, change: (object: never) => object): void {
  const { admin } = bench.client.cluster
  const object = admin.list(type).items.find(({ metadata }) => metadata.namespace === NAME && metadata.name === name)
  admin.replace(type, { ...object, ...change(object as never) } as KubeObject)
}

/** Puts the pod on the node's own network, with a folder of the node. */
function withVolume({ spec }: { spec: { template: { spec: object } } }): object {
  const pod = { ...spec.template.spec, hostNetwork: true, volumes: [{ name: 'theirs', hostPath: { path: '/' } }] }
  return { spec: { ...spec, template: { ...spec.template, spec: pod } } }
}

function withContainers(spec: { readonly template: { readonly spec: object } }, containers: readonly object[]): object {
  return { spec: { ...spec, template: { ...spec.template, spec: { ...spec.template.spec, containers } } } }
}

/** More than the caches keep of a Deployment. */
function largeEnv() {
  return Array.from({ length: 32 }, (_none, at) => ({ name: `A${at}`, value: 'x'.repeat(4_096) }))
}

describe('a change of the spec', () => {
  it('leaves what others set of a machine and the spec does not have: one that is switched off by hand stays off', async () => {
    const bench = await startReady()
    const { admin } = bench.client.cluster
    const key = { namespace: NAME, name: VM.name }
    admin.mergePatch(virtualMachine, key, { spec: { runStrategy: 'Halted' } })
    await bench.work()
    bench.change({ ...DEPLOYED, vms: [{ ...VM, resources: { cpu: '2', memory: '3Gi' } }] })
    await bench.work()
    const { spec } = admin.get<KubeObject & { readonly spec: object }>(virtualMachine, key)
    expect(spec).toMatchObject({ runStrategy: 'Halted', resources: { memory: '3Gi' } })
  })

  it('switches machines off and on again, and leaves off what people have switched off by hand', async () => {
    const bench = await startReady()
    const { admin } = bench.client.cluster
    const machine = () => {
      const object = admin.get<KubeObject & { readonly spec: object }>(virtualMachine, {
        namespace: NAME,
        name: VM.name,
      })
      const { runStrategy, powerState } = object.spec as VirtualMachineSpecInput
      return [runStrategy, powerState]
    }
    const change = async (spec: WorkspaceSpecInput) => {
      bench.change(spec)
      await bench.work()
      return [...machine(), bench.status().phase, bench.status().reason]
    }
    const vmWith = (runStrategy: 'Always' | 'Halted' | 'Manual') => ({ ...DEPLOYED, vms: [{ ...VM, runStrategy }] })
    expect(await change({ ...DEPLOYED, powerState: 'Halted' })).toEqual([undefined, 'Halted', 'Ready', 'Halted'])
    expect(await change(DEPLOYED)).toEqual([undefined, undefined, 'Ready', 'Ready'])
    // What the workspace says is no choice of people, and goes when it does not say it any more.
    expect(await change(vmWith('Halted'))).toEqual(['Halted', undefined, 'Ready', 'Ready'])
    expect(await change(DEPLOYED)).toEqual([undefined, undefined, 'Ready', 'Ready'])
    admin.mergePatch(virtualMachine, { namespace: NAME, name: VM.name }, { spec: { runStrategy: 'Halted' } })
    expect(await change({ ...DEPLOYED, powerState: 'Halted' })).toEqual(['Halted', 'Halted', 'Ready', 'Halted'])
    expect(await change(DEPLOYED)).toEqual(['Halted', undefined, 'Ready', 'Ready'])
    expect(await change(vmWith('Always'))).toEqual(['Always', undefined, 'Ready', 'Ready'])
    expect(await change(DEPLOYED)).toEqual([undefined, undefined, 'Ready', 'Ready'])
  })

  it('keeps members off when somebody switches them on by hand, and after a change of leader', async () => {
    const bench = await startReady({ ...DEPLOYED, powerState: 'Halted' })
    const { admin } = bench.client.cluster
    const key = { namespace: NAME, name: VM.name }
    admin.mergePatch(virtualMachine, key, { spec: { powerState: null } })
    admin.mergePatch(DEPLOYMENT, { namespace: NAME, name: 'demo-app' }, { spec: { replicas: 1 } })
    await bench.restart()
    await bench.work()
    expect(admin.get(virtualMachine, key)).toMatchObject({ spec: { powerState: 'Halted' } })
    expect(admin.get(DEPLOYMENT, { namespace: NAME, name: 'demo-app' })).toMatchObject({ spec: { replicas: 0 } })
    bench.client.calls.length = 0
    await bench.clock.advance(10 * MINUTE)
    expect([bench.status().reason, bench.client.callsOf(...WRITES)]).toEqual(['Halted', []])
  })

  it('adds what is new', async () => {
    const bench = await startReady()
    bench.client.calls.length = 0
    bench.change({ ...DEPLOYED, networks: [...DEPLOYED.networks, { name: 'extra', cidr: '10.99.0.0/24' }] })
    await bench.work()
    const calls = bench.client.callsOf('create', 'delete', 'patch').filter((call) => !call.includes('Event'))
    expect(calls.map((call) => call.replace(/[0-9a-f]{8}$/, '*'))).toEqual([
      'create NetworkAttachmentDefinition lab/extra',
      'create NetworkAttachmentDefinition lab/extra-pod',
      // A pod with a hostPort has a route to each network, so it is replaced.
      'create NetworkAttachmentDefinition lab/bridge-inet-pod-*',
      'patch ConfigMap lab/lab-ansible',
      'patch Deployment lab/demo-app',
      'delete NetworkAttachmentDefinition lab/bridge-inet-pod-*',
    ])
    expect([bench.status().phase, bench.status().ready]).toEqual(['Ready', '15/15'])
  })

  it('changes what is changed, and nothing else', async () => {
    const bench = await startReady()
    bench.client.calls.length = 0
    const containers = [
      { ...(CHEF.containers[0] as Cluster['containers'][number]), image: 'ghcr.io/demo/demo-app:2.0.0' },
    ]
    bench.change({ ...DEPLOYED, containerClusters: [{ ...CHEF, containers }, ANSIBLE] })
    await bench.clock.advance(2 * SECOND)
    expect(bench.client.callsOf('create', 'patch', 'delete')).toEqual(['patch Deployment lab/demo-app'])
    expect(bench.open()).toEqual(['ContainerCluster demo-app: Provisioning ContainersPending'])
    await bench.work()
    expect(bench.status().phase).toBe('Ready')
  })

  it('removes what is not asked for any more: machines first, what they used last', async () => {
    const bench = await startReady()
    bench.client.calls.length = 0
    bench.change({ networks: OTHER_NETWORKS, containerClusters: [{ ...CHEF }], volumes: DEPLOYED.volumes })
    await bench.clock.advance(20 * SECOND)
    expect(bench.client.callsOf('delete').map((call) => call.replace(/[0-9a-f]{8}$/, '*'))).toEqual([
      'delete VirtualMachine lab/demo-vm',
      'delete Deployment lab/ansible',
      'delete NetworkAttachmentDefinition lab/bridge-inet-pod-*',
      `delete NetworkAttachmentDefinition lab/${FIRST.name}-pod`,
      `delete NetworkAttachmentDefinition lab/${FIRST.name}`,
    ])
    await bench.work()
    expect([bench.status().phase, bench.status().ready]).toEqual(['Ready', '10/10'])
  })

  it('that makes a volume smaller is told, and the volume stays as it is', async () => {
    const bench = await startReady()
    bench.client.calls.length = 0
    bench.change({ ...DEPLOYED, volumes: [{ name: 'monitorconfigs', size: '512Mi' }, ...DEPLOYED.volumes.slice(1)] })
    await bench.clock.advance(5 * SECOND)
    expect(bench.client.callsOf('patch', 'delete')).toEqual([])
    const volume = bench.status().components?.find(({ name }) => name === 'monitorconfigs')
    expect(volume).toMatchObject({ phase: 'Ready', reason: 'NotChangeable' })
    expect(volume?.message).toMatch('stays at 1Gi, although the spec asks for 512Mi')
  })

  it('to ignoreOnDeploy leaves what was deployed, and says so', async () => {
    const bench = await startReady()
    bench.client.calls.length = 0
    bench.change({ ...DEPLOYED, vms: [{ ...VM, ignoreOnDeploy: true }] })
    await bench.work()
    expect(bench.client.callsOf('create', 'patch', 'delete')).toEqual([])
    const machine = bench.status().components?.find(({ kind }) => kind === 'VirtualMachine')
    expect(machine).toMatchObject({ phase: 'Ready', reason: 'NotDeployedAnyMore' })
  })
})

describe('what somebody else changes', () => {
  it.each([
    ['Deployment', 'demo-app', DEPLOYMENT, ({ spec }: { spec: object }) => ({ spec: { ...spec, replicas: 3 } })],
    ['Deployment', 'ansible', DEPLOYMENT, withVolume],
    [
      'NetworkPolicy',
      'default-deny',
      NETWORK_POLICY,
      () => ({ spec: { podSelector: { matchLabels: { a: 'b' } }, policyTypes: ['Ingress'] } }),
    ],
    ['ConfigMap', 'lab-ansible', CONFIG_MAP, () => ({ data: { 'inventory.yaml': 'theirs' } })],
    ['Deployment', 'ansible', DEPLOYMENT, ({ metadata }: KubeObject) => ({ metadata: { ...metadata, labels: {} } })],
  ] as const)('in %s %s is repaired', async (kind, name, type, change) => {
    const bench = await startReady()
    const before = bench.client.peek(kind, `${NAME}/${name}`) as KubeObject
    bench.client.calls.length = 0
    meddle(bench, type, name, change as never)
    await bench.work()
    expect(bench.client.callsOf('create', 'patch', 'delete')).toContain(`patch ${kind} ${NAME}/${name}`)
    const { metadata, ...after } = bench.client.peek(kind, `${NAME}/${name}`) as KubeObject & {
      spec: object
      data: object
    }
    const { spec, data } = before as never as { spec: object; data: object }
    expect([metadata.labels, after.spec, after.data]).toEqual([before.metadata.labels, spec, data])
    bench.client.calls.length = 0
    bench.setPolicy({})
    await bench.clock.advance(MINUTE)
    expect(bench.client.callsOf(...WRITES)).toEqual([])
  })

  const LARGE = {
    ...DEPLOYED,
    containerClusters: [
      { ...CHEF, containers: [{ ...(CHEF.containers[0] as Cluster['containers'][number]), env: largeEnv() }] },
      ANSIBLE,
    ],
  }
  type Template = {
    readonly spec: { readonly template: { readonly spec: { readonly containers: readonly object[] } } }
  }

  it.each([
    ['a field that is wanted', ({ spec }: Template) => ({ spec: { ...spec, replicas: 3 } })],
    ['a field that is not wanted', withVolume],
    [
      'one letter in a megabyte',
      ({ spec }: Template) => {
        const [first, ...others] = spec.template.spec.containers
        const env = [...largeEnv().slice(1), { name: 'A0', value: 'theirs' }]
        return withContainers(spec, [{ ...first, env }, ...others])
      },
    ],
    ['a label', ({ metadata }: KubeObject) => ({ metadata: { ...metadata, labels: {} } })],
    ['the mark', ({ metadata }: KubeObject) => ({ metadata: { ...metadata, annotations: {} } })],
  ])('in a Deployment of which the cache keeps only a part is repaired: %s', async (_what, change) => {
    const bench = await startReady(LARGE)
    const stored = () => bench.client.peek<KubeObject & { spec: object }>('Deployment', `${NAME}/demo-app`)
    const before = stored()
    expect(JSON.stringify(before).length).toBeGreaterThan(100_000)
    meddle(bench, DEPLOYMENT, 'demo-app', change as never)
    await bench.work()
    expect([stored()?.spec, stored()?.metadata.labels]).toEqual([before?.spec, before?.metadata.labels])
    expect(bench.status().phase).toBe('Ready')
    bench.client.calls.length = 0
    await bench.restart()
    await bench.clock.advance(MINUTE)
    expect(bench.client.callsOf(...WRITES)).toEqual([])
    // Read once after the start.
    expect(bench.client.callsOf('get').filter((call) => call.includes('Deployment'))).toHaveLength(1)
  })

  it('is left alone where it is not ours: labels and annotations of others', async () => {
    const bench = await startReady()
    bench.client.calls.length = 0
    meddle(bench, DEPLOYMENT, 'demo-app', (({ metadata }: KubeObject) => ({
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, theirs: 'yes' },
        annotations: { ...metadata.annotations, 'deployment.kubernetes.io/revision': '1' },
      },
    })) as never)
    await bench.clock.advance(MINUTE)
    expect(bench.client.callsOf(...WRITES)).toEqual([])
  })

  it('is created again where it was deleted', async () => {
    const bench = await startReady()
    bench.client.cluster.admin.delete(DEPLOYMENT, { namespace: NAME, name: 'demo-app' })
    await bench.work()
    expect([bench.owned().includes('Deployment demo-app'), bench.status().phase]).toEqual([true, 'Ready'])
  })
})

describe('a change of the policy', () => {
  it('that forbids ports of nodes holds what has them, lowers the level of the namespace, and takes effect again', async () => {
    const bench = await startReady()
    const level = () => bench.client.peek('Namespace', NAME)?.metadata.labels?.['pod-security.kubernetes.io/enforce']
    expect(level()).toBe('privileged')
    bench.setPolicy({ allowHostPorts: false })
    await bench.clock.advance(5 * SECOND)
    expect(bench.open()).toEqual(['ContainerCluster demo-app: Failed HostPortNotAllowed'])
    expect([level(), bench.owned().includes('Deployment demo-app')]).toEqual(['baseline', true])
    bench.setPolicy({ allowHostPorts: true })
    await bench.work()
    expect([level(), bench.status().phase]).toEqual(['privileged', 'Ready'])
  })

  it('of the network driver changes the networks, and leaves none behind', async () => {
    const bench = await startReady()
    bench.setPolicy({ networkDriver: 'ovn-layer2' })
    await bench.work()
    expect(bench.owned().filter((one) => one.endsWith('-pod'))).toEqual([])
    const network = bench.client.peek<KubeObject & { spec: { config: string } }>(
      'NetworkAttachmentDefinition',
      `${NAME}/bridge-inet`,
    )
    expect(JSON.parse(network?.spec.config ?? '')).toMatchObject({ type: 'ovn-k8s-cni-overlay' })
    expect(bench.status().phase).toBe('Ready')
  })

  it('that gives up the folder of local volumes leaves those that are there, and they go after their claims', async () => {
    const bench = await startReady(DEPLOYED, ({ policy }) => ({ ...policy, localVolumeRoot: '/srv/volumes' }))
    bench.bindVolumes()
    await bench.clock.advance(SECOND)
    const volumes = () => bench.owned().filter((one) => one.startsWith('PersistentVolume '))
    expect(volumes()).toHaveLength(2)
    bench.client.calls.length = 0
    bench.setPolicy({ localVolumeRoot: undefined })
    await bench.clock.advance(10 * SECOND)
    expect([volumes().length, bench.client.callsOf('patch', 'delete')]).toEqual([2, []])
    expect(bench.status().components?.find(({ name }) => name === 'dnsconfig')).toMatchObject({
      reason: 'NotChangeable',
    })
    bench.change({ ...DEPLOYED, volumes: [], containerClusters: [] })
    await bench.clock.advance(20 * SECOND)
    expect(volumes()).toHaveLength(2)
    bench.letClaimsGo()
    await bench.clock.advance(20 * SECOND)
    expect(
      bench.client
        .callsOf('delete')
        .slice(-2)
        .every((call) => call.startsWith('delete PersistentVolume ')),
    ).toBe(true)
    bench.letClaimsGo()
    expect(volumes()).toEqual([])
  })

  it('of the folder of local volumes is refused for claims that exist, and told', async () => {
    const bench = await startReady()
    bench.client.before = ({ verb, kind }) => {
      if (verb === 'patch' && kind === PERSISTENT_VOLUME_CLAIM.kind) throw new Error('a claim was changed')
    }
    bench.setPolicy({ localVolumeRoot: '/srv/volumes' })
    await bench.clock.advance(5 * SECOND)
    const volume = bench.status().components?.find(({ name }) => name === 'dnsconfig')
    expect(volume).toMatchObject({ phase: 'Ready', reason: 'NotChangeable' })
  })
})

describe('a network of others with the name of one of the workspace', () => {
  it('is found wherever it is, and the warning ends with it', async () => {
    const bench = await startReady()
    const { admin } = bench.client.cluster
    const definitions = admin.list(NETWORK_ATTACHMENT_DEFINITION).items as (KubeObject & { spec: { config: string } })[]
    const own = definitions.find(({ metadata }) => metadata.name === FIRST.name)
    const bridge = (JSON.parse(own?.spec.config ?? '{}') as { bridge?: string }).bridge
    const theirs = {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: { name: 'theirs', namespace: 'vmdi-farm' },
      // A list of plug-ins, with a name of its own.
      spec: { config: JSON.stringify({ name: 'mine', plugins: [{ type: 'bridge', bridge }] }) },
    } as KubeObject
    admin.create(NETWORK_ATTACHMENT_DEFINITION, theirs)
    await bench.work()
    const warned = () =>
      bench.status().components?.flatMap(({ reason, message }) => (reason === 'NetworkNameTaken' ? [message] : []))
    expect(warned()).toEqual([expect.stringMatching(/vmdi-farm\/theirs has the bridge or the name of network/)])
    expect(bench.status().phase).toBe('Ready')
    admin.delete(NETWORK_ATTACHMENT_DEFINITION, theirs.metadata)
    await bench.work()
    expect(warned()).toEqual([])
  })
})
