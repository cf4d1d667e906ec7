import type { InterfaceWords } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../../test/prepared/workspace/workspace-world.ts'
import { planWorkspace } from '../plan.ts'

const SERVICES = [{ cidr: '10.10.0.0/16', what: 'the range of Services kubernetes' }]
const SAYS = /cidr 10\.10\.0\.0\/24 of network control-net overlaps 10\.10\.0\.0\/16, the range of Services kubernetes/

/** Returns phase, reason and message of a component. */
function component({ status }: ReturnType<typeof planWorkspace>, kind: string, name: string) {
  const { phase, reason, message } = status.components?.find((one) => one.kind === kind && one.name === name) ?? {}
  return [phase, reason, message]
}

describe('a network whose cidr overlaps a range of the cluster', () => {
  it('is not made, nor what needs it, and the range is named', () => {
    const planned = new PlannedWorld(parsed(DEPLOYED))
    planned.allImagesReady()
    planned.ranges = SERVICES
    for (let round = 0; round < 6; round += 1) planned.take(planWorkspace(planned.world, NOW))
    const plan = planWorkspace(planned.world, NOW)
    expect(component(plan, 'Network', 'control-net')).toEqual([
      'Failed',
      'ClusterCidrOverlap',
      expect.stringMatching(SAYS),
    ])
    const made = (id: string) => planned.children.has(id)
    expect(made('NetworkAttachmentDefinition control-net')).toBe(false)
    expect([made('Deployment ansible'), made('Deployment demo-app')]).toEqual([false, true])
  })

  it('stays where it exists, with all members, and is warned of', () => {
    const planned = settledWorld(DEPLOYED)
    planned.ranges = SERVICES
    const plan = planWorkspace(planned.world, NOW)
    expect(component(plan, 'Network', 'control-net')).toEqual([
      'Ready',
      'ClusterCidrOverlap',
      expect.stringMatching(SAYS),
    ])
    expect([plan.status.phase, plan.apply, plan.remove]).toEqual(['Ready', [], []])
  })

  it('gets no member that exists elsewhere', () => {
    const moved = <T extends { readonly interfaces?: readonly InterfaceWords[] }>(one: T) => ({
      ...one,
      interfaces: one.interfaces?.map((each) =>
        each.network === 'control-net'
          ? { ...each, ipAddress: each.ipAddress?.replace(/^10\.10\.0\./, '10.20.0.') }
          : each,
      ),
    })
    const networks = DEPLOYED.networks.map((one) =>
      one.name === 'control-net' ? { ...one, cidr: '10.20.0.0/24' } : one,
    )
    const containerClusters = DEPLOYED.containerClusters.map(moved)
    const planned = settledWorld({ ...DEPLOYED, networks, containerClusters, vms: DEPLOYED.vms.map(moved) })
    planned.ranges = SERVICES
    planned.spec = parsed(DEPLOYED)
    const plan = planWorkspace(planned.world, NOW)
    const kept = plan.apply.filter(({ kind }) => kind === 'Deployment' || kind === 'VirtualMachine')
    expect(kept.map(({ metadata }) => metadata.name)).toEqual(['demo-app'])
    for (const [kind, name] of [
      ['ContainerCluster', 'ansible'],
      ['VirtualMachine', 'demo-vm'],
    ] as const)
      expect(component(plan, kind, name)[2]).toMatch(/it stays on its addresses, because cidr 10\.10\.0\.0\/24/)
  })
})
