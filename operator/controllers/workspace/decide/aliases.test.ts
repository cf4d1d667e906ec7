import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import { VM } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed } from '../../../../test/prepared/workspace/workspace-world.ts'
import { planWorkspace } from './plan.ts'

const lab = (vmAliases: string[], webAliases: string[]): WorkspaceSpecInput => ({
  names: 'hosts',
  networks: [{ name: 'net' }],
  vms: [{ ...VM, name: 'vm', aliases: vmAliases, interfaces: [{ network: 'net', ipAddress: '10.0.0.2/24' }] }],
  containerClusters: [
    {
      name: 'web',
      aliases: webAliases,
      interfaces: [{ network: 'net', ipAddress: '10.0.0.3/24' }],
      containers: [{ name: 'main', image: 'web:1' }],
    },
  ],
})

it('a member with an alias of another one is not created; one that exists goes on', () => {
  const members = (planned: PlannedWorld) => {
    const names: string[] = []
    for (let round = 0; round < 8; round += 1) {
      const plan = planWorkspace(planned.world, NOW)
      names.push(...plan.apply.flatMap(({ kind }) => (/Deployment|VirtualMachine/.test(kind) ? [kind] : [])))
      planned.take(plan)
    }
    return names
  }
  const told = (planned: PlannedWorld) =>
    (planWorkspace(planned.world, NOW).status.components ?? [])
      .filter(({ kind }) => kind === 'VirtualMachine' || kind === 'ContainerCluster')
      .map(({ reason }) => reason)
  const both = new PlannedWorld(parsed(lab(['www'], ['www'])))
  both.allImagesReady()
  expect([members(both), told(both)]).toEqual([[], ['AliasNotPossible', 'AliasNotPossible']])
  const one = new PlannedWorld(parsed(lab([], ['vm'])))
  one.allImagesReady()
  expect([members(one), told(one).toSorted()]).toEqual([['VirtualMachine'], ['AliasNotPossible', 'Running']])

  const good = new PlannedWorld(parsed(lab(['www'], ['vm.lab'])))
  good.allImagesReady()
  expect(members(good).toSorted()).toEqual(['Deployment', 'VirtualMachine'])
  good.spec = parsed(lab(['www'], ['www']))
  expect(told(good)).not.toContain('AliasNotPossible')
  const { conditions = [] } = planWorkspace(good.world, NOW).status
  expect(conditions.find(({ type }) => type === 'SpecWarning')?.message).toContain('"www", which is a name of web, too')
})
