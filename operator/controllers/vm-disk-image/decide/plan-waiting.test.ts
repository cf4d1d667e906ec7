import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../../../test/prepared/runtime/times.ts'
import { CDI, REFRESH, RETRY, SPEC } from '../../../../test/prepared/vm-disk-image/image-objects.ts'
import { ImageWalk } from '../../../../test/prepared/vm-disk-image/image-walk.ts'
import {
  aLookup,
  aPolicy,
  type ImageWorldOverrides,
  NO_REFERENCES,
  ONE_USER,
} from '../../../../test/prepared/vm-disk-image/image-world.ts'
import { fromTime } from '../../../base/time.ts'

const ofOurs = (more: ImageWorldOverrides = {}) =>
  new ImageWalk({ metadata: { labels: { [LABELS.createdBy]: 'VirtualMachine' } }, references: ONE_USER, ...more })

const TTL = 2 * MINUTE

const secretMissing = aLookup({ secret: 'missing' })

const classMissing = aLookup({ hasSnapshotClass: false })

/** The states that an image can be in, how it gets there, and what it reports. `rests`: nothing happens there by itself. */
const STATES: readonly (readonly [state: string, lead: (walk: ImageWalk) => unknown, stand: string, rests: boolean])[] =
  [
    ['waits for a slot', () => undefined, 'Queued/Queued', false],
    ['downloads', (walk) => walk.admit().report(CDI.running), 'Syncing/Syncing', false],
    ['is being stopped', (walk) => walk.admit().report(CDI.failing), 'Syncing/Stopping', false],
    ['waits for its next attempt', (walk) => walk.fail(), 'Queued/RetryBackoff', false],
    ['has its snapshot taken', (walk) => walk.admit().succeed(), 'Snapshotting/Snapshotting', false],
    ['is refreshed', (walk) => walk.publish().edit({ diskSize: '11Gi' }).settle(), 'Queued/Queued', false],
    [
      'waits for something missing',
      (walk) => walk.set({ lookup: secretMissing }).settle(),
      'Queued/SecretMissing',
      true,
    ],
    [
      'waits for what its snapshot needs',
      (walk) => walk.admit().set({ lookup: classMissing }).succeed(),
      'Snapshotting/SnapshotClassMissing',
      true,
    ],
    ['is suspended', (walk) => walk.edit({ suspend: true }).settle(), 'Queued/Suspended', true],
    ['has failed', (walk) => walk.fail(CDI.notFound), 'Failed/NotFound', true],
    ['is ready', (walk) => walk.publish(), 'Succeeded/Synced', true],
  ]

/** What sets Delete, and for which images: the same rule applies to all. */
const RULES: readonly (readonly [who: string, rule: (ttl: string) => ImageWorldOverrides])[] = [
  ['its spec', (ttl) => ({ spec: { reclaimPolicy: 'Delete', unreferencedTTL: ttl } })],
  [
    'the policy, for one that a machine made',
    (ttl) => ({
      metadata: { labels: { [LABELS.createdBy]: 'VirtualMachine' } },
      policy: { reclaimPolicy: 'Delete', unreferencedTtlMs: ttl === '0s' ? 0 : TTL },
    }),
  ],
  [
    'the policy, for one that people made',
    (ttl) => ({ policy: { userReclaimPolicy: 'Delete', userUnreferencedTtlMs: ttl === '0s' ? 0 : TTL } }),
  ],
]

const CASES = STATES.flatMap(([state, ...how]) => RULES.map(([who, rule]) => [state, who, ...how, rule] as const))

/** Lets what is in progress end, and reports whether the image is deleted then. Nothing new may start meanwhile. */
function goes(walk: ImageWalk): boolean {
  for (let turn = 0; turn < 3 && !walk.isReclaimed; turn += 1) {
    expect(walk.plan().start).toBeUndefined()
    walk.importersGone().release()
  }
  return walk.isReclaimed
}

const due = (walk: ImageWalk) => fromTime(walk.status.nextRetryTime) ?? Number.NaN

const ended = (walk: ImageWalk) => fromTime(walk.status.attempts?.at(-1)?.endedAt) ?? Number.NaN

const refused = (until: number | undefined, reason: 'QuotaExceeded' | 'RejectedByCDI') => {
  const walk = new ImageWalk()
  walk.settle()
  const { revision = '', budget } = walk.status
  walk.set({ refusal: { revision, budgetKey: budget?.key ?? '', reason, message: 'no', until } }).settle()
  return walk
}

