import { beforeEach, describe, expect, it } from 'vitest'
import { apiError, FakeClient } from '../../kube/fake-client.fixtures.ts'
import { FakeClock } from '../../kube/fake-clock.fixtures.ts'
import { aHolder, NAMESPACE } from './admission.fixtures.ts'
import { LEDGER_NAME, SlotLedger } from './slot-ledger.ts'
import { SECOND } from './world.fixtures.ts'

const KEY = `${NAMESPACE}/${LEDGER_NAME}`
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
    expect(await one.load()).toBeUndefined()
    await one.make({ limit: 3, holders: [aHolder('a')] })
    expect(await other.load()).toEqual({ limit: 3, holders: [aHolder('a')] })
    await other.replace({ limit: 2, holders: [] })
    expect(other.state).toEqual({ limit: 2, holders: [] })
    expect(await one.load()).toEqual({ limit: 2, holders: [] })
  })

  it('is replaced only as it was read', async () => {
    const [one, other] = [aLedger(), aLedger()]
    await one.make({ limit: 3, holders: [] })
    await other.load()
    await one.replace({ limit: 3, holders: [aHolder('a')] })
    await expect(other.replace({ limit: 3, holders: [aHolder('b')] })).rejects.toMatchObject({ reason: 'Conflict' })
    expect((await other.load())?.holders).toEqual([aHolder('a')])
  })

  it('is made once', async () => {
    await aLedger().make({ limit: 1, holders: [] })
    await expect(aLedger().make({ limit: 2, holders: [] })).rejects.toMatchObject({ reason: 'AlreadyExists' })
  })

  it('is not replaced before it was read', async () => {
    await expect(aLedger().replace({ limit: 1, holders: [] })).rejects.toThrow('loaded')
  })

  it('keeps what others put beside it', async () => {
    put({ limit: '1', holders: '[]', note: 'hands off' })
    const ledger = aLedger()
    await ledger.load()
    await ledger.replace({ limit: 2, holders: [] })
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
    expect(await ledger.load()).toBeUndefined()
    await ledger.make({ limit: 3, holders: [] })
    expect(await aLedger().load()).toEqual({ limit: 3, holders: [] })
  })

  it('that makes no sense is replaced only as it was read: whoever mended it meanwhile is not overwritten', async () => {
    put({ limit: 'two', holders: '[]' })
    const ledger = aLedger()
    await ledger.load()
    expect(ledger.isGarbled).toBe(true)
    put({ limit: '2', holders: JSON.stringify([aHolder('a')]) })
    await expect(ledger.make({ limit: 3, holders: [] })).rejects.toMatchObject({ reason: 'Conflict' })
    expect(await ledger.load()).toEqual({ limit: 2, holders: [aHolder('a')] })
    expect(ledger.isGarbled).toBe(false)
  })

  it.each([{ limit: '', holders: '[]' }] as Record<string, string>[])(
    'with a blank limit does not pass for a pause: %j',
    async (data) => {
      put(data)
      expect(await aLedger().load()).toBeUndefined()
    },
  )
})

describe('an answer of the ledger', () => {
  it('is fresh for less than 5 s from before it was asked for', async () => {
    const ledger = aLedger()
    expect(ledger.isFresh).toBe(false)
    client.after = () => clock.freeze(3 * SECOND)
    await ledger.make({ limit: 1, holders: [] })
    expect(ledger.isFresh).toBe(true)
    clock.freeze(2 * SECOND - 1)
    expect(ledger.isFresh).toBe(true)
    clock.freeze(1)
    expect(ledger.isFresh).toBe(false)
  })

  it.each(['load', 'replace'] as const)('that took longer than that is stale at once: %s', async (verb) => {
    const ledger = aLedger()
    await ledger.make({ limit: 1, holders: [] })
    client.before = () => clock.freeze(2 * SECOND)
    client.after = () => clock.freeze(3 * SECOND)
    await (verb === 'load' ? ledger.load() : ledger.replace({ limit: 2, holders: [] }))
    expect(ledger.isFresh).toBe(false)
  })

  it('that never came changes nothing', async () => {
    const ledger = aLedger()
    await ledger.make({ limit: 1, holders: [] })
    client.after = () => {
      throw apiError('NoAnswer')
    }
    await expect(ledger.replace({ limit: 9, holders: [] })).rejects.toMatchObject({ reason: 'NoAnswer' })
    expect(ledger.state?.limit).toBe(1)
  })

  it('that there is none leaves what was known, until another one is made', async () => {
    const ledger = aLedger()
    await ledger.make({ limit: 1, holders: [] })
    client.drop('ConfigMap', KEY)
    expect(await ledger.load()).toBeUndefined()
    expect(ledger.state).toEqual({ limit: 1, holders: [] })
  })
})
