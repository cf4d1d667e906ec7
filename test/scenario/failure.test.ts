import { describe, expect, it } from 'vitest'
import type { ImageFault } from '../../sandbox/image-server/rules.ts'
import { useCluster } from '../harness/cluster.ts'
import { served } from '../harness/history.ts'
import { type SpecInput, World } from '../harness/world.ts'

const QUICK = { retryBackoffDuration: '600ms', retryLimit: '2', concurrency: '1' }

/** What no retry can help, by the name of the image. */
interface Hopeless {
  readonly reason: string
  readonly spec?: SpecInput
  /** Of the image server. */
  readonly fault?: ImageFault
  /** What the importer says once it has the whole image. */
  readonly why?: string
}

const HOPELESS: Readonly<Record<string, Hopeless>> = {
  'http-missing': { reason: 'NotFound', fault: { status: 404 } },
  'http-denied': { reason: 'AccessDenied', fault: { status: 403 } },
  's3-missing': { reason: 'NotFound', fault: { status: 404 }, spec: { sourceType: 's3' } },
  's3-denied': { reason: 'AccessDenied', fault: { status: 403 }, spec: { sourceType: 's3' } },
  'registry-denied': { reason: 'AccessDenied', fault: { status: 403 }, spec: { sourceType: 'registry' } },
  'other-checksum': { reason: 'ChecksumMismatch', spec: { checksum: `sha256:${'0'.repeat(64)}` } },
  'too-large': {
    reason: 'DiskTooSmall',
    why: 'virtual image size 25769803776 is larger than the reported available storage 1073741824. A larger PVC is required',
  },
  incomplete: {
    reason: 'SourceInvalid',
    why: 'Image a is invalid because it has invalid backing file base.qcow2',
  },
}

/** What happens to the first importer of an image, by the name of the image. */
const UNLUCKY = {
  'out-of-memory': { fault: { type: 'oomKilled' }, reason: 'OutOfMemory' },
  evicted: { fault: { type: 'evicted', after: 1024 }, reason: 'Evicted' },
  'hidden-error': { fault: { type: 'error', after: 1024, hidden: true }, reason: 'ImporterFailed' },
} as const

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
    await world.until(
      'the slot is free and nothing is left',
      () => !world.holds('broken') && world.childrenOf('broken').length === 0,
    )

    recover()
    await world.annotate('broken', { 'pelotech.ot/retry-requested-at': 'now' })
    const synced = await world.untilSynced('broken')
    expect(synced.status?.attempts?.at(-1)).toMatchObject({ number: 1, outcome: 'Succeeded' })
    expect(world.downloads('broken')).toBe(4)
    await world.finish()
  })

  it('fails at once where no retry can help, recovers by itself where one works, and the queue goes on', async () => {
    await using world = await World.start(cluster(), { policy: QUICK })
    const { cdi } = world.simulators
    const urlOf = (name: string, spec: SpecInput) =>
      world.urlOf(name).replace('https:', spec.sourceType === 'registry' ? 'docker:' : 'https:')
    for (const [name, { fault, why, spec = {} }] of Object.entries(HOPELESS)) {
      world.imageServer.set({ path: `/${world.namespace}/${name}.qcow2`, fault: fault ?? {} })
      const message = `Unable to process data: Unable to convert source data to target format: ${why}`
      if (why !== undefined) cdi.script({ image: world.urlOf(name) }, { type: 'error', after: 'end', message })
      await world.createImage(name, { ...spec, url: urlOf(name, spec) })
    }
    world.imageServer.set({ path: `/${world.namespace}/flaky.qcow2`, fault: { status: 503 }, times: 2 })
    for (const [name, { fault }] of Object.entries(UNLUCKY))
      cdi.script({ image: world.urlOf(name) }, fault, { times: 1 })
    cdi.script({ image: world.urlOf('compressed') }, { type: 'scratchSpaceRequired' })
    for (const name of ['flaky', 'compressed', ...Object.keys(UNLUCKY)]) await world.createImage(name)

    for (const [name, { reason, spec = {} }] of Object.entries(HOPELESS)) {
      const { status } = await world.untilPhase(name, 'Failed')
      expect(status?.attempts, name).toMatchObject([{ number: 1, outcome: 'Failed', reason, downloads: 1 }])
      expect(world.downloadsOf(urlOf(name, spec)), name).toBe(1)
    }
    const { status } = await world.untilSynced('flaky')
    expect(status?.attempts?.map(({ outcome }) => outcome)).toEqual(['Failed', 'Failed', 'Succeeded'])
    expect(world.downloads('flaky')).toBe(3)
    for (const [name, { reason }] of Object.entries(UNLUCKY)) {
      const unlucky = await world.untilSynced(name)
      expect(unlucky.status?.attempts, name).toMatchObject([{ outcome: 'Failed', reason }, { outcome: 'Succeeded' }])
      expect(world.downloads(name), name).toBeLessThanOrEqual(3)
    }
    // It is no failure to need scratch space.
    const compressed = await world.untilSynced('compressed')
    expect(compressed.status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded' }])
    expect(served(world, 'compressed')).toMatchObject({ completed: 1 })
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
