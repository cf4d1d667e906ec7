import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../../test/prepared/runtime/times.ts'
import { aDataVolume, aPod, CDI } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { conditionWith, endOf, judge, leaving, podThat } from '../../../../test/prepared/vm-disk-image/judge.ts'
import { isFinished, type Observation } from '../../../cluster/import-facts.ts'
import { NOT_STARTED } from '../../../cluster/importer-container.ts'
import type { DataVolumeView } from '../../../cluster/views.ts'

describe('a download goes on', () => {
  it.each<[string, Partial<DataVolumeView>]>([
    ['without any status', CDI.new],
    ['before there is a claim', { phase: 'Pending', bound: conditionWith('False', 'NotFound', 'No PVC found') }],
    [
      'while the claim waits for its volume',
      { phase: 'Pending', progress: 'N/A', bound: conditionWith('False', 'Pending', 'PVC x Pending') },
    ],
    [
      'while the pod is being made',
      { phase: 'ImportScheduled', progress: 'N/A', running: conditionWith('False', 'ContainerCreating') },
    ],
    ['while the importer runs', CDI.running],
    [
      'while it asks for scratch space',
      {
        phase: 'ImportScheduled',
        running: conditionWith('False', 'Scratch space required', 'scratch space required and none found'),
      },
    ],
    [
      'while its image cannot be pulled, until it stalls',
      { phase: 'ImportScheduled', running: conditionWith('False', 'ImagePullFailed', 'failed to pull image: x') },
    ],
    [
      'while no node has room for it, until it stalls',
      {
        phase: 'ImportScheduled',
        running: conditionWith('False', 'Unschedulable', 'Importer pod cannot be scheduled'),
      },
    ],
    ['while it waits for a consumer', { phase: 'PendingPopulation' }],
    [
      'while the claim of an earlier one of its name goes',
      {
        phase: '',
        bound: conditionWith('True', 'Bound', 'PVC x Bound'),
        running: conditionWith('False', 'Completed', 'Import Complete'),
      },
    ],
    [
      'when its end was reported and the phase lags',
      { running: conditionWith('False', 'Completed', 'Import Complete') },
    ],
  ])('%s', (_name, dataVolume) => {
    expect(judge(dataVolume)).toEqual({ state: 'running' })
    expect(isFinished(aDataVolume(dataVolume))).toBe(false)
  })

  it.each<[string, Partial<DataVolumeView>, Partial<Observation>]>([
    [
      'while a pod that never ran is deleted and made again',
      { phase: 'ImportScheduled', running: conditionWith('False', 'Error') },
      { starts: 0 },
    ],
    ['while its importer runs and CDI does not know it yet', CDI.new, { importers: [aPod('first')], starts: 1 }],
    [
      'while its importer has ended well and CDI does not know it yet',
      CDI.running,
      { importers: [podThat({ ended: endOf(0, 'Completed', 'Import Complete') }, 'Succeeded')], starts: 0 },
    ],
    [
      'while a pod that never ran is deleted, whatever end its kubelet gives it',
      { phase: 'ImportScheduled', running: conditionWith('False', 'ContainerCreating') },
      { importers: [leaving({ starts: 0, ended: endOf(143, 'Error') })], starts: 0 },
    ],
  ])('%s', (_name, dataVolume, observation) => {
    expect(judge(dataVolume, observation)).toEqual({ state: 'running' })
  })
})

describe('a download is over', () => {
  it.each<[string, Partial<DataVolumeView>]>([
    ['when it succeeded and the claim is bound', CDI.succeeded],
    [
      'when it succeeded and the claim is about to be bound',
      { ...CDI.succeeded, bound: conditionWith('False', 'Pending') },
    ],
    ['without any progress', { ...CDI.succeeded, progress: '', bound: conditionWith('False', 'Pending') }],
    ['though it restarted before', { ...CDI.succeeded, restartCount: 2 }],
    ['when nothing is said about the claim', { ...CDI.succeeded, bound: conditionWith('') }],
  ])('%s', (_name, dataVolume) => {
    expect(judge(dataVolume)).toEqual({ state: 'finished' })
    expect(isFinished(aDataVolume(dataVolume))).toBe(true)
  })

  it.each(['N/A', '0.0%', '42.1%', '10.0%'])(
    'but not when its claim was deleted and CDI imports again at %s',
    (progress) => {
      const dataVolume = { ...CDI.succeeded, progress, bound: conditionWith('False', 'Pending', 'PVC x Pending') }
      expect(judge(dataVolume)).toEqual({ state: 'importing-again' })
      expect(isFinished(aDataVolume(dataVolume))).toBe(false)
    },
  )
})

