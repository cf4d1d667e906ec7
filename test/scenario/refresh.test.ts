import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { served } from '../harness/history.ts'
import { conditionOf, type Image } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

describe('an image that changes', () => {
  it('serves the old artifact until the new one is ready, for a refresh and another url, and while it is suspended', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const snapshotName = ({ status }: Image) => status?.artifact?.name
    let before = await world.syncImage('preloaded')
    for (const [url, change] of [
      [world.urlOf('preloaded'), () => world.annotate('preloaded', { 'pelotech.ot/sync-requested-at': 'today' })],
      [world.urlOf('preloaded-2'), () => world.patchImage('preloaded', { spec: { url: world.urlOf('preloaded-2') } })],
    ] as const) {
      const downloads = world.downloadsOf(url)
      const release = world.gate.hold(url)
      await change()
      const meanwhile = await world.untilPhase('preloaded', 'Syncing')
      expect(conditionOf(meanwhile, 'Ready')).toMatchObject({ status: 'True', reason: 'Refreshing' })
      expect(conditionOf(meanwhile, 'UpToDate')?.status).toBe('False')
      expect(await aliasOf(world, 'preloaded')).toBe(snapshotName(before))
      release()
      const isNext = (image: Image) =>
        image.status?.phase === 'Succeeded' && snapshotName(image) !== snapshotName(before)
      const after = await world.untilImage('preloaded', 'the new artifact', isNext)
      expect(conditionOf(after, 'UpToDate')?.status).toBe('True')
      expect(await aliasOf(world, 'preloaded')).toBe(snapshotName(after))
      // Clones that began before the alias moved still read the old snapshot.
      const old = world.mirror.snapshots.get(`${world.namespace}/${snapshotName(before)}`)
      expect(old).toMatchObject({ metadata: expect.not.objectContaining({ deletionTimestamp: expect.anything() }) })
      expect(world.downloadsOf(url)).toBe(downloads + 1)
      before = after
    }

    await world.patchImage('preloaded', { spec: { suspend: true } })
    const suspended = await world.untilImage(
      'preloaded',
      'observed',
      ({ status, metadata }) => status?.observedGeneration === metadata.generation,
    )
    expect(conditionOf(suspended, 'Ready')?.status).toBe('True')
    expect(await aliasOf(world, 'preloaded')).toBe(snapshotName(before))
    await world.finish()
  })

  it('is downloaded once at a time, not at all for another snapshot class, and left alone for what does not matter', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    world.simulators.cdi.script({ namespace: world.namespace }, { type: 'slowEnd', delayMs: 1_000, downloading: true })
    await heldDownload(world, 'indecisive')
    await world.patchImage('indecisive', { spec: { url: world.urlOf('better') } })
    const before = await world.untilSynced('indecisive')
    expect(before.status?.attempts).toMatchObject([
      { outcome: 'Cancelled', reason: 'SpecChanged' },
      { outcome: 'Succeeded', number: 1 },
    ])
    // Two downloads of one image never run at the same time, even with two free slots.
    expect(world.simulators.cdi.observed.maxImporting).toBe(1)
    expect(served(world, 'better')).toMatchObject({ requests: 1, completed: 1 })

    await world.createSnapshotClass('other')
    await world.patchImage('indecisive', { spec: { snapshotClass: 'other' } })
    const after = await world.untilImage(
      'indecisive',
      'an artifact of the other class',
      ({ status }) => status?.phase === 'Succeeded' && status.artifact?.snapshotClass === 'other',
    )
    expect(after.status?.artifact?.name).not.toBe(before.status?.artifact?.name)
    expect(await aliasOf(world, 'indecisive')).toBe(after.status?.artifact?.name)

    await world.patchImage('indecisive', { spec: { name: 'another name', certConfigMap: 'not-there' } })
    await world.untilSynced('indecisive')
    await world.untilRenewed(2)
    expect(world.getImage('indecisive')?.status?.phase).toBe('Succeeded')
    expect(served(world, 'better')).toMatchObject({ requests: 1 })
    await world.finish()
  })
})

describe('an image that is suspended', () => {
  it('stops its download at once, which is no failure, or leaves the queue, and comes back at its end', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1', retryLimit: '0' } })
    const release = await heldDownload(world, 'paused')
    await world.patchImage('paused', { spec: { suspend: true } })
    const suspended = await world.untilReason('paused', 'Suspended')
    expect(suspended.status).toMatchObject({
      phase: 'Queued',
      attempts: [{ outcome: 'Cancelled', reason: 'Suspended' }],
    })
    await world.until(
      'the slot is free and nothing downloads',
      () => !world.holds('paused') && world.childrenOf('paused').length === 0,
    )
    release()

    const releaseFirst = await heldDownload(world, 'first')
    await world.queueImage('second')
    await world.queueImage('third')
    const { status } = await world.untilReason('second', 'Queued')
    await world.patchImage('second', { spec: { suspend: true } })
    await world.untilReason('second', 'Suspended')
    await world.patchImage('second', { spec: { suspend: false } })
    const resumed = await world.untilReason('second', 'Queued')
    expect(BigInt(resumed.status?.ticket ?? 0)).toBeGreaterThan(BigInt(status?.ticket ?? 0))
    expect(world.getImage('paused')?.status?.phase).toBe('Queued')
    releaseFirst()
    const third = await world.untilSynced('third')
    const second = await world.untilSynced('second')
    expect(startOf(second)).toBeGreaterThanOrEqual(startOf(third))

    await world.patchImage('paused', { spec: { suspend: false } })
    await world.untilSynced('paused')
    expect(world.downloads('paused')).toBe(2)
    await world.finish()
  })
})

function startOf({ status }: Image): number {
  return Date.parse(status?.startedAt ?? '')
}

async function aliasOf(world: World, name: string): Promise<string | undefined> {
  return (await world.sourceOf(name))['snapshot']?.name
}
