import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../runtime/times.fixtures.ts'
import { CDI, REFRESH, RETRY, SPEC } from '../image-objects.fixtures.ts'
import { Walk } from '../image-walk.fixtures.ts'
import { aLookup } from '../image-world.fixtures.ts'

describe('an act of a person', () => {
  const failed = () => {
    const walk = new Walk({ policy: { retryLimit: 0 } })
    walk.settle().fail(CDI.notFound)
    return walk
  }

  it.each<[string, (walk: Walk) => Walk]>([
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

  it.each<[string, (walk: Walk) => Walk]>([
    ['suspend', (walk) => walk.edit({ name: 'other' })],
    ['another snapshotClass', (walk) => walk.edit({ snapshotClass: 'other' })],
    ['another TTL', (walk) => walk.edit({ reclaimPolicy: 'Delete', unreferencedTTL: '1h' })],
  ])('does not, where it does not concern the download: %s', (_name, act) => {
    expect(act(failed()).settle().stand).toBe('Failed/NotFound')
  })

  it('asks for a retry during the wait: at once', () => {
    const walk = new Walk()
    walk.settle().fail()
    walk.annotate({ [RETRY]: 'now' }).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(walk.status.budget?.downloads).toBe(0)
  })

  it('asks for a retry of what is ready: nothing happens', () => {
    const walk = new Walk()
    walk.publish()
    walk
      .annotate({ [RETRY]: 'now' })
      .edit({ secretRef: 'other' })
      .settle()
    expect(walk.stand).toBe('Succeeded/Synced')
    expect(walk.plan().start).toBeUndefined()
  })
})

describe('suspend', () => {
  it('takes a waiting image out of the queue; resuming queues it again, at the end', () => {
    const walk = new Walk()
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
    const walk = new Walk()
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
    const walk = new Walk({ policy: { retryLimit: 1 } })
    walk.settle().fail()
    walk.edit({ suspend: true }).settle().edit({ suspend: false }).settle()
    expect(walk.status.budget?.downloads).toBe(0)
    walk.fail().after(HOUR).fail()
    expect(walk.stand).toBe('Failed/RetryLimitExceeded')
    expect(walk.log.filter((line) => line.startsWith('create'))).toHaveLength(3)
  })

  it('leaves a ready artifact as it is', () => {
    const walk = new Walk()
    walk.publish()
    walk.edit({ suspend: true }).settle()
    expect(walk.condition('Ready')).toBe('True')
    expect(walk.plan().remove).toEqual([])
  })

  it('starts nothing for a claim that it came too late for', () => {
    const walk = new Walk()
    walk.settle().claim().edit({ suspend: true })
    expect(walk.plan().start).toBeUndefined()
    expect(walk.release().stand).toBe('Queued/Suspended')
  })
})

describe('another revision', () => {
  const other = { url: 'https://images.example/b.qcow2' }

  it.each<[string, ConstructorParameters<typeof Walk>[0]]>([
    ['for a slot', {}],
    [
      'for something that is missing, which keeps no place for another download',
      { lookup: aLookup({ secret: 'missing' }) },
    ],
  ])('while it waits %s takes a new ticket', (_what, change) => {
    const walk = new Walk(change)
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

  it.each<[string, (walk: Walk) => Walk]>([
    ['another secretRef', (walk) => walk.edit({ secretRef: 'other' })],
    ['another snapshotClass', (walk) => walk.edit({ snapshotClass: 'other' })],
    ['another name', (walk) => walk.edit({ name: 'other' })],
    ['the annotation that asks for a retry', (walk) => walk.annotate({ [RETRY]: '1' })],
    ['a label', (walk) => walk.annotate({ other: '1' })],
    ['a default of the policy', (walk) => walk.setPolicy({ defaultCertConfigMap: 'certs' })],
    ['the Secret that comes', (walk) => walk.set({ lookup: aLookup() })],
  ])('is none by %s: the ticket stays', (_name, change) => {
    const walk = new Walk({ lookup: aLookup({ secret: 'missing' }) })
    walk.settle()
    change(walk).settle()
    expect(walk.status.ticket).toBe('100')
    expect(walk.set({ lookup: aLookup() }).settle().plan().start).toMatchObject({ ticket: '100', admissible: true })
  })

  it('while Syncing cancels first and takes a new ticket', () => {
    const walk = new Walk()
    walk.settle()
    const { ticket } = walk.status
    walk.admit().report(CDI.running)
    const name = walk.childName
    walk.edit(other).settle()
    expect(walk.log).toContain(`delete DataVolume ${name}`)
    expect(walk.lastAttempt).toMatchObject({ outcome: 'Cancelled', reason: 'SpecChanged' })
    expect(walk.stand).toBe('Syncing/Stopping')
    expect(walk.plan().start).toBeUndefined()
    walk.importersGone()
    expect(walk.plan().start).toBeUndefined()
    walk.release()
    expect(walk.stand).toBe('Queued/Queued')
    expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
    expect(walk.plan().start).toMatchObject({ attempt: 1, admissible: true })
    expect(walk.status.budget?.downloads).toBe(0)
  })

  it('does not pay for a download of the one before that somebody deleted', () => {
    const walk = new Walk()
    walk.settle().admit().report(CDI.running)
    walk.dropDataVolumes().edit(other).settle()
    walk.release()
    expect(walk.status.budget?.downloads).toBe(0)
    expect(walk.stand).toBe('Queued/Queued')
  })

  it('claimed in the last moment is not downloaded under the claim of the one before', () => {
    const walk = new Walk()
    walk.settle().claim().edit(other)
    expect(walk.plan().start).toBeUndefined()
    walk.release()
    expect(walk.plan().start?.revision).toBe(walk.status.revision)
  })

  it('after Succeeded takes a new ticket, and the old artifact serves until the alias flips', () => {
    const walk = new Walk()
    walk.publish()
    const old = walk.status.artifact
    const { ticket } = walk.status
    walk.edit(other).settle()
    expect(walk.stand).toBe('Queued/Queued')
    expect(Number(walk.status.ticket)).toBeGreaterThan(Number(ticket))
    expect(walk.status.artifact).toEqual(old)
    expect([walk.condition('Ready'), walk.condition('UpToDate')]).toEqual(['True', 'False'])
    walk.after(HOUR).admit().report(CDI.running).succeed()
    expect(walk.status.artifact).toEqual(old)
    walk.snapshotReady()
    expect(walk.status.artifact?.name).toBe(walk.childName)
    expect([walk.condition('Ready'), walk.condition('UpToDate')]).toEqual(['True', 'True'])
    expect(walk.log.filter((line) => line === 'apply DataSource img')).toHaveLength(2)
    expect(walk.log.filter((line) => line.startsWith('delete'))).toEqual([])
  })

  it('that fails leaves the old artifact in service', () => {
    const walk = new Walk({ policy: { retryLimit: 0 } })
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
