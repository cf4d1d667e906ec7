import { ANNOTATIONS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { apiVersionOf, type ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, NAMESPACE, STORAGE_CLASS } from '../../operator/kube/resource-types.ts'
import { OperatorReplica } from '../../operator/operator.ts'
import {
  type Fate,
  MemoryCluster,
  type RequestInfo,
  SERVED_TYPES,
  SimulatedProcess,
  VirtualTime,
} from '../../sandbox/memory-cluster/index.ts'
import { startSimulators, timedTransfer } from '../../sandbox/simulators/index.ts'
import { IMAGE, type Image, reasonOf } from '../harness/kinds.ts'
import { fakeLog } from '../prepared/runtime/fake-log.ts'
import { MINUTE, SECOND } from '../prepared/runtime/times.ts'
import { randomFrom } from './random.ts'

// Responses of webhooks, of CDI or of others, to the creation of a DataVolume, in the words of the real ones.

const OPERATOR_NAMESPACE = 'sync-operator'
const HOP = { kind: 'deliver', requestMs: 2, answerMs: 2 } as const

const denied = (why: string, status: 400 | 403 | 422 = 422, webhook = 'datavolume-validate.cdi.kubevirt.io'): Fate => ({
  kind: 'refuse',
  status,
  answerMs: 5,
  message: `admission webhook "${webhook}" denied the request: ${why}`,
})
const failing = (why: string): Fate => ({
  kind: 'refuse',
  status: 500,
  answerMs: 5,
  message: `Internal error occurred: failed calling webhook "datavolume-mutate.cdi.kubevirt.io": failed to call webhook: Post "https://cdi-api.cdi.svc:443/datavolume-mutate?timeout=30s": ${why}`,
})
/** The operator does not wait this long for a response. */
const HANGING: Fate = { kind: 'loseRequest', answerMs: 30 * SECOND }

const POLICY = { namespace: OPERATOR_NAMESPACE, name: 'sync-operator-policy' }

interface SceneOptions {
  readonly concurrency?: number
  readonly names?: readonly string[]
  readonly downloadMs?: number
}

/** One slot and two images by default, which sync one after the other if nothing is refused, and no retries. */
class Scene implements AsyncDisposable {
  /** Returns the fate of creates of an image's DataVolumes. */
  answer: (image: string) => Fate = () => HOP
  /** Returns the fate of writes of an image itself. */
  write: (image: string) => Fate = () => HOP
  /** Images whose DataVolumes were requested, and images whose DataVolumes were created. */
  readonly asked: string[] = []
  readonly made: string[] = []
  mostDownloads = 0
  readonly #time = new VirtualTime()
  readonly #cluster = new MemoryCluster({ time: this.#time, random: randomFrom(1), types: SERVED_TYPES })
  readonly #stopping = new AbortController()

  constructor({ concurrency = 1, names = ['first', 'second'], downloadMs = SECOND }: SceneOptions = {}) {
    const { admin } = this.#cluster
    for (const name of [OPERATOR_NAMESPACE, 'images']) this.#create(NAMESPACE, { name })
    this.#create(STORAGE_CLASS, { name: 'fast' }, { provisioner: 'sandbox.example.com' })
    const data = { concurrency: String(concurrency), retryLimit: '0' }
    this.#create(CONFIG_MAP, POLICY, { data })
    this.#cluster.onCommit(({ resource, type, object }) => {
      if (resource !== DATA_VOLUME) return
      if (type === 'ADDED') this.made.push(imageIn(object.metadata.name))
      const downloading = admin.list<Image>(DATA_VOLUME).items.filter(({ status }) => status?.phase !== 'Succeeded')
      this.mostDownloads = Math.max(this.mostDownloads, downloading.length)
    })
    const simulated = new SimulatedProcess(this.#time, 'simulators')
    const { clock } = simulated
    void startSimulators({
      client: this.#cluster.connect({ process: simulated }),
      clock,
      random: randomFrom(2),
      transfer: timedTransfer(clock, () => ({ durationMs: downloadMs })),
    })
    const process = new SimulatedProcess(this.#time, 'operator')
    const client = this.#cluster.connect({ process, fateOf: (request) => this.#fateOf(request) })
    const operator = new OperatorReplica({
      client,
      leaseClient: client,
      clock: process.clock,
      serverNow: () => this.#time.epochMs + this.#time.elapsedMs,
      random: randomFrom(3),
      log: fakeLog(),
      namespace: OPERATOR_NAMESPACE,
      identity: 'operator',
      lease: { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 },
    })
    void operator.run(this.#stopping.signal)
    for (const name of names)
      this.#create(
        IMAGE,
        { namespace: 'images', name },
        {
          spec: {
            sourceType: 'http',
            url: `https://images.example.com/${name}.qcow2`,
            diskSize: '16Mi',
            storageClass: 'fast',
          },
        },
      )
  }

  image(name: string): Image {
    return this.#cluster.admin.get<Image>(IMAGE, { namespace: 'images', name })
  }

  /** Returns phase and reason of an image, and how many downloads have failed. */
  standOf(name: string): { phase: unknown; reason: unknown; downloads: unknown } {
    const image = this.image(name)
    return { phase: image.status?.phase, reason: reasonOf(image), downloads: image.status?.budget?.downloads }
  }

  get holders(): readonly { readonly name: string }[] {
    const ledger = this.#cluster.admin.get<Image & { data: Record<string, string> }>(CONFIG_MAP, {
      namespace: OPERATOR_NAMESPACE,
      name: 'sync-operator-slots',
    })
    return JSON.parse(ledger.data['holders'] ?? '[]')
  }

  retry(name: string): void {
    const annotations = { [ANNOTATIONS.retryRequestedAt]: 'now' }
    this.#cluster.admin.mergePatch(IMAGE, { namespace: 'images', name }, { metadata: { annotations } })
  }

  get elapsedMs(): number {
    return this.#time.elapsedMs
  }

  setConcurrency(concurrency: string): void {
    this.#cluster.admin.mergePatch(CONFIG_MAP, POLICY, { data: { concurrency } })
  }

  async pass(ms: number): Promise<void> {
    await this.#time.run({ untilMs: this.#time.elapsedMs + ms })
  }

  #fateOf({ verb, resource, key = '' }: RequestInfo): Fate {
    const isWrite = verb !== 'get' && verb !== 'list' && verb !== 'watch'
    if (resource.kind === IMAGE.kind && isWrite) return this.write(key.slice(key.indexOf('/') + 1))
    if (verb !== 'create' || resource !== DATA_VOLUME) return HOP
    const image = imageIn(key.slice(key.indexOf('/') + 1))
    this.asked.push(image)
    return this.answer(image)
  }

  #create(type: ResourceType, metadata: { name: string; namespace?: string }, rest: object = {}): void {
    this.#cluster.admin.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata, ...rest })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.pass(MINUTE)
  }
}

