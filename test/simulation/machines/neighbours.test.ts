import { describe, expect, it } from 'vitest'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  VIRTUAL_MACHINE_INSTANCE,
} from '../../../operator/kube/resource-types.ts'
import type { Fate } from '../../../sandbox/memory-cluster/index.ts'
import { MACHINE } from '../../harness/kinds.ts'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { SimulatedOperator, TEAM } from '../simulated-operator.ts'

// The controllers of KubeVirt and CDI, or their webhooks, are stopped. What they reported last stays as it was, and means nothing.

let world: SimulatedOperator

const VM = { namespace: TEAM, name: 'vm' }
const simulators = () => world.simulated.simulators
const instanceUid = () => world.find(VIRTUAL_MACHINE_INSTANCE, TEAM, 'vm')?.metadata.uid
const diskUid = () => world.find(DATA_VOLUME, TEAM, 'vm-root')?.metadata.uid
const message = () => world.vm('vm')?.status?.message ?? ''

/** Starts a machine whose guest is unready when virt-controller stops, and well again since. Returns what starts virt-controller. */
async function frozen(): Promise<() => void> {
  world = await SimulatedOperator.running({ vmProvisionTimeout: '2m' })
  simulators().kubevirt.script(VM, { type: 'noAgent' })
  const heal = simulators().kubevirt.script(VM, { type: 'podUnready' })
  await world.untilReason('vm', 'NotReady')
  const comeBack = simulators().kubevirt.stopController()
  await world.pass(5 * SECOND)
  heal()
  return comeBack
}

describe('while virt-controller is stopped', () => {
  it.each([false, true])(
    'a guest that is well is not restarted, whatever was reported last, and no time runs (another operator meanwhile: %s)',
    async (isRestarted) => {
      const comeBack = await frozen()
      const uid = instanceUid()
      await world.untilReason('vm', 'KubeVirtNotResponding')
      expect(world.vm('vm')?.status?.phase).toBe('Provisioning')
      await world.pass(5 * SECOND)
      if (isRestarted) {
        world.killOperator()
        world.startOperator()
      }
      await world.pass(20 * MINUTE)
      expect(world.reason('vm')).toBe('KubeVirtNotResponding')
      expect(message()).toContain('virt-controller')
      expect(message()).not.toContain('node is lost')
      expect(world.vm('vm')?.status?.kicks).toBeUndefined()
      expect(world.events('vm').filter((reason) => reason === 'KubeVirtNotResponding')).toHaveLength(1)
      comeBack()
      await world.untilReady('vm')
      expect(instanceUid()).toBe(uid)
      expect(world.events('vm')).not.toContain('Kicked')
    },
  )

  it.each(['forbidden', 'missing'])(
    'and its Lease is %s, a guest whose pod is ready is not restarted either',
    async (why) => {
      const options = why === 'missing' ? { leaseRenewMs: 0 } : {}
      world = await SimulatedOperator.start({ vmProvisionTimeout: '2m' }, options)
      const refused: Fate = {
        kind: 'refuse',
        status: 403,
        answerMs: 2,
        message: 'leases.coordination.k8s.io "virt-controller"',
      }
      world.fateOf = ({ resource, key }) =>
        why === 'forbidden' && resource.kind === 'Lease' && key === 'kubevirt/virt-controller' ? refused : undefined
      world.create('vm')
      await world.untilReady('vm')
      const uid = instanceUid()
      simulators().kubevirt.script(VM, { type: 'noAgent' })
      const heal = simulators().kubevirt.script(VM, { type: 'podUnready' })
      await world.untilReason('vm', 'NotReady')
      const comeBack = simulators().kubevirt.stopController()
      heal()
      await world.pass(20 * MINUTE)
      expect(world.vm('vm')?.status?.kicks).toBeUndefined()
      comeBack()
      await world.untilReady('vm')
      expect(instanceUid()).toBe(uid)
    },
  )

  it.each([
    ['guestShutdown', 'has shut down'],
    ['guestCrash', 'has failed'],
  ] as const)('a guest that ends does not read Ready: %s', async (type, text) => {
    world = await SimulatedOperator.start()
    simulators().kubevirt.script(VM, { type, afterMs: 2 * MINUTE }, { times: 1 })
    world.create('vm')
    await world.untilReady('vm')
    const comeBack = simulators().kubevirt.stopController()
    await world.untilPhase('vm', 'Provisioning')
    expect(message()).toContain(text)
    await world.untilReason('vm', 'KubeVirtNotResponding')
    expect(message()).toContain(text)
    comeBack()
    await world.untilReady('vm')
  })

  it('a new machine, one that is switched off and one that is deleted wait for it, and go on when it is back', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '2m' })
    for (const name of ['off', 'gone']) world.create(name)
    for (const name of ['off', 'gone']) await world.untilReady(name)
    const comeBack = simulators().kubevirt.stopController()
    world.create('new')
    world.patch(MACHINE, { namespace: TEAM, name: 'off' }, { spec: { runStrategy: 'Halted' } })
    world.delete(MACHINE, TEAM, 'gone')
    for (const name of ['new', 'off', 'gone']) await world.untilReason(name, 'KubeVirtNotResponding')
    await world.pass(20 * MINUTE)
    for (const name of ['new', 'off', 'gone']) {
      expect(world.reason(name)).toBe('KubeVirtNotResponding')
      expect(world.vm(name)?.status?.message).not.toContain('node is lost')
    }
    comeBack()
    await world.untilReady('new')
    await world.untilReason('off', 'Halted')
    await world.until('its deletion', () => world.vm('gone') === undefined)
  })

  it('its Lease is read every ten seconds while a machine waits, and once a minute while all are ready', async () => {
    world = await SimulatedOperator.running()
    await world.pass(2 * MINUTE)
    const reads: number[] = []
    world.fateOf = ({ verb, resource, key }) => {
      if (verb === 'get' && resource.kind === 'Lease' && key === 'kubevirt/virt-controller')
        reads.push(world.simulated.time.elapsedMs)
      return undefined
    }
    await world.pass(10 * MINUTE)
    const idle = reads.splice(0).length
    expect([idle >= 9, idle <= 11]).toEqual([true, true])
    simulators().kubevirt.script(VM, { type: 'neverReady' })
    await world.untilReason('vm', 'NotReady')
    await world.pass(5 * MINUTE)
    expect(reads.length).toBeGreaterThan(25)
    expect(reads.length).toBeLessThan(35)
  })
})

