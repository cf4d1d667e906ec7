import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { VM } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { planWorkspace } from './plan.ts'

type Wants = Readonly<Record<string, readonly string[]>>

/** Machines have names that begin with vm. */
function lab(wants: Wants, ignored: readonly string[] = []): WorkspaceSpecInput {
  const members = Object.entries(wants).map(([name, dependsOn]) => ({
    name,
    ...(dependsOn.length > 0 && { dependsOn: [...dependsOn] }),
    ...(ignored.includes(name) && { ignoreOnDeploy: true }),
  }))
  const isMachine = ({ name }: { readonly name: string }) => name.startsWith('vm')
  return {
    vms: members.filter(isMachine).map((one) => ({ ...VM, interfaces: [], ...one })),
    containerClusters: members
      .filter((one) => !isMachine(one))
      .map((one) => ({ containers: [{ name: 'main', image: 'web:1' }], ...one })),
  }
}

function worldOf(spec: WorkspaceSpecInput): PlannedWorld {
  const planned = new PlannedWorld(parsed(spec))
  planned.allImagesReady()
  return planned
}

/** Returns the members that come in each round, as long as any come. */
function roundsOf(planned: PlannedWorld): string[][] {
  const rounds: string[][] = []
  for (let round = 0; round < 12; round += 1) {
    const plan = planWorkspace(planned.world, NOW)
    const made = plan.apply.filter(({ kind }) => kind === 'Deployment' || kind === 'VirtualMachine')
    if (made.length > 0) rounds.push(made.map(({ metadata }) => metadata.name))
    planned.take(plan)
  }
  return rounds
}

const told = (planned: PlannedWorld, name: string) => {
  const { status } = planWorkspace(planned.world, NOW)
  const found = status.components?.find(
    (one) => one.name === name && (one.kind === 'ContainerCluster' || one.kind === 'VirtualMachine'),
  )
  return [found?.phase, found?.reason, found?.message]
}

describe('dependsOn', () => {
  it('has members created one after the other, machines and container clusters', () => {
    const planned = worldOf(lab({ web: ['vm-db', 'cache'], cache: [], 'vm-db': ['dns'], dns: ['cache'], free: [] }))
    expect(roundsOf(planned)).toEqual([['cache', 'free'], ['dns'], ['vm-db'], ['web']])
    expect(planned.status.phase).toBe('Ready')
  })

  it('does not wait for a member that is not deployed, also where the policy would refuse that one', () => {
    const { containerClusters = [] } = lab({ web: ['db'], db: [] }, ['db'])
    const clusters = containerClusters.map((one) =>
      one.name === 'db' ? { ...one, containers: [{ name: 'main', image: 'db:1', privileged: true }] } : one,
    )
    expect(roundsOf(worldOf({ containerClusters: clusters }))).toEqual([['web']])
  })

  it('warns of a container cluster that comes after a machine whose node may not be one of its own', () => {
    const nodeSelector = { disk: 'ssd' }
    const { vms = [], containerClusters = [] } = lab({ web: ['vm-db'], 'vm-db': [] })
    const warned = [nodeSelector, undefined].map((ofMachine) => {
      const machines = vms.map((one) => (ofMachine === undefined ? one : { ...one, nodeSelector: ofMachine }))
      const clusters = containerClusters.map((one) => ({ ...one, nodeSelector }))
      const { conditions = [] } = planWorkspace(
        worldOf({ vms: machines, containerClusters: clusters }).world,
        NOW,
      ).status
      return conditions.find(({ type }) => type === 'SpecWarning')?.message ?? ''
    })
    expect(warned.map((one) => one.includes('it is created after machine vm-db, and has to be on the node'))).toEqual([
      false,
      true,
    ])
  })

  it('says for whom a member waits, and why that one is not ready', () => {
    const planned = worldOf(lab({ web: ['dns'], dns: ['db'], db: [] }))
    planned.take(planWorkspace(planned.world, NOW))
    expect(told(planned, 'dns')).toEqual([
      'Provisioning',
      'Provisioning',
      'waits for ContainerCluster db, which is not ready (Provisioning)',
    ])
    expect(told(planned, 'web')).toEqual([
      'Provisioning',
      'Provisioning',
      'waits for ContainerCluster dns, which is not ready (Provisioning)',
    ])
  })

  it('neither stops nor changes what exists, and holds back what is made again', () => {
    const spec = lab({ web: ['db'], db: [] })
    const planned = settledWorld(spec)
    const db = planned.children.get('Deployment db') as KubeObject & { readonly available: number }
    planned.children.set('Deployment db', { ...db, available: 0 } as KubeObject)
    expect([planWorkspace(planned.world, NOW).apply, told(planned, 'web')[0]]).toEqual([[], 'Ready'])
    planned.spec = parsed({
      ...spec,
      containerClusters: (spec.containerClusters ?? []).map((one) => ({
        ...one,
        containers: [{ name: 'main', image: 'web:2' }],
      })),
    })
    expect(planWorkspace(planned.world, NOW).apply.map(({ metadata }) => metadata.name)).toEqual(['web', 'db'])
    planned.spec = parsed(spec)
    planned.children.delete('Deployment web')
    expect([planWorkspace(planned.world, NOW).apply, told(planned, 'web')[2]]).toEqual([
      [],
      'waits for ContainerCluster db, which is not ready (ContainersPending)',
    ])
  })

  it.each<[what: string, wants: Wants, message: RegExp]>([
    ['itself', { web: ['web'] }, /^dependsOn names web itself: remove it there$/],
    ['nobody', { web: ['db'] }, /^dependsOn names db, which is no machine or container cluster of the workspace: /],
    ['a circle', { web: ['db'], db: ['vm'], vm: ['web'] }, /^dependsOn leads from web back to it \(web, db, vm, web\)/],
  ])('on %s keeps the member from being created, and says so, also of one that exists', (_what, wants, message) => {
    const planned = worldOf(lab({ ...wants, other: [] }))
    expect(roundsOf(planned)).toEqual([['other']])
    expect(told(planned, 'web')).toEqual(['Failed', 'DependencyInvalid', expect.stringMatching(message)])
    const existing = settledWorld(lab({ ...Object.fromEntries(Object.keys(wants).map((name) => [name, []])) }))
    existing.spec = parsed(lab(wants))
    const { status, apply } = planWorkspace(existing.world, NOW)
    expect([status.phase, apply]).toEqual(['Ready', []])
    expect(status.conditions?.find(({ type }) => type === 'SpecWarning')?.message).toContain('dependsOn')
  })

  it('on one that waits for a circle waits, too', () => {
    const planned = worldOf(lab({ web: ['db'], db: ['vm'], vm: ['db'] }))
    expect(roundsOf(planned)).toEqual([])
    expect(told(planned, 'web')).toEqual([
      'Provisioning',
      'Provisioning',
      expect.stringContaining('(DependencyInvalid)'),
    ])
  })

  it('does not wait for who is not deployed, and warns of that', () => {
    const planned = worldOf(lab({ web: ['db'], db: [] }, ['db']))
    expect(roundsOf(planned)).toEqual([['web']])
    expect(planned.status.conditions?.find(({ type }) => type === 'SpecWarning')?.message).toContain(
      'it does not wait for db, which is not deployed because of its ignoreOnDeploy',
    )
  })
})
