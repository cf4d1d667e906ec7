import { beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../../../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../../test/prepared/runtime/fake-log.ts'
import { SECOND } from '../../../../test/prepared/runtime/times.ts'
import { aHolder, NAMESPACE } from '../../../../test/prepared/vm-disk-image/admission.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import type { Holder } from '../world.ts'
import { LEDGER_NAME, SlotLedger } from './slot-ledger.ts'

const KEY = `${NAMESPACE}/${LEDGER_NAME}`
/** Well-formed, but of no existing image. */
const aForged = (at: number) => ({ ...aHolder('a'), uid: `u${at}`, namespace: 'n', name: `n${at}`, claimant: 'x' })
const { signal } = new AbortController()
let client = new ScriptedClient(NAMESPACE)
let clock = client.clock
let log = fakeLog()
const aLedger = () => new SlotLedger({ client, clock, log, namespace: NAMESPACE })
beforeEach(() => {
  client = new ScriptedClient(NAMESPACE)
  clock = client.clock
  log = fakeLog()
})

const put = (data: Record<string, string>, metadata: object = {}, more: object = {}) =>
  client.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: LEDGER_NAME, namespace: NAMESPACE, ...metadata },
    data,
    ...more,
  } as never)
const warnings = () => log.lines.filter(({ level }) => level === 'warn')

describe('the ledger', () => {
  it('says what was written, to everybody', async () => {
    const [one, other] = [aLedger(), aLedger()]
    expect(await one.load(signal)).toBeUndefined()
    await one.make({ limit: 3, holders: [aHolder('a')] }, signal)
    expect(await other.load(signal)).toEqual({ limit: 3, holders: [aHolder('a')] })
    await other.replace({ limit: 2, holders: [] }, signal)
    expect(other.state).toEqual({ limit: 2, holders: [] })
    expect(await one.load(signal)).toEqual({ limit: 2, holders: [] })
  })

  it('is not read the first time if a cache has none, and then is, should somebody have made it after all', async () => {
    const isCached = (key: string) => key !== KEY
    const ledger = new SlotLedger({ client, clock, log, namespace: NAMESPACE, isCached })
    put({ state: JSON.stringify({ limit: 3, holders: [] }) })
    expect([await ledger.load(signal), client.callsOf('get')]).toEqual([undefined, []])
    await expect(ledger.make({ limit: 1, holders: [] }, signal)).rejects.toMatchObject({ reason: 'AlreadyExists' })
    await ledger.load(signal)
    expect(client.callsOf('get')).toEqual([`get ConfigMap ${KEY}`])
  })

  it('is replaced only as it was read', async () => {
    const [one, other] = [aLedger(), aLedger()]
    await one.make({ limit: 3, holders: [] }, signal)
    await other.load(signal)
    await one.replace({ limit: 3, holders: [aHolder('a')] }, signal)
    await expect(other.replace({ limit: 3, holders: [aHolder('b')] }, signal)).rejects.toMatchObject({
      reason: 'Conflict',
    })
    expect((await other.load(signal))?.holders).toEqual([aHolder('a')])
  })

  it('is made once', async () => {
    await aLedger().make({ limit: 1, holders: [] }, signal)
    await expect(aLedger().make({ limit: 2, holders: [] }, signal)).rejects.toMatchObject({ reason: 'AlreadyExists' })
  })

  it('is not replaced before it was read', async () => {
    await expect(aLedger().replace({ limit: 1, holders: [] }, signal)).rejects.toThrow('loaded')
  })

  it('drops with its next write what others put beside it, which may fill the object until no write fits, and says so once', async () => {
    const foreign = {
      labels: { team: 'x' },
      annotations: { note: 'x' },
      finalizers: ['example.com/keep'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'gone' }],
    }
    put({ limit: '1', holders: '[]', note: 'x'.repeat(1_000_000) }, foreign, { binaryData: { more: 'eA==' } })
    const ledger = aLedger()
    await ledger.load(signal)
    await ledger.replace({ limit: 2, holders: [] }, signal)
    await ledger.replace({ limit: 3, holders: [] }, signal)
    const { metadata, ...stored } = client.peek<KubeObject>('ConfigMap', KEY) as KubeObject
    expect(stored).toEqual({ apiVersion: 'v1', kind: 'ConfigMap', data: { limit: '3', holders: '[]' } })
    expect(Object.keys(metadata).sort()).toEqual(['labels', 'name', 'namespace', 'resourceVersion', 'uid'])
    expect(metadata.labels).toEqual({ 'app.kubernetes.io/managed-by': 'open-terrain-operator' })
    expect(warnings()).toHaveLength(1)
    expect(warnings()[0]?.facts).toEqual({
      dropped: ['note', 'more', 'label team', 'annotation note', 'finalizer example.com/keep', 'owner ConfigMap gone'],
      count: 6,
    })
  })

  it('names few of what it drops, and cuts the names', async () => {
    const others = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`${at}-${'x'.repeat(240)}`, '']))
    put({ limit: '1', holders: '[]', ...others })
    const ledger = aLedger()
    await ledger.load(signal)
    await ledger.replace({ limit: 2, holders: [] }, signal)
    expect(warnings()[0]?.facts).toMatchObject({ count: 5_000 })
    expect(JSON.stringify(warnings()).length).toBeLessThan(1_000)
  })

  const one = (more: Partial<Holder>) => ({ limit: '2', holders: JSON.stringify([aHolder('a', more)]) })
  const long = 'x'.repeat(100_000)
  it.each<readonly [string, Record<string, string>]>([
    ['a limit in words', { limit: 'two', holders: '[]' }],
    ['a negative limit', { limit: '-1', holders: '[]' }],
    ['half a slot', { limit: '1.5', holders: '[]' }],
    ['a limit that no policy has', { limit: '2001', holders: '[]' }],
    ['no limit', { holders: '[]' }],
    ['no JSON', { limit: '1', holders: 'x' }],
    ['no list', { limit: '1', holders: '{}' }],
    ['a holder without a name', { limit: '1', holders: '[{"uid":"a"}]' }],
    ['two slots of one image', { limit: '2', holders: JSON.stringify([aHolder('a'), aHolder('a', { attempt: 2 })]) }],
    ['a namespace that leads elsewhere', one({ namespace: '../..' })],
    ['no namespace', one({ namespace: '' })],
    ['a name with a query', one({ name: 'a?watch=true' })],
    ['a huge name', one({ name: long })],
    ['a huge uid', one({ uid: long })],
    ['a huge claimant', one({ claimant: long })],
    ['a huge revision', one({ revision: long })],
    ['a huge attempt', one({ attempt: 1e300 })],
    ['500,000 brackets', { limit: '2', holders: '['.repeat(500_000) + ']'.repeat(500_000) }],
    ['500,000 numbers', { limit: '2', holders: `[${'0,'.repeat(500_000)}0]` }],
    ['10,000 holders', { limit: '2', holders: JSON.stringify(Array.from({ length: 10_000 }, (_, at) => aForged(at))) }],
  ])('that makes no sense is as good as none, never a guess: %s', async (_what, data) => {
    put(data)
    const ledger = aLedger()
    expect(await ledger.load(signal)).toBeUndefined()
    await ledger.make({ limit: 3, holders: [] }, signal)
    expect(await aLedger().load(signal)).toEqual({ limit: 3, holders: [] })
  })

  it('that makes no sense is replaced only as it was read: whoever mended it meanwhile is not overwritten', async () => {
    put({ limit: 'two', holders: '[]' })
    const ledger = aLedger()
    await ledger.load(signal)
    expect(ledger.isGarbled).toBe(true)
    put({ limit: '2', holders: JSON.stringify([aHolder('a')]) })
    await expect(ledger.make({ limit: 3, holders: [] }, signal)).rejects.toMatchObject({ reason: 'Conflict' })
    expect(await ledger.load(signal)).toEqual({ limit: 2, holders: [aHolder('a')] })
    expect(ledger.isGarbled).toBe(false)
  })

  it('that nobody can write any more is deleted, and made again', async () => {
    put({ limit: '1', holders: '[]' }, { uid: 'frozen', finalizers: ['example.com/keep'] }, { immutable: true })
    const ledger = aLedger()
    expect(await ledger.load(signal)).toBeUndefined()
    expect(ledger.isGarbled).toBe(true)
    await ledger.make({ limit: 3, holders: [aHolder('a')] }, signal)
    expect(await aLedger().load(signal)).toEqual({ limit: 3, holders: [aHolder('a')] })
    expect(client.peek<KubeObject>('ConfigMap', KEY)?.metadata.uid).not.toBe('frozen')
    expect(warnings()).toHaveLength(1)
  })

  it('that is on its way out, and kept by somebody, is not relied on', async () => {
    const leaving = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/keep'] }
    put({ limit: '1', holders: '[]' }, leaving)
    const ledger = aLedger()
    expect(await ledger.load(signal)).toBeUndefined()
    await ledger.make({ limit: 3, holders: [] }, signal)
    expect(await aLedger().load(signal)).toEqual({ limit: 3, holders: [] })
    expect(client.peek<KubeObject>('ConfigMap', KEY)?.metadata.deletionTimestamp).toBeUndefined()
  })

  it.each([{ limit: '', holders: '[]' }] as Record<string, string>[])(
    'with a blank limit does not pass for a pause: %j',
    async (data) => {
      put(data)
      expect(await aLedger().load(signal)).toBeUndefined()
    },
  )
})

