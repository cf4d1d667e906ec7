import { FINALIZERS, type Policy } from '@open-terrain/constructs/operator'
import { clusterCaches } from '../../../operator/cluster/caches.ts'
import { Neighbours } from '../../../operator/cluster/neighbours.ts'
import { LEDGER_NAME } from '../../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import { ImageCaches } from '../../../operator/controllers/vm-disk-image/caches.ts'
import { ImageController } from '../../../operator/controllers/vm-disk-image/controller.ts'
import { ImageMetrics } from '../../../operator/controllers/vm-disk-image/image-metrics.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { EventRecorder } from '../../../operator/runtime/event-recorder.ts'
import { RuntimeMetrics } from '../../../operator/runtime/metrics.ts'
import { Reflectors } from '../../../operator/runtime/reflectors.ts'
import { settled } from '../kube/fake-clock.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'
import { fakeLog } from '../runtime/fake-log.ts'
import { SECOND } from '../runtime/times.ts'
import { anImage, SPEC } from './image-objects.ts'
import { aPolicy, NO_REFERENCES } from './image-world.ts'

const OPERATOR = 'sync-operator'

export const LEDGER = `${OPERATOR}/${LEDGER_NAME}`

/** One term of the controller, with a scripted client and a fake clock. */
export class Term {
  readonly runtimeMetrics = new RuntimeMetrics()
  readonly client = new ScriptedClient(OPERATOR, 'team')
  readonly clock = this.client.clock
  readonly log = fakeLog()
  readonly #stop = new AbortController()
  readonly caches: ImageCaches
  limit = 1
  policy = aPolicy()
  #onPolicyChange: (change: { readonly isLimitAlone: boolean }) => void = () => undefined
  /** Users of images according to live lists; the caches have none. */
  users: string[] = []

  constructor() {
    const { client, clock, log } = this
    this.caches = new ImageCaches(
      clusterCaches(new Reflectors({ client, clock, log, random: () => 0.5, onRelist: () => undefined })),
    )
    this.#put(
      'v1',
      'Secret',
      { name: 'creds', namespace: 'team' },
      { data: { accessKeyId: 'aWQ=', secretKey: 'a2V5' } },
    )
    this.#put('storage.k8s.io/v1', 'StorageClass', { name: 'fast' })
    this.#put('snapshot.storage.k8s.io/v1', 'VolumeSnapshotClass', { name: 'snap' })
  }

  image(name: string, spec: object = {}): void {
    const { status: _none, ...image } = anImage({ name, uid: `uid-${name}` }, { spec: { ...SPEC, ...spec } })
    this.client.put(image as KubeObject)
  }

  /** An image with a status that no schema of ours would accept. */
  oddImage(name: string, status: object): void {
    this.client.put({ ...anImage({ name, uid: `uid-${name}` }), status } as unknown as KubeObject)
  }

  /** An image that somebody deleted, and that only our finalizer keeps. */
  leavingImage(name: string): void {
    const metadata = {
      name,
      uid: `uid-${name}`,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: [FINALIZERS.vmDiskImage],
    }
    this.client.put(anImage(metadata) as KubeObject)
  }

  /** @param afterSync what happens when the caches are complete */
  async start(afterSync: () => void = () => undefined): Promise<void> {
    const { client, clock, log, caches } = this
    const { signal } = this.#stop
    const { runtimeMetrics } = this
    void caches.reflectors.run(signal)
    await settled()
    afterSync()
    const neighbours = new Neighbours({ client, clock, random: () => 0.5, log, runtimeMetrics })
    const controller = new ImageController({
      hadPredecessor: false,
      client,
      caches,
      clock,
      log,
      runtimeMetrics,
      random: () => 0.5,
      events: new EventRecorder({ client, clock, log, random: () => 0.5, component: 'test', instance: 'me' }),
      metrics: new ImageMetrics(runtimeMetrics.registry, clock),
      neighbours,
      namespace: OPERATOR,
      identity: 'me',
      policy: () => this.policy,
      limit: () => this.limit,
      onPolicyChange: (listener) => {
        this.#onPolicyChange = listener
        return () => undefined
      },
      references: [
        {
          cached: () => NO_REFERENCES,
          live: async () => ({ count: this.users.length, names: this.users, users: this.users }),
          onChange: () => () => undefined,
        },
      ],
    })
    void neighbours.run(signal)
    void controller.run(signal)
    await this.clock.advance(SECOND)
  }

  setPolicy(change: Partial<Policy>): void {
    this.policy = aPolicy(change)
    this.#onPolicyChange({ isLimitAlone: false })
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.clock.advance(0)
  }

  /** Names of the images whose DataVolumes were requested, in that order. */
  get created(): string[] {
    const lines = this.client.callsOf('create')
    return lines.flatMap((line) => /^create DataVolume team\/(.*)-[0-9a-f]{8}$/.exec(line)?.[1] ?? [])
  }

  get holding(): string[] {
    const ledger = this.client.peek<KubeObject & { data: Record<string, string> }>('ConfigMap', LEDGER)
    const holders = JSON.parse(ledger?.data['holders'] ?? '[]') as { name: string }[]
    return holders.map(({ name }) => name)
  }

  #put(apiVersion: string, kind: string, metadata: KubeObject['metadata'], content: object = {}): void {
    this.client.put({ apiVersion, kind, metadata, ...content })
  }
}
