import { expect } from 'vitest'
import type { WatchEvent } from '../../operator/kube/kube-client.ts'
import { CONFIG_MAP, EVENT, POD, SECRET } from '../../operator/kube/resource-types.ts'
import { IMAGE } from '../../sandbox/memory-cluster/index.ts'
import { create, eventsUntil, type Full, HOLD, position, summary, versionOf } from './objects.ts'
import { conform, refusalOf, type Subject } from './subjects.ts'

const isLast = (event: { object: Full }) => event.object.metadata.name === 'last'

conform('a watch', {
  'tells all changes in their order, each with its version': async (subject) => {
    const { client } = subject
    const from = await position(subject, IMAGE)
    const created = await create(IMAGE, subject, 'a', { finalizers: [HOLD] })
    const status = await client.replaceStatus<Full>(IMAGE, { ...created, status: { phase: 'Queued' } })
    const other = await create(IMAGE, subject, 'b')
    await client.delete(IMAGE, created.metadata)
    const going = await client.get<Full>(IMAGE, created.metadata)
    await client.mergePatch(IMAGE, created.metadata, { metadata: { finalizers: null } })
    const again = await create(IMAGE, subject, 'a')
    const last = await create(IMAGE, subject, 'last')
    const events = await eventsUntil(subject, IMAGE, from, isLast)
    expect(summary(events)).toEqual([
      'ADDED a',
      'MODIFIED a',
      'ADDED b',
      'MODIFIED a',
      'DELETED a',
      'ADDED a',
      'ADDED last',
    ])
    const objects = events.flatMap((event) => ('object' in event ? [event.object] : []))
    expect([0, 1, 2, 3, 5, 6].map((at) => objects[at])).toEqual([created, status, other, going, again, last])
    const versions = objects.map(versionOf)
    expect(versions).toEqual(versions.toSorted((a, b) => (a < b ? -1 : 1)))
  },
  'from an older position repeats what came since': async (subject) => {
    const first = await create(CONFIG_MAP, subject, 'a')
    await create(CONFIG_MAP, subject, 'b')
    await create(CONFIG_MAP, subject, 'last')
    const from = first.metadata.resourceVersion ?? ''
    expect(summary(await eventsUntil(subject, CONFIG_MAP, from, isLast))).toEqual(['ADDED b', 'ADDED last'])
    expect(summary(await eventsUntil(subject, CONFIG_MAP, from, isLast))).toEqual(['ADDED b', 'ADDED last'])
  },
  'by label adds what comes into the selection and deletes what leaves it': async (subject) => {
    const { client } = subject
    const from = await position(subject, CONFIG_MAP)
    const label = (value: string | null) => ({ metadata: { labels: { tier: value } } })
    const { metadata } = await create(CONFIG_MAP, subject, 'a')
    await client.mergePatch(CONFIG_MAP, metadata, label('gold'))
    const inside = await client.mergePatch<Full>(CONFIG_MAP, metadata, { data: { a: '9' } })
    const left = await client.mergePatch<Full>(CONFIG_MAP, metadata, label(null))
    await client.mergePatch(CONFIG_MAP, metadata, { data: { a: '10' } })
    await client.mergePatch(CONFIG_MAP, metadata, label('silver'))
    await client.delete(CONFIG_MAP, metadata)
    await create(CONFIG_MAP, subject, 'last', { labels: { tier: 'gold' } })
    const events = await eventsUntil(subject, CONFIG_MAP, from, isLast, { labelSelector: 'tier' })
    expect(summary(events)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED a', 'DELETED a', 'ADDED last'])
    const gone = (events[2] as Exclude<WatchEvent<Full>, { type: 'BOOKMARK' }>).object
    expect(gone.metadata.labels).toEqual(inside.metadata.labels)
    expect(gone.metadata.resourceVersion).toBe(left.metadata.resourceVersion)
    const gold = await eventsUntil(subject, CONFIG_MAP, from, isLast, { labelSelector: 'tier=gold' })
    expect(summary(gold)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'ADDED last'])
  },
  'by name tells of one object alone': async (subject) => {
    const from = await position(subject, IMAGE)
    await create(IMAGE, subject, 'a')
    await create(IMAGE, subject, 'last')
    const events = await eventsUntil(subject, IMAGE, from, isLast, { fieldSelector: 'metadata.name=last' })
    expect(summary(events)).toEqual(['ADDED last'])
  },
  'of metadata alone shows no data': async (subject) => {
    const from = await position(subject, SECRET)
    const secret = await create(SECRET, subject, 'last', { labels: { a: 'b' } })
    const [event] = await eventsUntil(subject, SECRET, from, isLast, { metadataOnly: true })
    const { apiVersion, kind, metadata } = secret
    expect(event).toEqual({ type: 'ADDED', object: { apiVersion, kind, metadata } })
  },
  'ends when it is asked to, and bookmarks its position before that': async (subject) => {
    const from = await position(subject, CONFIG_MAP)
    const created = await create(CONFIG_MAP, subject, 'a')
    let seen = await allEvents(subject, from)
    expect(summary(seen)[0]).toBe('ADDED a')
    // A busy real server may miss the moment for the bookmark.
    while (summary(seen).length === 1) seen = await allEvents(subject, from)
    expect(summary(seen)).toEqual(['ADDED a', 'BOOKMARK'])
    const bookmark = seen.at(-1)
    if (bookmark?.type !== 'BOOKMARK') throw new Error('no bookmark')
    expect(BigInt(bookmark.resourceVersion)).toBeGreaterThanOrEqual(versionOf(created))
    await create(CONFIG_MAP, subject, 'last')
    const later = await eventsUntil(subject, CONFIG_MAP, bookmark.resourceVersion, isLast)
    expect(summary(later)).toEqual(['ADDED last'])
  },
  'without a position begins with everything that there is, says when that was all, and goes on': async (subject) => {
    const { client, namespace } = subject
    const first = await create(CONFIG_MAP, subject, 'a', { labels: { tier: 'gold' } })
    const changed = await client.mergePatch<Full>(CONFIG_MAP, first.metadata, { data: { a: '9' } })
    const gone = await create(CONFIG_MAP, subject, 'b', { labels: { tier: 'gold' } })
    await client.delete(CONFIG_MAP, gone.metadata)
    await create(CONFIG_MAP, subject, 'c')
    const options = { namespace, labelSelector: 'tier' }
    const seen: WatchEvent<Full>[] = []
    for await (const event of client.watch<Full>(CONFIG_MAP, options)) {
      seen.push(event)
      if (event.type !== 'BOOKMARK' && isLast(event)) break
      if (event.type === 'BOOKMARK' && event.endsInitialEvents === true)
        await create(CONFIG_MAP, subject, 'last', { labels: { tier: 'silver' } })
    }
    expect(summary(seen)).toEqual(['ADDED a', 'BOOKMARK', 'ADDED last'])
    expect(seen[0]).toEqual({ type: 'ADDED', object: changed })
    const bookmark = seen[1]
    if (bookmark?.type !== 'BOOKMARK') throw new Error('no bookmark')
    expect(BigInt(bookmark.resourceVersion)).toBeGreaterThanOrEqual(versionOf(changed))
    const after = await eventsUntil(subject, CONFIG_MAP, bookmark.resourceVersion, isLast)
    expect(summary(after)).toEqual(['ADDED last'])
  },
  'without a position, of metadata alone, shows no data': async (subject) => {
    const { client, namespace } = subject
    const { apiVersion, kind, metadata } = await create(SECRET, subject, 'a')
    const seen: WatchEvent<Full>[] = []
    for await (const event of client.watch<Full>(SECRET, { namespace, metadataOnly: true })) {
      seen.push(event)
      if (event.type === 'BOOKMARK') break
    }
    expect(seen[0]).toEqual({ type: 'ADDED', object: { apiVersion, kind, metadata } })
    expect(seen[1]).toMatchObject({ type: 'BOOKMARK', endsInitialEvents: true })
  },
  'ends without an error when its signal aborts': async (subject) => {
    const { client, namespace } = subject
    const stopping = new AbortController()
    const from = await position(subject, CONFIG_MAP)
    await create(CONFIG_MAP, subject, 'a')
    const seen: WatchEvent<Full>[] = []
    const options = { namespace, resourceVersion: from, signal: stopping.signal }
    for await (const event of client.watch<Full>(CONFIG_MAP, options)) {
      seen.push(event)
      stopping.abort()
    }
    expect(summary(seen)).toEqual(['ADDED a'])
  },
})

