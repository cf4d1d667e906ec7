import { childName, POLICY_STATUS_NAME, renderDataVolume } from '@open-terrain/constructs/operator'
import { describe, expect, it, vi } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { HANGS_AFTER_MS } from '../harness/mirror.ts'
import { World } from '../harness/world.ts'

const cluster = useCluster()

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

const PATIENCE = { timeout: HANGS_AFTER_MS, interval: 100 }
const NAMES = ['a', 'b', 'c', 'd', 'e']

describe('the policy', () => {
  it('is in force as soon as it changes, up and down', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' }, mostDownloads: 3 })
    const release = world.gate.hold('https://images.example.com/')
    for (const name of NAMES) await world.createImage(name)
    await world.untilDownloading('a')
    await world.until('one slot is held', () => world.ledger?.limit === 1 && world.ledger.holders.length === 1)

    await world.setPolicy({ concurrency: '3' })
    await world.until('three slots are held', () => world.ledger?.limit === 3 && world.ledger.holders.length === 3)
    for (const name of ['a', 'b', 'c']) await world.untilDownloading(name)

    // Lowering the limit stops no download and admits none.
    await world.setPolicy({ concurrency: '1' })
    await world.until('the limit is 1', () => world.ledger?.limit === 1)
    expect(world.ledger?.holders).toHaveLength(3)
    for (const name of ['a', 'b', 'c']) expect(world.childrenOf(name)[0]?.metadata.deletionTimestamp).toBeUndefined()
    release()
    for (const name of NAMES) await world.untilSynced(name)
    for (const name of NAMES) expect(world.downloads(name)).toBe(1)
    await world.finish()
  })

  it('pauses with 0 and lets what runs end', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const release = await heldDownload(world, 'running')
    await world.setPolicy({ concurrency: '0' })
    await world.until('the limit is 0', () => world.ledger?.limit === 0)
    // The operator has the response to its write by the second renewal of its Lease.
    await world.untilRenewed(2)
    await world.createImage('waiting')
    await world.untilReason('waiting', 'Paused')
    release()
    await world.untilSynced('running')
    await world.until('no slot is held', () => world.ledger?.holders.length === 0)
    expect(world.getImage('waiting')?.status?.phase).toBe('Queued')
    await world.setPolicy({ concurrency: '1' })
    await world.untilSynced('waiting')
    await world.finish()
  })

  it('is shown to those who wait already: paused, and going on', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
    const release = await heldDownload(world, 'running')
    await world.queueImage('waiting')
    await world.setPolicy({ concurrency: '0' })
    await world.untilReason('waiting', 'Paused')
    release()
    await world.setPolicy({ concurrency: '1' })
    await world.untilSynced('waiting')
    await world.finish()
  })

  it('keeps the last good value of a key that gets a bad one, and says so', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2', retryLimit: '1' } })
    await world.until('the limit is 2', () => world.ledger?.limit === 2)
    const status = { namespace: world.operatorNamespace, name: POLICY_STATUS_NAME }
    const verdict = async () => ((await world.client.get(CONFIG_MAP, status)) as ConfigMap).data
    await vi.waitFor(async () => expect(await verdict()).toMatchObject({ valid: 'true' }), PATIENCE)
    // Somebody wants it to stay as it is.
    await world.client.mergePatch(CONFIG_MAP, status, { immutable: true })
    await world.setPolicy({ concurrency: 'many', retryLimit: '0', retryBackoffDuration: '-5m' })
    const problems = expect.stringMatching(
      /concurrency: "many" is not used.*\n.*retryBackoffDuration: "-5m" is not used/,
    )
    const values = expect.stringMatching(/concurrency: "2"(.|\n)*retryLimit: "0"/)
    await vi.waitFor(async () => expect(await verdict()).toMatchObject({ valid: 'false', problems, values }), PATIENCE)
    for (const [key, value] of [
      ['concurrency', 'many'],
      ['retryBackoffDuration', '-5m'],
    ] as const) {
      await world.until(`a Warning that names ${key} and ${value}`, () =>
        world
          .eventsOf('sync-operator-policy')
          .some(({ type, message }) => type === 'Warning' && message.includes(key) && message.includes(value)),
      )
    }
    expect(world.ledger?.limit).toBe(2)
    // The valid keys of the same write apply.
    world.imageServer.set({ path: `/${world.namespace}/fails.qcow2`, fault: { status: 500 } })
    await world.createImage('fails')
    await world.untilPhase('fails', 'Failed')
    expect(world.downloads('fails')).toBe(1)
    await world.setPolicy({ concurrency: '3' })
    await world.until('an Event that all is well', () =>
      world.eventsOf('sync-operator-policy').some(({ reason }) => reason === 'PolicyValid'),
    )
    await vi.waitFor(async () => expect(await verdict()).toMatchObject({ valid: 'true', problems: '' }), PATIENCE)
    await world.finish()
  })

  it('gives defaults to what is queued from now on', async () => {
    const policy = { concurrency: '1', defaultDiskSize: '16Mi', defaultSourceType: 'http', defaultStorageClass: 'fast' }
    await using world = await World.start(cluster(), { policy })
    const release = world.gate.hold('https://images.example.com/')
    const short = { diskSize: undefined as never, sourceType: undefined as never, storageClass: undefined as never }
    for (const name of ['running', 'early']) await world.createImage(name, short)
    await world.untilReason('early', 'Queued')
    await world.changePolicy({ ...policy, defaultDiskSize: '32Mi' })
    await world.createImage('late', short)
    await world.untilReason('late', 'Queued')
    release()
    const sizes = ['running', 'early', 'late'].map(
      async (name) => (await world.untilSynced(name)).status?.defaults?.diskSize,
    )
    expect(await Promise.all(sizes)).toEqual(['16Mi', '16Mi', '32Mi'])
    await world.finish()
  })

  it('has defaults where there is none', async () => {
    await using world = await World.start(cluster())
    await world.syncImage('one')
    await world.until('the limit is 4', () => world.ledger?.limit === 4)
    await world.finish()
  })

  it('is the limit of the ledger where none is there, or a bad one, at the start', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    await world.until('the limit is 2', () => world.ledger?.limit === 2)
    await world.operator?.stop()
    await world.setPolicy({ concurrency: 'none' })
    world.startOperator()
    const release = world.gate.hold('https://images.example.com/')
    for (const name of NAMES) await world.createImage(name)
    await world.until('two slots are held', () => world.ledger?.holders.length === 2)
    for (const name of NAMES) await world.untilImage(name, 'queued', ({ status }) => status?.phase !== undefined)
    expect(world.ledger).toMatchObject({ limit: 2, holders: [{}, {}] })
    await world.operator?.stop()
    await world.client.delete(CONFIG_MAP, { namespace: world.operatorNamespace, name: 'sync-operator-policy' })
    world.startOperator()
    await world.untilRenewed(2)
    expect(world.ledger).toMatchObject({ limit: 2, holders: [{}, {}] })
    release()
    for (const name of NAMES) await world.untilSynced(name)
    await world.finish()
  })

  it('stays in force when it is deleted, and is replaced by the next one', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' }, mostDownloads: 3 })
    await world.until('the limit is 2', () => world.ledger?.limit === 2)
    await world.client.delete(CONFIG_MAP, { namespace: world.operatorNamespace, name: 'sync-operator-policy' })
    await world.until('a Warning that it was deleted', () =>
      world.eventsOf('sync-operator-policy').some(({ reason }) => reason === 'PolicyDeleted'),
    )
    const release = world.gate.hold('https://images.example.com/')
    for (const name of NAMES) await world.createImage(name)
    await world.until('two slots are held', () => world.ledger?.holders.length === 2)
    expect(world.ledger?.limit).toBe(2)
    await world.setPolicy({ concurrency: '3' })
    await world.until('three slots are held', () => world.ledger?.limit === 3 && world.ledger.holders.length === 3)
    release()
    for (const name of NAMES) await world.untilSynced(name)
    await world.finish()
  })
})

