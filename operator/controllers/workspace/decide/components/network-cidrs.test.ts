import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../../test/prepared/workspace/workspace-world.ts'
import { planWorkspace } from '../plan.ts'

const CIDRS = ['10.10.0.0/24', 'fd00:10::/64']
const NETWORK = { name: 'front', cidrs: CIDRS, rangeGateway: 'fd00:10::1' }
const GATEWAY = clusterAt('gateway', 'fd00:10::1/64', '10.10.0.1/24')

function clusterAt(name: string, ...ipAddresses: string[]) {
  return { name, interfaces: [{ network: 'front', ipAddresses }], containers: [{ name: 'a', image: 'a' }] }
}

function planned(spec: WorkspaceSpecInput): PlannedWorld {
  const world = new PlannedWorld(parsed(spec))
  for (let round = 0; round < 6; round += 1) world.take(planWorkspace(world.world, NOW))
  return world
}

function told(world: PlannedWorld, name: string) {
  const { components = [] } = planWorkspace(world.world, NOW).status
  const { phase, reason, message } = components.find((one) => one.name === name) ?? {}
  return [phase, reason, message]
}

describe('a network with cidrs', () => {
  it('has members with addresses of both kinds', () => {
    const world = planned({ networks: [NETWORK], containerClusters: [GATEWAY] })
    expect(told(world, 'front')).toEqual(['Ready', 'Ready', 'network front can be used'])
    expect(world.children.has('Deployment gateway')).toBe(true)
  })

  it.each(['10.20.0.5/24', '10.10.0.5/16', 'fd00:10:0:1::5/64'])('has no member with the address %s', (address) => {
    const world = planned({ networks: [NETWORK], containerClusters: [GATEWAY, clusterAt('web', address)] })
    const message = `its address ${address} on network front is in none of cidrs (10.10.0.0/24, fd00:10::/64): take an address of that network, with the same length`
    expect(told(world, 'web')).toEqual(['Failed', 'AddressOutsideNetwork', message])
    expect([world.children.has('Deployment gateway'), world.children.has('Deployment web')]).toEqual([true, false])
  })

  it.each([
    ['rangeGateway', '10.20.0.1', { rangeGateway: '10.20.0.1' }],
    ['rangeGateway', '10.10.0.255', { rangeGateway: '10.10.0.255' }],
    [
      'nextHopIpAddress',
      'fd00:20::1',
      { routes: [{ destinationNetworkCidr: 'fd00:30::/64', nextHopIpAddress: 'fd00:20::1' }] },
    ],
  ])('is not made with %s %s', (field, address, words) => {
    const world = planned({ networks: [{ ...NETWORK, ...words }], containerClusters: [GATEWAY] })
    expect(told(world, 'front')).toEqual([
      'Failed',
      'AddressOutsideNetwork',
      `${field} ${address} of network front must be in one of its cidrs (10.10.0.0/24, fd00:10::/64), and neither the first nor the last address there`,
    ])
    expect(world.children.has('Deployment gateway')).toBe(false)
  })

  it('leaves a member that runs where it is when its address moves out of it', () => {
    const world = settledWorld({ networks: [NETWORK], containerClusters: [GATEWAY] })
    world.spec = parsed({ networks: [NETWORK], containerClusters: [clusterAt('gateway', '10.20.0.1/24')] })
    const { apply, remove, status } = planWorkspace(world.world, NOW)
    expect(apply.filter(({ kind }) => kind === 'Deployment')).toEqual([])
    expect([remove, status.phase]).toEqual([[], 'Failed'])
    expect(told(world, 'gateway')[2]).toMatch(/exists and stays as it is/)
  })

  it('takes part in the check of what overlaps the ranges of the cluster', () => {
    const world = new PlannedWorld(parsed({ networks: [NETWORK], containerClusters: [GATEWAY] }))
    world.ranges = [{ cidr: 'fd00:10::/112', what: 'the range of Services kubernetes' }]
    for (let round = 0; round < 6; round += 1) world.take(planWorkspace(world.world, NOW))
    expect(told(world, 'front')[1]).toBe('ClusterCidrOverlap')
  })
})
