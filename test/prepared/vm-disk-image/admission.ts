import { LABELS } from '@open-terrain/constructs'
import { FINALIZERS, MANAGER } from '@open-terrain/constructs/operator'
import { Registry } from 'prom-client'
import type { Clock } from '../../../operator/base/clock.ts'
import { BY_CLAIM, claimIndex } from '../../../operator/cluster/importers.ts'
import {
  type ClaimView,
  type DataVolumeView,
  type PodView,
  viewClaim,
  viewDataVolume,
  viewPod,
} from '../../../operator/cluster/views.ts'
import { Admission } from '../../../operator/controllers/vm-disk-image/admission/admission.ts'
import { listenForDownloads } from '../../../operator/controllers/vm-disk-image/admission/download-triggers.ts'
import { IMPORTING_INDEX, importingIndex } from '../../../operator/controllers/vm-disk-image/admission/downloads.ts'
import { LEDGER_NAME, SlotLedger } from '../../../operator/controllers/vm-disk-image/admission/slot-ledger.ts'
import type { Start } from '../../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import { ImageMetrics } from '../../../operator/controllers/vm-disk-image/image-metrics.ts'
import type { Holder } from '../../../operator/controllers/vm-disk-image/world.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import { type KubeObject, keyOf, type ObjectMeta } from '../../../operator/kube/kube-object.ts'
import { Store } from '../../../operator/runtime/store.ts'
import { settled } from '../kube/fake-clock.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'
import { fakeLog } from '../runtime/fake-log.ts'
import { MINUTE } from '../runtime/times.ts'
import { ImageWalk } from './image-walk.ts'

export const NAMESPACE = 'sync-operator'
export const STALL_MS = 10 * MINUTE
export const ATTEMPT_MS = 60 * MINUTE
/** Finalizers of what runs on a node that does not respond: nobody can tell whether it has ended, and what is deleted stays. */
export const AWAY: readonly string[] = ['node.example.com/away']
const RUNNING = { phase: 'ImportInProgress', progress: '5%' }
const LEDGER = `${NAMESPACE}/${LEDGER_NAME}`

/** Returns what the admission gets for an image of this name that is ready to download. */
export function aStart(name: string, ticket: string): { start: Start; image: ImageView } {
  const walk = new ImageWalk({
    metadata: { name, uid: `uid-${name}`, resourceVersion: ticket, finalizers: [FINALIZERS.vmDiskImage] },
  })
  walk.settle()
  const { start } = walk.plan()
  if (start === undefined) throw new Error(walk.stand)
  return { start, image: walk.world.image }
}

export function aHolder(name: string, more: Partial<Holder> = {}): Holder {
  const { uid, namespace, revision, attempt } = aStart(name, '1').start
  return { uid, namespace, name, revision, attempt, claimant: 'old', ...more }
}

/** An admission with a fake API server and a fake clock; the test plays CDI and the watch. */
export class AdmissionBench {
  readonly client = new ScriptedClient(NAMESPACE, 'team')
  readonly clock = this.client.clock
  readonly log = fakeLog()
  readonly registry = new Registry()
  readonly images = new Store<ImageView>()
  readonly dataVolumes = new Store<DataVolumeView>().index(IMPORTING_INDEX, importingIndex)
  readonly changed: string[] = []
  readonly volumeClaims = new Store<ClaimView>()
  readonly pods = new Store<PodView>().index(BY_CLAIM, claimIndex)
  readonly admission: Admission
  readonly #stop = new AbortController()
  limit: number | undefined = 2
  /** Whether an image that is due for a reconcile repeats what it wants, as the reconcile would. */
  isReconciling = false
  /** How much time passes at each clock read of the admission, and how early its timers fire, as in a busy Node process. */
  readonly busy = { creepMs: 0, earlyMs: 0 }
  readonly #wanted = new Map<string, Start>()

  constructor() {
    const { client, log, images, dataVolumes, volumeClaims, pods } = this
    const clock: Clock = {
      now: () => this.clock.now(),
      monotonic: () => {
        this.clock.freeze(this.busy.creepMs)
        return this.clock.monotonic()
      },
      setTimer: (callback, delayMs) => this.clock.setTimer(callback, delayMs - this.busy.earlyMs),
    }
    this.admission = new Admission({
      client,
      clock,
      log,
      images,
      dataVolumes,
      random: () => 0.5,
      metrics: new ImageMetrics(this.registry, clock),
      claims: volumeClaims,
      pods,
      ledger: new SlotLedger({ client, clock, log, namespace: NAMESPACE }),
      me: 'me',
      limit: (ledgerLimit) => this.limit ?? ledgerLimit ?? 4,
      patience: () => ({ stallTimeoutMs: STALL_MS, attemptTimeoutMs: ATTEMPT_MS }),
      refresh: () => Promise.resolve(),
      onChange: (key) => {
        this.changed.push(key)
        const start = this.#wanted.get(key)
        if (!this.isReconciling || start === undefined) return
        const has = () => dataVolumes.get(`team/${start.target.volumeName}`) !== undefined
        queueMicrotask(() => this.admission.want(start.uid, has() ? undefined : start))
      },
    })
    listenForDownloads({ dataVolumes, claims: volumeClaims, pods }, this.admission)
  }

