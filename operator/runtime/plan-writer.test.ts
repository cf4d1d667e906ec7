import { beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../test/prepared/runtime/fake-log.ts'
import { apiVersionOf, type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { DATA_VOLUME, SECRET } from '../kube/resource-types.ts'
import { EventRecorder } from './event-recorder.ts'
import { type ObjectPlan, type Removal, referTo } from './plan.ts'
import { PlanWriter } from './plan-writer.ts'

let client = new ScriptedClient('n')
let clock = client.clock
let cached = new Map<string, KubeObject>()
let heldBack = new Set<string>()
let removed: string[] = []
let log = fakeLog()
let writer: PlanWriter<KubeObject>
beforeEach(() => {
  client = new ScriptedClient('n')
  clock = client.clock
  cached = new Map()
  heldBack = new Set()
  removed = []
  log = fakeLog()
  const id = ({ kind }: ResourceType, key: string) => `${kind} ${key}`
  writer = new PlanWriter({
    client,
    clock,
    log,
    caches: {
      get: (type, key) => cached.get(id(type, key)),
      observeWrite: (type, object) => void cached.set(id(type, keyOf(object.metadata)), object),
    },
    events: new EventRecorder({ client, clock, log: fakeLog(), random: () => 0.5, component: 'test', instance: 'me' }),
    type: DATA_VOLUME,
    finalizer: 'ours',
    children: [
      { type: SECRET, propagationPolicy: 'Foreground' },
      { type: DATA_VOLUME, propagationPolicy: 'Background' },
    ],
    onRemoved: (_primary, { name }) => removed.push(name),
    quietReasons: ['Cloning', 'Starting'],
    factsBetween: () => ({ attempt: 2 }),
    preconditions: {
      unmet: async (_primary, onlyIf = []) => {
        const names = onlyIf.flatMap((one) => ('uncloned' in one ? [one.uncloned.name] : []))
        if (names.includes('unknown')) throw apiError('Rejected')
        return names.some((name) => heldBack.has(name)) ? { afterMs: 1, because: 'it is cloned' } : undefined
      },
    },
  })
})

const anObject = (kind: string, name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject =>
  client.put({
    apiVersion: apiVersionOf(kind === SECRET.kind ? SECRET : DATA_VOLUME),
    kind,
    metadata: { name, namespace: 'n', ...more },
  })

async function write(primary: KubeObject, plan: Partial<ObjectPlan>, isStatusDue = false): Promise<string[]> {
  client.calls.length = 0
  const nothing: ObjectPlan = { status: {}, finalizer: 'keep', apply: [], remove: [], events: [] }
  await writer.write(primary, { ...nothing, ...plan }, isStatusDue, new AbortController().signal)
  await clock.advance(0)
  return client.callsOf()
}
const removalOf = (object: KubeObject): Removal => ({
  ...referTo(object),
  onlyIf: [{ uncloned: { kind: object.kind, namespace: 'n', name: object.metadata.name }, read: 'live' }],
})

describe('a plan', () => {
  it('that asks for nothing new writes nothing', async () => {
    expect(await write(anObject('DataVolume', 'a'), { status: { phase: 'x' } })).toEqual([])
  })

  it('writes its status when that is due, and remembers when', async () => {
    const primary = anObject('DataVolume', 'a', { uid: 'a' })
    expect(writer.sinceStatusWriteMs('a')).toBeUndefined()
    expect(await write(primary, { status: { phase: 'x' } }, true)).toEqual(['status DataVolume n/a'])
    await clock.advance(700)
    expect(writer.sinceStatusWriteMs('a')).toBe(700)
    writer.forget('a')
    expect(writer.sinceStatusWriteMs('a')).toBeUndefined()
  })

  it('changes a child that the caches have, and creates one that they do not', async () => {
    const child = anObject('Secret', 'child')
    const primary = anObject('DataVolume', 'a')
    const wanted: KubeObject = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'child', namespace: 'n' } }
    await expect(write(primary, { apply: [wanted] })).rejects.toMatchObject({ reason: 'AlreadyExists' })
    cached.set('Secret n/child', child)
    expect(await write(primary, { apply: [wanted] })).toEqual(['patch Secret n/child'])
  })
})

describe('a child with a condition of its own', () => {
  const wanted = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'n' },
  })
  const plan = (name: string): ObjectPlan => {
    const onlyIf = [{ uncloned: { kind: 'Secret', namespace: 'n', name }, read: 'live' }] as const
    return {
      status: {},
      finalizer: 'keep',
      apply: [wanted('other')],
      applyIf: [{ wanted: wanted(name), onlyIf }],
      remove: [],
      events: [],
    }
  }

  it('waits alone as long as that does not hold, and is looked at again', async () => {
    heldBack.add('child')
    const requeue = await writer.write(anObject('DataVolume', 'a'), plan('child'), false, new AbortController().signal)
    expect([client.callsOf('create'), requeue?.afterMs]).toEqual([['create Secret n/other'], 1])
  })

  it('is written when that holds', async () => {
    const requeue = await writer.write(anObject('DataVolume', 'a'), plan('child'), false, new AbortController().signal)
    expect([client.callsOf('create'), requeue]).toEqual([['create Secret n/other', 'create Secret n/child'], undefined])
  })
})

