import { beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { apiVersionOf, type KubeObject } from '../kube/kube-object.ts'
import { DATA_VOLUME, SECRET } from '../kube/resource-types.ts'
import { applyChanges, type Changes } from './apply.ts'
import { FINALIZERS_MAX, keptFinalizers } from './foreign.ts'

let client = new ScriptedClient('n')
let written: string[] = []
beforeEach(() => {
  client = new ScriptedClient('n')
  written = []
})

const anObject = (kind: string, name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: apiVersionOf(kind === SECRET.kind ? SECRET : DATA_VOLUME),
  kind,
  metadata: { name, namespace: 'n', ...more },
})

function apply(primary: KubeObject, changes: Partial<Changes>, areChildrenApart = false): Promise<void> {
  return applyChanges(
    primary,
    { children: [], removals: [], ...changes },
    {
      client,
      type: DATA_VOLUME,
      signal: new AbortController().signal,
      areChildrenApart,
      onWritten: ({ kind }, { metadata }) => written.push(`${kind} ${metadata.name} ${metadata.resourceVersion}`),
    },
  )
}
const removal = (name: string, uid: string) =>
  ({ type: SECRET, namespace: 'n', name, uid, propagationPolicy: 'Foreground' }) as const

describe('finalizers of others', () => {
  it('stay all, however many they are and few of them caches keep', async () => {
    const others = Array.from({ length: 1_000 }, (_, index) => `others.example/${index}`)
    const stored = client.put(anObject('DataVolume', 'a', { finalizers: [...others, 'ours'] }))
    const kept = keptFinalizers(stored.metadata.finalizers, new Set(['ours']))
    expect(kept).toHaveLength(FINALIZERS_MAX)
    expect(kept).toContain('ours')
    await apply({ ...stored, metadata: { ...stored.metadata, finalizers: kept ?? [] } }, { releaseFinalizer: 'ours' })
    expect(client.peek('DataVolume', 'n/a')?.metadata.finalizers).toEqual(others)
  })
})

describe('a child that was judged as it was seen', () => {
  it('is not created where it is gone by now, nor changed where it is another', async () => {
    const primary = client.put(anObject('DataVolume', 'a'))
    const wanted = anObject('Secret', 'child', { uid: 'seen', resourceVersion: '1' })
    await apply(primary, { children: [{ type: SECRET, wanted }] })
    expect(client.callsOf('create')).toEqual([])
    const existing = client.put(anObject('Secret', 'child'))
    await expect(apply(primary, { children: [{ type: SECRET, wanted, existing }] })).rejects.toThrow()
  })
})

describe('annotations', () => {
  const touch = (uid: string) => ({
    touches: [{ type: SECRET, namespace: 'n', name: 'a', uid, annotations: { at: 'now' } }],
  })

  it('are added to an object that is still the one that was seen, and nothing else of it changes', async () => {
    const primary = client.put(anObject('DataVolume', 'a'))
    const { metadata } = client.put(anObject('Secret', 'a', { labels: { 'pelotech.ot/image': 'i' } }))
    await apply(primary, touch(metadata.uid ?? ''))
    const { annotations, labels } = client.peek('Secret', 'n/a')?.metadata ?? {}
    expect([annotations, labels]).toEqual([{ at: 'now' }, { 'pelotech.ot/image': 'i' }])
  })
})