function imageIn(volume: string): string {
  return volume.slice(0, volume.lastIndexOf('-'))
}

/** Each image was downloaded once, at most one at a time, and no attempt was spent on what was refused. */
function expectBothSynced(scene: Scene): void {
  for (const name of ['first', 'second']) {
    expect(scene.standOf(name)).toEqual({ phase: 'Succeeded', reason: 'Synced', downloads: 0 })
    expect(scene.image(name).status?.attempts).toMatchObject([{ number: 1, outcome: 'Succeeded' }])
  }
  expect(scene.made.toSorted()).toEqual(['first', 'second'])
  expect(scene.mostDownloads).toBe(1)
  expect(scene.holders).toEqual([])
}

describe('a DataVolume that CDI refuses for what it is', () => {
  it.each([
    'spec.source Invalid source URL: not a url',
    'spec.source Invalid source URL scheme: ftp://x/y',
    'Storage size should be at least 1MiB',
    'Missing Data volume PVC',
  ])('is not asked for again until somebody says so, and its slot goes to the next one: %s', async (told) => {
    await using scene = new Scene()
    scene.answer = (image) => (image === 'first' ? denied(` ${told}`) : HOP)
    await scene.pass(60 * MINUTE)
    expect(scene.standOf('first')).toEqual({ phase: 'Failed', reason: 'RejectedByCDI', downloads: 0 })
    const { message, attempts = [] } = scene.image('first').status ?? {}
    expect(message).toContain(told)
    expect(message).toContain(ANNOTATIONS.retryRequestedAt)
    expect(attempts).toEqual([])
    expect(scene.asked).toEqual(['first', 'second'])
    expect(scene.standOf('second')).toMatchObject({ phase: 'Succeeded' })
    scene.answer = () => HOP
    scene.retry('first')
    await scene.pass(MINUTE)
    expectBothSynced(scene)
  })
})

