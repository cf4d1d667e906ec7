import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiError } from '../kube/api-error.fixtures.ts'
import { settled } from '../kube/fake-clock.fixtures.ts'
import { HeldWatches } from '../kube/held-watches.fixtures.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { SECRET } from '../kube/resource-types.ts'
import { ScriptedClient } from '../kube/scripted-client.fixtures.ts'
import { fakeLog } from './fake-log.fixtures.ts'
import { Reflector } from './reflector.ts'
import { Store } from './store.ts'

let client = new ScriptedClient()
let clock = client.clock
let watches = new HeldWatches()
let store = new Store<KubeObject>()
let stop = new AbortController()
let relists = 0

beforeEach(() => {
  client = new ScriptedClient()
  clock = client.clock
  watches = new HeldWatches()
  client.held = watches
  store = new Store()
  stop = new AbortController()
  relists = 0
  log = fakeLog()
  project = (object) => object
})
afterEach(async () => {
  stop.abort()
  await clock.advance(0)
})

const secret = (name: string, resourceVersion?: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'n', uid: name, ...(resourceVersion !== undefined && { resourceVersion }) },
})

let log = fakeLog()
/** What to make of an object; may throw. */
let project = (object: KubeObject) => object

async function start(chance = 0) {
  const reflector = new Reflector<KubeObject>({
    client,
    clock,
    store,
    type: SECRET,
    selection: { metadataOnly: true },
    random: () => chance,
    log,
    project: (object) => project(object),
    onRelist: () => {
      relists += 1
    },
  })
  let isSynced = false
  void reflector.synced.then(() => {
    isSynced = true
  })
  const ended = reflector.run(stop.signal)
  await settled()
  return { reflector, ended, isSynced: () => isSynced }
}
const names = () => [...store.values()].map(({ metadata }) => metadata.name)
const verbs = () => client.calls.map(({ verb }) => verb)
const watch = () => {
  const last = watches.opened.at(-1)
  if (last === undefined) throw new Error('no watch')
  return last
}

