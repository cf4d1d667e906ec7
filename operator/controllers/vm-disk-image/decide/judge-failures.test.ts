import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../../test/prepared/runtime/times.ts'
import { aPod, CDI } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { FULL_QUOTA } from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { conditionWith, endOf, judge, leaving, podThat } from '../../../../test/prepared/vm-disk-image/judge.ts'
import type { Observation } from '../../../cluster/import-facts.ts'
import type { ImporterView } from '../../../cluster/importer-container.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'

describe('a download has failed', () => {
  const EOF_TEXT = 'Unable to process data: unexpected EOF'
  const PULL_TEXT = 'Unable to process data: failed to pull image: unexpected EOF'

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
      'with a text that has "failed to pull image", for which CDI has a reason of its own',
      { running: conditionWith('False', 'ImagePullFailed', PULL_TEXT) },
      { reason: 'ImporterFailed', message: PULL_TEXT, permanent: false, downloads: 1 },
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

  it('when a quota refuses the pod, and names those that limit pods', () => {
    const dataVolume = { phase: 'ImportScheduled', running: conditionWith('False', 'ErrExceededQuota', 'see the log') }
    const message = expect.stringContaining('importer pod (CDI does not say which one: q (pods: 5 of 5))')
    expect(
      judge(dataVolume, {}, { quotas: [{ ...FULL_QUOTA, hard: { pods: '5' }, used: { pods: '5' } }] }),
    ).toMatchObject({ message })
  })

  it('when something else refuses the pod, and not for a moment alone', () => {
    const dataVolume = { phase: 'ImportScheduled', running: conditionWith('False', 'ErrStartingPod', 'see the log') }
    expect(judge(dataVolume, { unchangedMs: 9_000 })).toEqual({ state: 'running' })
    const expected = { state: 'failed', reason: 'ImportRefused', permanent: false, downloads: 0 }
    expect(judge(dataVolume, { unchangedMs: 10_000 })).toMatchObject(expected)
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

  it.each([
    [
      'Unable to process data: could not process image header: unexpected EOF',
      /^the source is shorter than the header/,
    ],
    [
      'Unable to process data: Unable to convert source data to target format: signal: killed',
      /^a program of the importer/,
    ],
    ['unexpected EOF', /^unexpected EOF$/],
  ])('in words that say what a misleading text means: %s', (text, expected) => {
    const verdict = judge(CDI.running, { importers: [podThat({ ended: endOf(1, 'Error', text) })], starts: 1 })
    expect(verdict).toMatchObject({
      state: 'failed',
      reason: 'ImporterFailed',
      message: expect.stringMatching(expected),
    })
    expect(verdict).toMatchObject({ message: expect.stringContaining(text) })
  })

  it.each([
    [137, 'it was killed'],
    [143, 'it was told to stop'],
    [255, 'its node lost it'],
  ])('without a text, in words that say what exit code %i means', (exitCode, meaning) => {
    const verdict = judge(CDI.running, { importers: [podThat({ ended: endOf(exitCode, 'Error') })], starts: 1 })
    expect(verdict).toMatchObject({ reason: 'ImporterFailed', message: expect.stringContaining(meaning) })
  })

  it('not by a pod that ended with exit code 0, whatever its phase', () => {
    const completed = podThat({ ended: endOf(0, 'Completed') }, 'Failed')
    expect(judge({ phase: 'ImportInProgress' }, { importers: [completed], starts: 0 }).state).toBe('running')
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