describe('while virt-api is stopped', () => {
  it('a machine that KubeVirt cannot take says so, and no time runs', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '2m' })
    let isAway = true
    const failing: Fate = {
      kind: 'refuse',
      status: 500,
      answerMs: 5,
      message:
        'Internal error occurred: failed calling webhook "virtualmachines-mutator.kubevirt.io": failed to call webhook: Post "https://virt-api.kubevirt.svc:443/virtualmachines-mutate?timeout=10s": connection refused',
    }
    world.fateOf = ({ verb, resource }) =>
      isAway && resource === KUBEVIRT_VIRTUAL_MACHINE && verb !== 'watch' && verb !== 'list' ? failing : undefined
    world.create('vm')
    await world.untilReason('vm', 'KubeVirtNotResponding')
    expect(message()).toContain('virt-api')
    await world.pass(20 * MINUTE)
    expect(world.reason('vm')).toBe('KubeVirtNotResponding')
    isAway = false
    await world.untilReady('vm')
  })
})

describe('while cdi-controller is stopped', () => {
  it.each([false, true])(
    'a clone is neither replaced nor timed out, and goes on when it is back (another operator meanwhile: %s)',
    async (isRestarted) => {
      world = await SimulatedOperator.start({ vmProvisionTimeout: '1m' }, { cloneMs: 30_000 })
      world.create('vm')
      await world.untilReason('vm', 'Cloning')
      await world.until('a clone under way', () => world.vm('vm')?.status?.clone?.phase !== undefined)
      const uid = diskUid()
      const comeBack = simulators().cdi.stopController()
      await world.untilReason('vm', 'CDINotResponding')
      await world.pass(5 * SECOND)
      if (isRestarted) {
        world.killOperator()
        world.startOperator()
      }
      await world.pass(20 * MINUTE)
      expect(world.reason('vm')).toBe('CDINotResponding')
      expect(world.vm('vm')?.status?.kicks).toBeUndefined()
      expect(world.events('vm').filter((reason) => reason === 'CDINotResponding')).toHaveLength(1)
      comeBack()
      await world.untilReady('vm')
      expect(diskUid()).toBe(uid)
    },
  )

  it('a disk that CDI has not looked at yet waits for it', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '1m' })
    await world.syncImage('golden')
    const comeBack = simulators().cdi.stopController()
    world.create('vm')
    await world.untilReason('vm', 'CDINotResponding')
    await world.pass(20 * MINUTE)
    expect(world.reason('vm')).toBe('CDINotResponding')
    comeBack()
    await world.untilReady('vm')
  })
})