/** Names that each selector finds among the objects with the labels below. */
const SELECTORS: readonly (readonly [labelSelector: string, names: readonly string[]])[] = [
  ['tier', ['gold', 'gold-old', 'silver']],
  ['!tier', ['none']],
  ['tier=gold', ['gold', 'gold-old']],
  ['tier==gold', ['gold', 'gold-old']],
  ['tier!=gold', ['none', 'silver']],
  ['tier in (gold, silver)', ['gold', 'gold-old', 'silver']],
  ['tier notin (gold)', ['none', 'silver']],
  ['tier=gold,age', ['gold-old']],
  ['tier in (gold),age notin (old)', ['gold']],
]

/** Events as `[name, kind and name of the involved object, type]`. */
const EVENTS: readonly (readonly [name: string, kind: string, about: string, type: string])[] = [
  ['a', 'Pod', 'one', 'Warning'],
  ['b', 'Pod', 'one', 'Normal'],
  ['c', 'Pod', 'two', 'Warning'],
  ['d', 'VirtualMachineInstance', 'one', 'Warning'],
]
const EVENT_SELECTORS: readonly (readonly [fieldSelector: string, names: readonly string[]])[] = [
  ['type=Warning', ['a', 'c', 'd']],
  ['type!=Warning', ['b']],
  ['reason=b', ['b']],
  ['involvedObject.kind=Pod,type=Warning', ['a', 'c']],
  ['involvedObject.uid=uid-two', ['c']],
  ['involvedObject.name=one,involvedObject.kind!=Pod', ['d']],
]

