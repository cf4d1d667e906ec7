import { describe, expect, it } from 'vitest'
import type { ImporterView } from '../../../cluster/importer-container.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'
import { HOUR } from '../../../runtime/times.fixtures.ts'
import { aPod, CDI } from '../image-objects.fixtures.ts'
import type { Observation } from '../world.ts'
import { conditionWith, endOf, judge, leaving, podThat } from './judge.fixtures.ts'

describe('a download has failed', () => {
  const EOF_TEXT = 'Unable to process data: unexpected EOF'

  it.each<[string, Partial<DataVolumeView>, object]>([
    [
      'with the text of the importer',
      { running: conditionWith('False', 'Error', EOF_TEXT) },
      { reason: 'ImporterFailed', message: EOF_TEXT, permanent: false, downloads: 1 },
    ],
    [
      'with the text that Bound kept when Running has none',
      {
        running: conditionWith('False', 'Error'),
        bound: conditionWith('False', 'Pending', `PVC x Pending and [prime-1] : ${EOF_TEXT}`),
      },
      { reason: 'ImporterFailed', message: EOF_TEXT, permanent: false, downloads: 1 },
    ],
    [
      'without any text',
      { running: conditionWith('False', 'Error') },
      { reason: 'ImporterFailed', message: 'the importer failed, and left no message', downloads: 1 },
    ],
    [
      'in a crash loop that CDI saw only between two starts',
      { running: conditionWith('False', 'Pod is running') },
      { reason: 'ImporterFailed', permanent: false, downloads: 1 },
    ],
    [
      'in a crash loop by its own name',
      { running: conditionWith('False', 'CrashLoopBackOff', 'back-off') },
      { reason: 'ImporterFailed', message: 'back-off', downloads: 1 },
    ],
    [
      'when it runs again and only Bound remembers why',
      {
        ...CDI.running,
        restartCount: 1,
        bound: conditionWith('False', 'Pending', `target PVC x Pending and [p] : ${EOF_TEXT}`),
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
      { phase: 'ImportScheduled', running: conditionWith('False', 'OOMKilled') },
      { reason: 'OutOfMemory', permanent: false, downloads: 1 },
    ],
    [
      'by eviction, told by the condition',
      { phase: 'ImportScheduled', running: conditionWith('False', 'Error') },
      { reason: 'Evicted', permanent: false, downloads: 1 },
    ],
    [
      'by a wrong checksum, for good',
      { phase: 'Failed', running: conditionWith('False', 'ChecksumError', 'checksum mismatch: expected a, got b') },
      { reason: 'ChecksumMismatch', permanent: true, downloads: 1 },
    ],
    [
      'by a wrong checksum before the phase says so',
      { running: conditionWith('False', 'ChecksumError', 'checksum mismatch') },
      { reason: 'ChecksumMismatch', permanent: true },
    ],
    [
      'when the volume was lost',
      {
        phase: 'Failed',
        bound: conditionWith('False', 'ClaimLost', 'Claim Lost'),
        running: conditionWith('False', 'Completed', 'Done'),
      },
      { reason: 'ClaimLost', permanent: false },
    ],
    [
      'in a phase Failed for any other reason',
      { phase: 'Failed', running: conditionWith('False', 'Completed'), ready: conditionWith('False', 'X', 'no idea') },
      { reason: 'ImporterFailed', message: 'no idea', permanent: false },
    ],
    [
      'when its Secret is missing, at no cost',
      {
        phase: 'ImportScheduled',
        running: conditionWith('False', 'CreateContainerConfigError', 'secret "n" not found'),
      },
      { reason: 'SecretMissing', message: 'secret "n" not found', permanent: false, downloads: 0 },
    ],
    [
      'when a quota refuses the pod, at no cost',
      {
        phase: 'ImportScheduled',
        running: conditionWith('False', 'ErrExceededQuota', "Error starting pod 'importer-x'"),
      },
      { reason: 'QuotaExceeded', permanent: false, downloads: 0 },
    ],
  ])('%s', (_name, dataVolume, expected) => {
    expect(judge(dataVolume)).toMatchObject({ state: 'failed', ...expected })
  })

  it.each<[string, Partial<Observation>, object]>([
    ['that ran', { importers: [podThat({ ended: endOf(137, 'Error') }, 'Failed')], starts: 1 }, { downloads: 1 }],
    ['that never ran', { importers: [podThat({ starts: 0 }, 'Failed')], starts: 0 }, { downloads: 0 }],
  ])('by the eviction of a pod %s, which stays where it is', (_name, observation, expected) => {
    const verdict = judge(
      { phase: 'ImportScheduled', running: conditionWith('False', 'ContainerCreating') },
      observation,
    )
    expect(verdict).toMatchObject({ state: 'failed', reason: 'Evicted', permanent: false, ...expected })
  })

  it.each<[string, Partial<DataVolumeView>, Partial<Observation>]>([
    ['before CDI says anything', CDI.running, { importers: [aPod('first')] }],
    ['when CDI shows its end', { phase: 'ImportScheduled', running: conditionWith('False', 'Error') }, {}],
    [
      'when the next one is there',
      { phase: 'ImportScheduled', running: conditionWith('False', 'ContainerCreating') },
      {},
    ],
    ['when the next one runs', CDI.running, { importers: [aPod('second')] }],
  ])('the same way whenever the deletion of its pod is seen: %s', (_name, dataVolume, observation) => {
    const verdict = judge(dataVolume, { starts: 1, isImporterLost: true, ...observation })
    expect(verdict).toMatchObject({ state: 'failed', reason: 'Evicted', permanent: false, downloads: 1 })
  })

  describe('by what its pod says, while CDI is away', () => {
    const crashed = endOf(1, 'Error', EOF_TEXT)

    it.each<[string, Partial<ImporterView>, object]>([
      ['it has just ended', { ended: crashed }, { reason: 'ImporterFailed', message: EOF_TEXT, downloads: 1 }],
      ['it runs again', { starts: 4, isRunning: true, ended: crashed }, { message: EOF_TEXT, downloads: 4 }],
      [
        'its source has no such image',
        { ended: endOf(1, 'Error', 'expected status code 200, got 404. Status: 404 Not Found') },
        { reason: 'NotFound', permanent: true, downloads: 1 },
      ],
      ['it ran out of memory', { ended: endOf(137, 'OOMKilled') }, { reason: 'OutOfMemory', downloads: 1 }],
      [
        'it left no text',
        { ended: endOf(2, 'Error') },
        { reason: 'ImporterFailed', message: 'the importer failed (exit code 2, Error), and left no message' },
      ],
    ])('%s', (_name, importer, expected) => {
      const observation = { importers: [podThat(importer)], starts: importer.starts ?? 1 }
      expect(judge(CDI.running, observation)).toMatchObject({ state: 'failed', ...expected })
      expect(judge(CDI.new, observation)).toMatchObject({ state: 'failed', ...expected })
    })
  })

  it('by its own words, though its pod is being deleted when they are read', () => {
    const importers = [leaving({ ended: endOf(1, 'Error', 'expected status code 200, got 404') })]
    const verdict = judge(CDI.running, { importers, starts: 1, isImporterLost: true })
    expect(verdict).toMatchObject({ state: 'failed', reason: 'NotFound', downloads: 1 })
  })

  it.each([
    ['more than CDI does', 5, 1, 5],
    ['less than CDI does', 1, 3, 4],
    ['nothing', undefined, 3, 4],
  ])('and costs all that was seen, where its pods show %s', (_name, starts, restartCount, downloads) => {
    expect(judge({ ...CDI.failing, restartCount }, { starts })).toMatchObject({ downloads })
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
    const verdict = judge({ running: conditionWith('False', 'Error', message) })
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
    const verdict = judge({ running: conditionWith('False', 'Error', message) })
    expect(verdict).toMatchObject({ state: 'failed', reason: 'ImporterFailed', permanent: false })
  })
})

describe('what is secret in a URL', () => {
  it('is told in no failure', () => {
    const secret = 'https://u:s3cr3t@a.example/b?sig=s3cr3t'
    const every: Partial<DataVolumeView>[] = [
      { running: conditionWith('False', 'Error', secret) },
      { running: conditionWith('False', 'CreateContainerConfigError', secret) },
      { phase: 'Failed', ready: conditionWith('False', '', secret) },
      { phase: 'Failed', running: conditionWith('False', 'ChecksumError', secret) },
      { restartCount: 1, bound: conditionWith('False', 'Pending', `Unable to get ${secret}`) },
    ]
    for (const one of every) expect(JSON.stringify(judge(one))).not.toContain('s3cr3t')
    const late = judge({ bound: conditionWith('False', 'Pending', secret) }, { unchangedMs: HOUR })
    expect(JSON.stringify(late)).not.toContain('s3cr3t')
    const invalid = judge({ ...CDI.new, bound: conditionWith('False', 'ErrClaimNotValid', secret) })
    expect(JSON.stringify(invalid)).not.toContain('s3cr3t')
  })
})
