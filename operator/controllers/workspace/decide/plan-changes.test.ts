import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import {
  type DeploymentObject,
  isClusterNetworkName,
  type Policy,
  podNetworksIn,
} from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DEPLOYED, VM } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { ImageView } from '../../../images/image-view.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { type DeploymentView, viewContainerPod } from '../child-views.ts'
import { idOfObject } from './component.ts'
import { planWorkspace } from './plan.ts'
import { hangingPods, podTrouble } from './pod-trouble.ts'
import { renderComponents, renderEarlier } from './render.ts'

/** Plans again with another policy or another spec. */
function changed(planned: PlannedWorld, policy: Partial<Policy>, spec: WorkspaceSpecInput = DEPLOYED) {
  planned.policy = { ...planned.policy, ...policy }
  planned.spec = parsed(spec)
  return planWorkspace(planned.world, NOW)
}

const volumesOf = ({ status }: ReturnType<typeof planWorkspace>) =>
  status.components?.filter(({ kind }) => kind === 'Volume').map(({ phase, reason }) => `${phase} ${reason}`)

it('a claim that stays where it is can be mounted by what is created later', () => {
  const planned = settledWorld(DEPLOYED)
  planned.children.delete('Deployment demo-app')
  const plan = changed(planned, { localVolumeRoot: '/srv/labs' })
  expect(volumesOf(plan)).toEqual(['Ready NotChangeable', 'Ready NotChangeable'])
  expect(plan.apply.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual(['Deployment demo-app'])
})

it.each<
  [string, Partial<Policy>, Partial<WorkspaceSpecInput['volumes'] extends readonly (infer V)[] | undefined ? V : never>]
>([
  ['another folder of the policy', { localVolumeRoot: '/srv/others' }, {}],
  ['another localPath', {}, { localPath: '/other' }],
  ['a larger size', {}, { size: '2Gi' }],
])('a local volume stays as it is with %s', (_name, policy, change) => {
  const planned = settledWorld(DEPLOYED, { localVolumeRoot: '/srv/labs' })
  const volumes = (DEPLOYED.volumes ?? []).map((volume) => ({ ...volume, ...change }))
  const plan = changed(planned, policy, { ...DEPLOYED, volumes })
  expect(volumesOf(plan)).toEqual(['Ready NotChangeable', 'Ready NotChangeable'])
  expect([plan.status.phase, plan.apply, plan.remove]).toEqual(['Ready', [], []])
})

describe.each<[what: string, before: Partial<Policy>, after: Partial<Policy>, size: string, told: RegExp]>([
  ['the first folder of the policy', {}, { localVolumeRoot: '/srv/labs' }, '1Gi', /localVolumeRoot/],
  ['another folder', { localVolumeRoot: '/srv/labs' }, { localVolumeRoot: '/srv/others' }, '1Gi', /localVolumeRoot/],
  ['no folder any more', { localVolumeRoot: '/srv/labs' }, { localVolumeRoot: undefined }, '1Gi', /localVolumeRoot/],
  ['a smaller size', {}, {}, '512Mi', /asks for 512Mi/],
  ['a larger size of a folder', { localVolumeRoot: '/srv/labs' }, {}, '2Gi', /asks for 2Gi/],
])('%s', (_what, before, after, size, told) => {
  it.each(['Pending', 'Bound', 'Lost'])(
    'is told of a claim that is %s, and how to have it where it can be had',
    (phase) => {
      const planned = settledWorld(DEPLOYED, before)
      for (const [id, child] of planned.children)
        if (child.kind === 'PersistentVolumeClaim') planned.children.set(id, { ...child, phase } as KubeObject)
      const volumes = DEPLOYED.volumes.map((volume) => ({ ...volume, size }))
      const { status, apply, remove } = changed(planned, after, { ...DEPLOYED, volumes })
      const messages = status.components?.filter(({ kind }) => kind === 'Volume').map(({ message }) => message) ?? []
      expect(messages).toEqual(messages.map(() => expect.stringMatching(told)))
      const canBeMadeAgain = messages.map((message) =>
        message?.endsWith('which has no storage yet, and it is made again'),
      )
      expect(canBeMadeAgain).toEqual([phase === 'Pending', phase === 'Pending'])
      expect([apply, remove]).toEqual([[], []])
    },
  )
})

it('what somebody adds to a NetworkPolicy is taken off again', () => {
  const planned = settledWorld(DEPLOYED)
  const id = 'NetworkPolicy default-deny'
  const found = planned.children.get(id) as KubeObject & { readonly spec: object }
  planned.children.set(id, { ...found, spec: { ...found.spec, ingress: [{}] } } as KubeObject)
  const plan = planWorkspace(planned.world, NOW)
  expect(plan.apply.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([id])
})

it('a workspace that is deleted with --cascade=orphan removes nothing', () => {
  const { world } = settledWorld(DEPLOYED)
  const { workspace } = world
  const metadata = { ...workspace.metadata, deletionTimestamp: '2026-01-31T12:00:00Z' }
  const deleted = (finalizers: readonly string[]) =>
    planWorkspace({ ...world, workspace: { ...workspace, metadata: { ...metadata, finalizers } } }, NOW)
  expect(deleted(['pelotech.ot/workspace', 'orphan'])).toMatchObject({ remove: [], finalizer: 'keep' })
  expect(deleted(['pelotech.ot/workspace']).remove.length).toBeGreaterThan(0)
})

it('what is removed waits for nothing but what may still use it', () => {
  const planned = settledWorld(DEPLOYED)
  const fewer = { ...DEPLOYED, vms: [], networks: DEPLOYED.networks.slice(0, -1), volumes: DEPLOYED.volumes.slice(1) }
  const removed = () => changed(planned, {}, fewer).remove.map(({ kind, name }) => `${kind} ${name}`)
  // A volume may be a disk of a machine.
  expect(removed()).toEqual(['VirtualMachine demo-vm'])
  planned.children.delete('VirtualMachine demo-vm')
  const networks = ['range-services-pod', 'range-services'].map((name) => `NetworkAttachmentDefinition ${name}`)
  expect(removed()).toEqual(['PersistentVolumeClaim monitorconfigs', ...networks])
})

it('a correction of an image is all that waits for its condition', () => {
  const planned = new PlannedWorld(parsed(DEPLOYED))
  const made = planWorkspace(planned.world, NOW).apply.find(({ kind }) => kind === 'VMDiskImage')
  const image = { ...made, metadata: { ...made?.metadata, uid: 'image', generation: 1 }, status: { phase: 'Failed' } }
  planned.images.set('demo-vmdi', { image: image as unknown as ImageView, isShared: false, claims: [] })
  const vmDiskImageTemplate = {
    url: 'https://images.example/right.qcow2',
    sourceType: 'http',
    diskSize: '10Gi',
  } as const
  const plan = changed(planned, {}, { ...DEPLOYED, vms: [{ ...VM, vmDiskImageTemplate }] })
  expect(plan.applyIf?.map(({ wanted, onlyIf }) => [wanted.metadata.name, onlyIf.length])).toEqual([['demo-vmdi', 1]])
  expect(plan).not.toHaveProperty('onlyIf')
})

it('what was in a namespace that is gone is not removed once more, unless the namespace is another one', () => {
  const planned = settledWorld(DEPLOYED)
  planned.deletionTimestamp = '2026-01-31T12:00:00Z'
  const id = 'Namespace lab'
  const namespace = planned.children.get(id) as KubeObject
  for (const other of [...planned.children.keys()])
    if (!other.startsWith('NetworkPolicy ')) planned.children.delete(other)
  expect(planWorkspace(planned.world, NOW)).toMatchObject({ remove: [], finalizer: 'release' })
  planned.namesakes.set(id, { ...namespace, metadata: { ...namespace.metadata, uid: 'theirs', ownerReferences: [] } })
  const { remove, finalizer } = planWorkspace(planned.world, NOW)
  expect([new Set(remove.map(({ kind }) => kind)), finalizer]).toEqual([new Set(['NetworkPolicy']), 'keep'])
})

it('a workspace with the name of the namespace of images makes nothing', () => {
  const planned = new PlannedWorld(parsed(DEPLOYED))
  planned.policy = { ...planned.policy, imageNamespace: 'lab' }
  const { status, apply } = planWorkspace(planned.world, NOW)
  expect([status.phase, status.reason, apply.filter(({ kind }) => kind !== 'VMDiskImage')]).toEqual([
    'Failed',
    'NameConflict',
    [],
  ])
})

it('nothing is downloaded for a workspace whose name is taken, until that namespace goes', () => {
  const planned = new PlannedWorld(parsed(DEPLOYED))
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'lab', uid: 'foreign' } }
  planned.namesakes.set('Namespace lab', namespace)
  const { status, apply } = planWorkspace(planned.world, NOW)
  expect([status.phase, status.reason, apply]).toEqual(['Failed', 'NameConflict', []])
  planned.namesakes.set('Namespace lab', {
    ...namespace,
    metadata: { ...namespace.metadata, deletionTimestamp: 'now' },
  })
  expect(planWorkspace(planned.world, NOW).apply.map(({ kind }) => kind)).toEqual(['VMDiskImage'])
})