describe('a reflector', () => {
  it('lists again beside a watch that is behind, and goes on watching', async () => {
    client.put(secret('a'))
    const { reflector } = await start()
    client.drop('Secret', 'n/a')
    client.put(secret('b'))
    expect(names()).toEqual(['a'])
    await reflector.refresh(stop.signal)
    expect(names()).toEqual(['b'])
    expect(verbs()).toEqual(['stream', 'list', 'watch', 'list'])
    expect(relists).toBe(1)
  })

  it('of a kind that is not installed has nothing to list again', async () => {
    client.before = () => {
      throw apiError('NotFound')
    }
    const { reflector } = await start()
    await reflector.refresh(stop.signal)
    expect(verbs()).toEqual(['stream'])
  })

  it('lists all pages where the server has no streaming lists, then watches from the version of the list', async () => {
    for (let at = 0; at < 1_100; at += 1) client.put(secret(`s${at}`))
    const { isSynced } = await start()
    expect(store.size).toBe(1_100)
    expect(isSynced()).toBe(true)
    expect(verbs()).toEqual(['stream', 'list', 'list', 'list', 'list', 'watch'])
    expect(client.calls[1]?.options).toMatchObject({ limit: 50, metadataOnly: true })
    expect(watch().options).toMatchObject({ resourceVersion: String(client.cluster.revision), metadataOnly: true })
    expect(relists).toBe(1)
  })

  it('is not synced before the last page', async () => {
    for (let at = 0; at < 600; at += 1) client.put(secret(`s${at}`))
    let pages = 0
    client.before = ({ verb }) => {
      if (verb === 'list' && ++pages === 2) throw apiError('Unavailable')
    }
    const { isSynced } = await start()
    expect([isSynced(), store.size]).toEqual([false, 0])
    await clock.advance(1_000)
    expect([isSynced(), store.size]).toEqual([true, 600])
  })

  it('says how long the server has told nothing', async () => {
    const { reflector } = await start()
    await clock.advance(30_000)
    expect(reflector.silentMs).toBe(30_000)
    watch().send({ type: 'BOOKMARK', resourceVersion: '300' })
    await settled()
    expect(reflector.silentMs).toBe(0)
    client.before = () => {
      throw apiError('Unavailable')
    }
    watch().end()
    await clock.advance(120_000)
    expect(reflector.silentMs).toBe(120_000)
    client.before = () => {
      throw apiError('NotFound')
    }
    await clock.advance(60_000)
    expect(reflector.silentMs).toBeLessThan(60_000)
  })

  it('takes in what the watch says', async () => {
    await start()
    watch().send({ type: 'ADDED', object: secret('a', '201') })
    watch().send({ type: 'MODIFIED', object: secret('a', '202') })
    watch().send({ type: 'ADDED', object: secret('b', '203') })
    watch().send({ type: 'DELETED', object: secret('a', '204') })
    await settled()
    expect(names()).toEqual(['b'])
  })

  it('watches again from the last event, or bookmark, when the watch ends', async () => {
    await start()
    watch().send({ type: 'ADDED', object: secret('a', '201') })
    await clock.advance(40_000)
    watch().end()
    await settled()
    expect(watch().options.resourceVersion).toBe('201')
    watch().send({ type: 'BOOKMARK', resourceVersion: '300' })
    await clock.advance(40_000)
    watch().end()
    await settled()
    expect(watch().options.resourceVersion).toBe('300')
    expect(relists).toBe(1)
    store.observeWrite(secret('late', '250'))
    expect(names()).toEqual(['a'])
  })

  it('watches again from the last event, after a pause, when the stream breaks', async () => {
    await start()
    watch().send({ type: 'ADDED', object: secret('a', '201') })
    watch().break(apiError('NoAnswer'))
    await settled()
    expect(watches.opened).toHaveLength(1)
    await clock.advance(1_000)
    expect(watches.opened).toHaveLength(2)
    expect(watch().options.resourceVersion).toBe('201')
    expect(relists).toBe(1)
  })

  it('lists again at once when its version has expired', async () => {
    await start()
    await clock.advance(1_000)
    client.put(secret('new'))
    watch().break(apiError('Expired'))
    await settled()
    expect(relists).toBe(2)
    expect(names()).toEqual(['new'])
  })

  it('forgets what was deleted meanwhile when it lists again', async () => {
    client.put(secret('a'))
    client.put(secret('b'))
    await start()
    await clock.advance(1_000)
    client.drop('Secret', 'n/a')
    watch().break(apiError('Expired'))
    await settled()
    expect(names()).toEqual(['b'])
  })

  it('cuts a watch that its server has forgotten, and watches again', async () => {
    await start()
    expect(watch().options.timeoutSeconds).toBe(45)
    await clock.advance(52_999)
    expect(watches.opened).toHaveLength(1)
    await clock.advance(1)
    expect(watches.opened).toHaveLength(2)
    expect(relists).toBe(1)
  })

  it('backs off, up to a limit, and never ends on errors', async () => {
    client.before = ({ verb }) => {
      if (verb === 'list') throw apiError('Unavailable')
    }
    const { ended, isSynced } = await start()
    let isEnded = false
    void ended.then(() => {
      isEnded = true
    })
    await clock.advance(100_000)
    const many = client.calls.length
    expect(many).toBeLessThan(40)
    expect(many).toBeGreaterThan(10)
    expect([isEnded, isSynced()]).toEqual([false, false])
    client.before = undefined
    await clock.advance(10_000)
    expect(isSynced()).toBe(true)
  })

  it.each([new TypeError('a bug'), apiError('Rejected'), apiError('Conflict')])('survives %s', async (error) => {
    let failures = 3
    client.before = ({ verb }) => {
      if (verb === 'list' && failures-- > 0) throw error
    }
    const { isSynced } = await start()
    await clock.advance(10_000)
    expect(isSynced()).toBe(true)
  })

  it('waits as long as the server asks it to', async () => {
    let failures = 1
    client.before = ({ verb }) => {
      if (verb === 'list' && failures-- > 0) throw apiError('Unavailable', { retryAfterMs: 7_000 })
    }
    await start()
    await clock.advance(6_999)
    expect(verbs()).toEqual(['stream', 'list'])
    await clock.advance(1)
    expect(verbs()).toEqual(['stream', 'list', 'list', 'watch'])
  })

  it('does not hammer a server that ends every watch at once', async () => {
    let count = 0
    client.before = ({ verb }) => {
      if (verb !== 'watch') return undefined
      count += 1
      queueMicrotask(() => watches.opened.at(-1)?.end())
      return count < 200 ? undefined : new Promise(() => undefined)
    }
    await start()
    expect(count).toBeLessThan(20)
  })

  it.each([0, 1])(
    'does not list in a tight loop where every watch answers that it expired (chance %d)',
    async (chance) => {
      client.put(secret('a'))
      client.before = ({ verb }) => {
        if (verb === 'watch') throw apiError('Expired')
      }
      await start(chance)
      expect(relists).toBeLessThanOrEqual(2)
      await clock.advance(10_000)
      expect(relists).toBeLessThanOrEqual(101)
      expect(names()).toEqual(['a'])
      client.before = undefined
      await clock.advance(10_000)
      const before = relists
      await clock.advance(30_000)
      expect(relists).toBe(before)
    },
  )

  it('stops when told to, also in a pause', async () => {
    client.before = () => {
      throw apiError('Unavailable')
    }
    // Namespaces of the cluster get their ServiceAccounts a moment later.
    await clock.advance(100)
    const { ended } = await start()
    stop.abort()
    await expect(ended).resolves.toBeUndefined()
    expect(clock.pending).toBe(0)
  })
})

