import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { POLICY_DEFAULTS, renderContainerCluster, type WorkspaceSpec } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { marked } from '../../../operator/controllers/workspace/decide/as-wanted.ts'
import { isTerminating, type KubeObject } from '../../../operator/kube/kube-object.ts'
import { DEPLOYMENT, POD, VIRTUAL_MACHINE_INSTANCE } from '../../../operator/kube/resource-types.ts'
import { NODE } from '../../../sandbox/resource-types.ts'
import type { Instance } from '../../../sandbox/simulators/kubevirt-models.ts'
import type { Pod } from '../../../sandbox/simulators/models.ts'
import { WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { FARM, SimulatedOperator, TEAM } from '../simulated-operator.ts'
import { AddressOracle } from './address-oracle.ts'

// Nodes are tried in the order of their names, and `node-1` alone has local volumes: what nothing constrains is on another node at first.

type Cluster = NonNullable<WorkspaceSpecInput['containerClusters']>[number]

let world: SimulatedOperator
let addresses: AddressOracle

async function start(nodes: readonly string[] = ['a-node'], policy: Record<string, string> = {}): Promise<void> {
  world = await SimulatedOperator.start({ localVolumeRoot: '/srv/labs', imageNamespace: FARM, ...policy })
  for (const name of nodes) {
    world.simulated.create(NODE, { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' } })
  }
  addresses = new AddressOracle()
  world.simulated.cluster.onCommit((commit) => addresses.onCommit(commit))
}

const cluster = (name: string, at: number, container: Partial<Cluster['containers'][number]> = {}): Cluster => ({
  name,
  interfaces: [{ network: 'net', ipAddress: `10.9.0.${at}/24` }],
  containers: [{ name: 'main', image: 'registry.example.com/main:1', ...container }],
})
const port = (hostPort: number) => ({ portMappings: [{ containerPort: 80, hostPort }] })
const PLAIN = cluster('app', 10)
const STORE = cluster('store', 11, { volumeMounts: [{ name: 'data', containerPath: '/data' }] })
const DNS = cluster('dns', 53, port(53))
const DESK: NonNullable<WorkspaceSpecInput['vms']>[number] = {
  name: 'desk',
  backingVMDiskImage: 'golden',
  resources: { cpu: '1', memory: '1Gi' },
  interfaces: [{ network: 'net', ipAddress: '10.9.0.20/24' }],
}

const lab = (...containerClusters: Cluster[]): WorkspaceSpecInput => ({
  networks: [{ name: 'net', cidr: '10.9.0.0/24' }],
  volumes: [{ name: 'data', size: '1Gi', localPath: '/data' }],
  containerClusters,
})

function create(spec: WorkspaceSpecInput, name = 'lab'): Workspace {
  return world.simulated.create<Workspace>(WORKSPACE, { name }, { spec })
}

const found = (name = 'lab') =>
  world.simulated.cluster.admin.list<Workspace>(WORKSPACE).items.find(({ metadata }) => metadata.name === name)
const component = (name: string) => found()?.status?.components?.find((one) => one.name === name)
const isReady = (name = 'lab') => found(name)?.status?.phase === 'Ready'
const untilReady = (name = 'lab') => world.until(`${name} is Ready`, () => isReady(name))
const pods = (namespace = 'lab') => [...world.simulated.pods(namespace)]
const podOf = (name: string) =>
  pods().find((pod) => pod.metadata.labels?.['pelotech.ot/container-cluster'] === name && !isTerminating(pod)) as Pod
/** Nodes of all pods. */
const nodes = (namespace = 'lab') => [...new Set(pods(namespace).map(({ spec }) => spec.nodeName))]

/** Takes a port of a node. */
async function take(hostPort: number, nodeName: string): Promise<void> {
  const labels = { app: `p${hostPort}` }
  const containers = [{ name: 'main', image: 'a', ports: [{ containerPort: 1, hostPort }] }]
  const spec = { containers, nodeSelector: { 'kubernetes.io/hostname': nodeName } }
  const template = { metadata: { labels }, spec }
  const name = `taken-${hostPort}-${nodeName}`
  world.simulated.create(
    DEPLOYMENT,
    { namespace: TEAM, name },
    { spec: { replicas: 1, selector: { matchLabels: labels }, template } },
  )
  await world.until(`port ${hostPort} of ${nodeName} is taken`, () =>
    pods(TEAM).some(({ metadata, spec: { nodeName: on } }) => metadata.name.startsWith(name) && on === nodeName),
  )
}

/** As `kubectl drain` does. */
function drain(node: string): void {
  world.patch(NODE, { name: node }, { spec: { unschedulable: true } })
  for (const { metadata, spec } of pods()) if (spec.nodeName === node) world.delete(POD, 'lab', metadata.name)
}

/** Puts Deployments in place as version 0.1.0 rendered them. */
async function asMadeBefore(spec: WorkspaceSpecInput): Promise<void> {
  world.killOperator()
  const { uid = '' } = found()?.metadata ?? {}
  for (const one of spec.containerClusters ?? []) {
    const props = {
      workspace: { name: 'lab', uid },
      spec: spec as WorkspaceSpec,
      driver: POLICY_DEFAULTS.networkDriver,
    }
    const old = marked(
      renderContainerCluster({
        ...props,
        cluster: one as never,
        placement: 'free',
        serviceLinks: 'added',
        defaultRoute: 'requested',
      }) as KubeObject,
    )
    const { admin } = world.simulated.cluster
    const before = admin.get(DEPLOYMENT, old.metadata)
    admin.replace(DEPLOYMENT, { ...before, ...old, metadata: { ...before.metadata, ...old.metadata } } as KubeObject)
  }
  await world.until('their pods run', () =>
    pods().every(({ spec: { schedulingGates }, status }) => !schedulingGates && status?.phase === 'Running'),
  )
  world.startOperator()
  await world.pass(MINUTE)
  expect(isReady()).toBe(true)
}

describe('a workspace on more than one node', () => {
  it('is where its local volume can be', async () => {
    await start()
    create(lab(PLAIN, DNS, STORE))
    await untilReady()
    expect(nodes()).toEqual(['node-1'])
  })

  it('leaves the node of its local volume for another one that has its folder when it is drained', async () => {
    await start()
    create(lab(PLAIN, STORE))
    await untilReady()
    const labels = { 'kubernetes.io/hostname': 'z-node', 'pelotech.ot/local-volumes': 'true' }
    world.simulated.create(NODE, { name: 'z-node', labels })
    drain('node-1')
    await world.until('it is not Ready', () => !isReady())
    await untilReady()
    expect(nodes()).toEqual(['z-node'])
  })

  it('is left by a pod that came up without its networks, once people are told', async () => {
    await start()
    const mend = world.simulated.simulators.workloads.script({}, { type: 'noMultus' })
    create(lab(PLAIN))
    await world.until('they are told', () => component('app')?.reason === 'NetworksMissing')
    const { uid } = podOf('app').metadata
    mend()
    await untilReady()
    expect(podOf('app').metadata.uid).not.toBe(uid)
  })

  it('is where the ports of its node are free, also if that takes several tries', async () => {
    await start(['a-node', 'b-node'])
    await take(53, 'a-node')
    await take(80, 'b-node')
    create(lab(PLAIN, DNS, cluster('web', 12, port(80))))
    await untilReady()
    expect(nodes()).toEqual(['node-1'])
    await world.pass(MINUTE)
    expect(world.find(DEPLOYMENT, 'lab', 'web')?.metadata.annotations?.['pelotech.ot/avoided-nodes']).toBe('')
  })

  it('says what prevents it where no node suits, and starts as soon as one does', async () => {
    await start()
    await take(53, 'a-node')
    await take(53, 'node-1')
    create(lab(PLAIN, DNS))
    await world.until('what prevents it', () => component('dns')?.reason === 'Unschedulable')
    expect(component('dns')?.message).toMatch(/^no node takes the pod: 0\/2 .* didn't have free ports/)
    expect(component('app')?.message).toBe(
      'waits until container cluster dns has a node, which is to be the node of both',
    )
    expect(pods().filter(({ spec }) => spec.nodeName !== undefined)).toEqual([])
    world.delete(DEPLOYMENT, TEAM, 'taken-53-node-1')
    await untilReady()
    expect(nodes()).toEqual(['node-1'])
  })

  it('is tried again where the operator died after it had forgotten the nodes, and before it deleted the pod', async () => {
    await start()
    await take(53, 'a-node')
    await take(53, 'node-1')
    create(lab(DNS))
    await world.until('what prevents it', () => component('dns')?.reason === 'Unschedulable')
    world.killOperator()
    const matchFields = [{ key: 'metadata.name', operator: 'NotIn', values: ['node-1'] }]
    const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] } }
    const pod = podOf('dns')
    world.simulated.cluster.admin.replace(POD, {
      ...pod,
      spec: { ...pod.spec, affinity: { nodeAffinity: required } },
    } as unknown as KubeObject)
    world.delete(DEPLOYMENT, TEAM, 'taken-53-node-1')
    world.startOperator()
    await untilReady()
    expect(nodes()).toEqual(['node-1'])
  })

  it('has its machine on the node of its volume', async () => {
    await start()
    world.createImage('golden')
    create({ ...lab(PLAIN, STORE), vms: [DESK] })
    await untilReady()
    expect(
      new Set(pods().map((pod) => pod.spec.nodeName ?? pod.metadata.annotations?.['sandbox.open-terrain.dev/node'])),
    ).toEqual(new Set(['node-1']))
  })

  it('comes to the node of its machine, also when that has no room at first', async () => {
    await start(['a-node', 'b-node'])
    world.createImage('golden')
    const spec = { ...lab(), vms: [DESK] }
    create(spec)
    await untilReady()
    const guest = () => world.find<Instance>(VIRTUAL_MACHINE_INSTANCE, 'lab', 'desk')
    const { nodeName = '' } = guest()?.status ?? {}
    const { uid } = guest()?.metadata ?? {}
    await take(53, nodeName)
    world.patch(WORKSPACE, { name: 'lab' }, { spec: { containerClusters: [DNS] } })
    await world.until('what prevents it', () => component('dns')?.reason === 'Unschedulable')
    await world.pass(20 * MINUTE)
    expect(component('dns')?.message).toMatch(new RegExp(`; the rest of the workspace is on node ${nodeName}$`))
    world.delete(DEPLOYMENT, TEAM, `taken-53-${nodeName}`)
    await untilReady()
    expect([podOf('dns').spec.nodeName, guest()?.metadata.uid]).toEqual([nodeName, uid])
  })

  it('does not move what has been Ready when something that fits nowhere else is added', async () => {
    await start()
    create(lab(PLAIN))
    await untilReady()
    await world.pass(MINUTE)
    const { uid } = podOf('app').metadata
    await take(53, 'a-node')
    world.patch(WORKSPACE, { name: 'lab' }, { spec: { containerClusters: [PLAIN, DNS] } })
    await world.pass(20 * MINUTE)
    expect(podOf('app').metadata.uid).toBe(uid)
    expect(component('dns')?.message).toMatch(/didn't have free ports.*; the rest of the workspace is on node a-node$/)
  })
})

describe('a node that is drained', () => {
  it.each([false, true])('is left by a workspace within a minute (made by an earlier version: %s)', async (isOld) => {
    await start()
    const spec = lab(PLAIN, cluster('web', 12), cluster('more', 13))
    create(spec)
    await untilReady()
    if (isOld) await asMadeBefore(spec)
    world.simulated.simulators.workloads.script({ name: 'web' }, { type: 'slowEnd' })
    const [node = ''] = nodes()
    drain(node)
    await world.until('it is not Ready', () => !isReady())
    await world.pass(MINUTE)
    expect([isReady(), nodes()]).toEqual([true, ['node-1']])
  })
})

describe('an address', () => {
  it.each([false, true])(
    'has one pod at a time, also while that ignores that it has to end (operator killed: %s)',
    async (isKilled) => {
      await start()
      create(lab(PLAIN, STORE))
      await untilReady()
      world.simulated.simulators.workloads.script({}, { type: 'slowEnd' })
      const { metadata } = podOf('app')
      world.delete(POD, 'lab', metadata.name)
      await world.until('it waits', () => component('app')?.message?.includes('which has the same addresses') === true)
      expect(component('app')?.message).toBe(
        `waits until pod ${metadata.name} on node node-1, which has the same addresses, has ended`,
      )
      if (isKilled) {
        world.killOperator()
        await world.pass(MINUTE)
        world.startOperator()
      }
      await untilReady()
      expect(podOf('app').metadata.uid).not.toBe(metadata.uid)
      expect(addresses.violations).toEqual([])
    },
  )

  it('stays with the pod of a node that is lost until somebody says that it has ended', async () => {
    await start()
    create(lab(PLAIN, cluster('web', 12)))
    await untilReady()
    const command = 'kubectl taint nodes a-node node.kubernetes.io/out-of-service=nodeshutdown:NoExecute'
    const { metadata } = podOf('app')
    world.simulated.simulators.workloads.script({}, { type: 'nodeLost', node: 'a-node' })
    await world.pass(2 * MINUTE)
    expect(component('app')).toMatchObject({
      phase: 'Failed',
      reason: 'NodeNotReporting',
      message: `pod ${metadata.name} runs on node a-node, which has stopped reporting: nobody knows whether it still runs, and it stays until somebody does; if its node is off: ${command}`,
    })
    drain('a-node')
    await world.pass(10_000)
    expect(component('app')).toMatchObject({ phase: 'Failed', reason: 'PodNotEnding' })
    await world.pass(10 * MINUTE)
    const [last] = pods().filter(
      (pod) => isTerminating(pod) && pod.metadata.labels?.['pelotech.ot/container-cluster'] === 'app',
    )
    expect(component('app')).toMatchObject({ phase: 'Failed', reason: 'PodNotEnding' })
    expect(component('app')?.message).toBe(
      `pod ${last?.metadata.name} has not ended, and its addresses are not free; if its node is off: ${command}`,
    )
    expect(new Set(nodes())).toEqual(new Set(['a-node', undefined]))
    for (const { metadata } of pods().filter(isTerminating)) {
      world.simulated.cluster.admin.delete(POD, metadata, { gracePeriodSeconds: 0 })
    }
    await untilReady()
    expect([nodes(), addresses.violations]).toEqual([['node-1'], []])
  })
})

describe('a pod that is deleted', () => {
  it.each<[string, object]>([
    ['must not be changed', { containerClusters: [{ ...PLAIN, ignoreOnDeploy: true }] }],
    ['is of a spec that is not valid', { vms: 'none' }],
  ])('is followed by another one also where it %s', async (_what, spec) => {
    await start()
    create(lab(PLAIN))
    await untilReady()
    world.patch(WORKSPACE, { name: 'lab' }, { spec })
    await world.pass(MINUTE)
    const { metadata } = podOf('app')
    world.delete(POD, 'lab', metadata.name)
    await world.until(
      'another pod',
      () => podOf('app')?.status?.phase === 'Running' && podOf('app').metadata.uid !== metadata.uid,
    )
    expect(addresses.violations).toEqual([])
  })
})

describe('containers that an earlier version made', () => {
  it('stay as they are, and say so, until their Deployment is deleted: then they go before others come', async () => {
    await start()
    const spec = lab(PLAIN, cluster('web', 12))
    create(spec)
    await untilReady()
    await asMadeBefore(spec)
    const before = podOf('app').metadata
    expect(component('app')).toMatchObject({ phase: 'Ready', reason: 'Outdated' })
    expect(component('app')?.message).toMatch(/to have it made again: kubectl delete deployment -n lab app$/)
    world.written.length = 0
    await world.pass(10 * MINUTE)
    expect([podOf('app').metadata.uid, world.written]).toEqual([before.uid, []])
    world.simulated.simulators.workloads.script({}, { type: 'slowEnd' })
    addresses.violations.length = 0
    world.delete(DEPLOYMENT, 'lab', 'app')
    await world.until(
      'another pod',
      () => podOf('app')?.spec.nodeName !== undefined && podOf('app').metadata.uid !== before.uid,
    )
    await untilReady()
    expect([component('app')?.reason, addresses.violations]).toEqual(['Ready', []])
  })
})