describe('suspended', () => {
  describe('suspend', () => {
    it('takes a waiting image out of the queue; resuming queues it again, at the end', () => {
      const walk = new ImageWalk()
      walk.settle()
      const ticket = walk.status.ticket
      walk.edit({ suspend: true }).settle()
      expect(walk.stand).toBe('Queued/Suspended')
      expect(walk.status.ticket).toBeUndefined()
      expect(walk.plan().start).toBeUndefined()
      walk.edit({ suspend: undefined }).settle()
      expect(walk.stand).toBe('Queued/Queued')
      expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
    })

    it('stops a running download at once, which is no failure', () => {
      const walk = new ImageWalk()
      walk.settle().admit().report(CDI.running)
      const before = walk.log.length
      walk.edit({ suspend: true }).settle()
      expect(walk.log.slice(before)).toEqual(['status Syncing/Stopping', `delete DataVolume ${walk.childName}`])
      expect(walk.lastAttempt).toMatchObject({ outcome: 'Cancelled', reason: 'Suspended' })
      walk.importersGone().release()
      expect(walk.stand).toBe('Queued/Suspended')
      expect(walk.status.budget?.downloads).toBe(0)
      walk.edit({ suspend: false }).settle()
      expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
    })

    it('gives a resumed image all its downloads again', () => {
      const walk = new ImageWalk({ policy: { retryLimit: 1 } })
      walk.settle().fail()
      walk.edit({ suspend: true }).settle().edit({ suspend: false }).settle()
      expect(walk.status.budget?.downloads).toBe(0)
      walk.fail().after(HOUR).fail()
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(3)
    })
  })
})

describe('rejected', () => {
  describe('a refused DataVolume', () => {
    it('that will never be taken is a failure until the spec changes, also after a restart', () => {
      const walk = refused(undefined, 'RejectedByCDI')
      expect(walk.stand).toBe('Failed/RejectedByCDI')
      walk.set({ refusal: undefined }).settle()
      expect(walk.stand).toBe('Failed/RejectedByCDI')
      walk.annotate({ [RETRY]: '1' }).settle()
      expect(walk.stand).toBe('Queued/Queued')
    })

    it('is a failure by its reason alone: the words of the status decide nothing', () => {
      const walk = refused(undefined, 'RejectedByCDI')
      const { message: _message, ...wordless } = walk.status
      walk.set({ refusal: undefined, image: { ...walk.world.image, status: wordless } }).settle()
      expect(walk.stand).toBe('Failed/RejectedByCDI')
    })
  })

  describe('an image that has failed for good', () => {
    it('says so too where CDI refused the DataVolume', () => {
      const walk = new ImageWalk()
      walk.settle()
      const { revision, target } = walk.plan().start ?? {}
      const refusal = {
        revision: revision ?? '',
        budgetKey: target?.budgetKey ?? '',
        reason: 'RejectedByCDI',
        message: 'Invalid source URL',
        until: undefined,
      } as const
      walk.set({ refusal }).settle()
      const { message } = walk.status
      expect(message).toContain(`annotation ${RETRY}`)
      // A new leader knows no refusals, and the message must not grow.
      walk.set({ refusal: undefined }).settle()
      expect([walk.stand, walk.status.message]).toEqual(['Failed/RejectedByCDI', message])
    })
  })
})

