import { describe, expect, it } from 'vitest'
import { isFinished, type JudgeContext, judgeDataVolume } from './judge.ts'
import type { ConditionView, DataVolumeView } from './views.ts'
import { aDataVolume, aPod, CDI, HOUR, MINUTE, SECOND } from './world.fixtures.ts'

const said = (status: string, reason = '', message = ''): ConditionView => ({ status, reason, message })

const judge = (dataVolume: Partial<DataVolumeView>, context: Partial<JudgeContext> = {}) =>
  judgeDataVolume(aDataVolume(dataVolume), {
    pods: [],
    isImporterReplaced: false,
    ageMs: 0,
    unchangedMs: 0,
    stallTimeoutMs: 15 * MINUTE,
    attemptTimeoutMs: 6 * HOUR,
    ...context,
  })

describe('a download goes on', () => {
  it.each<[string, Partial<DataVolumeView>]>([
    ['without any status', CDI.new],
    ['before there is a claim', { phase: 'Pending', bound: said('False', 'NotFound', 'No PVC found') }],
    [
      'while the claim waits for its volume',
      { phase: 'Pending', progress: 'N/A', bound: said('False', 'Pending', 'PVC x Pending') },
    ],
    [
      'while the pod is being made',
      { phase: 'ImportScheduled', progress: 'N/A', running: said('False', 'ContainerCreating') },
    ],
    ['while the importer runs', CDI.running],
    [
      'while it asks for scratch space',
      {
        phase: 'ImportScheduled',
        running: said('False', 'Scratch space required', 'scratch space required and none found'),
      },
    ],
    [
      'while its image cannot be pulled, until it stalls',
      { phase: 'ImportScheduled', running: said('False', 'ImagePullFailed', 'failed to pull image: x') },
    ],
    [
      'while no node has room for it, until it stalls',
      { phase: 'ImportScheduled', running: said('False', 'Unschedulable', 'Importer pod cannot be scheduled') },
    ],
    ['while it waits for a consumer', { phase: 'PendingPopulation' }],
    [
      'while the claim of an earlier one of its name goes',
      {
        phase: '',
        bound: said('True', 'Bound', 'PVC x Bound'),
        running: said('False', 'Completed', 'Import Complete'),
      },
    ],
    ['when its end was reported and the phase lags', { running: said('False', 'Completed', 'Import Complete') }],
  ])('%s', (_name, dataVolume) => {
    expect(judge(dataVolume)).toEqual({ state: 'running' })
    expect(isFinished(aDataVolume(dataVolume))).toBe(false)
  })

  it('when the pod that asked for scratch space was replaced and the new one has none yet', () => {
    const running = said('False', 'Scratch space required', 'scratch space required and none found')
    expect(judge({ running }, { pods: [aPod('second')], isImporterReplaced: true })).toEqual({ state: 'running' })
  })
})

describe('a download is over', () => {
  it.each<[string, Partial<DataVolumeView>]>([
    ['when it succeeded and the claim is bound', CDI.succeeded],
    ['when it succeeded and the claim is about to be bound', { ...CDI.succeeded, bound: said('False', 'Pending') }],
    ['without any progress', { ...CDI.succeeded, progress: '', bound: said('False', 'Pending') }],
    ['though it restarted before', { ...CDI.succeeded, restartCount: 2 }],
    ['when nothing is said about the claim', { ...CDI.succeeded, bound: said('') }],
  ])('%s', (_name, dataVolume) => {
    expect(judge(dataVolume)).toEqual({ state: 'finished' })
    expect(isFinished(aDataVolume(dataVolume))).toBe(true)
  })

  it.each(['N/A', '0.0%', '42.1%', '10.0%'])(
    'but not when its claim was deleted and CDI imports again at %s',
    (progress) => {
      const dataVolume = { ...CDI.succeeded, progress, bound: said('False', 'Pending', 'PVC x Pending') }
      expect(judge(dataVolume)).toEqual({ state: 'importing-again' })
      expect(isFinished(aDataVolume(dataVolume))).toBe(false)
    },
  )
})

