import { describe, expect, it } from 'vitest'
import type { ListOptions } from '../../../operator/kube/kube-client.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  NETWORK_ATTACHMENT_DEFINITION,
  SECRET,
} from '../../../operator/kube/resource-types.ts'
import { MACHINE } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { SimulatedOperator, TEAM } from '../simulated-operator.ts'

let world: SimulatedOperator

describe('a machine that hangs', () => {
  it('is kicked within its budget, has failed then, and recovers by itself', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '2m', kickLimit: '2' })
    const end = world.simulated.simulators.kubevirt.script({ namespace: TEAM, name: 'vm' }, { type: 'neverReady' })
    world.create('vm')
    await world.untilPhase('vm', 'Failed')
    expect(world.events('vm')).toContain('Kicked')
    expect(world.vm('vm')?.status?.kicks?.count).toBe(2)
    expect(world.reason('vm')).toBe('KickBudgetSpent')
    const disk = world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.uid
    end()
    await world.untilReady('vm')
    expect(world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.uid).toBe(disk)
  })
})

describe('a machine that does not start', () => {
  const VM = { namespace: TEAM, name: 'vm' }
  const SANDBOX = 'failed to setup network for sandbox "<id>": no such bridge'
  const network = () => world.simulated.createNetwork('control-net')
  const messages = () => {
    const told: string[] = []
    world.onOperatorCommit = ({ resource, object }) => {
      const { message = '' } = (object as { status?: { message?: string } }).status ?? {}
      if (resource.group === MACHINE.group && resource.kind === MACHINE.kind && told.at(-1) !== message)
        told.push(message)
    }
    return told
  }

  it.each([
    [
      'notCreated',
      { type: 'notCreated', message: SANDBOX, everyMs: 15_000 },
      'FailedCreatePodSandBox: failed to setup network for sandbox "…": no such bridge',
    ],
    [
      'a mount',
      { type: 'notCreated', message: 'no disk', reason: 'FailedMount', everyMs: MINUTE },
      'FailedMount: no disk',
    ],
    ['imagePull', { type: 'imagePull' }, 'Failed to pull image'],
  ] as const)(
    'says why, in one sentence that stays, and goes on when that is gone: %s',
    async (_what, fault, sentence) => {
      world = await SimulatedOperator.start({ vmProvisionTimeout: '10m' })
      const end = world.simulated.simulators.kubevirt.script(VM, fault)
      world.create('vm')
      await world.untilReason('vm', 'PodNotStarting')
      expect(world.vm('vm')?.status?.message).toContain(sentence)
      const told = messages()
      world.written.length = 0
      await world.pass(5 * MINUTE)
      expect(world.written).toEqual([])
      expect(world.events('vm').filter((reason) => reason === 'PodNotStarting')).toHaveLength(1)
      await world.untilPhase('vm', 'Failed')
      expect(world.reason('vm')).toBe('Timeout')
      expect(world.vm('vm')?.status?.message).toContain(sentence)
      expect(world.vm('vm')?.status?.kicks).toBeUndefined()
      await world.pass(5 * MINUTE)
      expect(told).toHaveLength(1)
      end()
      await world.untilReady('vm')
    },
  )

  it('for want of a network names it, and goes on when it is there', async () => {
    world = await SimulatedOperator.start()
    world.simulated.deleteNetwork('control-net')
    world.create('vm')
    await world.untilReason('vm', 'NetworkMissing')
    expect(world.toldBy('vm', 'Ready')).toMatch(/^False NetworkMissing: .*NetworkAttachmentDefinition control-net/)
    network()
    await world.untilReady('vm')
  })

  it('for want of Multus says so', async () => {
    world = await SimulatedOperator.start()
    world.simulated.cluster.uninstall(NETWORK_ATTACHMENT_DEFINITION)
    world.create('vm')
    await world.untilReason('vm', 'NetworkMissing')
    expect(world.vm('vm')?.status?.message).toContain('install Multus')
    world.simulated.cluster.install(NETWORK_ATTACHMENT_DEFINITION)
    network()
    await world.untilReady('vm')
  })

  it('is looked at at most every half minute, with all others of its namespace, and not at all once it runs', async () => {
    world = await SimulatedOperator.start({ concurrency: '10' })
    const looks: number[] = []
    world.fateOf = ({ verb, resource, body }) => {
      // One read may take several pages.
      const isFirstPage = (body as ListOptions | undefined)?.continueToken === undefined
      if (verb === 'list' && resource.kind === 'Event' && isFirstPage) looks.push(world.simulated.time.elapsedMs)
      return undefined
    }
    world.create('good')
    await world.untilReady('good')
    await world.pass(5 * MINUTE)
    expect(looks).toEqual([])
    const end = world.simulated.simulators.kubevirt.script(
      {},
      { type: 'notCreated', message: 'no disk', everyMs: MINUTE },
    )
    const names = Array.from({ length: 20 }, (_, number) => `vm-${number}`)
    for (const name of names) world.create(name)
    for (const name of names) await world.untilReason(name, 'PodNotStarting')
    await world.pass(5 * MINUTE)
    const waits = looks.slice(1).map((at, number) => at - (looks[number] ?? 0))
    expect(looks.length).toBeGreaterThan(9)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(30_000)
    end()
    for (const name of names) await world.untilReady(name)
    looks.length = 0
    await world.pass(5 * MINUTE)
    expect(looks).toEqual([])
  })

  it.each([
    ['before its time is over', '60m', 'PodNotStarting'],
    ['after that', '2m', 'Timeout'],
  ])('is not told of again by another process, %s', async (_what, vmProvisionTimeout, reason) => {
    world = await SimulatedOperator.start({ vmProvisionTimeout })
    world.simulated.simulators.kubevirt.script(VM, { type: 'notCreated', message: 'no disk', everyMs: MINUTE })
    world.create('vm')
    await world.untilReason('vm', reason)
    await world.pass(MINUTE)
    expect(world.vm('vm')?.status?.message).toContain('no disk')
    world.written.length = 0
    for (let restart = 0; restart < 3; restart += 1) {
      world.killOperator()
      await world.pass(MINUTE)
      world.startOperator()
      await world.pass(2 * MINUTE)
    }
    expect(world.written.filter((line) => line.includes(' VirtualMachine '))).toEqual([])
  })
})

