import { describe, expect, test } from 'vitest'
import { ApiError } from '../../operator/kube/api-error.ts'
import type { RequestOptions, WatchEvent, WatchOptions } from '../../operator/kube/kube-client.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, NAMESPACE } from '../../operator/kube/resource-types.ts'
import { SERVICE_ACCOUNT } from '../resource-types.ts'
import type { Fate, Passage, ServerView } from './faults.ts'
import { MemoryCluster } from './memory-cluster.ts'
import { SERVED_TYPES } from './served-types.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { VirtualTime } from './virtual-time.ts'

const configMap = (name: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'one' },
})

/** One process, one API server, and a network that the test controls. */
class Scene {
  readonly time = new VirtualTime()
  readonly process = new SimulatedProcess(this.time, 'client')
  readonly cluster = new MemoryCluster({ time: this.time, random: () => 0.5, types: SERVED_TYPES })
  readonly seen: string[] = []
  fate: Fate = { kind: 'deliver', requestMs: 10, answerMs: 10 }
  view: ServerView | undefined
  passage: (event: WatchEvent<KubeObject>) => Passage = () => ({ delayMs: 1 })
  readonly client = this.cluster.connect({
    process: this.process,
    fateOf: () => this.fate,
    passageOf: (event) => this.passage(event),
    viewOf: () => this.view,
  })

  constructor() {
    this.cluster.admin.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'one' } })
    this.cluster.onCommit(({ type, resource, object }) => {
      // The namespace gets a ServiceAccount automatically.
      if (resource !== SERVICE_ACCOUNT) this.note(`${type} ${object.metadata.name}`)
    })
    this.cluster.onRequest(({ verb }, code) => this.note(`${verb} ${code}`))
  }

  note(what: string): void {
    this.seen.push(`${this.time.elapsedMs}: ${what}`)
  }

  create(options: RequestOptions = {}): void {
    this.client.create(CONFIG_MAP, configMap('a'), options).then(
      () => this.note('answered'),
      (error: ApiError) => this.note(`${error.reason} ${error.status}`),
    )
  }

  watch(options: Partial<WatchOptions> = {}): void {
    const resourceVersion = String(this.cluster.revision)
    const events = this.client.watch(CONFIG_MAP, { resourceVersion, ...options })
    const read = async () => {
      for await (const event of events)
        this.note(event.type === 'BOOKMARK' ? 'bookmark' : `saw ${event.object.metadata.name}`)
      this.note('end of watch')
    }
    read().catch((error: unknown) => this.note(error instanceof ApiError ? error.reason : String(error)))
  }

  add(...names: string[]): void {
    for (const name of names) this.cluster.admin.create(CONFIG_MAP, configMap(name))
  }

  async run(untilMs = 60_000): Promise<string[]> {
    await this.time.run({ untilMs })
    return this.seen
  }
}

const FATES: readonly (readonly [name: string, fate: Fate, options: RequestOptions, expected: string[]])[] = [
  [
    'delivered',
    { kind: 'deliver', requestMs: 10, answerMs: 20 },
    {},
    ['10: ADDED a', '10: create 201', '30: answered'],
  ],
  ['refused', { kind: 'refuse', status: 503, answerMs: 5 }, {}, ['0: create 503', '5: Unavailable 503']],
  ['lost on the way', { kind: 'loseRequest', answerMs: 7 }, {}, ['7: NoAnswer 0']],
  [
    'lost on the way and given up before',
    { kind: 'loseRequest', answerMs: 700 },
    { timeoutMs: 50 },
    ['50: NoAnswer 0'],
  ],
  [
    'lost on the way back',
    { kind: 'loseAnswer', requestMs: 3, answerMs: 4 },
    {},
    ['3: ADDED a', '3: create 201', '7: NoAnswer 0'],
  ],
  ['late', { kind: 'late', requestMs: 900, answerMs: 5 }, {}, ['5: NoAnswer 0', '900: ADDED a', '900: create 201']],
  [
    'answered after its timeout',
    { kind: 'deliver', requestMs: 80, answerMs: 50 },
    { timeoutMs: 100 },
    ['80: ADDED a', '80: create 201', '100: NoAnswer 0'],
  ],
  [
    'held up in the client until it is not valid any more',
    { kind: 'deliver', requestMs: 1, answerMs: 1, turnMs: 40 },
    { isStillValid: () => false },
    ['40: Unavailable 0'],
  ],
  [
    'held up in the client for longer than its timeout',
    { kind: 'deliver', requestMs: 1, answerMs: 1, turnMs: 40 },
    { timeoutMs: 30 },
    ['30: NoAnswer 0'],
  ],
  [
    'aborted before it begins',
    { kind: 'deliver', requestMs: 1, answerMs: 1 },
    { signal: AbortSignal.abort() },
    ['0: NoAnswer 0'],
  ],
]