describe('an answer of the ledger', () => {
  it('is fresh for less than 5 s from before it was asked for', async () => {
    const ledger = aLedger()
    expect(ledger.isFresh).toBe(false)
    client.after = () => clock.freeze(3 * SECOND)
    await ledger.make({ limit: 1, holders: [] }, signal)
    expect(ledger.isFresh).toBe(true)
    clock.freeze(2 * SECOND - 1)
    expect(ledger.isFresh).toBe(true)
    clock.freeze(1)
    expect(ledger.isFresh).toBe(false)
  })

  it.each(['load', 'replace'] as const)('that took longer than that is stale at once: %s', async (verb) => {
    const ledger = aLedger()
    await ledger.make({ limit: 1, holders: [] }, signal)
    client.before = () => clock.freeze(2 * SECOND)
    client.after = () => clock.freeze(3 * SECOND)
    await (verb === 'load' ? ledger.load(signal) : ledger.replace({ limit: 2, holders: [] }, signal))
    expect(ledger.isFresh).toBe(false)
  })

  it('that never came changes nothing', async () => {
    const ledger = aLedger()
    await ledger.make({ limit: 1, holders: [] }, signal)
    client.after = () => {
      throw apiError('NoAnswer')
    }
    await expect(ledger.replace({ limit: 9, holders: [] }, signal)).rejects.toMatchObject({ reason: 'NoAnswer' })
    expect(ledger.state?.limit).toBe(1)
  })

  it('that there is none leaves what was known, until another one is made', async () => {
    const ledger = aLedger()
    await ledger.make({ limit: 1, holders: [] }, signal)
    client.drop('ConfigMap', KEY)
    expect(await ledger.load(signal)).toBeUndefined()
    expect(ledger.state).toEqual({ limit: 1, holders: [] })
  })
})