describe('the log', () => {
  /** What a search for one object looks for. */
  const SUBJECT = { kind: 'DataVolume', key: 'n/a', uid: 'a' }
  const lines = (level: string) =>
    log.lines.filter((line) => line.level === level).map(({ facts, text }) => ({ text, ...(facts as object) }))
  const summary = (phase: string, reason: string, message = 'm') => ({ phase, reason, message })
  const object = (status: object): KubeObject =>
    ({ ...anObject('DataVolume', 'a', { uid: 'a' }), status }) as unknown as KubeObject

  it('has one line for each change of phase or reason, with its facts', async () => {
    const message = 'from https://u:p@host/a.qcow2?X-Amz-Signature=abc'
    await write(object({}), { status: summary('Queued', 'Queued', message) }, true)
    await write(object(summary('Queued', 'Queued')), { status: summary('Queued', 'Paused') }, true)
    const first = { ...SUBJECT, phase: 'Queued', reason: 'Queued', message: 'from https://host/a.qcow2?…', attempt: 2 }
    expect(lines('info')).toEqual([
      { text: 'DataVolume is Queued', ...first },
      { text: 'DataVolume is Queued', ...first, from: 'Queued', reason: 'Paused', message: 'm' },
    ])
  })

  it('has a step from one reason to another that nobody has to act on for who debugs alone', async () => {
    const steps = ['Cloning', 'Starting', 'Broken', 'Cloning'].map((reason) => summary('Provisioning', reason))
    for (const [at, status] of steps.entries()) await write(object(steps[at - 1] ?? {}), { status }, true)
    await write(object(steps[1] ?? {}), { status: summary('Ready', 'Cloning') }, true)
    expect(lines('info').map((line) => [line.text, (line as { reason?: string }).reason])).toEqual([
      ['DataVolume is Provisioning', 'Cloning'],
      ['DataVolume is Provisioning', 'Broken'],
      ['DataVolume is Provisioning', 'Cloning'],
      ['DataVolume is Ready', 'Cloning'],
    ])
  })

  it('has no line for a status that is not written, nor for one that says no more than a number', async () => {
    const before = object(summary('Syncing', 'Syncing'))
    await write(before, { status: summary('Failed', 'NotFound') }, false)
    await write(before, { status: { ...summary('Syncing', 'Syncing', 'other'), progress: '10%' } }, true)
    expect(lines('info')).toEqual([])
  })

  it('has no line for a status that the API server did not take', async () => {
    client.before = ({ verb }) => {
      if (verb === 'status') throw apiError('Conflict')
    }
    await expect(write(object({}), { status: summary('Queued', 'Queued') }, true)).rejects.toThrow()
    expect(lines('info')).toEqual([])
  })

  it('says when an object is gone', async () => {
    await write(anObject('DataVolume', 'a', { uid: 'a', finalizers: ['ours'] }), { finalizer: 'release' })
    expect(lines('info')).toEqual([{ text: 'DataVolume is gone', ...SUBJECT }])
  })

  it('has every plan that does anything, for who debugs', async () => {
    const primary = anObject('DataVolume', 'a')
    await write(primary, {})
    expect(lines('debug')).toEqual([])
    await write(primary, { remove: [removalOf(anObject('Secret', 'child', { uid: 'child' }))] })
    expect(lines('debug')).toMatchObject([{ key: 'n/a', status: false, remove: ['Secret/child'] }])
  })
})

