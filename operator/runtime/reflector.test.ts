import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { settled } from '../../test/prepared/kube/fake-clock.ts'
import { failing } from '../../test/prepared/kube/scripted-client.ts'
import { ReflectorBench, secret } from '../../test/prepared/runtime/reflector-bench.ts'
import type { KubeObject } from '../kube/kube-object.ts'

let bench = new ReflectorBench()
beforeEach(() => {
  bench = new ReflectorBench()
})
afterEach(() => bench.end())

describe('a reflector', () => {
  it('lists again beside a watch that is behind, and goes on watching', async () => {
    bench.client.put(secret('a'))
    const { reflector } = await bench.start()
    bench.client.drop('Secret', 'n/a')
    bench.client.put(secret('b'))
    expect(bench.names).toEqual(['a'])
    await reflector.refresh(bench.stop.signal)
    expect(bench.names).toEqual(['b'])
    expect(bench.verbs).toEqual(['stream', 'list', 'watch', 'list'])
    expect(bench.relists).toBe(1)
  })

  it('of a kind that is not installed has nothing to list again', async () => {
    bench.client.before = () => {
      throw apiError('NotFound')
    }
    const { reflector } = await bench.start()
    await reflector.refresh(bench.stop.signal)
    expect(bench.verbs).toEqual(['stream'])
  })

  it('lists all pages where the server has no streaming lists, then watches from the version of the list', async () => {
    for (let at = 0; at < 1_100; at += 1) bench.client.put(secret(`s${at}`))
    const { isSynced } = await bench.start()
    expect(bench.store.size).toBe(1_100)
    expect(isSynced()).toBe(true)
    expect(bench.verbs).toEqual(['stream', 'list', 'list', 'list', 'list', 'watch'])
    expect(bench.client.calls[1]?.options).toMatchObject({ limit: 50, metadataOnly: true })
    expect(bench.watch.options).toMatchObject({
      resourceVersion: String(bench.client.cluster.revision),
      metadataOnly: true,
    })
    expect(bench.relists).toBe(1)
  })

  it('is not synced before the last page', async () => {
    for (let at = 0; at < 600; at += 1) bench.client.put(secret(`s${at}`))
    let pages = 0
    bench.client.before = ({ verb }) => {
      if (verb === 'list' && ++pages === 2) throw apiError('Unavailable')
    }
    const { isSynced } = await bench.start()
    expect([isSynced(), bench.store.size]).toEqual([false, 0])
    await bench.clock.advance(1_000)
    expect([isSynced(), bench.store.size]).toEqual([true, 600])
  })

  it('says how long the server has told nothing', async () => {
    const { reflector } = await bench.start()
    await bench.clock.advance(30_000)
    expect(reflector.silentMs).toBe(30_000)
    bench.watch.send({ type: 'BOOKMARK', resourceVersion: '300' })
    await settled()
    expect(reflector.silentMs).toBe(0)
    bench.client.before = () => {
      throw apiError('Unavailable')
    }
    bench.watch.end()
    await bench.clock.advance(120_000)
    expect(reflector.silentMs).toBe(120_000)
    bench.client.before = () => {
      throw apiError('NotFound')
    }
    await bench.clock.advance(60_000)
    expect(reflector.silentMs).toBeLessThan(60_000)
  })

  it('takes in what the watch says', async () => {
    await bench.start()
    bench.watch.send({ type: 'ADDED', object: secret('a', '201') })
    bench.watch.send({ type: 'MODIFIED', object: secret('a', '202') })
    bench.watch.send({ type: 'ADDED', object: secret('b', '203') })
    bench.watch.send({ type: 'DELETED', object: secret('a', '204') })
    await settled()
    expect(bench.names).toEqual(['b'])
  })

  it('reads nothing twice: neither our own writes from the watch, nor on a list what has not changed', async () => {
    const { reflector } = await bench.start()
    const own = bench.client.put(secret('a'))
    bench.store.observeWrite(own)
    const read: (string | undefined)[] = []
    bench.project = (object) => {
      read.push(object.metadata.resourceVersion)
      return object
    }
    bench.watch.send({ type: 'ADDED', object: { ...own } })
    await settled()
    await reflector.refresh(bench.stop.signal)
    expect(read).toEqual([])
    const changed = bench.client.put(secret('a'))
    bench.watch.send({ type: 'MODIFIED', object: changed })
    await settled()
    expect(read).toEqual([changed.metadata.resourceVersion])
    expect(bench.store.get('n/a')).toBe(changed)
  })

  it('watches again from the last event, or bookmark, when the watch ends', async () => {
    await bench.start()
    bench.watch.send({ type: 'ADDED', object: secret('a', '201') })
    await bench.clock.advance(40_000)
    bench.watch.end()
    await settled()
    expect(bench.watch.options.resourceVersion).toBe('201')
    bench.watch.send({ type: 'BOOKMARK', resourceVersion: '300' })
    await bench.clock.advance(40_000)
    bench.watch.end()
    await settled()
    expect(bench.watch.options.resourceVersion).toBe('300')
    expect(bench.relists).toBe(1)
    bench.store.observeWrite(secret('late', '250'))
    expect(bench.names).toEqual(['a'])
  })

  it('watches again from the last event, after a pause, when the stream breaks', async () => {
    await bench.start()
    bench.watch.send({ type: 'ADDED', object: secret('a', '201') })
    bench.watch.break(apiError('NoAnswer'))
    await settled()
    expect(bench.watches.opened).toHaveLength(1)
    await bench.clock.advance(1_000)
    expect(bench.watches.opened).toHaveLength(2)
    expect(bench.watch.options.resourceVersion).toBe('201')
    expect(bench.relists).toBe(1)
  })

  it('lists again at once when its version has expired', async () => {
    await bench.start()
    await bench.clock.advance(1_000)
    bench.client.put(secret('new'))
    bench.watch.break(apiError('Expired'))
    await settled()
    expect(bench.relists).toBe(2)
    expect(bench.names).toEqual(['new'])
  })

  it('forgets what was deleted meanwhile when it lists again', async () => {
    bench.client.put(secret('a'))
    bench.client.put(secret('b'))
    await bench.start()
    await bench.clock.advance(1_000)
    bench.client.drop('Secret', 'n/a')
    bench.watch.break(apiError('Expired'))
    await settled()
    expect(bench.names).toEqual(['b'])
  })

  it('cuts a watch that its server has forgotten, and watches again', async () => {
    await bench.start()
    expect(bench.watch.options.timeoutSeconds).toBe(45)
    await bench.clock.advance(52_999)
    expect(bench.watches.opened).toHaveLength(1)
    await bench.clock.advance(1)
    expect(bench.watches.opened).toHaveLength(2)
    expect(bench.relists).toBe(1)
  })

  it('backs off, up to a limit, and never ends on errors', async () => {
    bench.client.before = ({ verb }) => {
      if (verb === 'list') throw apiError('Unavailable')
    }
    const { ended, isSynced } = await bench.start()
    let isEnded = false
    void ended.then(() => {
      isEnded = true
    })
    await bench.clock.advance(100_000)
    const many = bench.client.calls.length
    expect(many).toBeLessThan(40)
    expect(many).toBeGreaterThan(10)
    expect([isEnded, isSynced()]).toEqual([false, false])
    bench.client.before = undefined
    await bench.clock.advance(10_000)
    expect(isSynced()).toBe(true)
  })

  it.each([new TypeError('a bug'), apiError('Rejected'), apiError('Conflict')])('survives %s', async (error) => {
    bench.client.before = failing(3, error, ({ verb }) => verb === 'list')
    const { isSynced } = await bench.start()
    await bench.clock.advance(10_000)
    expect(isSynced()).toBe(true)
  })

  it('waits as long as the server asks it to', async () => {
    bench.client.before = failing(1, apiError('Unavailable', { retryAfterMs: 7_000 }), ({ verb }) => verb === 'list')
    await bench.start()
    await bench.clock.advance(6_999)
    expect(bench.verbs).toEqual(['stream', 'list'])
    await bench.clock.advance(1)
    expect(bench.verbs).toEqual(['stream', 'list', 'list', 'watch'])
  })

  it('does not hammer a server that ends every watch at once', async () => {
    let count = 0
    bench.client.before = ({ verb }) => {
      if (verb !== 'watch') return undefined
      count += 1
      queueMicrotask(() => bench.watches.opened.at(-1)?.end())
      return count < 200 ? undefined : new Promise(() => undefined)
    }
    await bench.start()
    expect(count).toBeLessThan(20)
  })

  it.each([0, 1])(
    'does not list in a tight loop where every watch answers that it expired (chance %d)',
    async (chance) => {
      bench.client.put(secret('a'))
      bench.client.before = ({ verb }) => {
        if (verb === 'watch') throw apiError('Expired')
      }
      await bench.start(chance)
      expect(bench.relists).toBeLessThanOrEqual(2)
      await bench.clock.advance(10_000)
      expect(bench.relists).toBeLessThanOrEqual(101)
      expect(bench.names).toEqual(['a'])
      bench.client.before = undefined
      await bench.clock.advance(10_000)
      const before = bench.relists
      await bench.clock.advance(30_000)
      expect(bench.relists).toBe(before)
    },
  )

  it('stops when told to, also in a pause', async () => {
    bench.client.before = () => {
      throw apiError('Unavailable')
    }
    // The cluster's namespaces get their ServiceAccounts a moment later.
    await bench.clock.advance(100)
    const { ended } = await bench.start()
    bench.stop.abort()
    await expect(ended).resolves.toBeUndefined()
    expect(bench.clock.pending).toBe(0)
  })
})