it('a pod that was evicted says nothing about the one in its place, and no more than two are looked at', () => {
  const pod = (name: string, status: object) =>
    viewContainerPod({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'lab', name, uid: name },
      status,
    } as unknown as KubeObject)
  const killed = { name: 'chef', restartCount: 7, state: { terminated: { exitCode: 137, reason: 'Error' } } }
  const evicted = pod('old', { phase: 'Failed', reason: 'Evicted', containerStatuses: [killed] })
  const starting = ['a', 'b', 'c'].map((name) => pod(name, { phase: 'Pending' }))
  const world = { ...settledWorld(DEPLOYED).world, pods: new Map([['demo-app', [evicted, ...starting]]]) }
  expect(podTrouble(world, 'demo-app')).toBeUndefined()
  expect(hangingPods(world).map(({ uid }) => uid)).toEqual(['a', 'b'])
})

describe('what an earlier version of the operator made', () => {
  const ID = 'Deployment demo-app'
  /** A workspace that is Ready, as version 0.1.0 rendered it. */
  const old = (): PlannedWorld => {
    const planned = settledWorld(DEPLOYED)
    const blueprint = { workspace: { name: 'lab', uid: 'lab-uid' }, spec: parsed(DEPLOYED), policy: planned.policy }
    const before = renderComponents(blueprint).map((one) => renderEarlier(blueprint, one).at(-1))
    for (const wanted of before.flatMap((one) => one?.objects ?? [])) {
      const { spec, metadata } = wanted as DeploymentView
      const found = planned.children.get(idOfObject(wanted)) as DeploymentView
      planned.children.set(idOfObject(wanted), { ...found, metadata, spec } as DeploymentView)
    }
    for (const [id, { metadata }] of planned.children)
      if (isClusterNetworkName(metadata.name)) planned.children.delete(id)
    return planned
  }
  const componentIn = ({ status }: ReturnType<typeof planWorkspace>) =>
    status.components?.find(({ kind, name }) => kind === 'ContainerCluster' && name === 'demo-app')
  const writes = ({ apply, remove }: ReturnType<typeof planWorkspace>) => [
    ...apply.map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/[0-9a-f]{8}$/, '*')}`),
    ...remove.map(({ kind, name }) => `no ${kind} ${name}`),
  ]

  it('stays as it is, and its component says what it lacks', () => {
    const plan = planWorkspace(old().world, NOW)
    expect([plan.status.phase, writes(plan)]).toEqual(['Ready', []])
    expect(componentIn(plan)).toMatchObject({
      phase: 'Ready',
      reason: 'Outdated',
      message: expect.stringMatching(/kubectl delete deployment -n lab demo-app$/),
    })
  })

  it('stays also where somebody has changed it: that is reverted', () => {
    const planned = old()
    const found = planned.children.get(ID) as DeploymentView & { spec: object }
    planned.children.set(ID, { ...found, spec: { ...found.spec, replicas: 0 } } as DeploymentView)
    const { apply } = planWorkspace(planned.world, NOW)
    expect(apply.map((one) => JSON.stringify(one).includes('default-route'))).toEqual([true])
  })

  it('is made in the current way when it is made again', () => {
    const planned = old()
    planned.children.delete(ID)
    expect(writes(planWorkspace(planned.world, NOW))).toEqual(['NetworkAttachmentDefinition bridge-inet-pod-*', ID])
  })

  it('is made in the current way when the spec changes it', () => {
    const [, ansible] = DEPLOYED.containerClusters
    const [app] = parsed(DEPLOYED).containerClusters ?? []
    const containers = app?.containers.map((container) => ({ ...container, image: 'registry.example/other:2' })) ?? []
    const changedApp = { name: 'demo-app', ...app, containers }
    const plan = changed(
      old(),
      {},
      { ...DEPLOYED, containerClusters: ansible === undefined ? [] : [changedApp, ansible] },
    )
    expect(writes(plan)).toEqual(['NetworkAttachmentDefinition bridge-inet-pod-*', ID])
  })
})

it('a pod keeps the variables with the Services of its namespace that earlier versions of the operator left in it', () => {
  const ID = 'Deployment demo-app'
  const planned = settledWorld(DEPLOYED)
  const podOf = ({ children }: PlannedWorld) => (children.get(ID) as KubeObject & DeploymentObject).spec.template.spec
  expect(podOf(planned)).toMatchObject({ enableServiceLinks: false })
  const reason = planWorkspace(planned.world, NOW).status.components?.find(({ name }) => name === 'demo-app')?.reason
  const blueprint = { workspace: { name: 'lab', uid: 'lab-uid' }, spec: parsed(DEPLOYED), policy: planned.policy }
  const app = renderComponents(blueprint).find(({ name }) => name === 'demo-app')
  const before = (app && renderEarlier(blueprint, app)[0]?.objects) ?? []
  for (const wanted of before) {
    const found = planned.children.get(idOfObject(wanted))
    planned.children.set(idOfObject(wanted), {
      ...found,
      ...wanted,
      metadata: { ...found?.metadata, ...wanted.metadata },
    })
  }
  expect(podOf(planned)).not.toHaveProperty('enableServiceLinks')
  const { apply, remove, status } = planWorkspace(planned.world, NOW)
  const told = status.components?.find(({ name }) => name === 'demo-app')
  expect([apply, remove, told?.reason]).toEqual([[], [], reason])
  planned.children.delete(ID)
  const again = planWorkspace(planned.world, NOW).apply.find((one) => idOfObject(one) === ID)
  expect(again).toMatchObject({ spec: { template: { spec: { enableServiceLinks: false } } } })
})

describe('a pod keeps the way in which it got the routes of a network', () => {
  const member = (name: string, host: number) => ({
    name,
    interfaces: [{ network: 'lan', ipAddress: `10.9.0.${host}/24` }],
    containers: [{ name, image: 'web:1' }],
  })
  const lab = (...containerClusters: ReturnType<typeof member>[]) => ({
    networks: [
      {
        name: 'lan',
        cidr: '10.9.0.0/24',
        routes: [{ destinationNetworkCidr: '172.26.0.0/15', nextHopIpAddress: '10.9.0.1' }],
      },
    ],
    containerClusters,
  })
  const alone = lab(member('host', 5))
  const routed = lab(member('host', 5), member('router', 1))
  const writes = ({ apply, remove }: ReturnType<typeof planWorkspace>) => [
    ...apply.map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/[0-9a-f]{8}$/, '*')}`),
    ...remove.map(({ kind, name }) => `no ${kind} ${name.replace(/[0-9a-f]{8}$/, '*')}`),
  ]
  const networkOf = (planned: PlannedWorld, cluster: string) => {
    const { spec } = planned.children.get(`Deployment ${cluster}`) as KubeObject & DeploymentObject
    return podNetworksIn(spec.template.metadata.annotations)[0]?.name.replace(/[0-9a-f]{8}$/, '*')
  }
  const told = ({ status }: ReturnType<typeof planWorkspace>, cluster: string) => {
    const found = status.components?.find(({ kind, name }) => kind === 'ContainerCluster' && name === cluster)
    return [found?.phase, found?.reason, found?.message]
  }

  it('when another one comes that is a next hop: it says what its next pod lacks, and gets it when it is made again', () => {
    const planned = settledWorld(alone)
    expect(networkOf(planned, 'host')).toBe('lan-pod')
    const plan = changed(planned, {}, routed)
    expect(writes(plan)).toEqual(['NetworkAttachmentDefinition lan-pod', 'ConfigMap lab-ansible', 'Deployment router'])
    planned.take(plan)
    const next = planWorkspace(planned.world, NOW)
    expect(writes(next)).toEqual([])
    expect(told(next, 'host')).toEqual([
      'Ready',
      'Outdated',
      expect.stringMatching(
        /it has the routes that all pods of network lan share, without that to 172.26.0.0\/15 by 10.9.0.1; to have it made again: kubectl delete deployment -n lab host$/,
      ),
    ])
    planned.children.delete('Deployment host')
    const again = planWorkspace(planned.world, NOW)
    expect(writes(again)).toEqual(['NetworkAttachmentDefinition lan-pod-*', 'Deployment host'])
    planned.take(again)
    expect(told(planWorkspace(planned.world, NOW), 'host').slice(0, 2)).toEqual(['Ready', 'Ready'])
  })

  it('when the one goes that was a next hop, and everything goes with its own last pod', () => {
    const planned = settledWorld(routed)
    expect(['host', 'router'].map((name) => networkOf(planned, name))).toEqual(['lan-pod-*', 'lan-pod'])
    const plan = changed(planned, {}, alone)
    expect(writes(plan)).toEqual([
      'NetworkAttachmentDefinition lan-pod',
      'ConfigMap lab-ansible',
      'no Deployment router',
    ])
    planned.take(plan)
    const next = planWorkspace(planned.world, NOW)
    expect([writes(next), told(next, 'host').slice(0, 2)]).toEqual([[], ['Ready', 'Ready']])
    planned.children.delete('Deployment host')
    const again = planWorkspace(planned.world, NOW)
    expect(writes(again)).toContain('Deployment host')
    planned.take(again)
    planned.take(planWorkspace(planned.world, NOW))
    expect(networkOf(planned, 'host')).toBe('lan-pod')
    expect([...planned.children.values()].filter(({ metadata }) => isClusterNetworkName(metadata.name))).toEqual([])
  })

  it('also where it lacks the names of the members, too', () => {
    const planned = settledWorld(alone)
    planned.take(changed(planned, {}, routed))
    const { apply, status } = changed(planned, {}, { ...routed, names: 'hosts' })
    expect(apply.map(({ metadata }) => metadata.name)).toEqual([])
    const host = status.components?.find(({ kind, name }) => kind === 'ContainerCluster' && name === 'host')
    expect(host?.message).toMatch(/before names: hosts.*without that to 172.26.0.0/)
  })
})

it('a network of a container cluster stays as long as a pod may be created on it', () => {
  const planned = settledWorld(DEPLOYED)
  const networks = DEPLOYED.networks.map(({ name, cidr }) => ({ name, cidr }))
  const plan = changed(planned, {}, { ...DEPLOYED, networks })
  expect(plan.remove).toEqual([])
  planned.take(plan)
  expect(planWorkspace(planned.world, NOW).remove.map(({ name }) => isClusterNetworkName(name))).toEqual([true])
})
