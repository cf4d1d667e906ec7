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

describe('a reflector of a server that has streaming lists', () => {
  const END = { type: 'BOOKMARK', resourceVersion: '210', endsInitialEvents: true } as const
  beforeEach(() => {
    bench.watches.canStream = true
  })

  it('takes the beginning of its watch for the list, whole or not at all, and goes on with the same watch', async () => {
    const { isSynced } = await bench.start()
    bench.watch.send({ type: 'ADDED', object: secret('a', '201') })
    bench.watch.send({ type: 'ADDED', object: secret('b', '202') })
    bench.watch.send({ type: 'BOOKMARK', resourceVersion: '205' })
    // Changes may arrive in between.
    bench.watch.send({ type: 'MODIFIED', object: secret('b', '206') })
    bench.watch.send({ type: 'DELETED', object: secret('a', '207') })
    await settled()
    expect([isSynced(), bench.store.size, bench.relists]).toEqual([false, 0, 0])
    bench.watch.send(END)
    await settled()
    expect([isSynced(), bench.names, bench.relists]).toEqual([true, ['b'], 1])
    expect(bench.store.get('n/b')?.metadata.resourceVersion).toBe('206')
    bench.watch.send({ type: 'ADDED', object: secret('c', '211') })
    // A duplicate is a bookmark like any other.
    bench.watch.send(END)
    await settled()
    expect([bench.names, bench.relists]).toEqual([['b', 'c'], 1])
    await bench.clock.advance(45_000)
    bench.watch.end()
    await settled()
    expect(bench.client.calls.map(({ verb, key }) => `${verb} ${key}`)).toEqual(['stream ', 'watch 210'])
    expect(bench.client.calls[0]?.options).toMatchObject({ metadataOnly: true, timeoutSeconds: 45 })
  })

  it('forgets what a later list does not begin with', async () => {
    await bench.start()
    bench.watch.send({ type: 'ADDED', object: secret('a', '201') })
    bench.watch.send(END)
    await settled()
    await bench.clock.advance(1_000)
    bench.watch.break(apiError('Expired'))
    await settled()
    expect(bench.names).toEqual(['a'])
    bench.watch.send({ type: 'ADDED', object: secret('b', '301') })
    bench.watch.send({ ...END, resourceVersion: '302' })
    await settled()
    expect([bench.names, bench.relists]).toEqual([['b'], 2])
    expect(bench.verbs).toEqual(['stream', 'stream'])
  })

  it.each([
    ['breaks off', 1_000, () => bench.watch.break(apiError('NoAnswer'))],
    ['ends in good order', 1_000, () => bench.watch.end()],
    ['stands still', 60_000, () => undefined],
  ])(
    'lists pages when the beginning %s before it is complete, and streams the next time',
    async (_how, afterMs, stop) => {
      bench.client.put(secret('paged'))
      const { isSynced } = await bench.start()
      bench.watch.send({ type: 'ADDED', object: secret('a', '201') })
      await settled()
      stop()
      await bench.clock.advance(afterMs)
      expect([isSynced(), bench.names]).toEqual([true, ['paged']])
      expect(bench.verbs).toEqual(['stream', 'list', 'watch'])
      await bench.clock.advance(1_000)
      bench.watch.break(apiError('Expired'))
      await settled()
      expect(bench.verbs).toEqual(['stream', 'list', 'watch', 'stream'])
    },
  )

  it.each([400, 422])('never streams again where the server answered %i', async (status) => {
    bench.client.before = ({ verb }) => {
      if (verb === 'stream') throw apiError('Rejected', { status })
    }
    const { isSynced } = await bench.start()
    expect(isSynced()).toBe(true)
    await bench.clock.advance(1_000)
    bench.watch.break(apiError('Expired'))
    await settled()
    expect(bench.verbs).toEqual(['stream', 'list', 'watch', 'list', 'watch'])
    expect(bench.log.lines.filter(({ level }) => level === 'warn')).toEqual([])
  })

  it('asks again, and says so, where it may not read yet', async () => {
    bench.client.before = failing(
      2,
      apiError('Rejected', { status: 403 }),
      ({ verb }) => verb === 'stream' || verb === 'list',
    )
    const { isSynced } = await bench.start()
    await bench.clock.advance(5_000)
    expect(isSynced()).toBe(true)
    expect(bench.verbs).toEqual(['stream', 'list', 'list', 'watch'])
    expect(bench.log.lines).toHaveLength(2)
  })

  it('is empty and synced where the kind is not installed', async () => {
    bench.client.before = ({ verb }) => {
      if (verb === 'stream') throw apiError('NotFound')
    }
    const { isSynced, reflector } = await bench.start()
    expect([isSynced(), bench.store.size, reflector.installed]).toEqual([true, 0, false])
  })
})
