import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  DEPLOYMENT,
  EVENT,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
} from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'
import { NODE } from '../resource-types.ts'
import type { Node, PersistentVolume, Pod } from './models.ts'
import { FLUSH_MS } from './scheduler.ts'
import type { WorkloadFault } from './workload-faults.ts'

const FOR_PODS = JSON.stringify({
  cniVersion: '1.0.0',
  name: 'lab-pod',
  type: 'bridge',
  bridge: 'lab0',
  capabilities: { ips: true },
  ipam: { type: 'static', routes: [] },
})

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

function deploy(name: string, spec: object = {}, networks?: readonly object[], namespace = TEAM): void {
  const labels = { app: name, team: 'blue' }
  const annotations = networks && { 'k8s.v1.cni.cncf.io/networks': JSON.stringify(networks) }
  const containers = [{ name: 'main', image: 'example.com/main:1' }]
  world.create(
    DEPLOYMENT,
    { namespace, name },
    {
      spec: {
        replicas: 1,
        strategy: { type: 'Recreate' },
        selector: { matchLabels: { app: name } },
        template: { metadata: { labels, ...(annotations && { annotations }) }, spec: { containers, ...spec } },
      },
    },
  )
}

const podOf = (name: string): Pod | undefined =>
  world.pods().find(({ metadata }) => metadata.labels?.['app'] === name && metadata.deletionTimestamp === undefined)

function conditionOf(pod: Pod | undefined, type: string): string {
  const { status = '', reason = '', message = '' } = pod?.status?.conditions?.find((one) => one.type === type) ?? {}
  return [status, reason, message].filter((part) => part !== '').join('/')
}

const waitOf = (name: string) => podOf(name)?.status?.containerStatuses?.[0]?.state.waiting?.reason
const untilReady = (name: string) => world.until(`${name} is ready`, () => conditionOf(podOf(name), 'Ready') === 'True')

const warnings = () =>
  world.cluster.admin
    .list<KubeObject & { readonly reason: string; readonly message: string }>(EVENT, {
      namespace: TEAM,
      fieldSelector: 'type=Warning',
    })
    .items.map(({ reason, message }) => `${reason}: ${message}`)

