import { beforeEach, describe, expect, it } from 'vitest'
import { KUBEVIRT_VIRTUAL_MACHINE, POD } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, short, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'

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

const NET = { name: 'net', multus: { networkName: 'team/net' } }

describe('a guest that can migrate', () => {
  const shown = (type: string) => short(world.machine('mobile'), type)
  const patch = (domain: object) =>
    world.cluster.admin.mergePatch(
      KUBEVIRT_VIRTUAL_MACHINE,
      { namespace: TEAM, name: 'mobile' },
      { spec: { template: { spec: { domain } } } },
    )
  const migrate = () => world.simulators.kubevirt.script({ name: 'mobile' }, { type: 'migrating' })

  beforeEach(async () => {
    world.createClaim('shared', TEAM, '1Gi', { accessModes: ['ReadWriteMany'] })
    world.createMachine('mobile', 'shared')
    await world.untilStatus('mobile', 'Running')
  })

  it('gets CPUs and memory when it migrates, and not before', async () => {
    patch({ cpu: { sockets: 4 }, memory: { guest: '3Gi' } })
    await world.until('both', () => shown('HotVCPUChange') === 'True' && shown('HotMemoryChange') === 'True')
    await world.pass(600_000)
    expect([shown('HotVCPUChange'), shown('RestartRequired')]).toEqual(['True', undefined])
    const end = migrate()
    await world.untilStatus('mobile', 'Migrating')
    end()
    await world.untilStatus('mobile', 'Running')
    await world.until('neither', () => shown('HotVCPUChange') === undefined && shown('HotMemoryChange') === undefined)
  })

  it('has a second launcher pod while it migrates, and only that one afterwards', async () => {
    const uid = world.instance('mobile')?.metadata.uid
    const launchers = () =>
      world.cluster.admin
        .list(POD, { namespace: TEAM, labelSelector: `kubevirt.io/created-by=${uid}` })
        .items.map(({ metadata }) => metadata.name)
    const [source] = launchers()
    const end = migrate()
    await world.until('a second one', () => launchers().length === 2)
    const target = launchers().find((name) => name !== source)
    await world.pass(600_000)
    expect(launchers()).toHaveLength(2)
    end()
    await world.until('the second one alone', () => launchers().length === 1)
    expect([launchers(), world.instance('mobile')?.metadata.uid]).toEqual([[target], uid])
    expect(world.machine('mobile')?.status?.printableStatus).toBe('Running')
  })

  it('is not given CPUs during a migration, and waits for the next one then', async () => {
    const end = migrate()
    await world.untilStatus('mobile', 'Migrating')
    patch({ cpu: { sockets: 4 } })
    await world.until('the refusal', () => shown('Failure')?.includes('while VMI is migrating') === true)
    end()
    await world.until('the change', () => shown('HotVCPUChange') === 'True')
    expect(shown('Failure')).toBeUndefined()
  })
})

describe('a change of the template', () => {
  it.each([
    ['more cores', { domain: { cpu: { cores: 2 } } }, { domain: { cpu: { cores: null } } }],
    ['fewer sockets', { domain: { cpu: { sockets: 1 } } }, { domain: { cpu: { sockets: 2 } } }],
    ['less memory', { domain: { memory: { guest: '1Gi' } } }, { domain: { memory: { guest: '2Gi' } } }],
    [
      'more memory, since it cannot migrate',
      { domain: { memory: { guest: '3Gi' } } },
      { domain: { memory: { guest: '2048Mi' } } },
    ],
    ['another hostname', { hostname: 'other' }, { hostname: null }],
    ['one more network', { networks: [NET, { ...NET, name: 'more' }] }, { networks: [NET] }],
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
