import { ANNOTATIONS } from '@open-terrain/constructs'
import { MANAGER, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { HOUR, SECOND, START } from '../../../../test/prepared/runtime/times.ts'
import { CDI, REFRESH, RETRY } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import { fromTime, toTime } from '../../../base/time.ts'
import { mergeConditions } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { factsBetween, imageEventsBetween } from './status.ts'
import { isBehind, isImageStatusDue, percent } from './status-throttle.ts'

const syncing = (progress: string): VMDiskImageStatus => ({ phase: 'Syncing', message: 'm', progress })
const condition = (status: 'True' | 'False', reason = 'R', message = 'm') => ({
  type: 'Ready',
  status,
  reason,
  message,
})

describe('a status is worth a write', () => {
  const queued = (): { walk: ImageWalk; before: VMDiskImageStatus } => {
    const walk = new ImageWalk()
    walk.settle()
    return { walk, before: walk.status }
  }

  it.each<[string, VMDiskImageStatus]>([
    ['the phase', { phase: 'Failed' }],
    ['the ticket', { ticket: '7' }],
    ['the message, when it does not wait for a slot', { phase: 'Failed', message: 'other' }],
    ['the revision', { revision: '1' }],
    ['the generation that it is for', { observedGeneration: 2 }],
    ['the next retry', { nextRetryTime: toTime(START) }],
    ['an attempt', { attempts: [] }],
    ['a reference', { references: { count: 1, names: ['a'] } }],
  ])('when there is news: %s', (_name, change) => {
    const { before } = queued()
    expect(isImageStatusDue(before, { ...before, ...change }, undefined, false)).toBe(true)
  })

  it('not when only the server’s order of keys differs', () => {
    const { before } = queued()
    const backwards = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(backwards)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .toReversed()
          .map(([key, member]) => [key, backwards(member)]),
      )
    }
    expect(isImageStatusDue(backwards(before) as VMDiskImageStatus, before, undefined, false)).toBe(false)
  })

  it('not for a place in the queue alone, unless that is due', () => {
    const { walk } = queued()
    walk.set({ queuePosition: 7, limit: 4 })
    const { status } = walk.plan()
    expect(status.queuePosition).toBe(7)
    expect(isImageStatusDue(walk.status, status, undefined, false)).toBe(false)
    expect(isImageStatusDue(walk.status, status, undefined, true)).toBe(true)
  })

  it('not for the time of a place that is due and has not changed', () => {
    const { walk } = queued()
    walk.now += 60 * SECOND
    expect(isImageStatusDue(walk.status, walk.plan().status, undefined, true)).toBe(false)
  })

  it('when a pause is due to be told, and not before', () => {
    const { walk } = queued()
    walk.set({ limit: 0 })
    expect(isImageStatusDue(walk.status, walk.plan().status, undefined, false)).toBe(false)
    expect(isImageStatusDue(walk.status, walk.plan().status, undefined, true)).toBe(true)
  })

  it.each([
    ['10.0%', '19.9%', undefined, false],
    ['10.0%', '20.0%', undefined, true],
    ['10.0%', '90.0%', 30 * SECOND - 1, false],
    ['10.0%', '90.0%', 30 * SECOND, true],
    ['90.0%', '5.0%', 30 * SECOND, true],
    ['N/A', '12.0%', 30 * SECOND, true],
    ['N/A', '', 30 * SECOND, false],
  ])('for progress from %s to %s, %s ms after the last write: %s', (from, to, sinceStatusWriteMs, expected) => {
    expect(isImageStatusDue(syncing(from), syncing(to), sinceStatusWriteMs, false)).toBe(expected)
  })
})

describe('mergeConditions', () => {
  const OLD = toTime(START - 60 * SECOND)

  it('moves the time only with the status', () => {
    const before = [{ ...condition('True'), lastTransitionTime: OLD }]
    const same = mergeConditions(before, [condition('True', 'Other', 'other')], 2, START)
    expect(same).toEqual([{ ...condition('True', 'Other', 'other'), lastTransitionTime: OLD, observedGeneration: 2 }])
    expect(mergeConditions(before, [condition('False')], 2, START)[0]?.lastTransitionTime).toBe(toTime(START))
  })

  it('keeps those that are not named, and never has a type twice', () => {
    const before = [{ ...condition('True'), type: 'DeletionBlocked', lastTransitionTime: OLD }]
    const merged = mergeConditions(before, [condition('True')], undefined, START)
    expect(merged.map(({ type }) => type)).toEqual(['Ready', 'DeletionBlocked'])
    expect(mergeConditions(merged, [condition('False')], undefined, START)).toHaveLength(2)
  })
})

