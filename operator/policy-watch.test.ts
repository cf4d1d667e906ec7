import { POLICY_NAME } from '@open-terrain/constructs/operator'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../test/prepared/kube/api-error.ts'
import { settled } from '../test/prepared/kube/fake-clock.ts'
import { failing, ScriptedClient } from '../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../test/prepared/runtime/fake-log.ts'
import type { KubeObject } from './kube/kube-object.ts'
import { PolicyWatch } from './policy-watch.ts'

let client = new ScriptedClient()
let clock = client.clock
let stop = new AbortController()
let notes: string[] = []
let valid: boolean[] = []
let changes = 0
beforeEach(() => {
  client = new ScriptedClient()
  clock = client.clock
  stop = new AbortController()
  notes = []
  valid = []
  changes = 0
})
afterEach(async () => {
  stop.abort()
  await clock.advance(0)
})

const configMap = (data: Record<string, string> | undefined, uid = 'first'): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: POLICY_NAME, namespace: 'ns', uid },
    ...(data && { data }),
  }) as KubeObject

let log = fakeLog()

async function start() {
  log = fakeLog()
  const watch = new PolicyWatch({
    client,
    clock,
    random: () => 0,
    log,
    namespace: 'ns',
    onValid: (isValid) => valid.push(isValid),
  })
  watch.onNote = (_subject, { reason, message }) => notes.push(`${reason} ${message}`)
  watch.onChange(() => {
    changes += 1
  })
  void watch.run(stop.signal)
  await settled()
  return watch
}

/** Somebody edits the ConfigMap. */
async function write(data: Record<string, string> | undefined, uid?: string): Promise<void> {
  client.put(configMap(data, uid))
  await settled()
}

async function remove(): Promise<void> {
  client.drop('ConfigMap', `ns/${POLICY_NAME}`)
  await settled()
}

