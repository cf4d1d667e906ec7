import { describe, expect, it } from 'vitest'
import type { Performer } from './cast.ts'
import { check } from './checks.ts'
import type { Check, Evidence } from './evidence.ts'
import type { DataVolumeFact, DiskFact, Entry, Fact, ImageFact, PodFact } from './facts.ts'
import { plainLine, summaryLines } from './plain-lines.ts'
import { inversions, stoppedByLowering, watchDataVolumes, watchLedger, watchTransfers } from './timeline.ts'

const entry = (revision: number, fact: Fact, isDeleted = false): Entry => {
  const metadata = { ...fact.metadata, resourceVersion: String(revision) }
  return { revision: String(revision), at: revision, isDeleted, fact: { ...fact, metadata } }
}

const image = (name: string, ticket: number | undefined, reason = 'Queued', phase = 'Queued'): ImageFact => ({
  kind: 'image',
  metadata: { name, uid: name, finalizers: ['pelotech.ot/disk-image'] },
  status: { phase: phase as 'Queued', ...(ticket !== undefined && { ticket: String(ticket) }) },
  reason,
  isReady: phase === 'Succeeded',
  blocked: undefined,
})

const dataVolume = (imageUid: string, phase = ''): DataVolumeFact => ({
  kind: 'dataVolume',
  metadata: { name: `${imageUid}-rev`, uid: `${imageUid}-dv` },
  imageUid,
  revision: 'rev',
  attempt: 1,
  phase,
  progress: undefined,
})

const ledger = (limit: number, ...holders: string[]): Fact => ({
  kind: 'configMap',
  metadata: { name: 'sync-operator-slots' },
  data: {
    limit: String(limit),
    holders: JSON.stringify(holders.map((uid) => ({ uid, revision: 'rev', attempt: 1 }))),
  },
})

describe('the limit, as seen from outside', () => {
  it('is kept when it is lowered and nobody is stopped', () => {
    const journal = [
      entry(1, ledger(2, 'a', 'b')),
      entry(2, dataVolume('a')),
      entry(3, dataVolume('b')),
      entry(4, ledger(1, 'a', 'b')),
      entry(5, dataVolume('a', 'Succeeded')),
      entry(6, dataVolume('b', 'Succeeded')),
    ]
    expect(watchDataVolumes(journal)).toEqual({ revisions: 4, most: 2, breaches: [] })
    expect(watchLedger(journal)).toEqual({ revisions: 2, most: 2, breaches: [] })
    expect(stoppedByLowering(journal, '4', new Set())).toEqual({ running: 2, stopped: [] })
  })

  it('is broken by a rise to above it, at whatever revision', () => {
    const journal = [entry(1, ledger(1, 'a')), entry(2, dataVolume('a')), entry(3, dataVolume('b'))]
    expect(watchDataVolumes(journal).breaches).toEqual(['2 of 1 at revision 3, when b-rev came'])
    expect(watchLedger([entry(1, ledger(1, 'a')), entry(2, ledger(1, 'a', 'b'))]).breaches).toHaveLength(1)
  })

  it('counts downloads against what was allowed since their admission', () => {
    const journal = [entry(1, ledger(2, 'a', 'b')), entry(2, ledger(1, 'a', 'b')), entry(3, ledger(1, 'b'))]
    const start = (url: string, importing: number, at: number) => ({ url, importing, ledgerRevision: String(at) })
    const judge = (...starts: ReturnType<typeof start>[]) => watchTransfers(journal, starts, (url) => url)
    expect(judge(start('b', 2, 2))).toEqual([])
    expect(judge(start('b', 3, 2))).toHaveLength(1)
    expect(judge(start('c', 1, 2))).toEqual(['c is downloaded without a slot'])
  })

  it('counts no clones, which download nothing', () => {
    const disk: DiskFact = { kind: 'disk', metadata: { name: 'root', uid: 'root' }, machineUid: 'vm', phase: '' }
    const journal = [entry(1, ledger(1, 'a')), entry(2, dataVolume('a')), entry(3, disk)]
    expect(watchDataVolumes(journal)).toEqual({ revisions: 1, most: 1, breaches: [] })
  })

  it('notices what was stopped', () => {
    const journal = [entry(1, dataVolume('a')), entry(3, dataVolume('a'), true)]
    expect(stoppedByLowering(journal, '2', new Set())).toEqual({ running: 1, stopped: ['a-rev'] })
  })
})