describe('a claim that cannot be made', () => {
  const invalid = conditionWith('False', 'ErrClaimNotValid', 'PVC spec is missing accessMode and no storageClass')
  const overQuota = conditionWith('False', 'ErrExceededQuota', 'exceeded quota: q')

  it.each([
    ['Bound says so', { ...CDI.new, bound: invalid }, 'ClaimInvalid'],
    ['Ready says so', { ...CDI.new, ready: invalid }, 'ClaimInvalid'],
    ['a quota refuses it', { ...CDI.new, phase: 'Pending', bound: overQuota }, 'QuotaExceeded'],
  ])('has failed at once and at no cost: %s', (_name, dataVolume, reason) => {
    expect(judge(dataVolume)).toMatchObject({ state: 'failed', reason, permanent: false, downloads: 0 })
  })

  it('does not count once the importer got going', () => {
    expect(judge({ ...CDI.running, bound: invalid })).toEqual({ state: 'running' })
  })

  describe('as the Events of its target tell alone', () => {
    const claimRefusal = 'persistentvolumeclaims "prime-1" is forbidden: exceeded quota: q'
    const pending = { ...CDI.new, bound: conditionWith('False', 'Pending', 'PVC x Pending') }

    it('has failed at once and at no cost where a quota refuses it', () => {
      expect(judge(pending, { claimRefusal })).toMatchObject({
        state: 'failed',
        reason: 'QuotaExceeded',
        message: `a ResourceQuota of the namespace leaves no room for its volume (${claimRefusal})`,
        downloads: 0,
      })
      expect(judge(CDI.running, { claimRefusal, starts: 1 })).toEqual({ state: 'running' })
    })

    it('has failed at once and at no cost where a quota refuses the claim for scratch space', () => {
      const asked = { phase: 'ImportScheduled', running: conditionWith('False', 'ContainerCreating') }
      const waits = aPod('next', { phase: 'Pending', hasScratch: true, importer: NOT_STARTED })
      const verdict = judge(asked, { claimRefusal, importers: [waits], starts: 0 })
      const message = `a ResourceQuota of the namespace leaves no room for a volume with scratch space (${claimRefusal})`
      expect(verdict).toMatchObject({ state: 'failed', reason: 'QuotaExceeded', message, downloads: 0 })
    })

    it.each([
      'persistentvolumeclaims "prime-1" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 11Gi',
      'admission webhook "claims.example.com" denied the request: no team label',
    ])('has failed at once and at no cost where the answer is %s', (refusal) => {
      const message = `the API server refuses its volume (${refusal})`
      const expected = { state: 'failed', reason: 'ImportRefused', message, downloads: 0, permanent: false }
      expect(judge(pending, { claimRefusal: refusal })).toMatchObject(expected)
    })

    it('is waited for otherwise, in the words of the Event', () => {
      const denied = { claimRefusal: 'failed calling webhook: connection refused' }
      expect(judge(pending, denied)).toEqual({ state: 'running' })
      const message =
        'nothing was downloaded: 15 minutes of waiting for its volume (failed calling webhook: connection refused)'
      expect(judge(pending, { ...denied, unchangedMs: 15 * MINUTE })).toMatchObject({ state: 'failed', message })
    })
  })
})