describe('failed', () => {
  describe('a failure', () => {
    it('ends in Failed after one and retryLimit downloads', () => {
      const walk = new ImageWalk()
      walk.settle()
      for (const attempt of [1, 2, 3]) {
        walk.after(2 * HOUR).fail()
        expect(walk.status.attempts).toHaveLength(attempt)
      }
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      expect(walk.condition('Stalled')).toBe('True')
      expect(walk.status.message).toContain('unexpected EOF')
      expect(walk.status.message).toContain('retry-requested-at')
      walk.after(1_000 * HOUR)
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      expect(walk.plan().start).toBeUndefined()
      expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(3)
    })

    it.each([
      ['NotFound', CDI.notFound],
      [
        'ChecksumMismatch',
        { phase: 'Failed', running: { status: 'False', reason: 'ChecksumError', message: 'checksum mismatch' } },
      ],
    ])('that no retry can mend is final at once: %s', (reason, how) => {
      const walk = new ImageWalk()
      walk.settle().fail(how)
      expect(walk.stand).toBe(`Failed/${reason}`)
      expect(walk.status.nextRetryTime).toBeUndefined()
      expect(walk.after(1_000 * HOUR).stand).toBe(`Failed/${reason}`)
    })

    it('that a retry may mend, by what one attempt shows, is final when the next one ends in the same way', () => {
      const walk = new ImageWalk({ spec: { sourceType: 'registry', url: 'docker://registry.example.com/empty:1' } })
      const message = 'Failed to find VM disk image file in the container image'
      const how = { ...CDI.failing, running: { ...CDI.failing.running, message } }
      walk.settle().fail(how)
      expect(walk.stand).toBe('Queued/RetryBackoff')
      walk.after(2 * HOUR).fail(CDI.failing)
      walk.after(4 * HOUR).fail(how)
      expect(walk.lastAttempt?.reason).toBe('ImporterFailed')
      const again = new ImageWalk({ spec: { sourceType: 'registry', url: 'docker://registry.example.com/empty:1' } })
      again.settle().fail(how)
      again.after(2 * HOUR).fail(how)
      expect(again.stand).toBe('Failed/SourceInvalid')
    })
  })

  describe('retryLimit', () => {
    const failedOnce = () => {
      const walk = new ImageWalk()
      walk.settle().fail()
      return walk
    }

    it('lowered below what was used ends the waiting', () => {
      expect(failedOnce().setPolicy({ retryLimit: 0 }).settle().stand).toBe('Failed/RetryLimitExceeded')
    })

    it('raised while it waits grants more', () => {
      const walk = failedOnce().setPolicy({ retryLimit: 3 })
      for (let turn = 0; turn < 3; turn += 1) walk.after(2 * HOUR).fail()
      expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(4)
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    })

    it('raised afterwards revives what had failed by it, from the end of its last attempt, and pays for no more than it allows', () => {
      const walk = new ImageWalk({ policy: { retryLimit: 0 } })
      walk.settle().fail()
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      walk.after(MINUTE).setPolicy({ retryLimit: 2 }).settle()
      expect(walk.stand).toBe('Queued/RetryBackoff')
      expect(due(walk) - ended(walk)).toBeGreaterThanOrEqual(4.5 * MINUTE)
      expect(due(walk) - ended(walk)).toBeLessThanOrEqual(5.5 * MINUTE)
      walk.after(5 * MINUTE)
      expect(walk.plan().start).toMatchObject({ attempt: 2, admissible: true })
      for (let turn = 0; turn < 2; turn += 1) walk.after(2 * HOUR).fail()
      expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(3)
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      expect(walk.setPolicy({ retryLimit: 2 }).after(HOUR).stand).toBe('Failed/RetryLimitExceeded')
    })

    it('lowered and raised again leaves an image where it was', () => {
      const walk = failedOnce()
      const { nextRetryTime } = walk.status
      walk.setPolicy({ retryLimit: 0 }).settle()
      expect(walk.status.nextRetryTime).toBeUndefined()
      walk.setPolicy({ retryLimit: 2 }).settle()
      expect([walk.stand, walk.status.nextRetryTime]).toEqual(['Queued/RetryBackoff', nextRetryTime])
    })

    it('does not take away the turn that an image has, nor stop what runs', () => {
      const walk = failedOnce().after(2 * HOUR)
      expect(walk.stand).toBe('Queued/Queued')
      walk.admit().report(CDI.running).setPolicy({ retryLimit: 1 }).settle()
      expect(walk.stand).toBe('Syncing/Syncing')
    })

    it('raised revives nothing that no retry can mend', () => {
      const walk = new ImageWalk({ policy: { retryLimit: 0 } })
      walk.settle().fail(CDI.notFound).setPolicy({ retryLimit: 9 }).after(HOUR)
      expect(walk.stand).toBe('Failed/NotFound')
    })
  })

  describe('an image that has failed for good', () => {
    const failed = (policy = {}, spec = {}) => {
      const walk = new ImageWalk({ policy: { retryLimit: 0, ...policy }, spec })
      walk.settle().fail()
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      return walk
    }

    it('says what revives it, and each of that does', () => {
      expect(failed().status.message).toContain(`annotation ${RETRY}`)
      expect(failed().status.message).toContain('policy key retryLimit')
      expect(failed().status.message).not.toContain(REFRESH)
      const retried = failed()
        .annotate({ [RETRY]: 'now' })
        .settle()
      expect(retried.plan().start).toMatchObject({ admissible: true })
      const allowed = failed().setPolicy({ retryLimit: 1 }).after(HOUR)
      expect(allowed.plan().start).toMatchObject({ admissible: true })
    })

    it('does not name the policy where no retry can mend it', () => {
      const walk = new ImageWalk()
      walk.settle().fail(CDI.notFound)
      expect(walk.status.message).not.toContain('retryLimit')
    })

    it('says which fields the policy gave it, and how to take the current values', () => {
      const walk = failed({ defaultDiskSize: '5Gi' }, { diskSize: undefined })
      expect(walk.status.message).toContain('(diskSize: from the policy when the image was queued')
      expect(walk.status.message).toContain(`annotation ${REFRESH}`)
      walk
        .setPolicy({ defaultDiskSize: '50Gi' })
        .annotate({ [RETRY]: 'now' })
        .settle()
      expect(walk.plan().start?.target.diskSize).toBe('5Gi')
      walk.annotate({ [REFRESH]: 'now' }).settle()
      expect(walk.plan().start).toMatchObject({ admissible: true, target: { diskSize: '50Gi' } })
    })
  })

  describe('an act of a person', () => {
    const failed = () => {
      const walk = new ImageWalk({ policy: { retryLimit: 0 } })
      walk.settle().fail(CDI.notFound)
      return walk
    }

    it.each<[string, (walk: ImageWalk) => ImageWalk]>([
      ['the annotation that asks for a retry', (walk) => walk.annotate({ [RETRY]: '1' })],
      ['another secretRef', (walk) => walk.edit({ secretRef: 'other' })],
      ['another certConfigMap', (walk) => walk.edit({ certConfigMap: 'certs' })],
      ['another url', (walk) => walk.edit({ url: 'https://images.example/b.qcow2' })],
      ['the annotation that asks for a refresh', (walk) => walk.annotate({ [REFRESH]: '1' })],
    ])('grants a failed image a new budget: %s', (_name, act) => {
      const walk = failed()
      const ticket = walk.world.image.metadata.resourceVersion
      act(walk).settle()
      expect(walk.stand).toBe('Queued/Queued')
      expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
      expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
      walk.fail(CDI.notFound)
      expect(walk.stand).toBe('Failed/NotFound')
    })

    it.each<[string, (walk: ImageWalk) => ImageWalk]>([
      ['suspend', (walk) => walk.edit({ name: 'other' })],
      ['another snapshotClass', (walk) => walk.edit({ snapshotClass: 'other' })],
      ['another TTL', (walk) => walk.edit({ reclaimPolicy: 'Delete', unreferencedTTL: '1h' })],
    ])('does not, where it does not concern the download: %s', (_name, act) => {
      expect(act(failed()).settle().stand).toBe('Failed/NotFound')
    })
  })

  describe('another revision', () => {
    const other = { url: 'https://images.example/b.qcow2' }

    it('that fails leaves the old artifact in service', () => {
      const walk = new ImageWalk({ policy: { retryLimit: 0 } })
      walk.publish()
      const old = walk.status.artifact
      walk.edit(other).settle().fail()
      expect(walk.stand).toBe('Failed/RetryLimitExceeded')
      expect(walk.status.artifact).toEqual(old)
      expect(walk.condition('Ready')).toBe('True')
      walk.after(100 * HOUR)
      expect(walk.world.snapshots).toHaveLength(1)
    })
  })
})

