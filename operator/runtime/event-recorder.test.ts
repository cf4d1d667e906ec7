import { beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { settled } from '../../test/prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../test/prepared/runtime/fake-log.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { NAMESPACE } from '../kube/resource-types.ts'
import { EventRecorder } from './event-recorder.ts'

type Event = KubeObject & Record<string, unknown>

let client = new ScriptedClient('n')
let clock = client.clock
let recorder = aRecorder()
function aRecorder() {
  let chance = 0
  const random = () => {
    chance += 1 / 2 ** 20
    return chance
  }
  return new EventRecorder({ client, clock, random, log: fakeLog(), component: 'c', instance: 'i' })
}
beforeEach(() => {
  client = new ScriptedClient('n')
  clock = client.clock
  recorder = aRecorder()
})

const subject = (uid = 'u'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Thing',
  metadata: { name: `thing-${uid}`, namespace: 'n', uid, resourceVersion: '5' },
})
const note = (message = 'm', reason = 'R') => ({ type: 'Warning', reason, message }) as const
const events = () => client.all('Event') as Event[]

describe('an Event', () => {
  it('says who, what and when', async () => {
    recorder.record(subject(), note())
    await settled()
    expect(events()).toMatchObject([
      {
        metadata: { namespace: 'n' },
        involvedObject: { kind: 'Thing', name: 'thing-u', namespace: 'n', uid: 'u' },
        type: 'Warning',
        reason: 'R',
        message: 'm',
        count: 1,
        reportingComponent: 'c',
        firstTimestamp: '2026-01-01T00:00:00.000Z',
      },
    ])
  })

  it('about an object in no namespace is also where those who work with it can read it, each with a count of its own', async () => {
    client.cluster.admin.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'lab' } })
    const { metadata, ...rest } = subject()
    const { namespace: _, ...place } = metadata
    recorder.record({ ...rest, metadata: place }, note(), 'lab')
    await settled()
    recorder.record({ ...rest, metadata: place }, note(), 'lab')
    await settled()
    const told = events().map(({ metadata, involvedObject, count }) => [
      metadata.namespace,
      (involvedObject as { readonly namespace?: string }).namespace,
      count,
    ])
    expect(told).toEqual([
      ['default', undefined, 2],
      ['lab', 'lab', 2],
    ])
  })

  it('says no secret of a URL, and no more than an Event can hold', async () => {
    recorder.record(
      subject(),
      note(`Get "https://user:s3cr3t@a.example/b?sig='s3cr3t": EOF ${'word '.repeat(100_000)}`),
    )
    await settled()
    const [{ message } = { message: '' }] = events()
    expect(message).toMatch(/^Get "https:\/\/a[.]example\/b[?]…": EOF word/)
    expect(String(message)).toHaveLength(1_000)
  })

  it('that happens again is counted up within ten minutes, and made again after that', async () => {
    for (const waitMs of [0, 60_000, 540_000]) {
      await clock.advance(waitMs)
      recorder.record(subject(), note())
      await settled()
    }
    expect(events()).toMatchObject([{ count: 3, lastTimestamp: '2026-01-01T00:10:00.000Z' }])
    await clock.advance(600_000)
    recorder.record(subject(), note())
    await settled()
    expect(events().map(({ count }) => count)).toEqual([3, 1])
  })

  it('is another one for another object, reason or text', async () => {
    recorder.record(subject(), note())
    recorder.record(subject('v'), note())
    recorder.record(subject(), note('other'))
    recorder.record(subject(), note('m', 'Other'))
    await settled()
    expect(events()).toHaveLength(4)
  })

  it('whose first one expired is made again', async () => {
    recorder.record(subject(), note())
    await settled()
    const [first] = events()
    client.drop('Event', `n/${first?.metadata.name}`)
    recorder.record(subject(), note())
    await settled()
    expect(events()).toMatchObject([{ count: 1 }])
  })

  it('that cannot be written is lost, and the next one is not', async () => {
    client.before = () => {
      client.before = undefined
      throw apiError('Rejected')
    }
    recorder.record(subject(), note('first'))
    recorder.record(subject(), note('second'))
    await settled()
    expect(events()).toMatchObject([{ message: 'second' }])
  })

  it('is cut where it is too long', async () => {
    recorder.record(subject(), note('x'.repeat(5_000)))
    await settled()
    expect(String(events()[0]?.['message'])).toHaveLength(1_000)
  })

  it('about an object without a namespace goes to the default one', async () => {
    recorder.record({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'x', uid: 'x' } }, note())
    await settled()
    expect(events()[0]?.metadata.namespace).toBe('default')
    expect(events()[0]?.['involvedObject']).not.toHaveProperty('namespace')
  })
})

describe('an object that has too much to say', () => {
  it('is cut short, others are not, and it may speak again later', async () => {
    for (let at = 0; at < 50; at += 1) recorder.record(subject(), note(`m${at}`))
    recorder.record(subject('v'), note())
    await settled()
    expect(events()).toHaveLength(21)
    await clock.advance(59_999)
    recorder.record(subject(), note('too early'))
    await clock.advance(1)
    recorder.record(subject(), note('in time'))
    recorder.record(subject(), note('too much'))
    await settled()
    expect(events().map(({ message }) => message)).toContain('in time')
    expect(events()).toHaveLength(22)
  })

  it('never holds up whoever records', async () => {
    client.before = () => new Promise(() => undefined)
    for (let at = 0; at < 5_000; at += 1) recorder.record(subject(`u${at}`), note())
    await settled()
    expect(client.calls).toHaveLength(1)
  })
})

describe('the end of the process', () => {
  it('waits for what is still to be written', async () => {
    recorder.record(subject(), note())
    recorder.record(subject(), note('another'))
    await recorder.flush(1_000)
    expect(events()).toHaveLength(2)
  })

  it('waits for no answer that does not come', async () => {
    client.before = () => new Promise(() => undefined)
    recorder.record(subject(), note())
    const flushed = recorder.flush(1_000)
    await clock.advance(1_000)
    await expect(flushed).resolves.toBeUndefined()
  })
})