describe('patience ends', () => {
  it.each(['', 'N/A'])(
    'only after attemptTimeout while an importer runs and its progress is unknown (%s)',
    (progress) => {
      const unknown = { ...CDI.running, progress }
      expect(judge(unknown, { starts: 1, unchangedMs: 5 * HOUR }, { ageMs: 5 * HOUR })).toEqual({ state: 'running' })
      const verdict = judge(unknown, { starts: 1, unchangedMs: 6 * HOUR }, { ageMs: 6 * HOUR })
      expect(verdict).toMatchObject({ state: 'failed', reason: 'AttemptTimeout' })
    },
  )

  it.each<[string, Partial<DataVolumeView>, string]>([
    ['that runs', CDI.running, 'no progress for 15 minutes (policy key stallTimeout)'],
    [
      'that has not run again',
      { restartCount: 0, running: conditionWith('False', 'Unschedulable', 'Importer pod cannot be scheduled') },
      'no progress for 15 minutes (policy key stallTimeout); last seen: Importer pod cannot be scheduled',
    ],
    [
      'whose claim said something else long ago',
      {
        running: conditionWith('False', 'ContainerCreating'),
        bound: conditionWith('False', 'Pending', 'Successfully provisioned'),
      },
      'no progress for 15 minutes (policy key stallTimeout); last seen: ContainerCreating',
    ],
  ])(
    'when nothing has moved for stallTimeout in one %s, in words that say what was seen last',
    (_name, one, message) => {
      expect(judge(one, { starts: 1, unchangedMs: 15 * MINUTE - 1 })).toEqual({ state: 'running' })
      const verdict = judge(one, { starts: 1, unchangedMs: 15 * MINUTE })
      expect(verdict).toMatchObject({ state: 'failed', reason: 'Stalled', message, permanent: false, downloads: 1 })
    },
  )

  it.each<[string, Partial<DataVolumeView>, string]>([
    ['CDI says nothing', CDI.new, 'CDI to act on its DataVolume'],
    [
      'its volume is provisioned for ever',
      {
        ...CDI.new,
        phase: 'Pending',
        bound: conditionWith(
          'False',
          'Pending',
          "target PVC x Pending and [prime-1] : Waiting for a volume to be created either by the external provisioner 'csi' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.",
        ),
      },
      'its volume',
    ],
    [
      'its volume cannot be provisioned',
      {
        ...CDI.new,
        phase: 'Pending',
        bound: conditionWith(
          'False',
          'Pending',
          'target PVC x Pending and [prime-1] : failed to provision volume: no room',
        ),
      },
      'its volume (failed to provision volume: no room)',
    ],
    [
      'its pod is being made for ever',
      {
        ...CDI.new,
        phase: 'ImportScheduled',
        bound: conditionWith('False', 'Pending', 'target PVC x Bound'),
        running: conditionWith('False', 'ContainerCreating'),
      },
      'its importer pod to start',
    ],
    [
      'its image cannot be pulled',
      {
        ...CDI.new,
        phase: 'ImportScheduled',
        running: conditionWith('False', 'ImagePullFailed', 'failed to pull image: x'),
      },
      "the importer's container image (failed to pull image: x)",
    ],
    [
      'no node has room',
      { ...CDI.new, phase: 'ImportScheduled', running: conditionWith('False', 'Unschedulable', 'cannot be scheduled') },
      'a node that has room for the importer pod, and its volume',
    ],
  ])('at no cost where no importer ever ran: %s', (_name, dataVolume, awaited) => {
    expect(judge(dataVolume, { unchangedMs: 15 * MINUTE })).toMatchObject({
      state: 'failed',
      reason: 'ImporterNotStarted',
      message: `nothing was downloaded: 15 minutes of waiting for ${awaited}`,
      permanent: false,
      downloads: 0,
    })
  })

  it('not while CDI acts on nothing', () => {
    const long = { unchangedMs: HOUR }
    for (const one of [CDI.new, CDI.running])
      expect(judge(one, long, { ageMs: 7 * HOUR, isCdiAway: true })).toEqual({ state: 'running' })
  })

  it('when the attempt took longer than attemptTimeout', () => {
    expect(judge(CDI.running, {}, { ageMs: 6 * HOUR - 1 })).toEqual({ state: 'running' })
    const verdict = judge(CDI.running, {}, { ageMs: 6 * HOUR })
    expect(verdict).toMatchObject({ state: 'failed', reason: 'AttemptTimeout', permanent: false })
  })

  it('but never with a finished one', () => {
    expect(judge(CDI.succeeded, { unchangedMs: 100 * HOUR }, { ageMs: 100 * HOUR })).toEqual({ state: 'finished' })
  })
})
