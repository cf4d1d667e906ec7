import { LABELS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { HOUR, MINUTE } from '../../../runtime/times.fixtures.ts'
import { CDI, REFRESH, RETRY } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aLookup, aPolicy, NO_REFERENCES, ONE_USER, type WorldOverrides } from '../image-world.fixtures.ts'

const ofOurs = (more: WorldOverrides = {}) =>
  new Walk({ metadata: { labels: { [LABELS.createdBy]: 'VirtualMachine' } }, references: ONE_USER, ...more })

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

  it.each<[string, (walk: Walk) => void, string]>([
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
          ...children.map((uncloned) => ({ uncloned, look: 'live' })),
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
  const walk = new Walk({ references: ONE_USER })
  walk.settle().set({ references: NO_REFERENCES }).settle()
  expect(walk.plan().start?.admissible).toBe(true)
})

const TTL = 2 * MINUTE
const secretMissing = aLookup({ secret: 'missing' })
const classMissing = aLookup({ hasSnapshotClass: false })

/** The states that an image can be in, how it gets there, and what it reports. `rests`: nothing happens there by itself. */
const STATES: readonly (readonly [state: string, lead: (walk: Walk) => unknown, stand: string, rests: boolean])[] = [
  ['waits for a slot', () => undefined, 'Queued/Queued', false],
  ['downloads', (walk) => walk.admit().report(CDI.running), 'Syncing/Syncing', false],
  ['is being stopped', (walk) => walk.admit().report(CDI.failing), 'Syncing/Stopping', false],
  ['waits for its next attempt', (walk) => walk.fail(), 'Queued/RetryBackoff', false],
  ['has its snapshot taken', (walk) => walk.admit().succeed(), 'Snapshotting/Snapshotting', false],
  ['is refreshed', (walk) => walk.publish().edit({ diskSize: '11Gi' }).settle(), 'Queued/Queued', false],
  ['waits for something missing', (walk) => walk.set({ lookup: secretMissing }).settle(), 'Queued/SecretMissing', true],
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
const RULES: readonly (readonly [who: string, rule: (ttl: string) => WorldOverrides])[] = [
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
function goes(walk: Walk): boolean {
  for (let turn = 0; turn < 3 && !walk.isReclaimed; turn += 1) {
    expect(walk.plan().start).toBeUndefined()
    walk.importersGone().release()
  }
  return walk.isReclaimed
}

describe.each(CASES)('an image that %s goes by %s', (_state, _who, lead, stand, rests, rule) => {
  it('a time after its last reference went, and no sooner', () => {
    const walk = new Walk({ references: ONE_USER, ...rule('2m') })
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
    const preloaded = new Walk(rule('0s'))
    lead(preloaded.settle())
    expect(preloaded.stand).toBe(stand)
    expect(preloaded.isReclaimed).toBe(false)
    const walk = new Walk({ references: ONE_USER, ...rule('0s') })
    lead(walk.settle())
    expect(walk.isReclaimed).toBe(false)
    expect(goes(walk.set({ references: NO_REFERENCES }).settle())).toBe(true)
  })

  it(`${rests ? 'a time after it came there' : 'not from there'}, where nothing has referred to it yet`, () => {
    const walk = new Walk(rule('2m'))
    lead(walk.settle())
    expect(walk.status.unreferencedSince === undefined).toBe(!rests)
    walk.after(TTL - 1)
    expect(walk.isReclaimed).toBe(false)
    walk.after(1)
    expect(walk.isReclaimed).toBe(rests)
  })
})

describe('a download that nobody needs any more', () => {
  const running = () => {
    const walk = new Walk({ references: ONE_USER, policy: { userReclaimPolicy: 'Delete', userUnreferencedTtlMs: TTL } })
    walk.settle().admit().report(CDI.running)
    return walk
      .set({ references: NO_REFERENCES })
      .settle()
      .after(TTL - 1)
  }

  it('is stopped first, if a live look says the same, and written down as that', () => {
    const walk = running()
    expect(walk.stand).toBe('Syncing/Syncing')
    walk.now += 1
    expect(walk.plan()).toMatchObject({
      onlyIf: [{ unreferenced: { namespace: 'team', name: 'img' }, by: 'anyone' }],
      remove: [{ kind: 'DataVolume' }],
    })
    expect(walk.isReclaimed).toBe(false)
    walk.settle()
    expect(walk.stand).toBe('Syncing/Stopping')
    expect(walk.status.attempts).toMatchObject([{ outcome: 'Cancelled', reason: 'Unreferenced' }])
    expect(walk.status.budget?.downloads).toBe(0)
    walk.importersGone()
    expect(walk.isReclaimed).toBe(false)
    expect(walk.release().isReclaimed).toBe(true)
  })

  it('begins again, at the end of the queue, where somebody comes before the image has gone', () => {
    const walk = running().after(1)
    walk.set({ references: ONE_USER }).settle()
    expect(walk.stand).toBe('Syncing/Stopping')
    walk.importersGone().release()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.plan()).toMatchObject({ start: { attempt: 1, admissible: true } })
    expect(walk.isReclaimed).toBe(false)
  })
})

it('an image that has a slot, and no DataVolume yet, gives it back and goes', () => {
  const walk = new Walk({ references: ONE_USER, spec: { reclaimPolicy: 'Delete', unreferencedTTL: '0s' } })
  walk.settle().claim().set({ references: NO_REFERENCES }).settle()
  expect(walk.plan().start).toBeUndefined()
  expect(walk.isReclaimed).toBe(false)
  expect(walk.release().isReclaimed).toBe(true)
})

it('an image that a machine had made gives its slot back where nothing refers to it any more, and stays until its time has passed', () => {
  const walk = ofOurs()
  walk.settle().claim().set({ references: NO_REFERENCES }).settle()
  expect(walk.plan().start).toBeUndefined()
  walk.release()
  expect(walk.stand).toBe('Queued/Unreferenced')
  expect(walk.isReclaimed).toBe(false)
})

describe('a person who asks for a retry or a refresh of an image that nothing has referred to yet', () => {
  it.each([RETRY, REFRESH])('lets its time start again: %s', (annotation) => {
    const walk = new Walk({ spec: { reclaimPolicy: 'Delete', unreferencedTTL: '2m' } })
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

describe('the policy for images that people made', () => {
  it.each([
    [{}, undefined],
    [{ userReclaimPolicy: 'Delete' as const }, 72 * HOUR],
    [{ userReclaimPolicy: 'Delete' as const, userUnreferencedTtlMs: HOUR }, HOUR],
    [{ reclaimPolicy: 'Delete' as const, unreferencedTtlMs: 0 }, undefined],
  ])('%j', (policy, afterMs) => {
    const walk = new Walk({ references: ONE_USER, policy })
    walk.publish().set({ references: NO_REFERENCES }).settle()
    expect(walk.plan().requeue?.afterMs).toBe(afterMs)
    expect(walk.isReclaimed).toBe(false)
  })

  it('does not concern one whose spec says Retain', () => {
    const walk = new Walk({
      references: ONE_USER,
      spec: { reclaimPolicy: 'Retain' },
      policy: { userReclaimPolicy: 'Delete' },
    })
    walk
      .publish()
      .set({ references: NO_REFERENCES })
      .after(1_000 * HOUR)
    expect(walk.isReclaimed).toBe(false)
  })

  it('counts as it is now, also for images that are there', () => {
    const walk = new Walk({ references: ONE_USER })
    walk
      .publish()
      .set({ references: NO_REFERENCES })
      .settle()
      .after(100 * HOUR)
    expect(walk.isReclaimed).toBe(false)
    expect(walk.set({ policy: aPolicy({ userReclaimPolicy: 'Delete' }) }).isReclaimed).toBe(true)
  })
})
