import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { settled } from '../../test/prepared/kube/fake-clock.ts'
import { failing } from '../../test/prepared/kube/scripted-client.ts'
import { ReflectorBench, secret } from '../../test/prepared/runtime/reflector-bench.ts'

let bench = new ReflectorBench()
beforeEach(() => {
  bench = new ReflectorBench()
})
afterEach(() => bench.end())

describe('a kind that is not installed', () => {
  const absent = () => {
    bench.client.before = () => {
      throw apiError('NotFound')
    }
  }

  it('is an empty store that is synced, and is looked for now and then', async () => {
    absent()
    const { reflector, isSynced } = await bench.start()
    expect([isSynced(), reflector.installed, bench.store.size]).toEqual([true, false, 0])
    expect(bench.client.calls).toHaveLength(1)
    bench.client.before = undefined
    bench.client.put(secret('a'))
    await bench.clock.advance(40_000)
    expect([reflector.installed, bench.names]).toEqual([true, ['a']])
  })

  it('is found at once when poked, and whoever asked is told', async () => {
    absent()
    const { reflector } = await bench.start()
    let told = 0
    const forget = reflector.onInstalled(() => {
      told += 1
    })
    bench.client.before = undefined
    reflector.poke()
    await settled()
    expect([reflector.installed, told]).toEqual([true, 1])
    bench.watch.break(apiError('Expired'))
    await settled()
    expect(told).toBe(1)
    forget()
    absent()
    bench.watch.break(apiError('NotFound'))
    await bench.clock.advance(10_000)
    expect([reflector.installed, told]).toEqual([false, 1])
  })

  it('empties its store when it is removed while we run', async () => {
    bench.client.put(secret('a'))
    await bench.start()
    absent()
    bench.watch.break(apiError('NotFound'))
    await bench.clock.advance(10_000)
    expect(bench.store.size).toBe(0)
  })

  it('keeps its store when the answer that it is not there is not confirmed', async () => {
    bench.client.put(secret('a'))
    const { reflector } = await bench.start()
    bench.client.before = failing(1, apiError('NotFound'), ({ verb }) => verb === 'list')
    bench.watch.break(apiError('NotFound'))
    await settled()
    expect([bench.store.size, reflector.installed]).toEqual([1, true])
    await bench.clock.advance(10_000)
    expect([bench.store.size, reflector.installed]).toEqual([1, true])
  })
})
