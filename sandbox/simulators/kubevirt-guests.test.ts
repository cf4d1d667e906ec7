import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, short, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
})

describe('a guest that stands still', () => {
  const SAID = {
    PausedByUser: 'VMI was paused by user',
    PausedIOError: 'VMI was paused, low-level IO error detected',
    PausedByMigrationMonitor: 'VMI was paused by the migration monitor',
  }
  it.each(Object.entries(SAID))('is Paused, and not ready, until it goes on: %s', async (reason, text) => {
    await world.runMachine()
    const fault = { type: 'paused', reason: reason as keyof typeof SAID } as const
    const go = world.simulators.kubevirt.script({ name: 'vm' }, fault)
    const machine = await world.untilStatus('vm', 'Paused')
    expect(short(machine, 'Paused')).toBe(`True/${reason}/${text}`)
    expect(short(machine, 'Ready')).toMatch(/^False\/ReadinessGatesNotReady/)
    expect(world.instance('vm')?.status?.phase).toBe('Running')
    go()
    await world.untilStatus('vm', 'Running')
    await world.until('ready', () => short(world.machine('vm'), 'Ready') === 'True')
    expect(short(world.machine('vm'), 'Paused')).toBeUndefined()
  })
})

describe('a guest whose node is lost', () => {
  it('says Running, and goes nowhere, until the node is back', async () => {
    await world.runMachine()
    const { uid } = world.instance('vm')?.metadata ?? {}
    const back = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'nodeLost' })
    await world.until('its pod to go', () => world.pods()[0]?.metadata.deletionTimestamp !== undefined)
    await world.pass(60_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Running')
    expect(short(world.machine('vm'), 'Ready')).toMatch(/^False\/PodTerminating/)
    world.deleteInstance('vm')
    await world.untilStatus('vm', 'Stopping')
    await world.pass(600_000)
    expect(world.instance('vm')?.metadata.uid).toBe(uid)
    back()
    await world.until('another instance', () => ![uid, undefined].includes(world.instance('vm')?.metadata.uid))
    await world.untilStatus('vm', 'Running')
  })
})

describe('what was refused', () => {
  it.each(['instanceRefused', 'podRefused'] as const)(
    'is tried again later each time, and says what it said first: %s',
    async (type) => {
      const condition = type === 'podRefused' ? 'Synchronized' : 'Failure'
      const script = (message: string) => world.simulators.kubevirt.script({ name: 'vm' }, { type, message })
      const first = script('the first text')
      world.createClaim('root')
      world.createMachine('vm', 'root')
      const text = () => short(world.machine('vm'), condition) ?? ''
      await world.until('the refusal', () => text().includes('FailedCreate'))
      const ends = [first, script('another text')]
      await world.pass(65_000)
      expect(text()).toContain('the first text')
      // The tries are after 1, 3, 7, 15, 31 and 63 s. The next one is a minute later.
      for (const end of ends) end()
      const isMade = () => (type === 'podRefused' ? world.pods().length > 0 : world.instance('vm') !== undefined)
      await world.pass(55_000)
      expect(isMade()).toBe(false)
      await world.untilStatus('vm', 'Running')
    },
  )

  it('is tried again at once when the machine is changed', async () => {
    const go = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'instanceRefused', message: 'no' })
    world.createClaim('root')
    world.createMachine('vm', 'root')
    await world.pass(600_000)
    go()
    await world.pass(30_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Stopped')
    const poke = { metadata: { annotations: { poke: '1' } } }
    world.cluster.admin.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, { namespace: TEAM, name: 'vm' }, poke)
    await world.pass(5_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Running')
    expect(short(world.machine('vm'), 'Failure')).toBeUndefined()
  })
})

it('a guest whose pod is not ready has an agent that answers', async () => {
  await world.runMachine()
  await world.until('its agent', () => short(world.machine('vm'), 'AgentConnected') === 'True')
  const end = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'podUnready' })
  await world.until('the pod to be seen', () => short(world.machine('vm'), 'Ready')?.startsWith('False') === true)
  await world.pass(60_000)
  expect(short(world.machine('vm'), 'AgentConnected')).toBe('True')
  end()
  await world.until('the pod to be ready', () => short(world.machine('vm'), 'Ready') === 'True')
})