describe('who refers to an image', () => {
  const referenced = (count: number): VMDiskImageStatus => ({
    phase: 'Succeeded',
    references: { count, names: [`VirtualMachine/n/vm-${count}`] },
    conditions: [{ ...condition(count > 0 ? 'False' : 'True', 'R', `of ${count}`), type: 'Unreferenced' }],
  })
  const blocked = (by: string): VMDiskImageStatus => ({
    ...referenced(2),
    message: `waits for ${by}`,
    conditions: [{ ...condition('True', 'InUse', by), type: 'DeletionBlocked' }],
  })

  it.each<[string, VMDiskImageStatus, VMDiskImageStatus, number | undefined, boolean]>([
    ['the first one, at once', referenced(0), referenced(1), 0, true],
    ['the last one, at once', referenced(1), referenced(0), 0, true],
    ['one more, not at once', referenced(1), referenced(2), 1 * SECOND, false],
    ['one more, in a moment', referenced(1), referenced(2), 2 * SECOND, true],
    ['one more, when we have not written yet', referenced(1), referenced(2), undefined, true],
    ['that it keeps it from going, at once', referenced(2), blocked('a'), 0, true],
    ['others that keep it, not at once', blocked('a'), blocked('b'), 0, false],
    ['others that keep it, in a moment', blocked('a'), blocked('b'), 2 * SECOND, true],
  ])('is written: %s', (_name, before, after, sinceStatusWriteMs, expected) => {
    expect(isImageStatusDue(before, after, sinceStatusWriteMs, false)).toBe(expected)
    expect(isBehind(before, after)).toBe(true)
  })
})

describe('times', () => {
  it.each([undefined, '', 'yesterday', '2026-13-01T00:00:00Z'])('that are none, are undefined: %s', (text) => {
    expect(fromTime(text)).toBeUndefined()
  })

  it('survive', () => {
    expect(fromTime(toTime(START))).toBe(START)
  })
})

it.each([
  ['42.5%', 42.5],
  ['N/A', 0],
  ['', 0],
  [undefined, 0],
  ['100.0%', 100],
])('reads %s as %d percent', (text, value) => {
  expect(percent(text)).toBe(value)
})