describe('a kind that is not installed', () => {
  const absent = () => {
    client.before = () => {
      throw apiError('NotFound')
    }
  }

  it('is an empty store that is synced, and is looked for now and then', async () => {
    absent()
    const { reflector, isSynced } = await start()
    expect([isSynced(), reflector.installed, store.size]).toEqual([true, false, 0])
    expect(client.calls).toHaveLength(1)
    client.before = undefined
    client.put(secret('a'))
    await clock.advance(40_000)
    expect([reflector.installed, names()]).toEqual([true, ['a']])
  })

  it('is found at once when poked, and whoever asked is told', async () => {
    absent()
    const { reflector } = await start()
    let told = 0
    const forget = reflector.onInstalled(() => {
      told += 1
    })
    client.before = undefined
    reflector.poke()
    await settled()
    expect([reflector.installed, told]).toEqual([true, 1])
    watch().break(apiError('Expired'))
    await settled()
    expect(told).toBe(1)
    forget()
    absent()
    watch().break(apiError('NotFound'))
    await clock.advance(10_000)
    expect([reflector.installed, told]).toEqual([false, 1])
  })

  it('empties its store when it is removed while we run', async () => {
    client.put(secret('a'))
    await start()
    absent()
    watch().break(apiError('NotFound'))
    await clock.advance(10_000)
    expect(store.size).toBe(0)
  })

  it('keeps its store when the answer that it is not there is not confirmed', async () => {
    client.put(secret('a'))
    const { reflector } = await start()
    let answers = 1
    client.before = ({ verb }) => {
      if (verb === 'list' && answers-- > 0) throw apiError('NotFound')
    }
    watch().break(apiError('NotFound'))
    await settled()
    expect([store.size, reflector.installed]).toEqual([1, true])
    await clock.advance(10_000)
    expect([store.size, reflector.installed]).toEqual([1, true])
  })
})

describe('an object that cannot be read', () => {
  const bugs = () => log.lines.filter(({ level }) => level === 'error')
  beforeEach(() => {
    project = (object) => {
      if (object.metadata.labels?.['odd'] !== undefined) throw new Error('odd')
      return object
    }
  })
  const odd = (name: string, resourceVersion: string): KubeObject => {
    const object = secret(name, resourceVersion)
    return { ...object, metadata: { ...object.metadata, labels: { odd: 'yes' } } }
  }

  it('does not hide the others of its list', async () => {
    client.put(odd('a', '1'))
    client.put(secret('b'))
    const { isSynced } = await start()
    expect(isSynced()).toBe(true)
    expect(names()).toEqual(['b'])
    expect(bugs()).toHaveLength(1)
  })

  it('does not end its watch, and is known as it was', async () => {
    await start()
    watch().send({ type: 'ADDED', object: secret('a', '201') })
    watch().send({ type: 'MODIFIED', object: odd('a', '202') })
    watch().send({ type: 'ADDED', object: secret('b', '203') })
    await settled()
    expect([names(), store.get('n/a')?.metadata.resourceVersion]).toEqual([['a', 'b'], '201'])
    watch().send({ type: 'DELETED', object: odd('a', '204') })
    await settled()
    expect(names()).toEqual(['b'])
    expect([watches.opened.length, relists, bugs().length]).toEqual([1, 1, 2])
  })
})

it('goes on where a listener throws, and says so', async () => {
  store.onChange(() => {
    throw new Error('bug')
  })
  await start()
  watch().send({ type: 'ADDED', object: secret('a', '201') })
  await settled()
  expect(names()).toEqual(['a'])
  expect(watches.opened).toHaveLength(1)
  expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1)
})