describe('a download has failed', () => {
  const EOF_TEXT = 'Unable to process data: unexpected EOF'

  it.each<[string, Partial<DataVolumeView>, object]>([
    [
      'with the text of the importer',
      { running: said('False', 'Error', EOF_TEXT) },
      { reason: 'ImporterFailed', message: EOF_TEXT, permanent: false, downloads: 1 },
    ],
    [
      'with the text that Bound kept when Running has none',
      { running: said('False', 'Error'), bound: said('False', 'Pending', `PVC x Pending and [prime-1] : ${EOF_TEXT}`) },
      { reason: 'ImporterFailed', message: EOF_TEXT, permanent: false, downloads: 1 },
    ],
    [
      'without any text',
      { running: said('False', 'Error') },
      { reason: 'ImporterFailed', message: 'the importer failed; CDI kept no message', downloads: 1 },
    ],
    [
      'in a crash loop that CDI saw only between two starts',
      { running: said('False', 'Pod is running') },
      { reason: 'ImporterFailed', permanent: false, downloads: 1 },
    ],
    [
      'in a crash loop by its own name',
      { running: said('False', 'CrashLoopBackOff', 'back-off') },
      { reason: 'ImporterFailed', message: 'back-off', downloads: 1 },
    ],
    [
      'when it runs again and only Bound remembers why',
      {
        ...CDI.running,
        restartCount: 1,
        bound: said('False', 'Pending', `target PVC x Pending and [p] : ${EOF_TEXT}`),
      },
      { reason: 'ImporterFailed', message: EOF_TEXT, permanent: false, downloads: 2 },
    ],
    [
      'with all the restarts that nobody saw',
      { ...CDI.running, restartCount: 3 },
      { reason: 'ImporterFailed', downloads: 4 },
    ],
    [
      'out of memory, which is no restart',
      { phase: 'ImportScheduled', running: said('False', 'OOMKilled') },
      { reason: 'OutOfMemory', permanent: false, downloads: 1 },
    ],
    [
      'by eviction, told by the condition',
      { phase: 'ImportScheduled', running: said('False', 'Error') },
      { reason: 'ImporterFailed', permanent: false, downloads: 1 },
    ],
    [
      'by a wrong checksum, for good',
      { phase: 'Failed', running: said('False', 'ChecksumError', 'checksum mismatch: expected a, got b') },
      { reason: 'ChecksumMismatch', permanent: true, downloads: 1 },
    ],
    [
      'by a wrong checksum before the phase says so',
      { running: said('False', 'ChecksumError', 'checksum mismatch') },
      { reason: 'ChecksumMismatch', permanent: true },
    ],
    [
      'when the volume was lost',
      { phase: 'Failed', bound: said('False', 'ClaimLost', 'Claim Lost'), running: said('False', 'Completed', 'Done') },
      { reason: 'ClaimLost', permanent: false },
    ],
    [
      'in a phase Failed for any other reason',
      { phase: 'Failed', running: said('False', 'Completed'), ready: said('False', 'X', 'no idea') },
      { reason: 'ImporterFailed', message: 'no idea', permanent: false },
    ],
    [
      'when its Secret is missing, at no cost',
      {
        phase: 'ImportScheduled',
        running: said('False', 'CreateContainerConfigError', 'secret "n" not found'),
      },
      { reason: 'SecretMissing', message: 'secret "n" not found', permanent: false, downloads: 0 },
    ],
    [
      'when a quota refuses the pod, at no cost',
      { phase: 'ImportScheduled', running: said('False', 'ErrExceededQuota', "Error starting pod 'importer-x'") },
      { reason: 'QuotaExceeded', permanent: false, downloads: 0 },
    ],
  ])('%s', (_name, dataVolume, expected) => {
    expect(judge(dataVolume)).toMatchObject({ state: 'failed', ...expected })
  })

  it('when its pod was evicted and stays where it is', () => {
    const verdict = judge({ phase: 'ImportScheduled' }, { pods: [aPod('first', { phase: 'Failed' })] })
    expect(verdict).toMatchObject({ state: 'failed', reason: 'Evicted', permanent: false, downloads: 1 })
  })

  it('when another pod took over, which is a second download', () => {
    const verdict = judge(CDI.running, { pods: [aPod('second')], isImporterReplaced: true })
    expect(verdict).toMatchObject({ state: 'failed', reason: 'ImporterReplaced', permanent: false, downloads: 2 })
  })
})

describe('a claim that cannot be made', () => {
  const invalid = said('False', 'ErrClaimNotValid', 'PVC spec is missing accessMode and no storageClass')
  const overQuota = said('False', 'ErrExceededQuota', 'exceeded quota: q')

  it.each([
    ['Bound says so', { ...CDI.new, bound: invalid }, 'ClaimInvalid'],
    ['Ready says so', { ...CDI.new, ready: invalid }, 'ClaimInvalid'],
    ['a quota refuses it', { ...CDI.new, phase: 'Pending', bound: overQuota }, 'QuotaExceeded'],
  ])('is given half a minute, then it failed at no cost: %s', (_name, dataVolume, reason) => {
    expect(judge(dataVolume, { ageMs: 30 * SECOND - 1 })).toEqual({ state: 'running' })
    const verdict = judge(dataVolume, { ageMs: 30 * SECOND })
    expect(verdict).toMatchObject({ state: 'failed', reason, permanent: false, downloads: 0 })
  })

  it('does not count once the importer got going', () => {
    expect(judge({ ...CDI.running, bound: invalid }, { ageMs: MINUTE })).toEqual({ state: 'running' })
  })
})