describe('a DataVolume that is refused for a reason that may pass', () => {
  it.each([
    [
      'NameConflict',
      'Destination PVC images/first already exists',
      denied(' Destination PVC images/first already exists'),
    ],
    ['CreateFailed', 'webhook "policy.example.com" denied', denied('not here', 400, 'policy.example.com')],
    ['CreateFailed', 'webhook "policy.example.com" denied', denied('not here', 403, 'policy.example.com')],
    ['CreateFailed', 'webhook "policy.example.com" denied', denied('not here', 422, 'policy.example.com')],
  ] as const)('leaves its slot to the next one and goes on by itself: %s, %s', async (reason, told, answer) => {
    await using scene = new Scene()
    scene.answer = (image) => (image === 'first' ? answer : HOP)
    await scene.pass(30 * MINUTE)
    expect(scene.standOf('first')).toEqual({ phase: 'Queued', reason, downloads: 0 })
    expect(scene.image('first').status?.message).toContain(told)
    expect(scene.standOf('second')).toMatchObject({ phase: 'Succeeded' })
    scene.answer = () => HOP
    // Longer than the longest wait between two attempts.
    await scene.pass(11 * MINUTE)
    expectBothSynced(scene)
  })
})

describe("CDI's webhook that does not work", () => {
  it.each([
    'dial tcp 10.96.0.9:443: connect: connection refused',
    'no endpoints available for service "cdi-api"',
    'tls: failed to verify certificate: x509: certificate signed by unknown authority',
    'context deadline exceeded',
  ])('is told of, costs no attempt, and all goes on when it is back: %s', async (why) => {
    await using scene = new Scene()
    scene.answer = () => failing(why)
    await scene.pass(30 * MINUTE)
    for (const name of ['first', 'second']) {
      expect(scene.standOf(name)).toEqual({ phase: 'Queued', reason: 'CreateFailed', downloads: 0 })
      expect(scene.image(name).status?.message).toContain('failed calling webhook')
      expect(scene.image(name).status?.message).toContain(why)
    }
    // No hammering: attempts become less frequent.
    expect(scene.asked.length).toBeLessThan(100)
    scene.answer = () => HOP
    await scene.pass(11 * MINUTE)
    expectBothSynced(scene)
  })

  it.each([
    ['that cannot be called, at once', failing('no endpoints available for service "cdi-api"'), 300],
    ['that does not answer, within seconds', HANGING, 4 * SECOND],
  ] as const)('is told of %s: nobody who has a slot is said to wait for one', async (_name, answer, withinMs) => {
    await using scene = new Scene()
    scene.answer = () => answer
    while (scene.asked.length === 0) await scene.pass(50)
    await scene.pass(withinMs - 50)
    expect(scene.holders).toMatchObject([{ name: 'first' }])
    expect(scene.standOf('first')).toEqual({ phase: 'Queued', reason: 'CreateFailed', downloads: 0 })
    expect(scene.image('first').status?.message).toContain('it has a slot')
    expect(scene.image('first').status?.queuePosition).toBeUndefined()
    expect(scene.standOf('second')).toMatchObject({ phase: 'Queued', reason: 'Queued' })
  })

  it('and lets everybody wait, without an answer, is told of, and all goes on in order when it is back', async () => {
    await using scene = new Scene()
    scene.answer = () => HANGING
    await scene.pass(30 * MINUTE)
    expect(scene.standOf('first')).toEqual({ phase: 'Queued', reason: 'CreateFailed', downloads: 0 })
    expect(scene.image('first').status?.message).toContain('cdi-apiserver')
    expect(scene.standOf('second')).toMatchObject({ phase: 'Queued', downloads: 0 })
    // The create may still be carried out, so the slot is kept.
    expect(scene.holders).toMatchObject([{ name: 'first' }])
    expect(new Set(scene.asked)).toEqual(new Set(['first']))
    scene.answer = () => HOP
    await scene.pass(2 * MINUTE)
    expectBothSynced(scene)
    expect(scene.made).toEqual(['first', 'second'])
  })
})