describe('unneeded', () => {
  describe('an image that was made for somebody', () => {
    it('leaves the queue when nobody refers to it any more, and queues again, at the end, when somebody does', () => {
      const walk = ofOurs()
      walk.settle()
      const { ticket } = walk.status
      expect(walk.plan().start).toBeDefined()
      walk.set({ references: NO_REFERENCES }).settle()
      expect(walk.stand).toBe('Queued/Unreferenced')
      expect(walk.plan().start).toBeUndefined()
      expect([walk.status.ticket, walk.status.queuePosition]).toEqual([undefined, undefined])
      walk.set({ references: ONE_USER }).settle()
      expect(walk.stand).toBe('Queued/Queued')
      expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
      expect(walk.plan().start?.admissible).toBe(true)
    })

    it('does not leave the queue before anybody has referred to it', () => {
      const walk = ofOurs({ references: NO_REFERENCES })
      walk.settle().after(200 * HOUR)
      expect(walk.plan()).toMatchObject({ start: { admissible: true } })
      expect(walk.isReclaimed).toBe(false)
    })

    it.each<[string, (walk: ImageWalk) => void, string]>([
      ['before its download', () => undefined, 'Queued/Unreferenced'],
      ['after it has failed for good', (walk) => void walk.fail(), 'Failed/RetryLimitExceeded'],
    ])('is deleted when the time of the policy has passed since the last reference went, %s', (_name, lead, stand) => {
      const walk = ofOurs({ policy: { unreferencedTtlMs: 72 * HOUR, retryLimit: 0 } })
      lead(walk.settle())
      expect(walk.isReclaimed).toBe(false)
      walk.set({ references: NO_REFERENCES }).settle()
      expect(walk.stand).toBe(stand)
      expect(walk.isReclaimed).toBe(false)
      expect(walk.plan().requeue?.afterMs).toBe(72 * HOUR)
      walk.after(72 * HOUR - 1)
      expect(walk.isReclaimed).toBe(false)
      walk.after(1)
      expect(walk.isReclaimed).toBe(true)
    })

    it('is deleted as it was seen, if a live look finds neither a reference nor a clone of any child', () => {
      const walk = ofOurs({ policy: { unreferencedTtlMs: 0 } }).publish()
      walk.set({ references: NO_REFERENCES }).settle()
      const { snapshots, dataVolumes, image } = walk.world
      const children = [...snapshots, ...dataVolumes].map(({ kind, metadata: { name } }) => ({
        kind,
        namespace: 'team',
        name,
      }))
      expect(children).toHaveLength(2)
      const { name, uid, resourceVersion } = image.metadata
      expect(walk.plan().remove).toEqual([
        {
          apiVersion: 'pelotech.ot/v1alpha1',
          kind: 'VMDiskImage',
          namespace: 'team',
          name,
          uid,
          resourceVersion,
          onlyIf: [
            { unreferenced: { namespace: 'team', name }, by: 'anyone' },
            ...children.map((uncloned) => ({ uncloned, read: 'live' })),
          ],
          event: expect.objectContaining({ type: 'Normal', reason: 'Unreferenced' }),
        },
      ])
    })

    it('is deleted at once with a time of zero', () => {
      const walk = ofOurs({ policy: { unreferencedTtlMs: 0 } })
      walk.settle().set({ references: NO_REFERENCES }).settle()
      expect(walk.isReclaimed).toBe(true)
    })
  })

  it('an image of a person stays in the queue, whoever refers to it', () => {
    const walk = new ImageWalk({ references: ONE_USER })
    walk.settle().set({ references: NO_REFERENCES }).settle()
    expect(walk.plan().start?.admissible).toBe(true)
  })

  describe.each(CASES)('an image that %s goes by %s', (_state, _who, lead, stand, rests, rule) => {
    it('a time after its last reference went, and no sooner', () => {
      const walk = new ImageWalk({ references: ONE_USER, ...rule('2m') })
      lead(walk.settle())
      expect(walk.stand).toBe(stand)
      expect(walk.status.unreferencedSince).toBeUndefined()
      walk.set({ references: NO_REFERENCES }).settle()
      const left = TTL - 1
      expect(walk.isReclaimed).toBe(false)
      expect(walk.plan().requeue?.afterMs).toBeLessThanOrEqual(TTL)
      walk.after(left)
      expect(walk.isReclaimed).toBe(false)
      expect(goes(walk.after(1))).toBe(true)
      expect(walk.after(HOUR).isReclaimed).toBe(true)
    })

    it('at the moment that its last reference goes, with 0s, and never before there was one', () => {
      const preloaded = new ImageWalk(rule('0s'))
      lead(preloaded.settle())
      expect(preloaded.stand).toBe(stand)
      expect(preloaded.isReclaimed).toBe(false)
      const walk = new ImageWalk({ references: ONE_USER, ...rule('0s') })
      lead(walk.settle())
      expect(walk.isReclaimed).toBe(false)
      expect(goes(walk.set({ references: NO_REFERENCES }).settle())).toBe(true)
    })

    it(`${rests ? 'a time after it came there' : 'not from there'}, where nothing has referred to it yet`, () => {
      const walk = new ImageWalk(rule('2m'))
      lead(walk.settle())
      expect(walk.status.unreferencedSince === undefined).toBe(!rests)
      walk.after(TTL - 1)
      expect(walk.isReclaimed).toBe(false)
      walk.after(1)
      expect(walk.isReclaimed).toBe(rests)
    })
  })

  describe('a person who asks for a retry or a refresh of an image that nothing has referred to yet', () => {
    it.each([RETRY, REFRESH])('lets its time start again: %s', (annotation) => {
      const walk = new ImageWalk({ spec: { reclaimPolicy: 'Delete', unreferencedTTL: '2m' } })
      walk
        .settle()
        .fail(CDI.notFound)
        .annotate({ [annotation]: 'now' })
      // The operator was away meanwhile.
      walk.now += HOUR
      expect(walk.isReclaimed).toBe(false)
      walk.settle()
      expect([walk.stand, walk.status.unreferencedSince]).toEqual(['Queued/Queued', undefined])
    })
  })
})