describe('the ledger', () => {
  it('is rebuilt from what runs when it is missing at its next write', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    const [releaseA, releaseB] = [world.gate.hold(world.urlOf('a')), world.gate.hold(world.urlOf('b'))]
    for (const name of NAMES) await world.createImage(name)
    await world.untilDownloading('a')
    await world.untilDownloading('b')
    await world.client.delete(CONFIG_MAP, { namespace: world.operatorNamespace, name: 'sync-operator-slots' })
    await world.until('the ledger is gone', () => world.ledger === undefined)
    releaseA()
    await world.until('the ledger is back', () => world.ledger?.limit === 2 && world.holds('b'))
    releaseB()
    for (const name of NAMES) await world.untilSynced(name)
    for (const name of NAMES) expect(world.downloads(name)).toBe(1)
    await world.finish()
  })

  it('is cleared of downloads that hold no slot', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '0' }, mostDownloads: 1 })
    world.gate.hold('https://images.example.com/')
    await world.createImage('a')
    const { metadata, status } = await world.untilReason('a', 'Paused')
    const stray = renderDataVolume({
      image: { name: 'a', namespace: world.namespace, uid: metadata.uid ?? '' },
      name: childName('a', status?.revision ?? ''),
      revision: status?.revision ?? '',
      attempt: 1,
      source: { type: 'http', url: world.urlOf('a') },
      diskSize: '16Mi',
      storageClass: 'fast',
    })
    await world.client.create(DATA_VOLUME, stray as KubeObject)
    await world.until('it came and went', () => {
      const seen = world.history.events.filter(({ kind }) => kind === 'DataVolume')
      return seen.some(({ type, object }) => type === 'DELETED' && object.metadata.name === stray.metadata.name)
    })
    const told = await world.untilImage('a', 'its attempt is recorded', ({ status }) => status?.attempts?.length === 1)
    expect(told.status?.attempts).toMatchObject([{ outcome: 'Cancelled', reason: 'NotAdmitted' }])
    expect(told.status?.budget?.downloads).toBe(0)
    await world.untilReason('a', 'Paused')
    await world.untilEvent('a', { type: 'Warning', reason: 'NotAdmitted' })
    world.gate.releaseAll()
    await world.setPolicy({ concurrency: '1' })
    await world.untilSynced('a')
    await world.finish({ isLedgerChecked: false })
  })

  it('is rebuilt from what runs as soon as somebody deletes it', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '2' } })
    const release = world.gate.hold('https://images.example.com/')
    for (const name of NAMES) await world.createImage(name)
    await world.untilDownloading('a')
    await world.untilDownloading('b')
    const before = world.ledger?.holders
    await world.client.delete(CONFIG_MAP, { namespace: world.operatorNamespace, name: 'sync-operator-slots' })
    await world.until('the ledger is gone', () => world.ledger === undefined)
    const after = await world.until('the ledger is back', () => world.ledger)
    expect(after.holders.map(({ uid, attempt }) => `${uid} ${attempt}`).sort()).toEqual(
      (before ?? []).map(({ uid, attempt }) => `${uid} ${attempt}`).sort(),
    )
    expect(after.limit).toBe(2)
    release()
    for (const name of NAMES) await world.untilSynced(name)
    for (const name of NAMES) expect(world.downloads(name)).toBe(1)
    await world.finish()
  })
})
