import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD, RESOURCE_QUOTA } from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../harness/kinds.ts'
import { MINUTE } from '../prepared/runtime/times.ts'
import { HOUR_LONG } from '../prepared/sandbox/simulated-cluster.ts'
import { FARM, SimulatedOperator } from './simulated-operator.ts'

// An importer with scratch space owns the claim of that space, which is protected as long as the pod exists: deleted in the foreground, each of the
// two waits for the other.

let world: SimulatedOperator

const of = (type: typeof POD) => world.simulated.cluster.admin.list<KubeObject>(type, { namespace: FARM }).items
const left = () => [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD].flatMap(of).map(({ metadata }) => metadata.name)
const scratch = () => of(PERSISTENT_VOLUME_CLAIM).find(({ metadata }) => metadata.name.endsWith('-scratch'))

/** Starts a download with scratch space that takes an hour. */
async function downloading(): Promise<void> {
  world = await SimulatedOperator.start({ concurrency: '1', retryLimit: '0' })
  world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'scratchSpaceRequired' })
  world.createImage('first', { url: `https://images.example.com${HOUR_LONG}first.qcow2` })
  await world.until('the importer with scratch space', () => {
    const uid = scratch()?.metadata.ownerReferences?.[0]?.uid
    return of(POD).some((pod) => pod.metadata.uid === uid && JSON.stringify(pod).includes('"running"'))
  })
}

describe('a download with scratch space', () => {
  it.each([
    ['suspend', false],
    ['suspend', true],
    ['delete', false],
    ['delete', true],
  ] as const)('that people %s leaves nothing behind (CDI is away: %s)', async (what, isAway) => {
    await downloading()
    if (isAway) world.simulated.simulators.cdi.stopController()
    if (what === 'delete') world.delete(IMAGE, FARM, 'first')
    else world.patch(IMAGE, { namespace: FARM, name: 'first' }, { spec: { suspend: true } })
    await world.pass(2 * MINUTE)
    expect(left()).toEqual([])
    if (what === 'delete') expect(world.image('first')).toBeUndefined()
    else expect(world.image('first')?.status?.reason).toBe('Suspended')
  })

  it.each([false, true])(
    'that people delete in the foreground leaves nothing behind (CDI is away: %s)',
    async (isAway) => {
      await downloading()
      if (isAway) world.simulated.simulators.cdi.stopController()
      for (const { metadata } of of(DATA_VOLUME))
        world.simulated.cluster.admin.delete(DATA_VOLUME, metadata, { propagationPolicy: 'Foreground' })
      world.delete(IMAGE, FARM, 'first')
      await world.pass(2 * MINUTE)
      expect(left()).toEqual([])
    },
  )

  it('that an earlier version has left in a cycle is freed by the next operator, and its name can be used again', async () => {
    await downloading()
    world.killOperator()
    const { admin } = world.simulated.cluster
    world.simulated.simulators.cdi.stopController()
    for (const { metadata } of of(DATA_VOLUME)) admin.delete(DATA_VOLUME, metadata, { propagationPolicy: 'Foreground' })
    await world.pass(5 * MINUTE)
    for (const { metadata } of of(DATA_VOLUME)) admin.delete(DATA_VOLUME, metadata, { propagationPolicy: 'Background' })
    admin.mergePatch(IMAGE, { namespace: FARM, name: 'first' }, { metadata: { finalizers: null } })
    world.delete(IMAGE, FARM, 'first')
    await world.pass(5 * MINUTE)
    // The two claims of the download, the one for its scratch space, and the pod.
    expect(left()).toHaveLength(4)
    world.startOperator()
    await world.until('the end of what is left', () => left().length === 0)
  })
})

describe('an importer that CDI forgets after its download', () => {
  it.each([false, true])('goes, and what it keeps (its image is deleted: %s)', async (isDeleted) => {
    world = await SimulatedOperator.start({ concurrency: '1' })
    world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'forgottenImporter' })
    world.createImage('first')
    await world.until('the image', () => world.image('first')?.status?.phase === 'Succeeded')
    if (isDeleted) world.delete(IMAGE, FARM, 'first')
    await world.pass(2 * MINUTE)
    expect(of(POD)).toEqual([])
    expect(of(PERSISTENT_VOLUME_CLAIM)).toHaveLength(isDeleted ? 0 : 1)
    expect(world.image('first')?.status?.phase).toBe(isDeleted ? undefined : 'Succeeded')
  })
})

it('an importer that CDI forgets goes although the first deletion of it is refused as a conflict', async () => {
  world = await SimulatedOperator.start({ concurrency: '1' })
  world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'forgottenImporter' })
  world.createImage('first')
  await world.until('the image', () => world.image('first')?.status?.phase === 'Succeeded')
  const conflicts = { do: 'requestFaults', fault: 'conflict', percent: 100, forMs: MINUTE, kind: 'Pod' } as const
  world.network.open(conflicts)
  await world.pass(MINUTE)
  expect(of(POD)).toHaveLength(1)
  world.network.close(conflicts)
  await world.pass(MINUTE)
  expect(of(POD)).toEqual([])
})