describe('backoff', () => {
  describe('a failure', () => {
    it('is retried with a new ticket when its time has come', () => {
      const walk = new ImageWalk()
      walk.settle()
      const first = walk.status.ticket
      walk.fail()
      const wait = (fromTime(walk.status.nextRetryTime) ?? 0) - walk.now
      expect(walk.plan().requeue?.afterMs).toBe(wait)
      walk.after(wait - 1)
      expect(walk.stand).toBe('Queued/RetryBackoff')
      walk.after(1)
      expect(walk.stand).toBe('Queued/Queued')
      expect(Number(walk.status.ticket)).toBeGreaterThan(Number(first))
      expect(walk.plan().start).toMatchObject({ attempt: 2, admissible: true })
    })

    it('that cost nothing is not counted, and is tried again as the same attempt', () => {
      const walk = new ImageWalk({ policy: { retryLimit: 0 } })
      const how = {
        running: { status: 'False', reason: 'CreateContainerConfigError', message: 'secret "n" not found' },
      }
      walk.settle()
      for (let turn = 0; turn < 7; turn += 1) {
        walk.after(2 * HOUR).fail(how)
        expect(walk.stand).toBe('Queued/RetryBackoff')
        expect(walk.status.budget?.downloads).toBe(0)
      }
      walk.after(2 * HOUR)
      expect(walk.plan().start?.attempt).toBe(1)
      expect(walk.status.attempts).toHaveLength(5)
    })
  })

  describe('the wait before a retry', () => {
    const wait = (downloads: number, policy = {}) => {
      const walk = new ImageWalk({
        policy: { retryLimit: 50, retryBackoffMs: 5 * MINUTE, retryBackoffMaxMs: HOUR, ...policy },
      })
      walk.settle()
      for (let turn = 1; turn < downloads; turn += 1) walk.after(2 * HOUR).fail()
      walk
        .after(2 * HOUR)
        .admit()
        .report(CDI.failing)
      return (fromTime(walk.status.nextRetryTime) ?? 0) - walk.now
    }

    it.each([
      [1, 5],
      [2, 10],
      [3, 20],
      [4, 40],
      [5, 60],
      [9, 60],
    ])('after download %i is %i minutes, give or take a tenth', (downloads, minutes) => {
      expect(wait(downloads)).toBeGreaterThanOrEqual(0.9 * minutes * MINUTE - 1)
      expect(wait(downloads)).toBeLessThanOrEqual(Math.min(1.1 * minutes * MINUTE + 1, HOUR))
    })

    it('is not shortened by a longest wait that is less than the first one', () => {
      const policy = { retryBackoffMs: 2 * HOUR, retryBackoffMaxMs: HOUR }
      for (const downloads of [1, 2, 3]) {
        expect(wait(downloads, policy)).toBeGreaterThanOrEqual(1.8 * HOUR)
        expect(wait(downloads, policy)).toBeLessThanOrEqual(2 * HOUR)
      }
    })

    it('is the same for the same attempt, however often it is planned', () => {
      expect(wait(2)).toBe(wait(2))
    })

    it('differs between attempts by more than the doubling', () => {
      const shares = [1, 2, 3, 4].map((downloads) => wait(downloads) / 2 ** downloads)
      expect(new Set(shares.map(Math.round)).size).toBeGreaterThan(1)
    })
  })

  describe('the backoff of the policy, changed while an image waits for its next attempt', () => {
    const waiting = () => {
      const walk = new ImageWalk()
      walk.settle().fail().after(MINUTE)
      expect(walk.stand).toBe('Queued/RetryBackoff')
      return walk
    }

    it.each([
      ['brings it forward', '2m', 2 * MINUTE],
      ['pushes it back', '40m', 40 * MINUTE],
    ])(
      '%s, counted from the end of the attempt, and the status and the message tell the new time',
      (_what, _text, ms) => {
        const walk = waiting().setPolicy({ retryBackoffMs: ms }).settle()
        expect(due(walk) - ended(walk)).toBeGreaterThanOrEqual(0.9 * ms)
        expect(due(walk) - ended(walk)).toBeLessThanOrEqual(1.1 * ms)
        expect(walk.status.message).toContain(walk.status.nextRetryTime)
        expect(walk.plan().requeue?.afterMs).toBe(due(walk) - walk.now)
        walk.after(due(walk) - walk.now - 1)
        expect(walk.stand).toBe('Queued/RetryBackoff')
        expect(walk.after(1).stand).toBe('Queued/Queued')
      },
    )

    it('to less than has passed already starts it at once', () => {
      expect(
        waiting()
          .setPolicy({ retryBackoffMs: 10 * SECOND })
          .settle().stand,
      ).toBe('Queued/Queued')
    })

    it('changes it also for an attempt that cost nothing', () => {
      const walk = new ImageWalk()
      const how = {
        running: { status: 'False', reason: 'CreateContainerConfigError', message: 'secret "n" not found' },
      }
      walk
        .settle()
        .fail(how)
        .setPolicy({ retryBackoffMs: 40 * MINUTE })
        .settle()
      expect(due(walk) - ended(walk)).toBeGreaterThanOrEqual(36 * MINUTE)
    })
  })

  describe('an act of a person', () => {
    it('asks for a retry during the wait: at once', () => {
      const walk = new ImageWalk()
      walk.settle().fail()
      walk.annotate({ [RETRY]: 'now' }).settle()
      expect(walk.stand).toBe('Queued/Queued')
      expect(walk.status.budget?.downloads).toBe(0)
    })
  })
})