describe('a reflector of a server that has streaming lists', () => {
  const END = { type: 'BOOKMARK', resourceVersion: '210', endsInitialEvents: true } as const
  beforeEach(() => {
    watches.canStream = true
  })

  it('takes the beginning of its watch for the list, whole or not at all, and goes on with the same watch', async () => {
    const { isSynced } = await start()
    watch().send({ type: 'ADDED', object: secret('a', '201') })
    watch().send({ type: 'ADDED', object: secret('b', '202') })
    watch().send({ type: 'BOOKMARK', resourceVersion: '205' })
    // Changes may come in between.
    watch().send({ type: 'MODIFIED', object: secret('b', '206') })
    watch().send({ type: 'DELETED', object: secret('a', '207') })
    await settled()
    expect([isSynced(), store.size, relists]).toEqual([false, 0, 0])
    watch().send(END)
    await settled()
    expect([isSynced(), names(), relists]).toEqual([true, ['b'], 1])
    expect(store.get('n/b')?.metadata.resourceVersion).toBe('206')
    watch().send({ type: 'ADDED', object: secret('c', '211') })
    // A duplicate of it is a bookmark like any other.
    watch().send(END)
    await settled()
    expect([names(), relists]).toEqual([['b', 'c'], 1])
    await clock.advance(45_000)
    watch().end()
    await settled()
    expect(client.calls.map(({ verb, key }) => `${verb} ${key}`)).toEqual(['stream ', 'watch 210'])
    expect(client.calls[0]?.options).toMatchObject({ metadataOnly: true, timeoutSeconds: 45 })
  })

  it('forgets what a later list does not begin with', async () => {
    await start()
    watch().send({ type: 'ADDED', object: secret('a', '201') })
    watch().send(END)
    await settled()
    await clock.advance(1_000)
    watch().break(apiError('Expired'))
    await settled()
    expect(names()).toEqual(['a'])
    watch().send({ type: 'ADDED', object: secret('b', '301') })
    watch().send({ ...END, resourceVersion: '302' })
    await settled()
    expect([names(), relists]).toEqual([['b'], 2])
    expect(verbs()).toEqual(['stream', 'stream'])
  })

  it.each([
    ['breaks off', 1_000, () => watch().break(apiError('NoAnswer'))],
    ['ends in good order', 1_000, () => watch().end()],
    ['stands still', 60_000, () => undefined],
  ])(
    'lists pages when the beginning %s before it is complete, and streams the next time',
    async (_how, afterMs, stop) => {
      client.put(secret('paged'))
      const { isSynced } = await start()
      watch().send({ type: 'ADDED', object: secret('a', '201') })
      await settled()
      stop()
      await clock.advance(afterMs)
      expect([isSynced(), names()]).toEqual([true, ['paged']])
      expect(verbs()).toEqual(['stream', 'list', 'watch'])
      await clock.advance(1_000)
      watch().break(apiError('Expired'))
      await settled()
      expect(verbs()).toEqual(['stream', 'list', 'watch', 'stream'])
    },
  )

  it.each([400, 422])('never streams again where the server answered %i', async (status) => {
    client.before = ({ verb }) => {
      if (verb === 'stream') throw apiError('Rejected', { status })
    }
    const { isSynced } = await start()
    expect(isSynced()).toBe(true)
    await clock.advance(1_000)
    watch().break(apiError('Expired'))
    await settled()
    expect(verbs()).toEqual(['stream', 'list', 'watch', 'list', 'watch'])
    expect(log.lines.filter(({ level }) => level === 'warn')).toEqual([])
  })

  it('asks again, and says so, where it may not read yet', async () => {
    let refusals = 2
    client.before = ({ verb }) => {
      if ((verb === 'stream' || verb === 'list') && refusals-- > 0) throw apiError('Rejected', { status: 403 })
    }
    const { isSynced } = await start()
    await clock.advance(5_000)
    expect(isSynced()).toBe(true)
    expect(verbs()).toEqual(['stream', 'list', 'list', 'watch'])
    expect(log.lines).toHaveLength(2)
  })

  it('is empty and synced where the kind is not installed', async () => {
    client.before = ({ verb }) => {
      if (verb === 'stream') throw apiError('NotFound')
    }
    const { isSynced, reflector } = await start()
    expect([isSynced(), store.size, reflector.installed]).toEqual([true, 0, false])
  })
})