describe('events', () => {
  const changedBy = (walk: ImageWalk, manager: string) =>
    walk.set({ image: { ...walk.world.image, changedBy: manager } })
  /** Returns the Events of a walk, in order. */
  const told = (act: (walk: ImageWalk) => unknown): string[] =>
    notes(act).map(({ type, reason }) => `${type} ${reason}`)

  const notes = (act: (walk: ImageWalk) => unknown): EventNote[] => {
    const walk = new ImageWalk()
    const seen: EventNote[] = []
    const step = walk.step.bind(walk)
    walk.step = () => {
      const { image } = walk.world
      const isWritten = step()
      if (walk.status !== image.status) seen.push(...imageEventsBetween(image, walk.status, 2))
      return isWritten
    }
    act(walk)
    return seen
  }

  it('of the happy path are two', () => {
    expect(told((walk) => walk.publish())).toEqual(['Normal Syncing', 'Normal Synced'])
  })

  it('of a failure that is mended', () => {
    const seen = told((walk) => {
      walk
        .settle()
        .fail()
        .after(600 * SECOND)
      return walk.publish()
    })
    expect(seen).toEqual(['Normal Syncing', 'Warning ImporterFailed', 'Normal Syncing', 'Normal Synced'])
  })

  it('of a permanent failure are one more than the start', () => {
    const seen = told((walk) => walk.settle().fail(CDI.notFound))
    expect(seen).toEqual(['Normal Syncing', 'Warning NotFound'])
  })

  it('of a deletion that waits for users are one, however they come and go', () => {
    const using = (...users: string[]) => ({ references: { count: users.length, names: users, users } })
    const seen = told((walk) => {
      walk.publish().set(using('VirtualMachine/a/vm')).settle().markDeleted().settle()
      walk.set(using('VirtualMachine/a/vm', 'VirtualMachine/b/vm')).settle()
      return walk.set(using('VirtualMachine/b/vm')).after(600 * SECOND)
    })
    expect(seen).toEqual(['Normal Syncing', 'Normal Synced', 'Warning InUse'])
  })

  it.each<[string, (walk: ImageWalk) => unknown, string]>([
    ['is new', (walk) => walk.publish(), 'attempt 1 of 3: the image is new'],
    [
      'refreshes what somebody changed',
      (walk) => changedBy(walk.publish(), 'kubectl-edit').edit({ url: 'https://images.example/b.qcow2' }).publish(),
      'attempt 1 of 3: its spec or annotation pelotech.ot/sync-requested-at has changed; last changed by kubectl-edit',
    ],
    [
      'is tried again for somebody',
      (walk) =>
        walk
          .settle()
          .fail(CDI.notFound)
          .annotate({ [RETRY]: 'now' })
          .publish(),
      'attempt 1 of 3: annotation pelotech.ot/retry-requested-at or a name of its credentials has changed',
    ],
    [
      'replaces what was lost',
      (walk) => walk.publish().dropDataVolumes().set({ snapshots: [] }).publish(),
      'attempt 1 of 3: its artifact, VolumeSnapshot img-.*, is lost',
    ],
    [
      'is for a machine',
      (walk) =>
        changedBy(walk, MANAGER)
          .annotate({ [ANNOTATIONS.creator]: 'VirtualMachine/team/vm/uid' })
          .publish(),
      'attempt 1 of 3: the image is new; made for VirtualMachine team/vm',
    ],
    [
      'is for a workspace, which is in no namespace',
      (walk) =>
        changedBy(walk, MANAGER)
          .annotate({ [ANNOTATIONS.creator]: 'Workspace/lab/uid generation 1' })
          .publish(),
      'attempt 1 of 3: the image is new; made for Workspace lab',
    ],
  ])('tell what a download is for: it %s', (_what, act, text) => {
    const started = notes(act).filter(({ reason }) => reason === 'Syncing')
    expect(started.at(-1)?.message).toMatch(new RegExp(`^downloading revision [0-9a-f]{8}, ${text}$`))
  })

  it.each<[string, string, (walk: ImageWalk) => unknown, (string | undefined)[]]>([
    ['a client', 'kubectl-edit', (walk) => walk.publish(), ['kubectl-edit']],
    [
      'the machine that it was made for',
      MANAGER,
      (walk) => walk.annotate({ [ANNOTATIONS.creator]: 'VirtualMachine/team/vm/uid generation 1' }).publish(),
      ['VirtualMachine/team/vm'],
    ],
    ['nobody that is known', MANAGER, (walk) => walk.publish(), [undefined]],
    [
      'each its own, also the one that another spec stops',
      'kubectl-create',
      (walk) => changedBy(walk.settle().admit(), 'kubectl-edit').edit({ url: 'https://images.example/b' }).settle(),
      ['kubectl-create'],
    ],
    [
      'who asked for it, not who changed what decides about no download',
      'kubectl-create',
      (walk) => changedBy(walk.settle(), 'argocd').edit({ reclaimPolicy: 'Delete' }).settle().fail(CDI.notFound),
      ['kubectl-create'],
    ],
    [
      'who asked for each',
      'kubectl-create',
      (walk) => changedBy(walk.publish(), 'argocd').edit({ url: 'https://images.example/b' }).publish(),
      ['kubectl-create', 'argocd'],
    ],
  ])('of attempts are recorded with who asked for them: %s', (_who, manager, act, expected) => {
    const walk = changedBy(new ImageWalk(), manager)
    act(walk)
    expect(walk.status.attempts?.map(({ requestedBy }) => requestedBy)).toEqual(expected)
  })

  it('of another last writer are no reason to write a status', () => {
    const walk = changedBy(new ImageWalk(), 'kubectl-create').settle().admit().report(CDI.running)
    const before = walk.status
    changedBy(walk, 'argocd')
    expect(walk.plan().status).toEqual(before)
  })

  it('of a lost artifact are a warning that names it, whether or not it is downloaded again', () => {
    const seen = notes((walk) => walk.publish().set({ snapshots: [] }).settle())
    expect(seen.slice(2)).toEqual([
      {
        type: 'Warning',
        reason: 'ArtifactLost',
        message: expect.stringMatching(/^VolumeSnapshot .*, from which disks were cloned, is gone: it is made again$/),
      },
    ])
  })

  it('of a lost artifact are in a condition, too, until there is another one', () => {
    const walk = new ImageWalk().publish()
    const lost = () => walk.status.conditions?.find(({ type }) => type === 'ArtifactLost')
    expect(lost()).toBeUndefined()
    walk.set({ snapshots: [] }).settle()
    const seen = lost()
    expect(seen).toMatchObject({ status: 'True', message: expect.stringContaining('is made again') })
    walk.after(SECOND)
    expect(lost()).toEqual(seen)
    walk.snapshotReady()
    expect(lost()).toBeUndefined()
  })

  it('of a suspended download', () => {
    const seen = told((walk) => {
      walk.settle().admit().report(CDI.running)
      return walk.edit({ suspend: true }).settle().importersGone().release()
    })
    expect(seen).toEqual(['Normal Syncing', 'Normal SyncCancelled', 'Normal Suspended'])
  })
})

