import { beforeEach, describe, expect, it } from 'vitest'
import { KUBEVIRT_VIRTUAL_MACHINE } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, short, TEAM } from './simulated-cluster.fixtures.ts'

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
  await world.runMachine()
})

function patchTemplate(spec: object, metadata: object = {}): void {
  world.cluster.admin.mergePatch(
    KUBEVIRT_VIRTUAL_MACHINE,
    { namespace: TEAM, name: 'vm' },
    { spec: { template: { spec, metadata } } },
  )
}

describe('a change of the template', () => {
  it.each([
    ['fewer sockets', { domain: { cpu: { sockets: 1 } } }, { domain: { cpu: { sockets: 2 } } }],
    ['less memory', { domain: { memory: { guest: '1Gi' } } }, { domain: { memory: { guest: '2Gi' } } }],
    [
      'more memory, since it cannot migrate',
      { domain: { memory: { guest: '3Gi' } } },
      { domain: { memory: { guest: '2048Mi' } } },
    ],
    ['another hostname', { hostname: 'other' }, { hostname: null }],
  ])('needs a restart for %s, until it is taken back', async (_what, change, back) => {
    patchTemplate(change)
    await world.until('RestartRequired', () => short(world.machine('vm'), 'RestartRequired') !== undefined)
    const { observedGeneration = 0, desiredGeneration = 0 } = world.machine('vm')?.status ?? {}
    expect(observedGeneration).toBeLessThan(desiredGeneration)
    patchTemplate(back)
    await world.until('no RestartRequired', () => short(world.machine('vm'), 'RestartRequired') === undefined)
  })

  it('adds sockets to the instance, which wait for a migration', async () => {
    patchTemplate({ domain: { cpu: { sockets: 3 } } })
    await world.until('HotVCPUChange', () => short(world.machine('vm'), 'HotVCPUChange') === 'True')
    expect(world.instance('vm')?.spec.domain.cpu?.sockets).toBe(3)
    expect(short(world.machine('vm'), 'RestartRequired')).toBeUndefined()
    expect(short(world.machine('vm'), 'LiveMigratable')).toMatch(/^False\/DisksNotLiveMigratable/)
  })

  it('adds no other sockets while the first wait, not even to take them back', async () => {
    patchTemplate({ domain: { cpu: { sockets: 4 } } })
    await world.until('HotVCPUChange', () => short(world.machine('vm'), 'HotVCPUChange') === 'True')
    patchTemplate({ domain: { cpu: { sockets: 3 } } })
    await world.until('Failure', () => short(world.machine('vm'), 'Failure') !== undefined)
    expect(short(world.machine('vm'), 'Failure')).toMatch(
      /^True\/HotPlugCPUError\/.*another CPU hotplug is in progress$/,
    )
    expect(world.machine('vm')?.status?.printableStatus).toBe('Running')
    expect(short(world.machine('vm'), 'Ready')).toBe('True')
    expect(world.instance('vm')?.spec.domain.cpu?.sockets).toBe(4)
    patchTemplate({ domain: { cpu: { sockets: 4 } } })
    await world.until('no Failure', () => short(world.machine('vm'), 'Failure') === undefined)
  })

  it('is written in canonical quantities, and no other than it was', async () => {
    patchTemplate({ domain: { memory: { guest: '2048Mi' } } })
    const guest = () => world.machine('vm')?.spec.template.spec.domain.memory?.guest
    await world.until('the canonical quantity', () => guest() === '2Gi')
    await world.pass(10_000)
    expect(short(world.machine('vm'), 'RestartRequired')).toBeUndefined()
  })

  it('of labels changes nothing', async () => {
    patchTemplate({}, { labels: { 'example.com/app': 'renamed' } })
    await world.pass(10_000)
    expect(short(world.machine('vm'), 'RestartRequired')).toBeUndefined()
  })

  it('is in force after a restart', async () => {
    patchTemplate({ domain: { cpu: { sockets: 1 } } })
    await world.until('RestartRequired', () => short(world.machine('vm'), 'RestartRequired') !== undefined)
    world.deleteInstance('vm')
    await world.untilStatus('vm', 'Starting')
    await world.untilStatus('vm', 'Running')
    expect(world.instance('vm')?.spec.domain.cpu?.sockets).toBe(1)
    expect(short(world.machine('vm'), 'RestartRequired')).toBeUndefined()
  })
})
