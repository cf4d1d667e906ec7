import { beforeEach, describe, expect, it } from 'vitest'
import { apiError, FakeClient } from '../../kube/fake-client.fixtures.ts'
import { FakeClock } from '../../kube/fake-clock.fixtures.ts'
import { aHolder, NAMESPACE } from './admission.fixtures.ts'
import { LEDGER_NAME, SlotLedger } from './slot-ledger.ts'
import { SECOND } from './world.fixtures.ts'

const KEY = `${NAMESPACE}/${LEDGER_NAME}`
const { signal } = new AbortController()
let client = new FakeClient()
let clock = new FakeClock()
const aLedger = () => new SlotLedger({ client, clock, namespace: NAMESPACE })
beforeEach(() => {
  client = new FakeClient()
  clock = new FakeClock()
})

const put = (data: Record<string, string>) =>
  client.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: LEDGER_NAME, namespace: NAMESPACE },
    data,
  } as never)

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

  it('keeps what others put beside it', async () => {
    put({ limit: '1', holders: '[]', note: 'hands off' })
    const ledger = aLedger()
    await ledger.load(signal)
    await ledger.replace({ limit: 2, holders: [] }, signal)
    expect(client.peek<never>('ConfigMap', KEY)).toMatchObject({ data: { limit: '2', note: 'hands off' } })
  })

  it.each([
    { limit: 'two', holders: '[]' },
    { limit: '-1', holders: '[]' },
    { limit: '1.5', holders: '[]' },
    { limit: '1', holders: 'x' },
    { limit: '1', holders: '{}' },
    { limit: '1', holders: '[{"uid":"a"}]' },
    { holders: '[]' },
  ] as Record<string, string>[])('that makes no sense is as good as none, never a guess: %j', async (data) => {
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