  async start(): Promise<void> {
    const { signal } = this.#stop
    void this.admission.takeOver(signal).then(() => this.admission.run(signal))
    await settled()
  }

  /** Starts the admission with this limit. Images of these names want to download, in this order. */
  async begin<const Names extends readonly string[]>(limit: number | undefined, ...names: Names) {
    this.limit = limit
    await this.start()
    const wanted = names.map((name, at) => this.want(name, String(10 * (at + 1))))
    await settled()
    return wanted as { [At in keyof Names]: Start }
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.clock.advance(0)
  }

  /** Adds an image that waits with this ticket. */
  want(name: string, ticket: string): Start {
    const { start, image } = aStart(name, ticket)
    this.images.put(image)
    this.client.put(image)
    this.#wanted.set(start.key, start)
    this.admission.want(start.uid, start)
    return start
  }

  /** An image wants to download, but its ticket is not written yet. */
  wantUnwritten(name: string, ticket: string): Start {
    const { start, image } = aStart(name, ticket)
    this.images.put(image)
    this.admission.want(start.uid, { ...start, admissible: false })
    return start
  }

  /** An image does not want to download any more. */
  unwant(name: string): void {
    const { start } = aStart(name, '1')
    this.#wanted.delete(start.key)
    this.admission.want(start.uid, undefined)
  }

