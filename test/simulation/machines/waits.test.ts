import { describe, expect, it } from 'vitest'
import type { ListOptions } from '../../../operator/kube/kube-client.ts'
import { EVENT, KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE } from '../../../operator/kube/resource-types.ts'
import { parseExposition, sumOf } from '../../bench/exposition.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { SimulatedOperator, TEAM } from '../simulated-operator.ts'

const VM = { namespace: TEAM, name: 'vm' }

let world: SimulatedOperator

const message = () => world.vm('vm')?.status?.message
const eventsFor = (reason: string) => world.events('vm').filter((one) => one === reason)

describe('a disk whose claim a quota refuses', () => {
  it('says so once, costs no write, and goes on when there is room', async () => {
    world = await SimulatedOperator.start()
    const disk = { namespace: TEAM, name: 'vm-root' }
    const makeRoom = world.simulated.simulators.cdi.script(disk, { type: 'quota', of: 'target' })
    world.create('vm')
    await world.untilReason('vm', 'CloneFailed')
    expect(world.vm('vm')?.status?.phase).toBe('Provisioning')
    expect(message()).toContain('a ResourceQuota of the namespace leaves no room for the root disk: ')
    await world.pass(MINUTE)
    world.written.length = 0
    await world.pass(10 * MINUTE)
    expect([world.written, eventsFor('CloneFailed')]).toEqual([[], ['CloneFailed']])
    makeRoom()
    await world.untilReady('vm')
  })
})

describe('a machine that KubeVirt cannot start', () => {
  const MESSAGE = 'admission webhook "labels" denied the request: no such label'
  const REFUSALS = [
    ['instanceRefused', KUBEVIRT_VIRTUAL_MACHINE],
    ['podRefused', VIRTUAL_MACHINE_INSTANCE],
  ] as const

  it.each(REFUSALS)(
    'starts soon after the cause is gone, at few writes and none when all is well: %s',
    async (type, touched) => {
      world = await SimulatedOperator.start({ vmProvisionTimeout: '24h' })
      const heal = world.simulated.simulators.kubevirt.script(VM, { type, message: MESSAGE })
      world.create('vm')
      await world.untilReason('vm', 'StartFailed')
      // By now, KubeVirt alone would wait for a quarter of an hour.
      await world.pass(60 * MINUTE)
      world.written.length = 0
      await world.pass(60 * MINUTE)
      expect(new Set(world.written)).toEqual(new Set([`MODIFIED ${touched.kind} team/vm`]))
      expect(world.written.length).toBe(12)
      heal()
      const healedAt = world.simulated.time.elapsedMs
      await world.untilReady('vm')
      expect(world.simulated.time.elapsedMs - healedAt).toBeLessThan(6 * MINUTE)
      await world.pass(MINUTE)
      world.written.length = 0
      await world.pass(60 * MINUTE)
      expect(world.written).toEqual([])
    },
  )

  it.each(REFUSALS)(
    'says what it is refused for now, though KubeVirt’s condition keeps the first text: %s',
    async (type, touched) => {
      world = await SimulatedOperator.start({ vmProvisionTimeout: '24h' })
      const lists: string[] = []
      world.fateOf = ({ verb, resource, body }) => {
        if (verb === 'list' && resource === EVENT) lists.push(`${(body as ListOptions).fieldSelector}`)
        return undefined
      }
      world.create('other', { users: [] })
      await world.untilReady('other')
      expect(lists).toEqual([])
      const kubevirt = world.simulated.simulators.kubevirt
      const first = kubevirt.script(VM, { type, message: MESSAGE })
      world.create('vm')
      await world.until('the first text', () => message()?.includes(MESSAGE) === true)
      const heal = kubevirt.script(VM, { type, message: 'exceeded quota: small' })
      first()
      await world.until('the second text', () => message()?.includes('exceeded quota: small') === true)
      expect(message()).not.toContain(MESSAGE)
      const sticky = JSON.stringify(world.find(touched, TEAM, 'vm'))
      expect([sticky.includes('no such label'), sticky.includes('exceeded quota')]).toEqual([true, false])
      expect(eventsFor('StartFailed')).toHaveLength(1)
      expect(new Set(lists)).toEqual(new Set(['reason=FailedCreate,type=Warning']))
      const [from, before] = [world.simulated.time.elapsedMs, lists.length]
      await world.pass(10 * MINUTE)
      expect(lists.length - before).toBeLessThanOrEqual(1 + (world.simulated.time.elapsedMs - from) / 30_000)
      heal()
      await world.untilReady('vm')
    },
  )
})