describe('a request', () => {
  test.each(FATES)('that is %s', async (_name, fate, options, expected) => {
    const scene = new Scene()
    scene.fate = fate
    scene.create(options)
    expect(await scene.run()).toEqual(expected)
  })

  test('that is aborted on its way is carried out all the same', async () => {
    const scene = new Scene()
    const stopping = new AbortController()
    scene.time.schedule(5, () => stopping.abort())
    scene.create({ signal: stopping.signal })
    expect(await scene.run()).toEqual(['5: NoAnswer 0', '10: ADDED a', '10: create 201'])
  })

  test('of a frozen process is answered when it thaws, if that is in time', async () => {
    for (const [thawAt, answer] of [
      [90, '90: answered'],
      [110, '110: NoAnswer 0'],
    ] as const) {
      const scene = new Scene()
      scene.create({ timeoutMs: 100 })
      scene.time.schedule(5, () => scene.process.freeze())
      scene.time.schedule(thawAt, () => scene.process.thaw())
      expect(await scene.run()).toEqual(['10: ADDED a', '10: create 201', answer])
    }
  })

  test('of a killed process is carried out, and nobody hears of it', async () => {
    const scene = new Scene()
    scene.create()
    scene.time.schedule(5, () => scene.process.kill())
    expect(await scene.run()).toEqual(['10: ADDED a', '10: create 201'])
  })

  test('cannot change what is stored by changing what it sent or was answered', async () => {
    const scene = new Scene()
    const sent = { ...configMap('a'), data: { a: '1' } }
    const creating = scene.client.create(CONFIG_MAP, sent)
    sent.data.a = '2'
    await scene.run()
    expect(await creating).toMatchObject({ data: { a: '1' } })
    expect(Object.isFrozen((await creating).metadata)).toBe(true)
  })

  test('ends the run with what a listener throws', async () => {
    const scene = new Scene()
    scene.cluster.onCommit(() => {
      throw new Error('an invariant is broken')
    })
    scene.create()
    await expect(scene.run()).rejects.toThrow('an invariant is broken')
  })
})