describe('blocked', () => {
  describe('whatever is missing', () => {
    const walkTo = (change: ConstructorParameters<typeof ImageWalk>[0]) => {
      const walk = new ImageWalk(change)
      walk.settle()
      return walk
    }

    it('is said, takes no slot, and ends by itself with the ticket of the beginning', () => {
      const walk = walkTo({ lookup: aLookup({ secret: 'missing' }) })
      expect(walk.stand).toBe('Queued/SecretMissing')
      expect(walk.plan().start).toBeUndefined()
      expect(walk.status.ticket).toBe('100')
      expect(walk.status.queuePosition).toBeUndefined()
      walk.set({ lookup: aLookup() }).settle()
      expect(walk.plan().start).toMatchObject({ ticket: '100', admissible: true })
    })

    it('is a conflict of names that only people can end', () => {
      const walk = walkTo({ lookup: aLookup({ foreignVolume: 'PersistentVolumeClaim x' }) })
      expect(walk.stand).toBe('Queued/NameConflict')
      expect(walk.condition('Stalled')).toBe('True')
    })
  })

  describe('the policy’s defaults', () => {
    const short = { sourceType: undefined, diskSize: undefined, storageClass: undefined, secretRef: undefined }

    const policy = {
      defaultSourceType: 'http',
      defaultDiskSize: '5Gi',
      defaultStorageClass: 'slow',
      defaultSecretRef: 'shared',
    } as const

    it('end the wait of one that lacked them', () => {
      const walk = new ImageWalk({ spec: short })
      walk.settle()
      expect(walk.stand).toBe('Queued/SourceTypeMissing')
      walk.setPolicy({ defaultSourceType: 'http' }).settle()
      expect(walk.stand).toBe('Queued/DiskSizeMissing')
      walk.setPolicy(policy).settle()
      expect(walk.plan().start?.admissible).toBe(true)
    })
  })

  describe('a refused DataVolume', () => {
    it('that may be taken later waits, and says so', () => {
      const walk = new ImageWalk()
      const late = refused(walk.now + MINUTE, 'QuotaExceeded')
      expect(late.stand).toBe('Queued/QuotaExceeded')
      expect(late.plan().requeue?.afterMs).toBe(MINUTE)
      late.after(MINUTE)
      expect(late.plan().start?.admissible).toBe(true)
    })
  })

  describe('another revision', () => {
    it.each<[string, (walk: ImageWalk) => ImageWalk]>([
      ['another secretRef', (walk) => walk.edit({ secretRef: 'other' })],
      ['another snapshotClass', (walk) => walk.edit({ snapshotClass: 'other' })],
      ['another name', (walk) => walk.edit({ name: 'other' })],
      ['the annotation that asks for a retry', (walk) => walk.annotate({ [RETRY]: '1' })],
      ['a label', (walk) => walk.annotate({ other: '1' })],
      ['a default of the policy', (walk) => walk.setPolicy({ defaultCertConfigMap: 'certs' })],
      ['the Secret that comes', (walk) => walk.set({ lookup: aLookup() })],
    ])('is none by %s: the ticket stays', (_name, change) => {
      const walk = new ImageWalk({ lookup: aLookup({ secret: 'missing' }) })
      walk.settle()
      change(walk).settle()
      expect(walk.status.ticket).toBe('100')
      expect(walk.set({ lookup: aLookup() }).settle().plan().start).toMatchObject({ ticket: '100', admissible: true })
    })
  })

  describe('a claim of ours whose DataVolume is gone', () => {
    it.each([
      ['is in use', 'going', 'Queued/Stopping', 'False'],
      ['nobody deletes', 'orphaned', 'Queued/LeftoverClaim', 'True'],
    ] as const)(
      'and that %s is waited for without a slot, and then the image goes on with its ticket',
      (_what, leftover, stand, isStalled) => {
        const walk = new ImageWalk({ lookup: aLookup({ leftoverClaim: leftover }) }).settle()
        expect([walk.stand, walk.condition('Stalled')]).toEqual([stand, isStalled])
        expect(walk.status.message).toContain(`PersistentVolumeClaim ${walk.childName}`)
        expect(walk.status.message?.includes('delete it')).toBe(isStalled === 'True')
        const before = walk.log.length
        walk.after(HOUR).after(HOUR)
        expect(walk.log).toHaveLength(before)
        expect(walk.plan().start).toBeUndefined()
        walk.set({ lookup: aLookup() }).settle()
        expect(walk.condition('Stalled')).toBe('False')
        expect(walk.plan().start).toMatchObject({ ticket: '100', admissible: true })
      },
    )
  })

  describe('an importer pod whose DataVolume is gone', () => {
    it('holds off the next download until it is gone, and costs the image neither its ticket nor a slot', () => {
      const walk = new ImageWalk()
      walk.set({ lookup: aLookup({ leftoverImporter: 'left over' }) }).settle()
      expect(walk.stand).toBe('Queued/Stopping')
      expect(walk.plan().start).toBeUndefined()
      walk.after(HOUR)
      expect(walk.plan().start).toBeUndefined()
      walk.set({ lookup: aLookup() }).settle()
      expect(walk.stand).toBe('Queued/Queued')
      expect(walk.plan().start).toMatchObject({ ticket: '100', admissible: true })
    })
  })
})