describe('the order, as seen from outside', () => {
  const queued = [entry(10, image('a', 1)), entry(11, image('b', 2))]

  it('is that of the tickets', () => {
    const journal = [...queued, entry(12, ledger(2, 'a', 'b')), entry(13, dataVolume('a')), entry(14, dataVolume('b'))]
    expect(inversions(journal)).toEqual([])
  })

  it('is broken by who starts before somebody with an earlier ticket', () => {
    const journal = [...queued, entry(12, ledger(1, 'b')), entry(13, dataVolume('b'))]
    expect(inversions(journal)).toEqual(['b-rev was created before a, whose ticket is earlier'])
  })

  it('lets pass who cannot start, from the first claim on that could know better', () => {
    const blocked = [entry(10, image('a', 1, 'SecretMissing')), entry(11, image('b', 2)), entry(12, image('c', 3))]
    const unblocked = entry(13, image('a', 1))
    const first = [entry(14, ledger(1, 'b')), entry(15, dataVolume('b')), entry(16, dataVolume('b', 'Succeeded'))]
    expect(inversions([...blocked, ...first])).toEqual([])
    expect(inversions([...blocked, unblocked, ...first])).toEqual([])
    const second = [entry(17, ledger(1, 'c')), entry(18, dataVolume('c'))]
    expect(inversions([...blocked, unblocked, ...first, ...second])).toHaveLength(1)
  })
})

describe('the summary', () => {
  const performer = (name: string, role: Performer['role'], bytes: number): Performer => ({
    name,
    role,
    bytes,
    url: name,
    manifest: { apiVersion: '', kind: '', metadata: { name } },
  })
  const nothing: Evidence = {
    journal: [],
    cast: [performer('good', 'good', 5), performer('broken', 'failing', 3), performer('late', 'late', 1)],
    acts: {
      retryLimit: 2,
      policyChanges: [{ from: 4, to: 2, revision: '5' }],
      refresh: { revision: '1', waiting: 1 },
      secretRevision: '1',
      deletion: { uid: 'x', importersLeft: 0 },
      machine: { left: [] },
      workspace: { left: [] },
    },
    sent: new Map(),
    mostOpen: 0,
    transfers: [],
    operator: { code: 1, signal: null, ms: 5 },
  }
  const held = (checks: Check[], name: string) => checks.find((one) => one.name === name)?.held

  it('takes nothing for granted that was not seen', () => {
    expect(check(nothing).filter((one) => one.held)).toEqual([])
  })

  it('counts bytes: once for a good image, 1 + retryLimit times for one that fails', () => {
    const sent = new Map([
      ['good', { requests: 1, bytes: 5, open: 0 }],
      ['late', { requests: 1, bytes: 1, open: 0 }],
      ['broken', { requests: 3, bytes: 9, open: 0 }],
    ])
    expect(held(check({ ...nothing, sent }), 'bytes of good images')).toBe(true)
    expect(held(check({ ...nothing, sent }), 'bytes of the failing image')).toBe(true)
    sent.set('good', { requests: 2, bytes: 6, open: 0 }).set('broken', { requests: 4, bytes: 12, open: 0 })
    expect(held(check({ ...nothing, sent }), 'bytes of good images')).toBe(false)
    expect(held(check({ ...nothing, sent }), 'bytes of the failing image')).toBe(false)
  })

  describe('image deleted while it downloads', () => {
    const importer = (hasEnded: boolean): PodFact => ({
      kind: 'pod',
      metadata: { name: 'importer', uid: 'importer' },
      imageUid: 'x',
      hasEnded,
    })
    const begun = [
      entry(1, image('x', 1)),
      entry(2, ledger(1, 'x')),
      entry(3, dataVolume('x', 'ImportInProgress')),
      entry(4, importer(false)),
      entry(5, dataVolume('x', 'ImportInProgress'), true),
    ]
    const freed = entry(7, ledger(1))
    const gone = entry(9, image('x', 1), true)
    const isKept = (...rest: Entry[]) => {
      const journal = [...begun, ...rest, gone]
      const cast = [performer('x', 'deleted', 9)]
      const sent = new Map([['x', { requests: 1, bytes: 3, open: 0 }]])
      return held(check({ ...nothing, journal, cast, sent }), 'image deleted while it downloads')
    }

    it('keeps its slot while its importer lives', () => {
      expect(isKept(entry(6, importer(false), true), freed)).toBe(true)
      expect(isKept(freed, entry(8, importer(false), true))).toBe(false)
      expect(isKept(freed)).toBe(false)
    })

    it('does not keep it for an importer that has ended, whose pod may stay for a while', () => {
      expect(isKept(entry(6, importer(true)), freed, entry(8, importer(true), true))).toBe(true)
    })
  })

  it('is a table that names what failed, broken to the width', () => {
    const lines = summaryLines([{ name: 'limit', held: false, detail: 'five at once where four were allowed' }], 50)
    expect(lines.slice(2)).toEqual([
      'FAILED  limit             five at once where four',
      '                          were allowed',
    ])
  })

  it('has lines without control characters', () => {
    expect(plainLine(new Date(0), 'a\nb\u001b[2J')).toBe('00:00:00.000  a b [2J')
  })
})