describe('a pod of a Deployment', () => {
  it('is placed, runs and is ready', async () => {
    deploy('app')
    await untilReady('app')
    const pod = podOf('app')
    expect(conditionOf(pod, 'PodScheduled')).toBe('True')
    expect(pod?.status).toMatchObject({ phase: 'Running', podIP: expect.stringMatching(/^10\.244\./) })
    const available = () =>
      world.cluster.admin.get<KubeObject & { readonly status?: { readonly availableReplicas?: number } }>(DEPLOYMENT, {
        namespace: TEAM,
        name: 'app',
      }).status?.availableReplicas
    await world.until('the Deployment is available', () => available() === 1)
  })

  const faults: readonly (readonly [WorkloadFault, () => boolean])[] = [
    [{ type: 'unschedulable' }, () => conditionOf(podOf('app'), 'PodScheduled').includes('Insufficient memory')],
    [{ type: 'imagePull' }, () => waitOf('app') === 'ImagePullBackOff'],
    [
      { type: 'notCreated', message: 'no sandbox <id>' },
      () => warnings().some((one) => /no sandbox [0-9a-f]+$/.test(one)),
    ],
    [{ type: 'crashLoop' }, () => (podOf('app')?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 1],
    [{ type: 'notReady' }, () => conditionOf(podOf('app'), 'Ready').includes('unready status: [main]')],
  ]
  it.each(faults)('shows %s, and is ready when it is over', async (fault, isShown) => {
    const end = world.simulators.workloads.script({ namespace: TEAM, name: 'app' }, fault)
    deploy('app')
    deploy('other')
    await world.until('the fault shows', isShown)
    await untilReady('other')
    end()
    await untilReady('app')
  })

  it('waits for its ConfigMap', async () => {
    deploy('app', { volumes: [{ name: 'plays', configMap: { name: 'plays' } }] })
    await world.until('a warning', () => warnings().length > 0)
    expect(warnings()).toEqual([
      'FailedMount: MountVolume.SetUp failed for volume "plays" : configmap "plays" not found',
    ])
    await world.until('it waits', () => waitOf('app') === 'ContainerCreating')
    world.create(CONFIG_MAP, { namespace: TEAM, name: 'plays' })
    await untilReady('app')
  })

  it('takes its end before it is gone', async () => {
    deploy('app')
    await untilReady('app')
    const first = podOf('app')?.metadata.uid
    world.cluster.admin.delete(POD, { namespace: TEAM, name: podOf('app')?.metadata.name ?? '' })
    expect(world.pods()).toHaveLength(1)
    await untilReady('app')
    expect(podOf('app')?.metadata.uid).not.toBe(first)
  })
})

describe('a pod with networks', () => {
  const NETWORK = { name: 'lab-pod', ips: ['10.0.0.7/24'], interface: 'net1' }

  it('says which addresses it has', async () => {
    world.createNetwork('lab-pod', FOR_PODS)
    deploy('app', {}, [NETWORK])
    await untilReady('app')
    const status = JSON.parse(podOf('app')?.metadata.annotations?.['k8s.v1.cni.cncf.io/network-status'] ?? '[]')
    expect(status).toMatchObject([
      { default: true, interface: 'eth0', ips: [podOf('app')?.status?.podIP] },
      { name: `${TEAM}/lab-pod`, interface: 'net1', ips: ['10.0.0.7'] },
    ])
  })

  it('starts no container before all of them exist, and says so again and again', async () => {
    deploy('app', {}, [NETWORK])
    await world.until('a warning', () => warnings().length > 0)
    await world.pass(25_000)
    const pod = podOf('app')
    const id = `${TEAM}/${pod?.metadata.name}/${pod?.metadata.uid}`
    expect(warnings().map((text) => text.replace(/sandbox "[0-9a-f]{64}"/, 'sandbox "ID"'))).toEqual(
      Array(3).fill(
        `FailedCreatePodSandBox: Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "ID": plugin type="multus" failed (add): Multus: [${id}]: error loading k8s delegates k8s args: TryLoadPodDelegates: error in getting k8s network for pod: GetNetworkDelegates: failed getting the delegate: getKubernetesDelegate: cannot find a network-attachment-definition (lab-pod) in namespace (${TEAM}): network-attachment-definitions.k8s.cni.cncf.io "lab-pod" not found`,
      ),
    )
    expect(waitOf('app')).toBe('ContainerCreating')
    world.createNetwork('lab-pod', FOR_PODS)
    await untilReady('app')
  })
})

describe('a node', () => {
  const dns = {
    containers: [{ name: 'main', image: 'a', ports: [{ containerPort: 53, hostPort: 53, protocol: 'UDP' }] }],
  }
  const together = (key: string, value: string) => ({
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { [key]: value } } },
        ],
      },
    },
  })
  const addNode = (name: string, labels = {}) =>
    world.create(NODE, { name, labels: { 'kubernetes.io/hostname': name, ...labels } })
  const nodeOf = (name: string) => podOf(name)?.spec.nodeName

  it('has each of its ports once', async () => {
    deploy('first', dns)
    await untilReady('first')
    deploy('second', dns)
    await world.until('a refusal', () => conditionOf(podOf('second'), 'PodScheduled') !== '')
    expect(conditionOf(podOf('second'), 'PodScheduled')).toBe(
      "False/Unschedulable/0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    )
    world.cluster.admin.delete(DEPLOYMENT, { namespace: TEAM, name: 'first' })
    await untilReady('second')
  })

  it('is that of the others a pod asks for, pods and virtual machines alike', async () => {
    addNode('a-node')
    addNode('z-node', { special: 'yes' })
    deploy('one', { ...together('team', 'blue'), nodeSelector: { special: 'yes' } })
    await untilReady('one')
    deploy('two', together('team', 'blue'))
    await untilReady('two')
    expect([nodeOf('one'), nodeOf('two')]).toEqual(['z-node', 'z-node'])
    world.createClaim('root')
    world.createMachine('vm', 'root', { affinity: together('team', 'blue').affinity })
    await world.untilStatus('vm', 'Running')
    expect(world.instance('vm')?.status).toMatchObject({ nodeName: 'z-node' })
    deploy('lost', together('team', 'red'))
    await world.until('a refusal', () =>
      conditionOf(podOf('lost'), 'PodScheduled').includes('match pod affinity rules'),
    )
  })

  it('takes a pod that had to be beside one that is gone only when the scheduler tries it once more, after minutes', async () => {
    addNode('a-node')
    addNode('b-node')
    deploy('one', together('team', 'blue'))
    await untilReady('one')
    const taken = nodeOf('one') ?? ''
    const node = world.cluster.admin.get<Node>(NODE, { name: taken })
    world.cluster.admin.replace(NODE, { ...node, spec: { unschedulable: true } } as Node)
    world.cluster.admin.delete(POD, podOf('one')?.metadata ?? { name: '' })
    const isRefused = () => conditionOf(podOf('one'), 'PodScheduled').includes('pod affinity rules')
    await world.until('a refusal', isRefused)
    await world.until('the pod of before is gone', () => world.pods().length === 1)
    await world.pass(FLUSH_MS - 10_000)
    expect(nodeOf('one')).toBeUndefined()
    await world.pass(20_000)
    expect(nodeOf('one')).toBe(taken === 'a-node' ? 'b-node' : 'a-node')
  })

  it('has the pod of before beside its successor until its processes have ended', async () => {
    deploy('app')
    await untilReady('app')
    world.simulators.workloads.script({ name: 'app' }, { type: 'slowEnd' })
    world.cluster.admin.delete(POD, podOf('app')?.metadata ?? { name: '' })
    await untilReady('app')
    expect(world.pods().map(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual(
      expect.arrayContaining([true, false]),
    )
    await world.pass(30_000)
    expect(world.pods()).toHaveLength(1)
  })

  it('that is lost keeps its pods until somebody says that they have ended', async () => {
    deploy('app')
    await untilReady('app')
    world.simulators.workloads.script({}, { type: 'nodeLost', node: 'node-1' })
    const { metadata } = podOf('app') ?? { metadata: { name: '' } }
    world.cluster.admin.delete(POD, metadata)
    await world.pass(120_000)
    expect(world.pods()).toHaveLength(2)
    world.cluster.admin.delete(POD, metadata, { gracePeriodSeconds: 0 })
    expect(world.pods()).toHaveLength(1)
  })

  it('takes no pod that has a scheduling gate', async () => {
    deploy('app', { schedulingGates: [{ name: 'example.com/wait' }] })
    await world.until('the gate is seen', () => conditionOf(podOf('app'), 'PodScheduled').includes('SchedulingGated'))
    await world.pass(FLUSH_MS * 2)
    expect(nodeOf('app')).toBeUndefined()
    const { metadata } = podOf('app') ?? { metadata: { name: '' } }
    const nowhere = [{ matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['node-1'] }] }]
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: nowhere } },
    }
    world.cluster.admin.mergePatch(POD, metadata, { spec: { schedulingGates: null, affinity } })
    await world.until('a refusal', () => conditionOf(podOf('app'), 'PodScheduled').includes('affinity/selector'))
    world.create(NODE, { name: 'node-2', labels: { 'kubernetes.io/hostname': 'node-2' } })
    await untilReady('app')
    expect(nodeOf('app')).toBe('node-2')
  })

  it('has a virtual machine as soon as it has the pod that the machine must run beside', async () => {
    world.createClaim('root')
    world.createMachine('vm', 'root', { affinity: together('team', 'blue').affinity })
    await world.untilStatus('vm', 'ErrorUnschedulable')
    await world.pass(60_000)
    deploy('app')
    await world.untilStatus('vm', 'Running')
  })
})