describe('what somebody changes', () => {
  it.each([
    ['its machine', KUBEVIRT_VIRTUAL_MACHINE, 'vm'],
    ['its Secret', SECRET, 'vm-cloudinit'],
  ] as const)('%s comes back when it is deleted', async (_name, type, name) => {
    world = await SimulatedOperator.running()
    const { uid } = world.find(type, TEAM, name)?.metadata ?? {}
    const uuid = uuidOf(world)
    world.delete(type, TEAM, name)
    await world.until('another', () => ![undefined, uid].includes(world.find(type, TEAM, name)?.metadata.uid))
    await world.until('ready again', () => world.vm('vm')?.status?.phase === 'Ready')
    // With another one, cloud-init would take it for another machine.
    expect(uuidOf(world)).toBe(uuid)
  })

  it.each(['Background', 'Foreground', 'Orphan'] as const)(
    'its disk, deleted with %s while the guest runs, does not end the guest',
    async (propagationPolicy) => {
      world = await SimulatedOperator.running()
      const { uid } = world.find(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')?.metadata ?? {}
      const instance = world.simulated.instance('vm')?.metadata.uid
      const disk = { namespace: TEAM, name: 'vm-root' }
      world.simulated.cluster.admin.delete(DATA_VOLUME, disk, { propagationPolicy })
      await world.pass(2 * 60 * MINUTE)
      expect(world.find(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')?.metadata.uid).toBe(uid)
      expect(world.simulated.instance('vm')?.metadata.uid).toBe(instance)
      expect(world.reason('vm')).toBe(propagationPolicy === 'Orphan' ? 'Running' : 'DiskBeingDeleted')
    },
  )

  it('in its machine is repaired', async () => {
    world = await SimulatedOperator.running()
    world.patch(KUBEVIRT_VIRTUAL_MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { runStrategy: 'Halted' } })
    await world.until(
      'the repair',
      () =>
        (world.find<KubeObject & { spec: { runStrategy: string } }>(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')?.spec
          .runStrategy ?? '') === 'Always',
    )
  })

  it('about users after the first start asks for a rebuild', async () => {
    world = await SimulatedOperator.running()
    world.patch(MACHINE, { namespace: TEAM, name: 'vm' }, { spec: { users: [{ name: 'other' }] } })
    await world.until('the condition', () => world.condition('vm', 'RebuildRequired')?.status === 'True')
  })
})

describe('an API server that does not take what is needed', () => {
  it.each([
    ['its disk', DATA_VOLUME],
    ['its Secret', SECRET],
    ['its machine', KUBEVIRT_VIRTUAL_MACHINE],
  ] as const)('%s is asked for again after growing waits, and told once', async (_name, type) => {
    world = await SimulatedOperator.start()
    let refused = 0
    world.fateOf = ({ verb, resource, body }) => {
      if (verb !== 'create' || resource !== type || (body as KubeObject).metadata.namespace !== TEAM) return undefined
      refused += 1
      return { kind: 'refuse', status: 500, answerMs: 1 }
    }
    world.create('vm')
    await world.until('a refusal', () => refused > 0)
    world.written.length = 0
    await world.pass(5 * MINUTE)
    expect(refused).toBeGreaterThan(3)
    expect(refused).toBeLessThan(30)
    expect(world.written.filter((line) => line === 'MODIFIED VirtualMachine team/vm').length).toBeLessThan(5)
    world.fateOf = () => undefined
    await world.untilReady('vm')
  })
})

describe('a kind that is not installed', () => {
  it.each([
    ['KubeVirtMissing', KUBEVIRT_VIRTUAL_MACHINE],
    ['CDIMissing', DATA_VOLUME],
  ])('is said, and waited for: %s', async (reason, type) => {
    world = await SimulatedOperator.start()
    await world.syncImage('golden')
    world.simulated.cluster.uninstall(type)
    await world.pass(MINUTE)
    world.create('vm')
    await world.untilReason('vm', reason)
    // Longer than a machine has to become ready: this wait is not its fault.
    await world.pass(40 * MINUTE)
    expect(world.vm('vm')?.status?.phase).toBe('Provisioning')
    world.simulated.cluster.install(type)
    await world.untilReady('vm')
  })
})

describe('a foreign object', () => {
  it.each([
    ['VirtualMachine', KUBEVIRT_VIRTUAL_MACHINE, 'vm', { runStrategy: 'Halted' }],
    [
      'DataVolume',
      DATA_VOLUME,
      'vm-root',
      { source: { blank: {} }, storage: { resources: { requests: { storage: '1Gi' } } } },
    ],
    ['Secret', SECRET, 'vm-cloudinit', undefined],
  ] as const)('%s with the name that it needs is left alone', async (kind, type, name, spec) => {
    world = await SimulatedOperator.start()
    const foreign = world.simulated.create(type, { namespace: TEAM, name }, spec === undefined ? {} : { spec })
    world.create('vm')
    await world.untilPhase('vm', 'Failed')
    expect(world.vm('vm')?.status?.message).toContain(`${kind} ${name}`)
    expect(world.find(type, TEAM, name)?.metadata.uid).toBe(foreign.metadata.uid)
    world.delete(MACHINE, TEAM, 'vm')
    await world.until('the end', () => world.vm('vm') === undefined)
    expect(world.find(type, TEAM, name)?.metadata.uid).toBe(foreign.metadata.uid)
  })
})

function uuidOf(world: SimulatedOperator): string | undefined {
  interface Guest extends KubeObject {
    readonly spec: {
      readonly template: { readonly spec: { readonly domain: { readonly firmware?: { uuid: string } } } }
    }
  }
  return world.find<Guest>(KUBEVIRT_VIRTUAL_MACHINE, TEAM, 'vm')?.spec.template.spec.domain.firmware?.uuid
}