describe('patience ends', () => {
  it('when nothing has moved for stallTimeout, in words that say what was seen last', () => {
    expect(judge(CDI.running, { unchangedMs: 15 * MINUTE - 1 })).toEqual({ state: 'running' })
    const running = said('False', 'Unschedulable', 'Importer pod cannot be scheduled')
    expect(judge({ running }, { unchangedMs: 15 * MINUTE })).toMatchObject({
      state: 'failed',
      reason: 'Stalled',
      message: 'no progress for 15 minutes; last seen: Importer pod cannot be scheduled',
      permanent: false,
    })
  })

  it('when the attempt took longer than attemptTimeout', () => {
    expect(judge(CDI.running, { ageMs: 6 * HOUR - 1 })).toEqual({ state: 'running' })
    const verdict = judge(CDI.running, { ageMs: 6 * HOUR })
    expect(verdict).toMatchObject({ state: 'failed', reason: 'AttemptTimeout', permanent: false })
  })

  it('but never with a finished one', () => {
    expect(judge(CDI.succeeded, { ageMs: 100 * HOUR, unchangedMs: 100 * HOUR })).toEqual({ state: 'finished' })
  })
})

describe('what no retry can mend', () => {
  it.each([
    ['NotFound', 'Unable to connect to http data source: expected status code 200, got 404. Status: 404 Not Found'],
    ['NotFound', 'NoSuchKey: The specified key does not exist.\n\tstatus code: 404, request id: 5'],
    ['NotFound', 'NoSuchBucket: The specified bucket does not exist'],
    ['NotFound', 'reading manifest latest: manifest unknown'],
    ['AccessDenied', 'expected status code 200, got 403. Status: 403 Forbidden'],
    ['AccessDenied', 'expected status code 200, got 401. Status: 401 Unauthorized'],
    ['AccessDenied', 'AccessDenied: Access Denied\n\tstatus code: 403, request id: 7'],
    ['AccessDenied', 'SignatureDoesNotMatch: The request signature we calculated does not match'],
    ['DiskTooSmall', 'DataVolume too small to contain image'],
    ['DiskTooSmall', 'virtual image size 42 is larger than the reported available storage 17'],
    ['DiskTooSmall', 'qemu-img: error while writing: No space left on device'],
    ['ChecksumMismatch', 'checksum mismatch: expected a, got b'],
  ])('%s: %s', (reason, message) => {
    const verdict = judge({ running: said('False', 'Error', message) })
    expect(verdict).toMatchObject({ state: 'failed', reason, permanent: true })
  })

  it.each([
    'RequestTimeout: status code: 408, request id: 404',
    'InternalError: status code: 500, request id: A404B, host id: 403',
    'unexpected EOF after 404 bytes',
    'dial tcp 10.0.0.1:404: connect: connection refused',
    'expected status code 200, got 503. Status: 503 Service Unavailable (request 404403)',
    'read tcp: connection reset by peer',
  ])('is not: %s', (message) => {
    const verdict = judge({ running: said('False', 'Error', message) })
    expect(verdict).toMatchObject({ state: 'failed', reason: 'ImporterFailed', permanent: false })
  })
})

describe('what is secret in a URL', () => {
  it('is told in no failure', () => {
    const secret = 'https://u:s3cr3t@a.example/b?sig=s3cr3t'
    const every: Partial<DataVolumeView>[] = [
      { running: said('False', 'Error', secret) },
      { running: said('False', 'CreateContainerConfigError', secret) },
      { phase: 'Failed', ready: said('False', '', secret) },
      { phase: 'Failed', running: said('False', 'ChecksumError', secret) },
      { restartCount: 1, bound: said('False', 'Pending', `Unable to get ${secret}`) },
    ]
    for (const one of every) expect(JSON.stringify(judge(one))).not.toContain('s3cr3t')
    const late = judge({ bound: said('False', 'Pending', secret) }, { unchangedMs: HOUR })
    expect(JSON.stringify(late)).not.toContain('s3cr3t')
    const invalid = judge({ ...CDI.new, bound: said('False', 'ErrClaimNotValid', secret) }, { ageMs: HOUR })
    expect(JSON.stringify(invalid)).not.toContain('s3cr3t')
  })
})