describe('concurrency 0', () => {
  it('is told to an image that has a slot and has not begun, at once, and is taken back', async () => {
    await using scene = new Scene()
    scene.answer = () => HANGING
    await scene.pass(MINUTE)
    expect(scene.standOf('first')).toMatchObject({ phase: 'Queued', reason: 'CreateFailed' })
    scene.setConcurrency('0')
    await scene.pass(10 * SECOND)
    const asked = scene.asked.length
    for (const name of ['first', 'second'])
      expect(scene.standOf(name)).toMatchObject({ phase: 'Queued', reason: 'Paused' })
    expect(scene.image('first').status?.message).toContain('it has a slot')
    await scene.pass(30 * MINUTE)
    expect([scene.asked.length, scene.holders]).toMatchObject([asked, [{ name: 'first' }]])
    scene.answer = () => HOP
    scene.setConcurrency('1')
    await scene.pass(2 * MINUTE)
    expectBothSynced(scene)
  })
})

describe('a create that takes long, because a webhook hangs and answers in the end', () => {
  const slow = (ms: number): Fate => ({ kind: 'deliver', requestMs: ms, answerMs: 2 })

  it.each([2, 3, 4, 4.9])(
    'of %d s costs each one behind it so long and no longer, and nobody their place',
    async (seconds) => {
      const names = ['a', 'b', 'c', 'd', 'e', 'f']
      await using scene = new Scene({ concurrency: 3, names, downloadMs: 20 * SECOND })
      scene.answer = () => slow(seconds * SECOND)
      while (scene.made.length < 3) await scene.pass(50)
      // One after the other, since creation times are to be in the order of the queue.
      expect(scene.elapsedMs).toBeLessThan(3 * seconds * SECOND + SECOND)
      await scene.pass(2 * MINUTE)
      expect([scene.asked, scene.made]).toEqual([names, names])
      for (const name of names)
        expect(scene.standOf(name)).toEqual({ phase: 'Succeeded', reason: 'Synced', downloads: 0 })
      expect([scene.mostDownloads, scene.holders]).toEqual([3, []])
    },
  )

  it('longer than the operator waits is passed: those behind it start meanwhile, and it keeps its slot and is tried again', async () => {
    const names = ['hangs', 'b', 'c', 'd', 'e', 'f']
    await using scene = new Scene({ concurrency: 2, names })
    scene.answer = (image) => (image === 'hangs' ? HANGING : slow(2 * SECOND))
    // Each of the others waits for the one before it, and at most once for each try of the one that hangs, of which fewer and fewer are made.
    await scene.pass(MINUTE)
    expect(scene.made).toEqual(names.slice(1))
    expect(scene.holders).toMatchObject([{ name: 'hangs' }])
    expect(scene.standOf('hangs')).toMatchObject({ phase: 'Queued', reason: 'CreateFailed' })
    expect(scene.mostDownloads).toBe(1)
    scene.answer = () => HOP
    await scene.pass(2 * MINUTE)
    expect(scene.standOf('hangs')).toMatchObject({ phase: 'Succeeded', downloads: 0 })
    expect(scene.made.filter((name) => name === 'hangs')).toHaveLength(1)
  })
})

describe("writes of an image's own finalizer and ticket that take long, because a webhook hangs", () => {
  it.each([1, 2, 4, 30])('of %d s each cost those behind it 5 s at most, and its place nothing', async (seconds) => {
    const names = ['slow', 'b', 'c']
    await using scene = new Scene({ concurrency: 1, names })
    scene.write = (image) => (image === 'slow' ? { kind: 'deliver', requestMs: seconds * SECOND, answerMs: 2 } : HOP)
    while (scene.made.length === 0) await scene.pass(50)
    expect(scene.elapsedMs).toBeLessThan(6 * SECOND)
    expect(scene.made).toEqual([2 * seconds < 5 ? 'slow' : 'b'])
    await scene.pass(10 * MINUTE)
    expect(scene.made.toSorted()).toEqual(names.toSorted())
    expect(scene.mostDownloads).toBe(1)
  })
})
