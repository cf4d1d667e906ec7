import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { served } from '../harness/history.ts'
import { conditionOf } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

describe('an image that changes', () => {
  it.each(['a refresh', 'another url'] as const)(
    'serves the old artifact until the new one is ready: %s',
    async (change) => {
      await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
      const before = await world.syncImage('preloaded')
      const url = change === 'a refresh' ? world.urlOf('preloaded') : world.urlOf('preloaded-2')
      const release = world.gate.hold(url)

      if (change === 'a refresh') await world.annotate('preloaded', { 'pelotech.ot/sync-requested-at': 'today' })
      else await world.patchImage('preloaded', { spec: { url } })

      const meanwhile = await world.untilPhase('preloaded', 'Syncing')
      expect(conditionOf(meanwhile, 'Ready')).toMatchObject({ status: 'True', reason: 'Refreshing' })
      expect(conditionOf(meanwhile, 'UpToDate')?.status).toBe('False')
      expect(await aliasOf(world, 'preloaded')).toBe(before.status?.artifact?.name)
      release()
      const after = await world.untilImage(
        'preloaded',
        'the new artifact',
        ({ status }) => status?.phase === 'Succeeded' && status.artifact?.name !== before.status?.artifact?.name,
      )
      expect(conditionOf(after, 'UpToDate')?.status).toBe('True')
      expect(await aliasOf(world, 'preloaded')).toBe(after.status?.artifact?.name)
      // Clones that began before the alias moved still read the old snapshot.
      const old = world.mirror.snapshots.get(`${world.namespace}/${before.status?.artifact?.name}`)
      expect(old?.metadata.deletionTimestamp).toBeUndefined()
      expect(old).toBeDefined()
      expect(world.downloadsOf(url)).toBe(change === 'a refresh' ? 2 : 1)
      await world.finish()
    },
  )

  it('cancels a download whose spec changed, before the next one starts', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    world.simulators.cdi.script({ namespace: world.namespace }, { type: 'slowEnd', delayMs: 1_000, downloading: true })
    await heldDownload(world, 'indecisive')
    await world.patchImage('indecisive', { spec: { url: world.urlOf('better') } })
    const { status } = await world.untilSynced('indecisive')
    expect(status?.attempts).toMatchObject([
      { outcome: 'Cancelled', reason: 'SpecChanged' },
      { outcome: 'Succeeded', number: 1 },
    ])
    // Two downloads of one image never run at the same time, even with two free slots.
    expect(world.simulators.cdi.observed.maxImporting).toBe(1)
    expect(served(world, 'better')).toMatchObject({ requests: 1, completed: 1 })
    await world.finish()
  })

  it('takes a new snapshot for a new class, without a download', async () => {
    await using world = await World.start(cluster())
    await world.createSnapshotClass('other')
    const before = await world.syncImage('resnapped')
    await world.patchImage('resnapped', { spec: { snapshotClass: 'other' } })
    const after = await world.untilImage(
      'resnapped',
      'an artifact of the other class',
      ({ status }) => status?.phase === 'Succeeded' && status.artifact?.snapshotClass === 'other',
    )
    expect(after.status?.artifact?.name).not.toBe(before.status?.artifact?.name)
    expect(await aliasOf(world, 'resnapped')).toBe(after.status?.artifact?.name)
    expect(world.downloads('resnapped')).toBe(1)
    await world.finish()
  })

  it('does nothing for an edit that does not matter', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('stable')
    await world.patchImage('stable', { spec: { name: 'another name', certConfigMap: 'not-there' } })
    await world.untilSynced('stable')
    await world.untilRenewed(2)
    expect(world.getImage('stable')?.status?.phase).toBe('Succeeded')
    expect(world.downloads('stable')).toBe(1)
    await world.finish()
  })
})

describe('a suspended image', () => {
  it('stops its download at once, which is no failure, and goes on when resumed', async () => {
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
    await world.syncImage('other')
    expect(world.getImage('paused')?.status?.phase).toBe('Queued')

    await world.patchImage('paused', { spec: { suspend: false } })
    await world.untilSynced('paused')
    expect(world.downloads('paused')).toBe(2)
    await world.finish()
  })

  it('leaves the queue, and comes back at its end', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const release = await heldDownload(world, 'first')
    await world.createImage('second')
    await world.queueImage('third')
    const { status } = await world.untilReason('second', 'Queued')
    await world.patchImage('second', { spec: { suspend: true } })
    await world.untilReason('second', 'Suspended')
    await world.patchImage('second', { spec: { suspend: false } })
    const resumed = await world.untilReason('second', 'Queued')
    expect(BigInt(resumed.status?.ticket ?? 0)).toBeGreaterThan(BigInt(status?.ticket ?? 0))
    release()
    const third = await world.untilSynced('third')
    const second = await world.untilSynced('second')
    expect(startOf(second)).toBeGreaterThanOrEqual(startOf(third))
    await world.finish()
  })

  it('keeps its artifact', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('kept')
    await world.patchImage('kept', { spec: { suspend: true } })
    const image = await world.untilImage(
      'kept',
      'observed',
      ({ status, metadata }) => status?.observedGeneration === metadata.generation,
    )
    expect(conditionOf(image, 'Ready')?.status).toBe('True')
    expect(await aliasOf(world, 'kept')).toBe(image.status?.artifact?.name)
    await world.finish()
  })
})

function startOf({ status }: { status?: { startedAt?: string | undefined } }): number {
  return Date.parse(status?.startedAt ?? '')
}

async function aliasOf(world: World, name: string): Promise<string | undefined> {
  return (await world.sourceOf(name))['snapshot']?.name
}