describe('what a status tells', () => {
  it('is an Event also when a later write fails, and once', async () => {
    const primary = anObject('DataVolume', 'a')
    const child = anObject('Secret', 'child', { uid: 'child' })
    const note = { type: 'Warning', reason: 'Odd', message: 'it is' } as const
    client.before = ({ verb }) => {
      if (verb === 'delete') throw apiError('Conflict')
    }
    const remove = [{ ...removalOf(child), resourceVersion: '1' }]
    await expect(write(primary, { events: [note], remove }, true)).rejects.toMatchObject({ reason: 'Conflict' })
    await clock.advance(1_000)
    expect(client.callsOf('create').filter((line) => line.includes('Event'))).toHaveLength(1)
  })
})

describe('a fault of ours', () => {
  const FAULT = new Error('it is odd')
  const events = () => client.callsOf('create').filter((line) => line.includes('Event'))
  async function reportBug(primary: KubeObject): Promise<void> {
    await writer.reportBug(primary, FAULT, new AbortController().signal)
    await clock.advance(0)
  }

  it('is told in the status and as one Event, however often it is met', async () => {
    const primary = anObject('DataVolume', 'a', { uid: 'a', generation: 3 })
    await reportBug(primary)
    const message = expect.stringContaining('it is odd')
    const told = client.peek<KubeObject & { status: object }>('DataVolume', 'n/a')
    expect(told?.status).toMatchObject({
      observedGeneration: 3,
      reason: 'InternalError',
      message,
      conditions: [{ type: 'Stalled', reason: 'InternalError', message, observedGeneration: 3 }],
    })
    expect(client.all('Event')).toMatchObject([{ type: 'Warning', reason: 'InternalError', message }])
    client.calls.length = 0
    await reportBug(told ?? primary)
    expect(client.callsOf()).toEqual([])
  })

  it('is no Event as long as the status cannot tell it: each try would be another one', async () => {
    client.before = ({ verb }) => {
      if (verb === 'status') throw apiError('Rejected')
    }
    await reportBug(anObject('DataVolume', 'a', { uid: 'a' }))
    expect(events()).toEqual([])
  })
})

describe('a removal', () => {
  it('waits while it is held back, and is then made once', async () => {
    const primary = anObject('DataVolume', 'a')
    const child = anObject('Secret', 'child', { uid: 'child' })
    heldBack.add('child')
    expect(await write(primary, { remove: [removalOf(child)] })).toEqual([])
    heldBack.clear()
    expect(await write(primary, { remove: [removalOf(child)] })).toEqual(['delete Secret n/child'])
    expect(await write(primary, { remove: [removalOf(child)] })).toEqual([])
  })

  it('of which nobody knows whether it has to wait is not made; the status tells before that is asked', async () => {
    const primary = anObject('DataVolume', 'a')
    const child = anObject('Secret', 'unknown', { uid: 'unknown' })
    const plan = { status: { phase: 'x' }, remove: [removalOf(child)] }
    await expect(write(primary, plan, true)).rejects.toMatchObject({ reason: 'Rejected' })
    expect(client.callsOf()).toEqual(['status DataVolume n/a'])
  })

  it('that is held back is no Event', async () => {
    const primary = anObject('DataVolume', 'a')
    const child = anObject('Secret', 'child', { uid: 'child' })
    const plan = {
      events: [{ type: 'Normal', reason: 'Odd', message: 'it goes' } as const],
      remove: [removalOf(child)],
    }
    heldBack.add('child')
    expect(await write(primary, plan)).toEqual([])
    heldBack.clear()
    expect(await write(primary, plan)).toEqual(['delete Secret n/child', expect.stringContaining('Event')])
  })

  it('of the object itself is told, but not made together with a change of its status', async () => {
    const primary = anObject('DataVolume', 'a', { uid: 'a' })
    const event = { type: 'Normal', reason: 'Odd', message: 'it goes' } as const
    const plan = { status: { phase: 'x' }, remove: [{ ...removalOf(primary), event }] }
    expect(await write(primary, plan, true)).toEqual(['status DataVolume n/a'])
    expect(removed).toEqual([])
    expect(await write(primary, plan)).toEqual(['delete DataVolume n/a', expect.stringContaining('Event')])
    expect(removed).toEqual(['a'])
  })

  it('is made in the namespace of the child, whatever namespace its owner is in', async () => {
    const { namespace: _none, ...metadata } = anObject('DataVolume', 'a', { uid: 'a' }).metadata
    const child = anObject('Secret', 'child', { uid: 'child', namespace: 'other' })
    const primary = { apiVersion: apiVersionOf(DATA_VOLUME), kind: DATA_VOLUME.kind, metadata }
    expect(await write(primary, { remove: [removalOf(child)] })).toEqual(['delete Secret other/child'])
  })

  it('of a kind of another group is a fault', async () => {
    const removal = { apiVersion: 'else.example/v1', kind: 'Secret', name: 'child', uid: 'child' }
    await expect(write(anObject('DataVolume', 'a'), { remove: [removal] })).rejects.toThrow('no kind of children')
  })

  it('of the object itself does not keep its finalizer', async () => {
    const primary = anObject('DataVolume', 'a', { uid: 'a', finalizers: ['ours'] })
    await write(primary, { remove: [removalOf(primary)] })
    const leaving = client.peek<KubeObject>('DataVolume', 'n/a') ?? primary
    expect(leaving.metadata.deletionTimestamp).toBeDefined()
    expect(await write(leaving, { finalizer: 'release' })).toEqual([expect.stringContaining('patch DataVolume n/a')])
  })

  it('that was accepted before another one was refused is told, and not made again', async () => {
    const primary = anObject('DataVolume', 'a')
    const child = anObject('Secret', 'child', { uid: 'child' })
    const plan = { remove: [removalOf(child), removalOf(anObject('Secret', 'unknown', { uid: 'unknown' }))] }
    await expect(write(primary, plan)).rejects.toMatchObject({ reason: 'Rejected' })
    expect(client.callsOf()).toEqual(['delete Secret n/child'])
    expect(removed).toEqual(['child'])
    await expect(write(primary, plan)).rejects.toMatchObject({ reason: 'Rejected' })
    expect(client.callsOf()).toEqual([])
  })

  it('is made again when the object is still there half a minute later', async () => {
    const primary = anObject('DataVolume', 'a')
    const child = anObject('Secret', 'child', { uid: 'child', finalizers: ['theirs'] })
    await write(primary, { remove: [removalOf(child)] })
    await clock.advance(30_000)
    expect(await write(primary, { remove: [removalOf(child)] })).toEqual(['delete Secret n/child'])
  })
})