describe('changes', () => {
  it('are written in their order: status, finalizer, children, removals, and last the release', async () => {
    const primary = client.put(anObject('DataVolume', 'a', { finalizers: ['f', 'other'] }))
    const old = client.put(anObject('Secret', 'old'))
    await apply(primary, {
      status: { phase: 'x' },
      addFinalizer: 'g',
      children: [{ type: SECRET, wanted: anObject('Secret', 'child') }],
      removals: [removal('old', old.metadata.uid ?? '')],
      releaseFinalizer: 'f',
    })
    expect(client.callsOf()).toEqual([
      'status DataVolume n/a',
      'patch DataVolume n/a',
      'create Secret n/child',
      'delete Secret n/old',
      'patch DataVolume n/a',
    ])
    expect(client.peek('DataVolume', 'n/a')).toMatchObject({
      metadata: { finalizers: ['other', 'g'] },
      status: { phase: 'x' },
    })
    expect(written.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      'DataVolume a',
      'DataVolume a',
      'Secret child',
    ])
  })

  it('are no requests when there are none', async () => {
    await apply(client.put(anObject('DataVolume', 'a')), {})
    expect(client.calls).toEqual([])
  })

  it('to an object that changed since the plan are not made', async () => {
    const primary = client.put(anObject('DataVolume', 'a'))
    client.put(anObject('DataVolume', 'a'))
    await expect(apply(primary, { status: {} })).rejects.toMatchObject({ reason: 'Conflict' })
    await expect(apply(primary, { addFinalizer: 'f' })).rejects.toMatchObject({ reason: 'Conflict' })
    await expect(apply(primary, { releaseFinalizer: 'f' })).rejects.toMatchObject({ reason: 'Conflict' })
  })

  it('end at the first error: nothing is released when a removal failed', async () => {
    const primary = client.put(anObject('DataVolume', 'a', { finalizers: ['f'] }))
    const old = client.put(anObject('Secret', 'old'))
    client.before = ({ verb }) => {
      if (verb === 'delete') throw apiError('Unavailable')
    }
    const changes = { removals: [removal('old', old.metadata.uid ?? '')], releaseFinalizer: 'f' }
    await expect(apply(primary, changes)).rejects.toMatchObject({ reason: 'Unavailable' })
    expect(client.peek('DataVolume', 'n/a')?.metadata.finalizers).toEqual(['f'])
  })

  it.each(['status', 'delete'])(
    'that come first do not wait for the status, nor the status for them: refused is %s',
    async (refused) => {
      const primary = client.put(anObject('DataVolume', 'a'))
      const old = client.put(anObject('Secret', 'old'))
      client.before = ({ verb }) => {
        if (verb === refused) throw apiError('Rejected')
      }
      const removals = [{ ...removal('old', old.metadata.uid ?? ''), isFirst: true as const }]
      await expect(apply(primary, { status: { phase: 'x' }, removals })).rejects.toMatchObject({ reason: 'Rejected' })
      expect(client.callsOf()).toEqual(['delete Secret n/old', 'status DataVolume n/a'])
    },
  )

  it.each([
    ['Rejected', true, ['Secret b', 'Secret c']],
    ['Rejected', false, []],
    ['NoAnswer', true, []],
  ] as const)('a child that meets %s, children apart: %s, leaves %j', async (reason, areChildrenApart, left) => {
    const primary = client.put(anObject('DataVolume', 'owner'))
    client.before = ({ verb, body }) => {
      if (verb === 'create' && (body as KubeObject).metadata.name === 'a') throw apiError(reason)
    }
    const children = ['a', 'b', 'c'].map((name) => ({ type: SECRET, wanted: anObject('Secret', name) }))
    await expect(apply(primary, { children }, areChildrenApart)).rejects.toMatchObject({ reason })
    expect(written.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual(left)
  })

  it('remove nothing of the same name, and do not mind what is gone', async () => {
    const primary = client.put(anObject('DataVolume', 'a'))
    client.put(anObject('Secret', 'old', { uid: 'other' }))
    await apply(primary, { removals: [removal('old', 'ours'), removal('gone', 'ours')] })
    expect(client.peek('Secret', 'n/old')).toBeDefined()
    expect(client.calls[0]?.options).toMatchObject({ uid: 'ours', propagationPolicy: 'Foreground' })
  })

  it('create nothing over a namesake, and update nothing but what was seen', async () => {
    const primary = client.put(anObject('DataVolume', 'a'))
    client.put(anObject('Secret', 'child', { uid: 'other' }))
    const wanted = anObject('Secret', 'child')
    await expect(apply(primary, { children: [{ type: SECRET, wanted }] })).rejects.toMatchObject({
      reason: 'AlreadyExists',
    })
    const existing = client.peek<KubeObject>('Secret', 'n/child') ?? wanted
    const stale = { ...existing, metadata: { ...existing.metadata, resourceVersion: '0' } }
    await expect(apply(primary, { children: [{ type: SECRET, wanted, existing: stale }] })).rejects.toMatchObject({
      reason: 'Conflict',
    })
    await apply(primary, { children: [{ type: SECRET, wanted, existing }] })
    expect(client.calls.at(-1)?.body).toMatchObject({ metadata: { uid: 'other' } })
  })
})

describe('a removal of what was seen in one state', () => {
  it('is not made in another one, and says so', async () => {
    const primary = client.put(anObject('DataVolume', 'a'))
    const seen = client.put(anObject('Secret', 'child', { uid: 'one' }))
    client.put({ ...seen, metadata: { ...seen.metadata, labels: { changed: 'since' } } })
    const { resourceVersion = '' } = seen.metadata
    const stale = { ...removal('child', 'one'), resourceVersion }
    await expect(apply(primary, { removals: [stale] })).rejects.toMatchObject({ reason: 'Conflict' })
    expect(client.peek('Secret', 'n/child')).toBeDefined()
    const now = client.peek<KubeObject>('Secret', 'n/child')?.metadata.resourceVersion ?? ''
    await apply(primary, { removals: [{ ...stale, resourceVersion: now }] })
    // The garbage collector releases an object without dependents.
    await client.clock.advance(1_000)
    expect(client.peek('Secret', 'n/child')).toBeUndefined()
  })
})
