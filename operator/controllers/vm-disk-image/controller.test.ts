import { LABELS, MANAGER } from '@open-terrain/constructs'
import { afterEach, describe, expect, it } from 'vitest'
import { apiError, FakeClient } from '../../kube/fake-client.fixtures.ts'
import { FakeClock, settled } from '../../kube/fake-clock.fixtures.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { EventRecorder } from '../../runtime/event-recorder.ts'
import { fakeLog } from '../../runtime/fake-log.fixtures.ts'
import { RuntimeMetrics } from '../../runtime/metrics.ts'
import { Caches } from './caches.ts'
import { ImageController } from './controller.ts'
import { ImageMetrics } from './image-metrics.ts'
import { LEDGER_NAME } from './slot-ledger.ts'
import { anImage, aPolicy, SECOND } from './world.fixtures.ts'

const OPERATOR = 'sync-operator'
const LEDGER = `${OPERATOR}/${LEDGER_NAME}`

/** One term of the controller, with a fake API server and a fake clock; watches tell what a test lets them tell. */
class Term {
  readonly client = new FakeClient()
  readonly clock = new FakeClock()
  readonly log = fakeLog()
  readonly #stop = new AbortController()
  readonly caches: Caches
  limit = 1

  constructor() {
    const { client, clock, log } = this
    this.caches = new Caches({ client, clock, log, random: () => 0.5, onRelist: () => undefined })
    this.#put('v1', 'Secret', { name: 'creds', namespace: 'team' })
    this.#put('storage.k8s.io/v1', 'StorageClass', { name: 'fast' })
    this.#put('snapshot.storage.k8s.io/v1', 'VolumeSnapshotClass', { name: 'snap' })
  }

  image(name: string): void {
    const { status: _none, ...image } = anImage({ name, uid: `uid-${name}` })
    this.client.put(image as KubeObject)
  }

  async start(): Promise<void> {
    const { client, clock, log, caches } = this
    const { signal } = this.#stop
    const runtimeMetrics = new RuntimeMetrics()
    void caches.run(signal)
    await settled()
    const controller = new ImageController({
      client,
      caches,
      clock,
      log,
      runtimeMetrics,
      random: () => 0.5,
      events: new EventRecorder({ client, clock, log, random: () => 0.5, component: 'test', instance: 'me' }),
      metrics: new ImageMetrics(runtimeMetrics.registry, clock),
      namespace: OPERATOR,
      identity: 'me',
      policy: () => aPolicy(),
      limit: () => this.limit,
      onPolicyChange: () => () => undefined,
      references: [],
    })
    void controller.run(signal)
    await this.clock.advance(SECOND)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.clock.advance(0)
  }

  /** Names of the images whose DataVolumes were asked for, in that order. */
  get created(): string[] {
    const lines = this.client.said('create')
    return lines.flatMap((line) => /^create DataVolume team\/(.*)-[0-9a-f]{8}$/.exec(line)?.[1] ?? [])
  }

  get holding(): string[] {
    const ledger = this.client.peek<KubeObject & { data: Record<string, string> }>('ConfigMap', LEDGER)
    const holders = JSON.parse(ledger?.data['holders'] ?? '[]') as { name: string }[]
    return holders.map(({ name }) => name)
  }

  /** The watch of ConfigMaps tells that the ledger is gone. */
  async ledgerGone(): Promise<void> {
    const object = this.client.peek<KubeObject>('ConfigMap', LEDGER)
    if (object === undefined) throw new Error('there is no ledger')
    this.client.drop('ConfigMap', LEDGER)
    const { resourceVersion = '0' } = object.metadata
    const deleted = { ...object, metadata: { ...object.metadata, resourceVersion: `${Number(resourceVersion) + 1}` } }
    for (const watch of this.client.watches.filter(({ kind }) => kind === 'ConfigMap')) {
      watch.send({ type: 'ADDED', object })
      watch.send({ type: 'DELETED', object: deleted })
    }
    await this.clock.advance(SECOND)
  }

  #put(apiVersion: string, kind: string, metadata: KubeObject['metadata']): void {
    this.client.put({ apiVersion, kind, metadata })
  }
}

let term = new Term()
afterEach(async () => {
  await term.stop()
  term = new Term()
})

const isStatusOf =
  (name: string) =>
  ({ verb, kind, key }: { verb: string; kind: string; key: string }) =>
    verb === 'status' && kind === 'VMDiskImage' && key === `team/${name}`

describe('the first of two images', () => {
  const begin = async () => {
    term.image('first')
    term.image('second')
  }

  it('is not overtaken while its writes meet conflicts', async () => {
    await begin()
    let conflicts = 4
    term.client.before = (call) => {
      if (isStatusOf('first')(call) && conflicts-- > 0) throw apiError('Conflict')
    }
    await term.start()
    await term.clock.advance(10 * SECOND)
    expect(conflicts).toBeLessThan(0)
    expect(term.created).toEqual(['first'])
    expect(term.holding).toEqual(['first'])
  })

  it('does not hold up the second while its writes are refused', async () => {
    await begin()
    term.client.before = (call) => {
      if (isStatusOf('first')(call)) throw apiError('Rejected')
    }
    await term.start()
    expect(term.created).toEqual(['second'])
  })
})

describe('a ledger that is deleted', () => {
  it('is made anew because the watch tells of it, and stops no download', async () => {
    term.image('only')
    await term.start()
    expect(term.holding).toEqual(['only'])
    await term.ledgerGone()
    expect(term.holding).toEqual(['only'])
    expect(term.client.said('delete')).toEqual([])
    const [dataVolume] = term.client.all('DataVolume')
    expect(dataVolume?.metadata.labels?.[LABELS.managedBy]).toBe(MANAGER)
  })
})