describe('the policy', () => {
  it('is read before anybody relies on it, from one ConfigMap alone', async () => {
    client.put(configMap({ concurrency: '7' }))
    client.put({ ...configMap({ concurrency: '9' }), metadata: { name: 'other', namespace: 'ns' } })
    const watch = await start()
    await watch.synced
    expect(watch.current.concurrency).toBe(7)
    expect(client.calls[0]?.options).toMatchObject({
      namespace: 'ns',
      fieldSelector: `metadata.name=${POLICY_NAME}`,
    })
  })

  it('is in force at once, and said', async () => {
    client.put(configMap({ concurrency: '7' }))
    const watch = await start()
    await write({ concurrency: '2', retryLimit: '9' })
    expect(watch.current).toMatchObject({ concurrency: 2, retryLimit: 9 })
    expect([changes, notes, valid]).toEqual([2, [], [true, true]])
  })

  it('keeps the last good value for each key, and names key and value', async () => {
    client.put(configMap({ concurrency: '7', retryLimit: '5' }))
    const watch = await start()
    await write({ concurrency: 'lots', retryLimit: '1' })
    expect(watch.current).toMatchObject({ concurrency: 7, retryLimit: 1 })
    expect(notes).toEqual([
      expect.stringMatching(
        /^InvalidPolicy concurrency: "lots" is not used: .*; the last valid value stays in force, or the default if there was none/,
      ),
    ])
    expect(valid).toEqual([true, false])
    await write({ concurrency: '3' })
    expect(watch.current).toMatchObject({ concurrency: 3, retryLimit: 2 })
    expect(valid).toEqual([true, false, true])
  })

  it('with two values that contradict each other says which one counts', async () => {
    client.put(configMap({ retryBackoffDuration: '2h' }))
    await start()
    await write({ retryBackoffDuration: '2h', retryBackoffMax: '30m' })
    expect(notes).toEqual([
      'InvalidPolicy retryBackoffMax: "30m" is not used: must not be less than retryBackoffDuration; the longest wait is retryBackoffDuration, 2h',
    ])
    expect(valid).toEqual([true, false])
  })

  it('that is bad twice keeps the value of before', async () => {
    client.put(configMap({ concurrency: '7' }))
    const watch = await start()
    await write({ concurrency: 'x' })
    await write({ concurrency: '-1' })
    expect(watch.current.concurrency).toBe(7)
  })

  it('that is deleted stays in force, and that is said', async () => {
    client.put(configMap({ concurrency: '7' }))
    const watch = await start()
    await remove()
    expect(watch.current.concurrency).toBe(7)
    expect(watch.limit(3)).toBe(7)
    expect(notes).toEqual([expect.stringMatching(/^PolicyDeleted /)])
    await write({ concurrency: '2' }, 'second')
    expect(watch.current.concurrency).toBe(2)
  })

  it('that is replaced under its name never falls back to the defaults in between', async () => {
    client.put(configMap({ concurrency: '7', retryLimit: '9' }))
    const watch = await start()
    const seen: number[] = []
    watch.onChange(() => seen.push(watch.current.concurrency))
    await write({ concurrency: '8', retryLimit: 'x' }, 'second')
    expect(seen).toEqual([8])
    expect(watch.current.retryLimit).toBe(9)
  })

  it('is told again to a new leader, as it is then', async () => {
    client.put(configMap({ concurrency: 'x' }))
    const watch = await start()
    expect(notes).toHaveLength(1)
    watch.repeatNotes()
    expect(notes).toHaveLength(2)
    await write({ concurrency: '1' })
    watch.repeatNotes()
    expect(notes.slice(2)).toEqual(['PolicyValid all keys of the policy are used as they are written'])
  })

  it('has one verdict, which those who ask are told to look at', async () => {
    client.put(configMap({ concurrency: 'x' }))
    const watch = await start()
    let looks = 0
    watch.onVerdict = () => {
      looks += 1
    }
    expect(watch.verdict).toMatchObject({
      problems: [expect.stringMatching(/^concurrency: "x" is not used/)],
      isThere: true,
    })
    await write({ concurrency: '2' })
    expect([looks, watch.verdict.problems, watch.verdict.policy.concurrency]).toEqual([1, [], 2])
    await remove()
    expect([looks, watch.verdict.isThere]).toEqual([2, false])
  })

  it('with a key that there is not says that it has no effect, and claims no value for it', async () => {
    client.put(configMap({ concurency: '9' }))
    await start()
    expect(notes).toEqual([
      'InvalidPolicy concurency: is not a key of the policy, so it has no effect: correct its name, or remove it',
    ])
    expect(valid).toEqual([false])
  })

  it('with thousands of such keys says it once', async () => {
    const keys = Array.from({ length: 2_000 }, (_, index) => [`key-${index}`, 'x'])
    client.put(configMap(Object.fromEntries([...keys, ['retryLimit', 'x']])))
    await start()
    const told =
      'key-0, key-1, key-2, key-3, key-4 and 1995 more: are not keys of the policy, so they have no effect: correct their names, or remove them'
    expect(notes).toEqual([expect.stringMatching(/^InvalidPolicy retryLimit: /), `InvalidPolicy ${told}`])
    expect(log.lines.filter(({ level }) => level === 'warn')).toHaveLength(2)
  })

  it('that says something in binary keeps the value of before', async () => {
    client.put(configMap({ concurrency: '7' }))
    const watch = await start()
    client.put({ ...configMap(undefined), binaryData: { concurrency: 'AAH/' } } as KubeObject)
    await settled()
    expect(watch.current.concurrency).toBe(7)
    expect(notes).toEqual([expect.stringMatching(/^InvalidPolicy concurrency: .*binaryData/)])
    expect(valid.at(-1)).toBe(false)
  })

  it('without any data is the defaults', async () => {
    client.put(configMap(undefined))
    expect((await start()).current).toMatchObject({ concurrency: 4, retryLimit: 2 })
    expect(valid).toEqual([true])
  })

  it('survives an API server that is away', async () => {
    client.put(configMap({ concurrency: '7' }))
    client.before = failing(4, apiError('Unavailable'))
    const watch = await start()
    await clock.advance(30_000)
    expect(watch.current.concurrency).toBe(7)
  })

  it('stops telling whoever does not listen any more', async () => {
    const watch = await start()
    let told = 0
    watch.onChange(() => {
      told += 1
    })()
    await write({ concurrency: '1' })
    expect(told).toBe(0)
  })
})

describe('a concurrency', () => {
  it('that one ledger can hold is taken; one more keeps the limit of before, and says so', async () => {
    client.put(configMap({ concurrency: '2000' }))
    const watch = await start()
    expect(watch.limit(3)).toBe(2_000)
    await write({ concurrency: '2001' })
    expect(watch.limit(3)).toBe(2_000)
    expect(notes.at(-1)).toContain('concurrency')
    expect(valid.at(-1)).toBe(false)
  })
})

describe('the limit at start', () => {
  it.each<[string, Record<string, string> | undefined, number | undefined, number]>([
    ['no ConfigMap and a ledger', undefined, 9, 9],
    ['no ConfigMap and no ledger', undefined, undefined, 4],
    ['no such key and a ledger', { retryLimit: '1' }, 9, 9],
    ['a bad value and a ledger', { concurrency: 'x' }, 9, 9],
    ['a bad value and no ledger', { concurrency: 'x' }, undefined, 4],
    ['a good value and a ledger', { concurrency: '2' }, 9, 2],
    ['a pause and a ledger', { concurrency: '0' }, 9, 0],
    ['a paused ledger and no ConfigMap', undefined, 0, 0],
  ])('with %s', async (_name, data, ledger, expected) => {
    if (data !== undefined) client.put(configMap(data))
    expect((await start()).limit(ledger)).toBe(expected)
  })

  it('does not matter any more once a good value was seen', async () => {
    client.put(configMap({ concurrency: '2' }))
    const watch = await start()
    await write({ concurrency: 'x' })
    expect(watch.limit(9)).toBe(2)
  })
})
