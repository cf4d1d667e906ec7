import { describe, expect, it } from 'vitest'
import { type Situation, statusIn } from './dv-status.ts'
import { TRUNCATED_TEXT } from './importer-texts.ts'
import type { Claim, ContainerStatus, DataVolumeStatus, Pod } from './models.ts'

const NOW = '2026-01-01T00:00:00Z'
const LATER = '2026-01-01T00:01:00Z'
const ERROR = 'Unable to process data: unexpected EOF'

const claim = (phase: string, extra: Partial<Claim['metadata']> = {}): Claim => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: 'x', namespace: 'ns', uid: 'u', ...extra },
  spec: { volumeName: 'pv' },
  status: { phase },
})
const prime = { ...claim('Bound'), metadata: { name: 'prime-u', namespace: 'ns', uid: 'p' } }

function pod(phase: string, container?: Partial<ContainerStatus>, extra: Partial<Pod['metadata']> = {}): Pod {
  const base = { name: 'importer', image: 'importer:1', imageID: '', ready: false, restartCount: 0, state: {} }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'importer-prime-u', namespace: 'ns', uid: 'q', ...extra },
    spec: { containers: [{ name: 'importer', image: 'importer:1' }] },
    status: { phase, ...(container && { containerStatuses: [{ ...base, ...container }] }) },
  }
}

const importing = (of: Pod | undefined, progress?: string): Situation => ({
  at: 'importing',
  prime,
  pod: of,
  progress,
  isPodRefused: false,
})

const failed = pod('Running', { state: { terminated: { exitCode: 1, reason: 'Error', message: ERROR } } })
const backingOff = pod('Running', {
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  lastState: { terminated: { exitCode: 1, reason: 'Error', message: ERROR } },
})
const runningAgain = pod('Running', {
  state: { running: {} },
  restartCount: 1,
  lastState: { terminated: { exitCode: 1, reason: 'Error', message: ERROR } },
})

/** Returns the status after a sequence of situations. */
function after(...history: Situation[]): DataVolumeStatus {
  return history.reduce((status, situation) => statusIn(situation, 'x', status, NOW), {} as DataVolumeStatus)
}

function short(status: DataVolumeStatus, type: string): string {
  const found = status.conditions?.find((one) => one.type === type)
  return `${found?.status}/${found?.reason ?? ''}/${found?.message ?? ''}`
}

describe('statusIn', () => {
  it('goes from pending to succeeded while the claim is not bound yet', () => {
    const pending = after({ at: 'pending', message: 'PVC x Pending' })
    expect([pending.phase, pending.progress, short(pending, 'Bound')]).toEqual([
      'Pending',
      'N/A',
      'False/Pending/PVC x Pending',
    ])
    const done = after(importing(pod('Running', { state: { running: {} } }), '50.00%'), {
      at: 'populated',
      claim: claim('Pending'),
      prime,
    })
    expect([done.phase, done.progress]).toEqual(['Succeeded', '100.0%'])
    expect(short(done, 'Ready')).toBe('True//')
    expect(short(done, 'Bound')).toMatch(/^False\/Pending/)
    expect(short(done, 'Running')).toBe('False/Completed/Import Complete')
  })

  it('shows an error, keeps it while backing off, and clears it from Running alone when the container is back', () => {
    const down = after(importing(failed))
    expect([down.phase, short(down, 'Running'), short(down, 'Ready')]).toEqual([
      'ImportInProgress',
      `False/Error/${ERROR}`,
      'False//',
    ])
    expect(statusIn(importing(backingOff), 'x', down, LATER)).toBe(down)
    const again = statusIn(importing(runningAgain), 'x', down, LATER)
    expect([again.restartCount, short(again, 'Running')]).toEqual([1, 'True/Pod is running/'])
    expect(short(again, 'Bound')).toContain(ERROR)
  })

  it('has no text for an error that the controller did not see', () => {
    const hidden = pod('Running', {
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 1, reason: 'Error', message: ERROR } },
    })
    const status = after(importing(pod('Running', { state: { running: {} } })), importing(hidden))
    expect(short(status, 'Running')).toBe('False/Pod is running/')
  })

  it.each([
    ['evicted', pod('Failed'), 'ImportScheduled', 'False/Error/'],
    [
      'killed for memory',
      pod('Running', { state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }),
      undefined,
      'False/OOMKilled/',
    ],
    [
      'not pulled',
      pod('Pending', { state: { waiting: { reason: 'ErrImagePull' } } }),
      'ImportScheduled',
      'False/ImagePullFailed/failed to pull image: importer:1',
    ],
    [
      'down because its source broke off',
      pod('Running', { state: { terminated: { exitCode: 1, reason: 'Error', message: TRUNCATED_TEXT } } }),
      'ImportInProgress',
      `False/ImagePullFailed/${TRUNCATED_TEXT}`,
    ],
    [
      'without secret',
      pod('Pending', { state: { waiting: { reason: 'CreateContainerConfigError', message: 'secret "n" not found' } } }),
      'ImportScheduled',
      'False/CreateContainerConfigError/secret "n" not found',
    ],
    ['just made', pod('Pending'), 'ImportScheduled', 'False/ContainerCreating/'],
    [
      'without scratch space',
      pod('Succeeded', { state: { terminated: { exitCode: 0, message: '{"scratchSpaceRequired":true}' } } }),
      undefined,
      'False/Scratch space required/scratch space required and none found',
    ],
  ])('shows a pod that is %s', (_name, of, phase, running) => {
    const status = after(importing(of))
    expect(status.phase).toBe(phase)
    expect(short(status, 'Running')).toBe(running)
  })

  it('keeps Succeeded and Ready when only the claim went, until the import starts over', () => {
    const done = after({ at: 'populated', claim: claim('Bound'), prime: undefined })
    const lost = statusIn({ at: 'pending', message: 'PVC x Pending' }, 'x', done, LATER)
    expect([lost.phase, lost.progress, short(lost, 'Ready')]).toEqual(['Succeeded', 'N/A', 'True//'])
    expect(short(lost, 'Bound')).toMatch(/^False/)
    const again = statusIn(importing(pod('Pending')), 'x', lost, LATER)
    expect([again.phase, short(again, 'Ready')]).toEqual(['ImportScheduled', 'False//'])
  })

  it("shows an old claim's state as its own while that claim is going", () => {
    const old = claim('Bound', { deletionTimestamp: NOW })
    const status = after({ at: 'name taken', claim: old })
    expect(status.phase).toBeUndefined()
    expect(short(status, 'Bound')).toBe('True/Bound/PVC x Bound')
    expect(short(status, 'Running')).toBe('False/Completed/Import Complete')
    expect(short(status, 'Ready')).toBe('False//')
  })

  it('is Failed for a lost volume and for a fatal error only', () => {
    expect(after({ at: 'populated', claim: claim('Lost'), prime: undefined }).phase).toBe('Failed')
    expect(after({ at: 'fatal', message: 'checksum mismatch' }).phase).toBe('Failed')
  })

  it('is the same object when nothing is new, and keeps the time of a condition that did not turn', () => {
    const status = after(importing(runningAgain, '10.00%'))
    expect(statusIn(importing(runningAgain, '10.00%'), 'x', status, LATER)).toBe(status)
    const further = statusIn(importing(runningAgain, '20.00%'), 'x', status, LATER)
    expect(further.progress).toBe('20.00%')
    expect(further.conditions).toEqual(status.conditions)
  })
})