describe('a watch', () => {
  test('tells events in their order, though one is held up', async () => {
    const scene = new Scene()
    scene.passage = (event) => ({ delayMs: event.type === 'ADDED' && event.object.metadata.name === 'a' ? 30 : 1 })
    scene.watch()
    scene.time.schedule(20, () => scene.add('a', 'b'))
    scene.time.schedule(60, () => scene.add('c'))
    const told = (await scene.run()).filter((line) => line.includes('saw'))
    expect(told).toEqual(['50: saw a', '50: saw b', '61: saw c'])
  })

  test('bookmarks every minute and shortly before its end', async () => {
    const scene = new Scene()
    scene.watch({ timeoutSeconds: 100 })
    expect(await scene.run(200_000)).toEqual([
      '10: watch 200',
      '60011: bookmark',
      '98011: bookmark',
      '100010: end of watch',
    ])
  })

  test('may tell an event twice, or break after it', async () => {
    const scene = new Scene()
    scene.passage = (event) =>
      event.type === 'ADDED' && event.object.metadata.name === 'a'
        ? { delayMs: 1, times: 2 }
        : { delayMs: 1, times: 0, breakAfter: true }
    scene.watch()
    scene.time.schedule(20, () => scene.add('a', 'b', 'c'))
    const lines = await scene.run()
    expect(lines.filter((line) => line.startsWith('21'))).toEqual(['21: saw a', '21: saw a', '21: NoAnswer'])
  })

  test('may tell an event again after later ones, which do not count as such themselves', async () => {
    const scene = new Scene()
    scene.passage = (event) => {
      const name = event.type === 'BOOKMARK' ? '' : event.object.metadata.name
      if (name === 'c') return { delayMs: 10 }
      return name === 'd' ? { delayMs: 1 } : { delayMs: 1, againAfter: name === 'a' ? 2 : 1 }
    }
    scene.watch()
    scene.time.schedule(20, () => scene.add('a', 'b', 'c', 'd', 'e'))
    const told = (await scene.run()).filter((line) => line.includes('saw'))
    const late = ['c', 'a', 'b', 'd', 'e'].map((name) => `30: saw ${name}`)
    expect(told).toEqual(['21: saw a', '21: saw b', ...late])
  })

  test('that has heard everything outlives a compaction; one that lags behind gets Expired', async () => {
    const scene = new Scene()
    scene.watch()
    scene.time.schedule(20, () => scene.add('a'))
    scene.time.schedule(30, () => scene.cluster.compact())
    scene.time.schedule(40, () => scene.add('b'))
    scene.time.schedule(40, () => scene.cluster.compact())
    const told = (await scene.run()).filter((line) => !line.includes('ADDED'))
    expect(told).toEqual(['10: watch 200', '21: saw a', '40: Expired'])
  })

  test('from a position that was compacted gets Expired', async () => {
    const scene = new Scene()
    const resourceVersion = String(scene.cluster.revision)
    scene.add('a')
    scene.cluster.compact()
    scene.watch({ resourceVersion })
    expect((await scene.run()).at(-1)).toBe('10: Expired')
  })

  test('breaks for all or for one actor, and hears nothing of a process that was killed', async () => {
    const scene = new Scene()
    scene.watch()
    scene.time.schedule(20, () => scene.cluster.breakWatches('somebody else'))
    scene.time.schedule(30, () => scene.add('a'))
    scene.time.schedule(40, () => scene.cluster.breakWatches('client'))
    scene.time.schedule(50, () => scene.add('b'))
    const told = (await scene.run()).filter((line) => !line.includes('ADDED'))
    expect(told).toEqual(['10: watch 200', '31: saw a', '40: NoAnswer'])
  })

  describe('at an API server that is behind', () => {
    function behind(whenAhead: ServerView['whenAhead'], options?: Partial<WatchOptions>): Scene {
      const scene = new Scene()
      scene.view = { lagMs: 100, whenAhead }
      scene.time.schedule(300, () => scene.add('a'))
      scene.time.schedule(350, () => scene.add('b'))
      scene.time.schedule(360, () => scene.watch(options))
      scene.time.schedule(500, () => scene.add('c'))
      return scene
    }
    const told = async (scene: Scene) => (await scene.run()).filter((line) => !line.includes('ADDED'))

    test('hears nothing of what it knows, and the rest so much later', async () => {
      expect(await told(behind('wait'))).toEqual(['370: watch 200', '601: saw c'])
    })

    test('may hear again what it knows', async () => {
      const lines = ['370: watch 200', '401: saw a', '451: saw b', '601: saw c']
      expect(await told(behind('replay'))).toEqual(lines)
    })

    test('may be refused', async () => {
      expect(await told(behind('refuse'))).toEqual(['370: watch 200', '370: Unavailable'])
    })

    test('hears what happened before the server heard of it, if it begins there', async () => {
      const resourceVersion = String(new Scene().cluster.revision)
      const lines = ['370: watch 200', '401: saw a', '451: saw b', '601: saw c']
      expect(await told(behind('wait', { resourceVersion }))).toEqual(lines)
    })

    test('may end before it hears of something, and has bookmarks of what the server knows', async () => {
      const scene = new Scene()
      scene.view = { lagMs: 5_000, whenAhead: 'wait' }
      const bookmarks: string[] = []
      scene.passage = (event) => {
        if (event.type === 'BOOKMARK') bookmarks.push(event.resourceVersion)
        return { delayMs: 1 }
      }
      scene.watch({ timeoutSeconds: 10 })
      let known = 0
      scene.time.schedule(1_000, () => {
        scene.add('a')
        known = scene.cluster.revision
      })
      scene.time.schedule(7_000, () => scene.add('b'))
      expect(await told(scene)).toEqual(['10: watch 200', '6001: saw a', '8011: bookmark', '10010: end of watch'])
      expect(bookmarks).toEqual([String(known)])
    })
  })

  test('ends when its kind is uninstalled, and the kind is not found until it is installed again', async () => {
    const scene = new Scene()
    scene.watch()
    scene.time.schedule(20, () => scene.cluster.uninstall(CONFIG_MAP))
    scene.time.schedule(30, () => scene.create())
    scene.time.schedule(60, () => scene.cluster.install(CONFIG_MAP))
    scene.time.schedule(70, () => scene.create())
    expect(await scene.run()).toEqual([
      '10: watch 200',
      '20: end of watch',
      '40: create 404',
      '50: NotFound 404',
      '80: ADDED a',
      '80: create 201',
      '90: answered',
    ])
  })
})