describe('our finalizer', () => {
  it('is released once, and only where it is', async () => {
    const primary = anObject('DataVolume', 'a', { uid: 'a', finalizers: ['theirs', 'ours'] })
    expect(await write(primary, { finalizer: 'release' })).toEqual(['patch DataVolume n/a'])
    expect(client.peek<KubeObject>('DataVolume', 'n/a')?.metadata.finalizers).toEqual(['theirs'])
    expect(await write(primary, { finalizer: 'release' })).toEqual([])
    const another = anObject('DataVolume', 'b', { uid: 'b', finalizers: ['theirs'] })
    expect(await write(another, { finalizer: 'release' })).toEqual([])
  })
})

describe('our finalizer on an object that stays', () => {
  it('is lifted, and the object is not taken for gone: it gets it again, and another write', async () => {
    const primary = anObject('DataVolume', 'a', { uid: 'a', finalizers: ['theirs', 'ours'] })
    expect(await write(primary, { finalizer: 'lift' })).toEqual(['patch DataVolume n/a'])
    const lifted = client.peek<KubeObject>('DataVolume', 'n/a') ?? primary
    expect(lifted.metadata.finalizers).toEqual(['theirs'])
    expect(log.lines.filter(({ level }) => level !== 'debug')).toEqual([])
    expect(cached.get('DataVolume n/a')?.metadata.finalizers).toEqual(['theirs'])
    expect(await write(lifted, { finalizer: 'lift' })).toEqual([])
    expect(await write(lifted, { finalizer: 'add' })).toEqual(['patch DataVolume n/a'])
  })
})

describe('an object that is gone', () => {
  it('needs nothing any more', async () => {
    const primary = anObject('DataVolume', 'a', { uid: 'a' })
    client.drop('DataVolume', 'n/a')
    await expect(write(primary, {}, true)).resolves.toEqual(['status DataVolume n/a'])
  })

  it('is not believed to be gone while the caches have it', async () => {
    const primary = anObject('DataVolume', 'a', { uid: 'a' })
    cached.set('DataVolume n/a', primary)
    client.before = () => {
      throw apiError('NotFound')
    }
    await expect(write(primary, {}, true)).rejects.toMatchObject({ reason: 'NotFound' })
  })
})
