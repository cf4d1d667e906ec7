import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { heldDownload } from '../harness/held-download.ts'
import { served, starts } from '../harness/history.ts'
import { type Image, reasonOf } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'

const QUICK = { retryBackoffDuration: '600ms', retryLimit: '2', concurrency: '1' }

describe('an image that fails', () => {
  const cluster = useCluster()

  it('costs 1 + retryLimit downloads, gives its slot back meanwhile, and starts again when asked to', async () => {
    await using world = await World.start(cluster(), { policy: { ...QUICK, retryBackoffDuration: '2s' } })
    const path = `/${world.namespace}/broken.qcow2`
    const recover = world.imageServer.set({ path, fault: { cutAfterBytes: 64 * 1024 } })
    await world.createImage('broken')

    // In backoff it holds no slot, so another image gets it.
    const waiting = await world.untilReason('broken', 'RetryBackoff')
    expect(waiting.status).toMatchObject({ phase: 'Queued', nextRetryTime: expect.any(String) })
    await world.until('the slot is free', () => !world.holds('broken'))
    await world.syncImage('other')

    const { status } = await world.untilPhase('broken', 'Failed')
    expect(status?.attempts).toMatchObject([
      { number: 1, outcome: 'Failed', reason: 'ImporterFailed', downloads: 1 },
      { number: 2, outcome: 'Failed', reason: 'ImporterFailed', downloads: 1 },
      { number: 3, outcome: 'Failed', reason: 'ImporterFailed', downloads: 1 },
    ])
    expect(status?.message).toContain('unexpected EOF')
    expect(served(world, 'broken')).toMatchObject({ requests: 3, bytesSent: 3 * 64 * 1024 })
    expectBackoff(status?.attempts ?? [], 2_000)
    await world.until('the slot is free', () => !world.holds('broken'))
    expect(world.childrenOf('broken')).toEqual([])

    recover()
    await world.annotate('broken', { 'pelotech.ot/retry-requested-at': 'now' })
    const synced = await world.untilSynced('broken')
    expect(synced.status?.attempts?.at(-1)).toMatchObject({ number: 1, outcome: 'Succeeded' })
    expect(world.downloads('broken')).toBe(4)
    await world.finish()
  })

  it('recovers by itself when a retry works', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    world.imageServer.set({ path: `/${world.namespace}/flaky.qcow2`, fault: { status: 503 }, times: 2 })
    const { status } = await world.syncImage('flaky')
    expect(status?.attempts?.map(({ outcome }) => outcome)).toEqual(['Failed', 'Failed', 'Succeeded'])
    expect(world.downloads('flaky')).toBe(3)
    await world.finish()
  })

  it.each([
    { reason: 'NotFound', fault: { status: 404 }, spec: {} },
    { reason: 'AccessDenied', fault: { status: 403 }, spec: {} },
    { reason: 'NotFound', fault: { status: 404 }, spec: { sourceType: 's3' } },
    { reason: 'AccessDenied', fault: { status: 403 }, spec: { sourceType: 's3' } },
    { reason: 'AccessDenied', fault: { status: 403 }, spec: { sourceType: 'registry' } },
    { reason: 'ChecksumMismatch', fault: {}, spec: { checksum: `sha256:${'0'.repeat(64)}` } },
  ] as const)('fails at once for $reason with $spec', async ({ reason, fault, spec }) => {
    await using world = await World.start(cluster(), { policy: QUICK })
    world.imageServer.set({ path: `/${world.namespace}/hopeless.qcow2`, fault })
    const isOfRegistry = 'sourceType' in spec && spec.sourceType === 'registry'
    const url = world.urlOf('hopeless').replace('https:', isOfRegistry ? 'docker:' : 'https:')
    await world.createImage('hopeless', { ...spec, url })
    await world.createImage('next')
    const { status } = await world.untilPhase('hopeless', 'Failed')
    expect(status?.attempts).toMatchObject([{ number: 1, outcome: 'Failed', reason, downloads: 1 }])
    await world.untilSynced('next')
    expect(world.downloadsOf(url)).toBe(1)
    await world.finish()
  })

  it.each([
    {
      reason: 'DiskTooSmall',
      why: 'virtual image size 25769803776 is larger than the reported available storage 1073741824. A larger PVC is required',
    },
    { reason: 'SourceInvalid', why: 'Image a is invalid because it has invalid backing file base.qcow2' },
  ] as const)('fails at once when the whole image is there, and is no good: $reason', async ({ reason, why }) => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const message = `Unable to process data: Unable to convert source data to target format: ${why}`
    world.simulators.cdi.script({ namespace: world.namespace }, { type: 'error', after: 'end', message })
    await world.createImage('useless')
    const { status } = await world.untilPhase('useless', 'Failed')
    expect(status?.attempts).toMatchObject([{ number: 1, outcome: 'Failed', reason }])
    expect(world.downloads('useless')).toBe(1)
    await world.finish()
  })

  it.each([
    { fault: { type: 'oomKilled' }, reason: 'OutOfMemory' },
    { fault: { type: 'evicted', after: 1024 }, reason: 'Evicted' },
    { fault: { type: 'error', after: 1024, hidden: true }, reason: 'ImporterFailed' },
  ] as const)('retries after $fault.type', async ({ fault, reason }) => {
    await using world = await World.start(cluster(), { policy: QUICK })
    world.simulators.cdi.script({ namespace: world.namespace }, fault, { times: 1 })
    const { status } = await world.syncImage('unlucky')
    expect(status?.attempts).toMatchObject([{ outcome: 'Failed', reason }, { outcome: 'Succeeded' }])
    expect(world.downloads('unlucky')).toBeLessThanOrEqual(3)
    await world.finish()
  })

  it.each([
    { reason: 'Stalled', key: 'stallTimeout' },
    { reason: 'AttemptTimeout', key: 'attemptTimeout' },
  ])('is stopped and retried: $reason', async ({ reason, key }) => {
    await using world = await World.start(cluster(), { policy: { ...QUICK, [key]: '2s' } })
    const stalled = { path: `/${world.namespace}/silent.qcow2`, fault: { stallAfterBytes: 32 * 1024 }, times: 1 }
    world.imageServer.set(stalled)
    const { status } = await world.syncImage('silent')
    expect(status?.attempts).toMatchObject([{ outcome: 'Failed', reason }, { outcome: 'Succeeded' }])
    expect(served(world, 'silent')).toMatchObject({ requests: 2, maxOpen: 1 })
    await world.finish()
  })

  it('is no failure to need scratch space', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    world.simulators.cdi.script({ namespace: world.namespace }, { type: 'scratchSpaceRequired' })
    const { status } = await world.syncImage('compressed')
    expect(status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded' }])
    expect(served(world, 'compressed')).toMatchObject({ completed: 1 })
    await world.finish()
  })

  it('starts again with another secret', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const recover = world.imageServer.set({ path: `/${world.namespace}/private.qcow2`, fault: { status: 403 } })
    await world.createSecret('wrong')
    await world.createSecret('right')
    await world.createImage('private', { secretRef: 'wrong' })
    await world.untilPhase('private', 'Failed')
    recover()
    await world.patchImage('private', { spec: { secretRef: 'right' } })
    await world.untilSynced('private')
    expect(world.downloads('private')).toBe(2)
    await world.finish()
  })

  it('waits behind the others for its retry', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    world.imageServer.set({ path: `/${world.namespace}/flaky.qcow2`, fault: { status: 503 }, times: 1 })
    const [releaseFlaky, releaseSecond] = ['flaky', 'second'].map((name) => world.gate.hold(world.urlOf(name)))
    await world.createImage('flaky')
    await world.untilDownloading('flaky')
    for (const name of ['second', 'third']) {
      await world.createImage(name)
      await world.untilReason(name, 'Queued')
    }
    releaseFlaky?.()
    await world.untilDownloading('second')
    await world.untilImage('flaky', 'queued again', (image) => reasonOf(image) === 'Queued' && hasFailed(image))
    releaseSecond?.()
    for (const name of ['flaky', 'second', 'third']) await world.untilSynced(name)
    expect(starts(world)).toEqual(['flaky', 'second', 'third', 'flaky'])
    await world.finish()
  })

  it('counts an attempt that somebody else ended', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const release = await heldDownload(world, 'disturbed')
    const [dataVolume] = world.childrenOf('disturbed')
    await world.client.delete(
      { group: 'cdi.kubevirt.io', version: 'v1beta1', kind: 'DataVolume', plural: 'datavolumes', namespaced: true },
      { namespace: world.namespace, name: dataVolume?.metadata.name ?? '' },
      { propagationPolicy: 'Background' },
    )
    await world.untilImage('disturbed', 'its attempt is recorded', ({ status }) => status?.attempts?.length === 1)
    release()
    const image = await world.untilSynced('disturbed')
    expect(image.status?.attempts).toMatchObject([
      { outcome: 'Failed', reason: 'DataVolumeDeleted' },
      { outcome: 'Succeeded' },
    ])
    expect(reasonOf(image)).toBe('Synced')
    await world.finish()
  })
})

/**
 * Expects the waits to double, within the jitter. A wait ends when the next attempt starts. For an attempt that failed before it was observed
 * running, that is the second in which its DataVolume was created.
 */
function expectBackoff(
  attempts: readonly { startedAt?: string | undefined; endedAt?: string | undefined }[],
  firstMs: number,
): void {
  for (const [at, { endedAt = '' }] of attempts.slice(0, -1).entries()) {
    const waitedMs = Date.parse(attempts[at + 1]?.startedAt ?? '') - Date.parse(endedAt)
    expect(waitedMs, `the wait after attempt ${at + 1}`).toBeGreaterThanOrEqual(firstMs * 2 ** at * 0.9 - 1_000)
  }
}

function hasFailed({ status }: Image): boolean {
  return status?.attempts?.at(-1)?.outcome === 'Failed'
}
