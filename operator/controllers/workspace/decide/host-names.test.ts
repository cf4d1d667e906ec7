import { ANNOTATIONS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { PLACEMENT_GATE } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import {
  NOW,
  type PlannedWorld,
  parsed,
  podOf,
  settledWorld,
} from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { viewContainerPod } from '../child-views.ts'
import { planWorkspace } from './plan.ts'

const ID = 'Deployment ansible'
const NAMED = { ...DEPLOYED, names: 'hosts' } as const
/** The machine has another address. */
const MOVED = {
  ...NAMED,
  vms: NAMED.vms.map((vm) => ({
    ...vm,
    interfaces: (vm.interfaces ?? []).map((nic) => ({
      ...nic,
      ipAddress: (nic.ipAddress ?? '').replace(/\d+\/24$/, '77/24'),
    })),
  })),
}

/** Plans with a pod as the operator sees it. @param more what the pod has that those of fixtures do not have */
function planned(world: PlannedWorld, spec: WorkspaceSpecInput, more: (pod: KubeObject) => object = () => ({})) {
  world.spec = parsed(spec)
  const pod = podOf(world.children.get(ID) as never)
  const seen = world.world
  const pods = new Map([...seen.pods, ['ansible', [viewContainerPod({ ...pod, ...more(pod) } as KubeObject)]]])
  return planWorkspace({ ...seen, pods }, NOW)
}
const started = (hash: string | undefined) => (pod: KubeObject) => ({
  metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [ANNOTATIONS.hosts]: hash } },
})
const gated = (pod: KubeObject) => ({
  spec: { schedulingGates: [{ name: PLACEMENT_GATE }] },
  status: { phase: 'Pending' },
  metadata: pod.metadata,
})
/** What the operator notes on the pod when it may start. */
function noted(world: PlannedWorld, spec: WorkspaceSpecInput): string | undefined {
  return planned(world, spec, gated).touch?.[0]?.annotations?.[ANNOTATIONS.hosts] ?? undefined
}
const writes = ({ apply, remove }: ReturnType<typeof planWorkspace>) => [
  ...apply.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
  ...remove.map(({ kind, name }) => `no ${kind} ${name}`),
]
const told = ({ status }: ReturnType<typeof planWorkspace>) => {
  const found = status.components?.find(({ kind, name }) => kind === 'ContainerCluster' && name === 'ansible')
  const upToDate = status.conditions?.find(({ type }) => type === 'UpToDate')
  return [status.phase, found?.reason, upToDate?.status, found?.message] as const
}

const RIGHT = ['Ready', 'Ready', 'True', expect.not.stringContaining('names')]

describe('names: hosts', () => {
  it('replaces nothing that runs: what lacks the names is told, with a command', () => {
    const plan = planned(settledWorld(DEPLOYED), NAMED)
    // The machine gets the names, which starts nothing again.
    expect(writes(plan)).toEqual(['VirtualMachine demo-vm'])
    expect(told(plan)).toEqual([
      'Ready',
      'NamesNotCurrent',
      'False',
      expect.stringMatching(/kubectl delete deployment -n lab ansible$/),
    ])
  })

  it('comes with the next pod', () => {
    const world = settledWorld(DEPLOYED)
    world.children.delete(ID)
    world.spec = parsed(NAMED)
    expect(writes(planWorkspace(world.world, NOW))).toEqual(['ConfigMap ansible-hosts', ID, 'VirtualMachine demo-vm'])
  })

  it('notes with which names a pod starts, and tells of others until then', () => {
    const world = settledWorld(NAMED)
    const hash = noted(world, NAMED)
    expect(hash).toMatch(/^[0-9a-f]{16}$/)
    expect(told(planned(world, NAMED, started(hash)))).toEqual(RIGHT)
    const plan = planned(world, MOVED, started(hash))
    expect(writes(plan)).toContain('ConfigMap ansible-hosts')
    expect(writes(plan)).not.toContain(ID)
    world.take(plan)
    expect(told(planned(world, MOVED, started(hash)))).toEqual([
      'Ready',
      'NamesNotCurrent',
      'False',
      expect.stringMatching(/kubectl delete pod -n lab -l pelotech.ot\/container-cluster=ansible$/),
    ])
    const next = noted(world, MOVED)
    expect(next).not.toBe(hash)
    expect(told(planned(world, MOVED, started(next)))).toEqual(RIGHT)
  })

  it('notes what the pod reads, not what the spec says, while the file cannot be written', () => {
    const world = settledWorld(NAMED)
    expect(noted(world, MOVED)).toBe(noted(world, NAMED))
  })

  it('does not hide that a cluster cannot have its new addresses, nor asks for a pod that would read the same file', () => {
    const world = settledWorld(NAMED)
    const hash = noted(world, NAMED)
    world.ranges = [{ cidr: '10.10.1.0/24', what: 'the Services of the cluster' }]
    const moved = NAMED.containerClusters.map((cluster) =>
      cluster.name === 'ansible'
        ? { ...cluster, interfaces: [{ network: 'capture-net', ipAddress: '10.10.1.201/24' }] }
        : cluster,
    )
    const spec = { ...NAMED, containerClusters: moved }
    expect(told(planned(world, spec, started(hash)))).toEqual([
      'Ready',
      'NotChangeable',
      'False',
      expect.not.stringContaining('kubectl delete pod'),
    ])
  })

  it('lets no pod start whose file is not seen yet', () => {
    const world = settledWorld(NAMED)
    world.children.delete('ConfigMap ansible-hosts')
    expect(planned(world, NAMED, gated).touch).toBeUndefined()
  })

  it('keeps what is said of a cluster that was made before it', () => {
    const world = settledWorld(DEPLOYED)
    const said = (spec: WorkspaceSpecInput) =>
      planned(world, spec).status.components?.find(
        ({ kind, name }) => kind === 'ContainerCluster' && name === 'demo-app',
      )?.message
    expect(said(DEPLOYED)).toContain('default route')
    expect(said(NAMED)).toMatch(/made before names: hosts.*default route/)
  })

  it('notes nothing on pods without it', () => {
    expect(planned(settledWorld(DEPLOYED), DEPLOYED, gated).touch?.[0]?.annotations).toEqual({})
  })
})