  /** Adds a DataVolume as another leader created it, known to the API server and to the watch. */
  inherited(name: string, metadata: Partial<ObjectMeta> = {}, status: object = RUNNING): KubeObject {
    const { start, image } = aStart(name, '1')
    this.images.put(image)
    this.client.put(image)
    const object = this.client.put({
      apiVersion: 'cdi.kubevirt.io/v1beta1',
      kind: 'DataVolume',
      metadata: {
        name: start.target.volumeName,
        namespace: 'team',
        labels: { [LABELS.managedBy]: MANAGER, [LABELS.revision]: start.revision, [LABELS.imageUid]: start.uid },
        ownerReferences: [
          { apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', name, uid: start.uid, controller: true },
        ],
        ...metadata,
      },
      status,
    } as KubeObject)
    this.dataVolumes.put(viewDataVolume(object))
    return object
  }

  /** Adds a DataVolume whose owner reference the garbage collector has removed. */
  orphaned(name: string, more: object = {}): KubeObject {
    const { metadata, ...object } = this.inherited(name)
    const { ownerReferences: _owner, ...rest } = metadata
    const left = this.client.put({ ...object, metadata: { ...rest, ...more } } as KubeObject)
    this.dataVolumes.put(viewDataVolume(left))
    return left
  }

  /** Makes the status of an image refer to a download. */
  downloading(
    name: string,
    dataVolumeUID: string | undefined,
    attempts: readonly object[] = [],
    importerPodUID?: string,
  ): void {
    const { image } = aStart(name, '1')
    const status = {
      ...image.status,
      attempts,
      ...(dataVolumeUID !== undefined && { dataVolumeUID }),
      ...(importerPodUID !== undefined && { importerPodUID }),
    } as typeof image.status
    this.images.put({ ...image, metadata: { ...image.metadata, resourceVersion: '900' }, status })
  }

  /** Adds a pod that somebody forged: all its labels say that it is an importer of the image. */
  forgedPod(name: string, metadata: Partial<ObjectMeta> = {}): void {
    const labels = { [LABELS.imageUid]: `uid-${name}`, [LABELS.imageName]: name, [LABELS.managedBy]: MANAGER }
    const object = { name: `importer-${name}`, namespace: 'team', labels, finalizers: AWAY, ...metadata }
    this.pods.put(viewPod(this.client.put({ apiVersion: 'v1', kind: 'Pod', metadata: object })))
  }

  /** @param more keys beside limit and holders */
  writeLedger(limit: number, holders: readonly Holder[], more: Readonly<Record<string, string>> = {}): void {
    const data = { limit: String(limit), holders: JSON.stringify(holders), ...more }
    this.client.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: LEDGER_NAME, namespace: NAMESPACE },
      data,
    } as KubeObject)
  }

  dropLedger(): void {
    this.client.drop('ConfigMap', LEDGER)
  }

  /** As it is stored. */
  get ledgerObject(): (KubeObject & { readonly data: Record<string, string> }) | undefined {
    return this.client.peek('ConfigMap', LEDGER)
  }

  get ledgerData(): Readonly<Record<string, string>> {
    return this.ledgerObject?.data ?? {}
  }

  get ledger(): { limit: number; holders: Holder[] } {
    const { limit, holders = '[]' } = this.ledgerData
    return { limit: Number(limit), holders: JSON.parse(holders) as Holder[] }
  }

  /** Names of the images that hold a slot. */
  get holding(): string[] {
    return this.ledger.holders.map(({ name }) => name)
  }

  /** Names of the images whose DataVolumes were requested, in that order. */
  get created(): string[] {
    return this.client
      .callsOf('create')
      .flatMap((line) => /^create DataVolume team\/(.*)-[0-9a-f]{8}$/.exec(line)?.[1] ?? [])
  }

  /** Sets a status as CDI does, and delivers the watch event. */
  async report(name: string, status: object): Promise<void> {
    const object = this.dataVolumeOf(name)
    this.dataVolumes.put(viewDataVolume(this.client.put({ ...object, status } as KubeObject)))
    await settled()
  }

  /** Delivers the watch events of DataVolumes that no response has reported. */
  async catchUp(): Promise<void> {
    const unseen = this.client.all('DataVolume').filter(({ metadata }) => !this.dataVolumes.get(keyOf(metadata)))
    for (const one of unseen) this.dataVolumes.put(viewDataVolume(one))
    await settled()
  }

  /** Creates claims and an importer pod as CDI does, and delivers their watch events. Returns the name of the pod. */
  import(name: string): string {
    const dataVolume = this.dataVolumeOf(name)
    const target = this.#child('PersistentVolumeClaim', dataVolume.metadata.name, dataVolume)
    const prime = this.#child('PersistentVolumeClaim', `prime-${target.metadata.uid}`, target)
    const pod = this.#child('Pod', `importer-${name}`, prime)
    // The last object arrives first: each kind has its own watch.
    this.pods.put(viewPod(pod))
    for (const claim of [target, prime]) this.volumeClaims.put(viewClaim(claim))
    return pod.metadata.name
  }

  dataVolumeOf(name: string): KubeObject {
    const object = this.client.all('DataVolume').find(({ metadata }) => metadata.name.startsWith(`${name}-`))
    if (object === undefined) throw new Error(`no DataVolume of ${name}`)
    return object
  }

  #child(kind: string, name: string, owner: KubeObject): KubeObject {
    const { apiVersion, kind: ownerKind, metadata } = owner
    const { uid = '' } = metadata
    const ownerReferences = [{ apiVersion, kind: ownerKind, name: metadata.name, uid, controller: true }]
    return this.client.put({
      apiVersion: 'v1',
      kind,
      metadata: { name, namespace: 'team', ownerReferences, finalizers: AWAY },
    })
  }

  /** Creates another importer pod for the prime claim, and delivers its watch event. Returns its name. */
  importerOf(name: string, pod: string): string {
    const claims = this.client.all('PersistentVolumeClaim')
    const target = claims.find(({ metadata }) => metadata.name.startsWith(`${name}-`))
    const prime = claims.find(({ metadata }) => metadata.name === `prime-${target?.metadata.uid}`)
    if (prime === undefined) throw new Error(`no prime claim of ${name}`)
    this.pods.put(viewPod(this.#child('Pod', pod, prime)))
    return pod
  }

  /** Changes all claims, and delivers the watch events. */
  changeClaims(change: Partial<ObjectMeta>): void {
    for (const claim of this.client.all('PersistentVolumeClaim'))
      this.volumeClaims.put(viewClaim(this.client.put({ ...claim, metadata: { ...claim.metadata, ...change } })))
  }

  /** Deletes the DataVolume of an image and its claims before this process has seen any of them, or its importer. */
  lose(name: string): void {
    const dataVolume = this.dataVolumeOf(name)
    this.client.drop('DataVolume', keyOf(dataVolume.metadata))
    this.dataVolumes.remove(viewDataVolume(dataVolume))
    this.dropClaims()
    for (const pod of this.client.all('Pod')) this.pods.remove(viewPod(pod))
  }

  /** Deletes the claims as well: nothing shows any more what a pod was for. */
  dropClaims(): void {
    for (const claim of this.client.all('PersistentVolumeClaim')) {
      this.client.drop('PersistentVolumeClaim', keyOf(claim.metadata))
      this.volumeClaims.remove(viewClaim(claim))
    }
  }

  dropPod(name: string): void {
    const pod = this.client.peek('Pod', `team/${name}`)
    this.client.drop('Pod', `team/${name}`)
    if (pod !== undefined) this.pods.remove(viewPod(pod))
  }

  succeed(name: string): Promise<void> {
    return this.report(name, { phase: 'Succeeded', progress: '100.0%' })
  }

  /** Deletes the DataVolume as somebody would; these finalizers keep it. */
  async deleting(name: string, finalizers: readonly string[]): Promise<KubeObject> {
    const object = this.dataVolumeOf(name)
    const metadata = { ...object.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', finalizers }
    const left = this.client.put({ ...object, metadata })
    this.dataVolumes.put(viewDataVolume(left))
    await settled()
    return left
  }

  /** Removes the DataVolume, for the API server and for the watch. */
  async drop(name: string): Promise<void> {
    const object = this.dataVolumeOf(name)
    this.client.drop('DataVolume', `team/${object.metadata.name}`)
    this.dataVolumes.remove(viewDataVolume(object))
    await settled()
  }
}

/** The bench of the current test. */
export let bench = new AdmissionBench()

/** For `afterEach`. */
export async function renewBench(): Promise<void> {
  try {
    await bench.stop()
  } finally {
    bench = new AdmissionBench()
  }
}