describe('an importer that CDI makes for a download that has succeeded', () => {
  it.each([false, true])('costs nothing, is told nowhere and goes (it hangs: %s)', async (hangs) => {
    world = await SimulatedOperator.start({ concurrency: '1', retryLimit: '0' })
    world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'needlessImporter', hangs })
    const importers = new Set<string | undefined>()
    world.simulated.cluster.onCommit(({ resource, object }) => {
      if (resource === POD) importers.add(object.metadata.uid)
    })
    const names = ['a', 'b', 'c', 'd']
    for (const name of names) world.createImage(name)
    for (const name of names) await world.until(`image ${name}`, () => world.image(name)?.status?.phase === 'Succeeded')
    await world.pass(MINUTE)
    expect(importers.size).toBe(2 * names.length)
    expect(of(POD)).toEqual([])
    expect(of(PERSISTENT_VOLUME_CLAIM)).toHaveLength(names.length)
    for (const name of names)
      expect(world.image(name)?.status?.attempts).toMatchObject([{ outcome: 'Succeeded', downloads: 1 }])
  })
})

it('a stopped download whose DataVolume somebody keeps has no slot, and the next attempt waits until it is gone', async () => {
  world = await SimulatedOperator.start({ concurrency: '1' })
  const succeeded = (name: string) =>
    world.until(`image ${name}`, () => world.image(name)?.status?.phase === 'Succeeded')
  const kept = () => of(DATA_VOLUME).filter(({ metadata }) => metadata.name.startsWith('kept-'))
  world.createImage('kept', { url: 'https://images.example.com/minutes-2/kept.qcow2' })
  await world.until('its download', () => world.image('kept')?.status?.phase === 'Syncing' && kept().length === 1)
  const [{ metadata }] = kept() as [KubeObject]
  const key = { namespace: FARM, name: 'kept' }
  world.patch(DATA_VOLUME, metadata, { metadata: { finalizers: ['tenant.example.com/keep'] } })
  world.patch(IMAGE, key, { spec: { suspend: true } })
  world.createImage('next')
  await succeeded('next')
  world.patch(IMAGE, key, { spec: { suspend: false } })
  await world.pass(MINUTE)
  world.createImage('another')
  await succeeded('another')
  expect(kept().map((one) => one.metadata.uid)).toEqual([metadata.uid])
  world.patch(DATA_VOLUME, metadata, { metadata: { finalizers: [] } })
  await succeeded('kept')
})

it('a download whose claim for scratch space a quota refuses says so, and gives its slot back at no cost', async () => {
  world = await SimulatedOperator.start({ concurrency: '1', retryLimit: '0' })
  const { cdi } = world.simulated.simulators
  cdi.script({ namespace: FARM }, { type: 'scratchSpaceRequired' })
  const allow = cdi.script({ namespace: FARM }, { type: 'quota', of: 'scratch' })
  world.createImage('first')
  await world.until('the end of the attempt', () => world.image('first')?.status?.attempts?.length === 1)
  const [attempt] = world.image('first')?.status?.attempts ?? []
  expect(attempt).toMatchObject({ outcome: 'Cancelled', reason: 'QuotaExceeded', downloads: 0 })
  expect(attempt?.message).toMatch(/-scratch.* exceeded quota/)
  await world.until('its end', () => left().length === 0)
  allow()
  await world.until('the next attempt', () => world.image('first')?.status?.phase === 'Succeeded')
})

it('an image for whose scratch space a quota has no room waits without attempts until it has, and starts at once then', async () => {
  world = await SimulatedOperator.start({ concurrency: '1', retryBackoffDuration: '1h', retryBackoffMax: '1h' })
  const { simulators, cluster } = world.simulated
  simulators.cdi.script({ namespace: FARM }, { type: 'scratchSpaceRequired' })
  const quota = { namespace: FARM, name: 'storage' }
  const limit = (claims: number) => ({ spec: { hard: { persistentvolumeclaims: String(claims) } } })
  cluster.admin.create(RESOURCE_QUOTA, {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: quota,
    ...limit(2),
  } as never)
  world.createImage('first')
  const status = () => world.image('first')?.status
  await world.until('the end of the attempt', () => status()?.attempts?.length === 1)
  await world.until('its end', () => left().length === 0)
  await world.until('the reason', () => status()?.phase === 'Queued' && status()?.reason === 'QuotaExceeded')
  expect(status()?.message).toContain('ResourceQuota storage of namespace')
  expect(status()?.message).toContain('3 claims at a time (persistentvolumeclaims: 3 x 1, and of 2 are 0 used)')
  // Longer than any wait for a retry.
  await world.pass(180 * MINUTE)
  expect(status()?.attempts).toHaveLength(1)
  cluster.admin.mergePatch(RESOURCE_QUOTA, quota, limit(3))
  await world.until('the next attempt', () => status()?.phase === 'Succeeded')
  expect(status()?.attempts).toMatchObject([{ reason: 'QuotaExceeded' }, { outcome: 'Succeeded' }])
})

it('an image starts as soon as a quota has the room that it refused, before the time of its next attempt', async () => {
  world = await SimulatedOperator.start({ concurrency: '1', retryBackoffDuration: '1h', retryBackoffMax: '1h' })
  const { simulators, cluster } = world.simulated
  simulators.cdi.script({ namespace: FARM }, { type: 'scratchSpaceRequired' })
  const quota = { namespace: FARM, name: 'storage' }
  const spec = { hard: { persistentvolumeclaims: '2' } }
  cluster.admin.create(RESOURCE_QUOTA, { apiVersion: 'v1', kind: 'ResourceQuota', metadata: quota, spec } as never)
  world.createImage('first')
  const status = () => world.image('first')?.status
  await world.until('the reason', () => status()?.phase === 'Queued' && status()?.reason === 'QuotaExceeded')
  world.delete(RESOURCE_QUOTA, FARM, 'storage')
  await world.until('the next attempt', () => status()?.phase === 'Succeeded')
})