conform('a list', {
  'by labels': async (subject) => {
    const { client, namespace } = subject
    await create(CONFIG_MAP, subject, 'gold', { labels: { tier: 'gold' } })
    await create(CONFIG_MAP, subject, 'gold-old', { labels: { tier: 'gold', age: 'old' } })
    await create(CONFIG_MAP, subject, 'silver', { labels: { tier: 'silver' } })
    await create(CONFIG_MAP, subject, 'none')
    const found: (readonly [string, string[]])[] = []
    for (const [labelSelector] of SELECTORS) {
      const fieldSelector = 'metadata.name!=kube-root-ca.crt'
      const { items } = await client.list(CONFIG_MAP, { namespace, labelSelector, fieldSelector })
      found.push([labelSelector, items.map(({ metadata }) => metadata.name)])
    }
    expect(found).toEqual(SELECTORS)
  },
  'of Events by what they are about': async (subject) => {
    const { client, namespace } = subject
    for (const [name, kind, about, type] of EVENTS) {
      const involvedObject = { kind, name: about, namespace, uid: `uid-${about}` }
      const event = {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { namespace, name },
        involvedObject,
        type,
        reason: name,
      }
      await client.create(EVENT, event)
    }
    const found: (readonly [string, string[]])[] = []
    for (const [fieldSelector] of EVENT_SELECTORS) {
      const { items } = await client.list(EVENT, { namespace, fieldSelector })
      found.push([fieldSelector, items.map(({ metadata }) => metadata.name)])
    }
    expect(found).toEqual(EVENT_SELECTORS)
  },
  'of Pods by their phase': async (subject) => {
    const { client, namespace } = subject
    await create(POD, subject, 'a')
    const pod = await create(POD, subject, 'b')
    await client.replaceStatus<Full>(POD, { ...pod, status: { phase: 'Running' } })
    const found = async (fieldSelector: string) => {
      const { items } = await client.list(POD, { namespace, fieldSelector, metadataOnly: true })
      return items.map(({ metadata }) => metadata.name)
    }
    expect(await found('status.phase=Pending')).toEqual(['a'])
    expect(await found('status.phase!=Pending')).toEqual(['b'])
  },
  'of a kind that is no Event cannot be selected by such fields': async (subject) => {
    const { client, namespace } = subject
    for (const type of [CONFIG_MAP, IMAGE]) {
      const fieldSelector = 'involvedObject.kind=Pod'
      expect(await refusalOf(client.list(type, { namespace, fieldSelector }))).toMatchObject({ status: 400 })
    }
  },
  'is in the order of names, whatever that of creation': async (subject) => {
    for (const name of ['c', 'a', 'b.a', 'b', 'b-a']) await create(IMAGE, subject, name)
    const { items } = await subject.client.list(IMAGE, { namespace: subject.namespace })
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'b-a', 'b.a', 'c'])
  },
  'of metadata alone shows no data': async (subject) => {
    const { apiVersion, kind, metadata } = await create(SECRET, subject, 'a')
    const options = { namespace: subject.namespace, metadataOnly: true, fieldSelector: 'metadata.name=a' }
    expect((await subject.client.list(SECRET, options)).items).toEqual([{ apiVersion, kind, metadata }])
  },
  'by pages shows one moment, whatever happens in between': async (subject) => {
    const { client, namespace } = subject
    for (const name of ['a', 'b', 'c', 'd', 'e']) await create(IMAGE, subject, name)
    const first = await client.list<Full>(IMAGE, { namespace, limit: 2 })
    await client.delete(IMAGE, { namespace, name: 'c' })
    await create(IMAGE, subject, 'bb')
    const changed = await client.mergePatch<Full>(IMAGE, { namespace, name: 'e' }, { spec: { diskSize: '99Mi' } })
    const second = await next(subject, first.continueToken)
    const third = await next(subject, second.continueToken)
    expect([first, second, third].map(({ items }) => items.map(({ metadata }) => metadata.name))).toEqual([
      ['a', 'b'],
      ['c', 'd'],
      ['e'],
    ])
    expect(third.items[0]?.spec?.['diskSize']).not.toBe(changed.spec?.['diskSize'])
    expect(third.continueToken).toBeUndefined()
    expect(new Set([first, second, third].map(({ resourceVersion }) => resourceVersion)).size).toBe(1)
  },
  'has no further page when all fit': async (subject) => {
    for (const name of ['a', 'b']) await create(IMAGE, subject, name)
    const page = await subject.client.list(IMAGE, { namespace: subject.namespace, limit: 2 })
    expect(page.items).toHaveLength(2)
    expect(page.continueToken).toBeUndefined()
  },
})

/** All events of a watch, until the server ends it. */
async function allEvents({ client, namespace }: Subject, resourceVersion: string): Promise<WatchEvent<Full>[]> {
  const seen: WatchEvent<Full>[] = []
  const options = { namespace, resourceVersion, timeoutSeconds: 8 }
  for await (const event of client.watch<Full>(CONFIG_MAP, options)) seen.push(event)
  return seen
}

function next({ client, namespace }: Subject, continueToken = '') {
  return client.list<Full>(IMAGE, { namespace, limit: 2, continueToken })
}