describe('queued', () => {
  describe('the happy path', () => {
    it('takes its version at first sight for a ticket', () => {
      const walk = new ImageWalk({ metadata: { resourceVersion: '4711' } })
      walk.settle()
      expect(walk.status.ticket).toBe('4711')
      expect(walk.plan().start).toMatchObject({ ticket: '4711', attempt: 1, admissible: true })
    })

    it('is admissible only when ticket and finalizer are both seen', () => {
      const walk = new ImageWalk()
      expect(walk.plan().start?.admissible).toBe(false)
      walk.settle()
      const { image } = walk.world
      walk.set({ image: { ...image, metadata: { ...image.metadata, finalizers: [] } } })
      expect(walk.plan().start?.admissible).toBe(false)
      walk.set({ image: { ...image, status: { ...image.status, ticket: '1' } } })
      expect(walk.plan().start).toMatchObject({ ticket: '1', admissible: true })
    })
  })

  describe('paused', () => {
    it('says so instead of a place in the queue, and stays in the queue', () => {
      const walk = new ImageWalk({ limit: 0 })
      walk.settle()
      expect(walk.stand).toBe('Queued/Paused')
      expect(walk.plan().start?.admissible).toBe(true)
    })
  })

  describe('the policy’s defaults', () => {
    const short = { sourceType: undefined, diskSize: undefined, storageClass: undefined, secretRef: undefined }

    const policy = {
      defaultSourceType: 'http',
      defaultDiskSize: '5Gi',
      defaultStorageClass: 'slow',
      defaultSecretRef: 'shared',
    } as const

    it('are frozen when the revision is first queued', () => {
      const walk = new ImageWalk({ spec: short, policy })
      walk.settle().setPolicy({ defaultDiskSize: '50Gi', defaultStorageClass: undefined, defaultSecretRef: 'new' })
      walk.settle()
      expect(walk.plan().start?.target).toMatchObject({
        sourceType: 'http',
        diskSize: '5Gi',
        storageClass: 'slow',
        secretRef: 'shared',
      })
      expect(walk.status.defaults).toEqual({
        sourceType: 'http',
        diskSize: '5Gi',
        storageClass: 'slow',
        secretRef: 'shared',
      })
    })

    it('of today count for a new revision', () => {
      const walk = new ImageWalk({ spec: short, policy })
      walk.settle().setPolicy({ defaultDiskSize: '50Gi' })
      walk.edit({ url: 'https://images.example/b.qcow2' }).settle()
      expect(walk.plan().start?.target.diskSize).toBe('50Gi')
    })
  })

  describe('an image whose defaults are not written down yet', () => {
    it('is not admitted: a leader after us would freeze those of its own policy', () => {
      const walk = new ImageWalk({ spec: { diskSize: undefined }, policy: { defaultDiskSize: '5Gi' } })
      walk.settle()
      expect(walk.plan().start?.admissible).toBe(true)
      const { image } = walk.world
      walk.set({ image: { ...image, status: { ...image.status, defaults: { diskSize: '4Gi', secretRef: 'x' } } } })
      expect(walk.plan().start?.target.defaults).toEqual({ diskSize: '4Gi', secretRef: 'x' })
      expect(walk.plan().start?.admissible).toBe(true)
      walk.set({
        image: { ...image, status: { ...image.status, defaults: undefined } },
        policy: aPolicy({ defaultDiskSize: '6Gi' }),
      })
      expect(walk.plan().start).toMatchObject({ admissible: false, target: { defaults: { diskSize: '6Gi' } } })
    })
  })

  describe('another revision', () => {
    const other = { url: 'https://images.example/b.qcow2' }

    it.each<[string, ConstructorParameters<typeof ImageWalk>[0]]>([
      ['for a slot', {}],
      [
        'for something that is missing, which keeps no place for another download',
        { lookup: aLookup({ secret: 'missing' }) },
      ],
    ])('while it waits %s takes a new ticket', (_what, change) => {
      const walk = new ImageWalk(change)
      walk.settle()
      const { ticket, revision } = walk.status
      walk.edit(other)
      const edited = walk.world.image.metadata.resourceVersion
      walk.settle()
      expect(walk.status.revision).not.toBe(revision)
      expect(ticket).toBe('100')
      expect(walk.status.ticket).toBe(edited)
      walk.set({ lookup: aLookup() }).settle()
      expect(walk.plan().start).toMatchObject({ ticket: edited, revision: walk.status.revision, admissible: true })
      // The change back to the first revision counts as another revision again.
      walk.edit({ url: SPEC['url'] })
      const editedBack = walk.world.image.metadata.resourceVersion
      walk.settle()
      expect(walk.plan().start).toMatchObject({ ticket: editedBack, revision, admissible: true })
    })
  })

  describe('drift', () => {
    it('of both goes through the queue, with a new ticket and a new budget', () => {
      const walk = new ImageWalk()
      walk.publish()
      walk.dropDataVolumes().set({ snapshots: [] }).settle()
      expect(walk.stand).toBe('Queued/Queued')
      expect(walk.condition('Ready')).toBe('False')
      expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
    })
  })
})