describe('a guest that runs and is not ready', () => {
  it('says what KubeVirt says of it, and each kick counts, though the DELETE failed after it was told', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '2m', kickLimit: '2' })
    const heal = world.simulated.simulators.kubevirt.script(VM, { type: 'neverReady' })
    const kicks = async () =>
      sumOf(parseExposition((await world.replicas[0]?.operator?.metrics.render()) ?? ''), 'ot_vm_kicks_total')
    let failures = 0
    world.fateOf = ({ verb, resource }) => {
      if (verb !== 'delete' || resource !== VIRTUAL_MACHINE_INSTANCE || failures >= 3) return undefined
      failures += 1
      return { kind: 'refuse', status: 500, answerMs: 1 }
    }
    world.create('vm')
    await world.untilReason('vm', 'NotReady')
    const text = 'the instance runs and is not ready: containers with unready status: [compute]'
    await world.until('the words of KubeVirt', () => message() === text)
    await world.untilPhase('vm', 'Failed')
    expect([failures, await kicks(), world.vm('vm')?.status?.kicks?.count]).toEqual([3, 2, 2])
    expect(message()).toContain(
      'restarted or cloned again 2 times, and still: the instance runs and is not ready: containers',
    )
    heal()
    await world.untilReady('vm')
    expect(await kicks()).toBe(2)
  })
})

describe('a guest that does not answer its probe', () => {
  it('is waited for, is Failed after its own time, is never restarted, and is Ready when it answers', async () => {
    world = await SimulatedOperator.start({ vmProvisionTimeout: '2m', kickLimit: '2' })
    const heal = world.simulated.simulators.kubevirt.script(VM, { type: 'noAnswer' })
    world.create('vm', { readiness: { guestAgent: true, timeoutSeconds: 600 } })
    await world.untilReason('vm', 'WaitingForGuest')
    await world.pass(9 * MINUTE)
    expect(world.vm('vm')?.status?.phase).toBe('Provisioning')
    await world.untilPhase('vm', 'Failed')
    expect(message()).toMatch(/^not ready for 10 min \(spec.readiness.timeoutSeconds\): the guest runs/)
    await world.pass(60 * MINUTE)
    expect([world.vm('vm')?.status?.kicks, eventsFor('Kicked')]).toEqual([undefined, []])
    heal()
    await world.untilReady('vm')
  })
})

describe('a machine that fails before it runs', () => {
  it('says when KubeVirt tries again, each time, and is one Event all the while', async () => {
    world = await SimulatedOperator.start()
    const heal = world.simulated.simulators.kubevirt.script(VM, { type: 'launcherFails' })
    const told = new Set<string>()
    world.onOperatorCommit = ({ object }) => {
      const text = (object as { status?: { message?: string } }).status?.message ?? ''
      if (text.includes('tried again')) told.add(text)
    }
    world.create('vm')
    await world.untilReason('vm', 'CrashLoop')
    expect(message()).toMatch(/is tried again at \d{4}-\d\d-\d\dT[\d:.]+Z$/)
    await world.pass(10 * MINUTE)
    expect(told.size).toBeGreaterThan(2)
    expect(eventsFor('CrashLoop')).toEqual(['CrashLoop'])
    heal()
    await world.untilReady('vm')
  })
})