describe('a local volume', () => {
  const name = 'blue-config'
  const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: TEAM, name: 'config' }
  const createVolume = (rest: object = {}) => {
    const required = {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'pelotech.ot/local-volumes', operator: 'In', values: ['true'] }] },
      ],
    }
    const spec = {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path: '/srv/blue/config' },
      nodeAffinity: { required },
      storageClassName: '',
      claimRef,
    }
    world.create(PERSISTENT_VOLUME, { name }, { spec: { ...spec, ...rest } })
  }
  const createClaim = (rest: object = {}) =>
    world.createClaim('config', TEAM, '1Gi', { storageClassName: '', volumeName: name, ...rest })
  const volume = () => world.cluster.admin.get<PersistentVolume>(PERSISTENT_VOLUME, { name })
  const mount = { volumes: [{ name: 'config', persistentVolumeClaim: { claimName: 'config' } }] }
  const isBound = () => world.claim('config')?.status?.phase === 'Bound'

  it('and its claim find each other, whoever comes first', async () => {
    createClaim()
    await world.pass(1_000)
    expect(world.claim('config')?.status?.phase).toBe('Pending')
    createVolume()
    await world.until('the claim is bound', isBound)
    await world.until('the volume is bound', () => volume().status?.phase === 'Bound')
    expect(volume().spec.claimRef?.uid).toBe(world.claim('config')?.metadata.uid)
    deploy('app', mount)
    await untilReady('app')
  })

  it('is found by the claim that it is reserved for, without being named', async () => {
    createVolume()
    await world.until('it is available', () => volume().status?.phase === 'Available')
    createClaim({ volumeName: undefined })
    await world.until('the claim is bound', isBound)
    expect(world.claim('config')?.spec.volumeName).toBe(name)
  })

  it('is released when its claim goes, and serves no other of that name', async () => {
    createVolume()
    createClaim()
    await world.until('the claim is bound', isBound)
    world.cluster.admin.delete(PERSISTENT_VOLUME_CLAIM, { namespace: TEAM, name: 'config' })
    await world.until('it is released', () => volume().status?.phase === 'Released')
    createClaim()
    await world.until('a warning', () => warnings().length > 0)
    expect(warnings()).toEqual([`FailedBinding: volume "${name}" already bound to a different claim.`])
    expect(isBound()).toBe(false)
    world.cluster.admin.delete(PERSISTENT_VOLUME, { name })
    await world.until('it is gone', () => world.cluster.admin.list(PERSISTENT_VOLUME).items.length === 0)
  })

  it('stays as long as it is bound, though it is deleted', async () => {
    createVolume()
    createClaim()
    await world.until('the volume is bound', () => volume().status?.phase === 'Bound')
    world.cluster.admin.delete(PERSISTENT_VOLUME, { name })
    await world.pass(10_000)
    expect(volume().metadata.deletionTimestamp).toBeDefined()
    world.cluster.admin.delete(PERSISTENT_VOLUME_CLAIM, { namespace: TEAM, name: 'config' })
    await world.until('it is gone', () => world.cluster.admin.list(PERSISTENT_VOLUME).items.length === 0)
  })

  it('is too small for a claim that only names it', async () => {
    createVolume({ claimRef: undefined, capacity: { storage: '1Mi' } })
    createClaim()
    await world.until('a warning', () => warnings().length > 0)
    expect(warnings()).toEqual([`VolumeMismatch: Cannot bind to requested volume "${name}": requested PV is too small`])
  })

  it('holds its pods on the nodes that have it', async () => {
    world.cluster.admin.mergePatch(
      NODE,
      { name: 'node-1' },
      { metadata: { labels: { 'pelotech.ot/local-volumes': null } } },
    )
    createVolume()
    createClaim()
    deploy('app', mount)
    await world.until('a refusal', () =>
      conditionOf(podOf('app'), 'PodScheduled').includes("didn't match PersistentVolume's node affinity"),
    )
    world.cluster.admin.mergePatch(
      NODE,
      { name: 'node-1' },
      { metadata: { labels: { 'pelotech.ot/local-volumes': 'true' } } },
    )
    await untilReady('app')
  })
})

describe('a claim', () => {
  it('of a class that waits for its first consumer is bound for the pod', async () => {
    world.createClaim('data', TEAM, '1Gi', { storageClassName: 'late' })
    await world.pass(5_000)
    expect(world.claim('data')?.status?.phase).toBe('Pending')
    deploy('app', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] })
    await untilReady('app')
  })

  it('that does not exist, or is not bound, holds its pod', async () => {
    deploy('app', { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] })
    await world.until('a refusal', () =>
      conditionOf(podOf('app'), 'PodScheduled').includes('persistentvolumeclaim "data" not found'),
    )
    world.createClaim('data', TEAM, '1Gi', { storageClassName: 'none' })
    await world.until('another', () =>
      conditionOf(podOf('app'), 'PodScheduled').includes('unbound immediate PersistentVolumeClaims'),
    )
  })
})
