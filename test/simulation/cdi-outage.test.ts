import { describe, expect, it } from 'vitest'
import { DATA_VOLUME } from '../../operator/kube/resource-types.ts'
import type { DataVolume } from '../harness/kinds.ts'
import { HOUR, MINUTE } from '../prepared/runtime/times.ts'
import { HOUR_LONG } from '../prepared/sandbox/simulated-cluster.ts'
import { FARM, SimulatedOperator } from './simulated-operator.ts'

// cdi-controller is stopped while importers keep running, so nothing shows their progress. Only the Lease of CDI tells this from a silent source.

let world: SimulatedOperator

const NAMES = ['first', 'second']
const volumes = () => world.simulated.cluster.admin.list<DataVolume>(DATA_VOLUME, { namespace: FARM }).items
const uids = () => volumes().map(({ metadata }) => metadata.uid)
const attempts = (name: string) => world.image(name)?.status?.attempts ?? []

/** Starts two downloads that take an hour each. */
async function downloading(): Promise<void> {
  world = await SimulatedOperator.start({ concurrency: '2' })
  for (const name of NAMES) world.createImage(name, { url: `https://images.example.com${HOUR_LONG}${name}.qcow2` })
  await world.until('both downloads', () => NAMES.every((name) => world.image(name)?.status?.reason === 'Syncing'))
}

/** Starts two downloads whose sources stop sending data. */
async function silent(): Promise<void> {
  world = await SimulatedOperator.start({ concurrency: '2' })
  world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'stall' })
  for (const name of NAMES) world.createImage(name)
  await world.until('both downloads', () => NAMES.every((name) => world.image(name)?.status?.reason === 'Syncing'))
}

describe('downloads that are under way while CDI is away', () => {
  it.each([false, true])(
    'are not stalled, however long that lasts, and cost one download each (another operator meanwhile: %s)',
    async (isRestarted) => {
      await downloading()
      const before = uids()
      const comeBack = world.simulated.simulators.cdi.stopController()
      await world.pass(40 * MINUTE)
      if (isRestarted) {
        world.killOperator()
        world.startOperator()
      }
      // Meanwhile the importers finish, and nothing records it.
      await world.pass(40 * MINUTE)
      expect(NAMES.flatMap(attempts)).toEqual([])
      expect(uids()).toEqual(before)
      comeBack()
      await world.until('both images', () => NAMES.every((name) => world.image(name)?.status?.phase === 'Succeeded'))
      for (const name of NAMES) expect(attempts(name)).toMatchObject([{ outcome: 'Succeeded', downloads: 1 }])
      expect(uids()).toEqual(before)
    },
  )

  it('have the whole of their time when it is back, and no more than that', async () => {
    await silent()
    await world.pass(10 * MINUTE)
    const comeBack = world.simulated.simulators.cdi.stopController()
    await world.pass(20 * MINUTE)
    comeBack()
    await world.pass(14 * MINUTE)
    expect(NAMES.flatMap(attempts)).toEqual([])
    await world.pass(2 * MINUTE)
    for (const name of NAMES) expect(attempts(name)).toMatchObject([{ outcome: 'Failed', reason: 'Stalled' }])
  })
})

describe('downloads of which CDI cannot tell how far they are', () => {
  it('are not stopped because nothing moves, but by attemptTimeout, and say so', async () => {
    world = await SimulatedOperator.start({ concurrency: '2', attemptTimeout: '2h' })
    world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'stall', after: 0 })
    world.createImage('first')
    await world.until('the download', () => world.image('first')?.status?.reason === 'Syncing')
    await world.pass(HOUR)
    expect(attempts('first')).toEqual([])
    expect(world.image('first')?.status?.message).toContain('CDI cannot tell how far it is')
    await world.pass(HOUR + MINUTE)
    expect(attempts('first')).toMatchObject([{ outcome: 'Failed', reason: 'AttemptTimeout' }])
  })
})

describe('downloads whose source is silent', () => {
  it('are stalled in their time while CDI is there', async () => {
    await silent()
    await world.pass(14 * MINUTE)
    expect(NAMES.flatMap(attempts)).toEqual([])
    await world.pass(2 * MINUTE)
    for (const name of NAMES) expect(attempts(name)).toMatchObject([{ outcome: 'Failed', reason: 'Stalled' }])
  })
})