describe('the log', () => {
  /** Returns what it reports of the statuses that the walk writes, as `phase/reason` and the facts. */
  const story = (walk: ImageWalk, live: (walk: ImageWalk) => unknown): unknown[] => {
    const statuses = [walk.status]
    const original = walk.step.bind(walk)
    walk.step = () => {
      const isChanged = original()
      if (walk.status !== statuses.at(-1)) statuses.push(walk.status)
      return isChanged
    }
    live(walk)
    return statuses.slice(1).flatMap((after, at) => {
      const before = statuses[at] ?? {}
      if (before.phase === after.phase && before.reason === after.reason) return []
      const { revision: _revision, ...facts } = factsBetween(before, after)
      return [{ is: `${after.phase}/${after.reason}`, ...facts }]
    })
  }

  it('tells the life of an image: queued, syncing, failed and why, again at, succeeded', () => {
    const walk = new ImageWalk()
    const told = story(walk, () => {
      walk.settle().admit().report(CDI.running)
      walk.now += 7 * SECOND
      walk.report(CDI.failing).importersGone().release()
      walk.after(10 * 60 * SECOND)
      walk.publish()
    })
    const failed = { attempt: 1, nextRetryTime: expect.any(String) }
    expect(told).toEqual([
      { is: 'Queued/Queued' },
      { is: 'Syncing/Syncing', attempt: 1, downloadCause: 'the image is new' },
      {
        is: 'Syncing/Stopping',
        ...failed,
        outcome: 'Failed',
        cause: 'ImporterFailed',
        durationSeconds: 7,
        downloads: 1,
      },
      { is: 'Queued/RetryBackoff', ...failed },
      { is: 'Queued/Queued' },
      { is: 'Syncing/Syncing', attempt: 2, downloadCause: 'the image is new' },
      {
        is: 'Snapshotting/Snapshotting',
        attempt: 2,
        outcome: 'Succeeded',
        cause: 'Synced',
        durationSeconds: 0,
        downloads: 1,
      },
      { is: 'Succeeded/Synced', attempt: 2 },
    ])
  })
})

describe('the condition Settled', () => {
  const settled = (walk: ImageWalk) => [walk.status.phase, walk.condition('Settled')]

  it('is False on the way to an artifact, and of a refresh, and True when it is there', () => {
    const walk = new ImageWalk()
    walk.settle()
    expect(settled(walk)).toEqual(['Queued', 'False'])
    walk.admit().report(CDI.running)
    expect(settled(walk)).toEqual(['Syncing', 'False'])
    walk.succeed()
    expect(settled(walk)).toEqual(['Snapshotting', 'False'])
    walk.snapshotReady()
    expect(settled(walk)).toEqual(['Succeeded', 'True'])
    walk.annotate({ [REFRESH]: 'now' }).settle()
    expect([...settled(walk), walk.condition('Ready')]).toEqual(['Queued', 'False', 'True'])
  })

  it('is False while another attempt is to come, and True when none is left', () => {
    const walk = new ImageWalk({ policy: { retryLimit: 1 } })
    walk.settle().fail()
    expect(settled(walk)).toEqual(['Queued', 'False'])
    walk.after(HOUR).fail()
    expect(settled(walk)).toEqual(['Failed', 'True'])
    walk.annotate({ [RETRY]: 'now' }).settle()
    expect(settled(walk)).toEqual(['Queued', 'False'])
  })
})

describe('a source that CDI cannot unpack', () => {
  const at = (path: string, more: object = {}) => {
    const walk = new ImageWalk()
    walk.edit({ url: `https://images.example/${path}`, ...more }).settle()
    return walk
  }

  it.each(['a.zst', 'a.qcow2.bz2', 'a.ZIP', 'a.tar.gz', 'a.ova', 'a.zip?version=1'])(
    'is told by its name: %s',
    (path) => {
      expect(at(path).condition('SourceWarning')).toBe('True')
    },
  )

  it.each(['a.qcow2', 'a.raw.gz', 'a.img.xz', 'zip/a.qcow2', 'a.zip.d/b', 'a.qcow2?f=a.zip'])(
    'is not one: %s',
    (path) => {
      expect(at(path).condition('SourceWarning')).toBeUndefined()
    },
  )

  it('is downloaded all the same, is told once by an Event, and no more when the URL is another one', () => {
    const walk = new ImageWalk()
    walk.edit({ url: 'https://images.example/a.zip' })
    expect(walk.plan().events).toMatchObject([{ type: 'Warning', reason: 'PackedSource' }])
    walk.settle()
    expect(walk.plan().events).toEqual([])
    expect(walk.plan().start?.admissible).toBe(true)
    walk.edit({ url: 'https://images.example/a.qcow2' }).settle()
    expect(walk.condition('SourceWarning')).toBeUndefined()
  })
})