describe('an object that cannot be read', () => {
  const bugs = () => bench.log.lines.filter(({ level }) => level === 'error')
  beforeEach(() => {
    bench.project = (object) => {
      if (object.metadata.labels?.['odd'] !== undefined) throw new Error('odd')
      return object
    }
  })
  const odd = (name: string, resourceVersion: string): KubeObject => {
    const object = secret(name, resourceVersion)
    return { ...object, metadata: { ...object.metadata, labels: { odd: 'yes' } } }
  }

  it('does not hide the others of its list', async () => {
    bench.client.put(odd('a', '1'))
    bench.client.put(secret('b'))
    const { isSynced } = await bench.start()
    expect(isSynced()).toBe(true)
    expect(bench.names).toEqual(['b'])
    expect(bugs()).toHaveLength(1)
  })

  it('does not end its watch, and is known as it was', async () => {
    await bench.start()
    bench.watch.send({ type: 'ADDED', object: secret('a', '201') })
    bench.watch.send({ type: 'MODIFIED', object: odd('a', '202') })
    bench.watch.send({ type: 'ADDED', object: secret('b', '203') })
    await settled()
    expect([bench.names, bench.store.get('n/a')?.metadata.resourceVersion]).toEqual([['a', 'b'], '201'])
    bench.watch.send({ type: 'DELETED', object: odd('a', '204') })
    await settled()
    expect(bench.names).toEqual(['b'])
    expect([bench.watches.opened.length, bench.relists, bugs().length]).toEqual([1, 1, 2])
  })
})

it('goes on where a listener throws, and says so', async () => {
  bench.store.onChange(() => {
    throw new Error('bug')
  })
  await bench.start()
  bench.watch.send({ type: 'ADDED', object: secret('a', '201') })
  await settled()
  expect(bench.names).toEqual(['a'])
  expect(bench.watches.opened).toHaveLength(1)
  expect(bench.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
})