describe('a request of virtctl', () => {
  const request = (action: 'Start' | 'Stop') => {
    const machine = world.machine('vm')
    if (machine === undefined) throw new Error('no machine')
    const { uid } = world.instance('vm')?.metadata ?? {}
    const status = { ...machine.status, stateChangeRequests: [{ action, ...(uid !== undefined && { uid }) }] }
    world.cluster.admin.replaceStatus(KUBEVIRT_VIRTUAL_MACHINE, { ...machine, status } as KubeObject)
  }

  it('starts and stops a guest under Manual, that does nothing by itself', async () => {
    world.createClaim('root')
    world.createMachine('vm', 'root', {}, 'Manual')
    await world.pass(60_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Stopped')
    request('Start')
    await world.untilStatus('vm', 'Running')
    expect(world.machine('vm')?.status).not.toHaveProperty('stateChangeRequests')
    request('Stop')
    await world.untilStatus('vm', 'Stopped')
    await world.pass(60_000)
    expect(world.instance('vm')).toBeUndefined()
    expect(world.machine('vm')?.status).not.toHaveProperty('stateChangeRequests')
  })

  it('switches on what is Halted', async () => {
    world.createClaim('root')
    world.createMachine('vm', 'root', {}, 'Halted')
    await world.pass(60_000)
    request('Start')
    await world.untilStatus('vm', 'Running')
    expect(world.machine('vm')?.spec.runStrategy).toBe('Always')
  })
})

it('what an instance said last is there until the next one says something', async () => {
  await world.runMachine()
  await world.until('its agent', () => short(world.machine('vm'), 'AgentConnected') === 'True')
  world.cluster.admin.mergePatch(
    KUBEVIRT_VIRTUAL_MACHINE,
    { namespace: TEAM, name: 'vm' },
    { spec: { runStrategy: 'Halted' } },
  )
  await world.until('the end of it', () => world.instance('vm') === undefined)
  await world.pass(5_000)
  expect(short(world.machine('vm'), 'AgentConnected')).toBe('True')
  expect(short(world.machine('vm'), 'Ready')).toBe('False/VMINotExists/VMI does not exist')
})

describe('a guest with a readiness probe', () => {
  const probed = async (readinessProbe: object) => {
    world.createClaim('probed', TEAM, '1Gi')
    world.createMachine('probed', 'probed', { readinessProbe })
    await world.untilStatus('probed', 'Running')
  }
  const ready = () => short(world.machine('probed'), 'Ready')
  const UNREADY = 'False/ContainersNotReady/containers with unready status: [compute]'

  it('runs before it is ready, and stays so while it does not answer', async () => {
    const heal = world.simulators.kubevirt.script({ name: 'probed' }, { type: 'noAnswer' })
    await probed({ tcpSocket: { port: 22 } })
    await world.until('the probe to fail', () => ready() === UNREADY)
    await world.pass(600_000)
    expect([ready(), world.instance('probed')?.status?.phase]).toEqual([UNREADY, 'Running'])
    heal()
    await world.until('ready', () => ready() === 'True')
  })

  it('by its agent is not ready without one', async () => {
    world.simulators.kubevirt.script({ name: 'probed' }, { type: 'noAgent' })
    await probed({ guestAgentPing: {} })
    await world.pass(600_000)
    expect(ready()).toBe(UNREADY)
  })
})

describe('while virt-controller is stopped', () => {
  const renewTime = () => world.renewTime('kubevirt', 'virt-controller')
  const isPodReady = () => short(world.pods()[0], 'Ready') === 'True'

  it('nothing renews its Lease, and the readiness of a guest stays as it was reported last', async () => {
    await world.runMachine()
    await world.until('ready', () => short(world.machine('vm'), 'Ready') === 'True')
    const heal = world.simulators.kubevirt.script({ name: 'vm' }, { type: 'podUnready' })
    await world.until('not ready', () => short(world.machine('vm'), 'Ready')?.startsWith('False') === true)
    const comeBack = world.simulators.kubevirt.stopController()
    const last = renewTime()
    heal()
    await world.until('the pod to be ready', isPodReady)
    await world.pass(600_000)
    expect(short(world.machine('vm'), 'Ready')).toMatch(/^False\/ContainersNotReady/)
    expect(short(world.instance('vm'), 'Ready')).toMatch(/^False\/ContainersNotReady/)
    expect(renewTime()).toBe(last)
    comeBack()
    await world.until('ready', () => short(world.machine('vm'), 'Ready') === 'True')
    await world.until('a beat', () => renewTime() !== last)
  })

  it('a guest that ends shows it in the phase of its instance only, and is started again later', async () => {
    world.simulators.kubevirt.script({ name: 'vm' }, { type: 'guestShutdown', afterMs: 60_000 }, { times: 1 })
    await world.runMachine()
    await world.until('ready', () => short(world.machine('vm'), 'Ready') === 'True')
    const { uid } = world.instance('vm')?.metadata ?? {}
    const comeBack = world.simulators.kubevirt.stopController()
    await world.until('its end', () => world.instance('vm')?.status?.phase === 'Succeeded')
    await world.pass(60_000)
    expect(world.machine('vm')?.status?.printableStatus).toBe('Running')
    expect(short(world.instance('vm'), 'Ready')).toBe('True')
    comeBack()
    await world.until('another instance', () => ![uid, undefined].includes(world.instance('vm')?.metadata.uid))
  })
})
