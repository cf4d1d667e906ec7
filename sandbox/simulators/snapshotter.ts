import { keyOf } from '../../operator/kube/kube-object.ts'
import { VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { Delays } from './delays.ts'
import { isTerminating, uidOf, type VolumeSnapshot } from './models.ts'
import { Worker } from './worker.ts'
import type { World } from './world.ts'

/** Wait before a failed snapshot is retried. The error stays until one succeeds. */
const RETRY_MS = 200

export type SnapshotFault =
  /** The driver rejects the snapshot. `times` absent: while the script is active. */
  | { readonly type: 'error'; readonly message: string; readonly times?: number }
  /** Taken, but never ready. */
  | { readonly type: 'neverReady' }
  /** Ready only after `readyMs`. */
  | { readonly type: 'slow'; readonly readyMs: number }

export type SnapshotTarget = { readonly namespace?: string; readonly name?: string; readonly claim?: string }

interface Script {
  readonly target: SnapshotTarget
  readonly fault: SnapshotFault
  readonly struck: Map<string, number>
}

type Status = NonNullable<VolumeSnapshot['status']>

/** Takes VolumeSnapshots that have their class and a bound claim. Creates no VolumeSnapshotContent objects, but names them. */
export class Snapshotter {
  readonly worker: Worker
  /** From a taken snapshot to a usable one; can be changed at any time. */
  readyMs: number
  readonly #world: World
  readonly #delays: Delays
  readonly #scripts: Script[] = []

  constructor(world: World, readyMs: number) {
    this.#world = world
    this.readyMs = readyMs
    this.#delays = new Delays(world)
    this.worker = new Worker(world, 'snapshotter', (key) => this.#reconcile(key))
    world.snapshots.onChange(({ key }) => this.worker.queue.add(key))
    world.snapshotClasses.onChange(() => this.#wake())
  }

  /** The latest script that matches wins. Returns a function that ends it. */
  script(target: SnapshotTarget, fault: SnapshotFault): () => void {
    const script = { target, fault, struck: new Map<string, number>() }
    this.#scripts.push(script)
    return () => {
      const at = this.#scripts.indexOf(script)
      if (at >= 0) this.#scripts.splice(at, 1)
      this.#wake()
    }
  }

  start(): void {
    this.worker.start()
  }

  async stop(): Promise<void> {
    await this.worker.stop()
  }

  #wake(): void {
    for (const snapshot of this.#world.snapshots.values()) {
      if (snapshot.status?.readyToUse !== true) this.worker.queue.add(keyOf(snapshot.metadata))
    }
  }

  async #reconcile(key: string): Promise<void> {
    const snapshot = this.#world.snapshots.get(key)
    if (snapshot === undefined || isTerminating(snapshot)) return this.#delays.forget(key)
    if (snapshot.status?.readyToUse) return
    const missing = this.#missing(snapshot)
    if (missing !== undefined) return await this.#refuse(key, snapshot, missing)
    const script = this.#scriptOf(snapshot)
    const fault = script?.fault
    if (fault?.type === 'error') return await this.#refuse(key, snapshot, fault.message, script)
    if (snapshot.status?.boundVolumeSnapshotContentName === undefined) return await this.#take(snapshot)
    if (fault?.type === 'neverReady') return
    const readyMs = fault?.type === 'slow' ? fault.readyMs : this.readyMs
    if (!this.#delays.passed(this.worker, key, `ready ${uidOf(snapshot)}`, readyMs)) return
    const { error: _cleared, ...rest } = snapshot.status
    await this.#write(snapshot, { ...rest, readyToUse: true })
    this.#delays.forget(key)
  }

  async #take(snapshot: VolumeSnapshot): Promise<void> {
    await this.#write(snapshot, {
      boundVolumeSnapshotContentName: `snapcontent-${uidOf(snapshot)}`,
      creationTime: this.#world.timestamp(),
      restoreSize: this.#claimOf(snapshot)?.status?.capacity?.['storage'] ?? '1Gi',
      readyToUse: false,
    })
  }

  /** @param script what rejects the snapshot, if it is not its class or claim */
  async #refuse(key: string, snapshot: VolumeSnapshot, message: string, script?: Script): Promise<void> {
    const attempt = `refused ${uidOf(snapshot)} ${message}`
    if (snapshot.status?.error?.message !== message) {
      const error = { time: this.#world.timestamp(), message }
      await this.#write(snapshot, { ...snapshot.status, readyToUse: false, error })
    }
    if (!this.#delays.passed(this.worker, key, attempt, RETRY_MS)) return
    this.#delays.forget(key)
    script?.struck.set(key, (script.struck.get(key) ?? 0) + 1)
    this.worker.queue.add(key)
  }

  #missing(snapshot: VolumeSnapshot): string | undefined {
    const { volumeSnapshotClassName: className } = snapshot.spec
    if (className !== undefined && this.#world.snapshotClasses.get(className) === undefined) {
      return `Failed to create snapshot content with error failed to get input parameters to create snapshot ${snapshot.metadata.name}: "volumesnapshotclass.snapshot.storage.k8s.io \\"${className}\\" not found"`
    }
    const { persistentVolumeClaimName: claimName } = snapshot.spec.source
    const claim = this.#claimOf(snapshot)
    if (claim === undefined) {
      return `Failed to create snapshot content with error snapshot controller failed to update ${snapshot.metadata.name} on API server: cannot get claim from snapshot: persistentvolumeclaim "${claimName}" not found`
    }
    if (claim.status?.phase === 'Bound') return undefined
    return `Failed to create snapshot content with error failed to get input parameters to create snapshot ${snapshot.metadata.name}: "the PVC ${claimName} is not yet bound to a PV, will not attempt to take a snapshot"`
  }

  #claimOf(snapshot: VolumeSnapshot) {
    return this.#world.claims.get(`${snapshot.metadata.namespace}/${snapshot.spec.source.persistentVolumeClaimName}`)
  }

  #scriptOf(snapshot: VolumeSnapshot): Script | undefined {
    const key = keyOf(snapshot.metadata)
    return this.#scripts.findLast(({ target, fault, struck }) => {
      const isSpent = fault.type === 'error' && (struck.get(key) ?? 0) >= (fault.times ?? Number.POSITIVE_INFINITY)
      return !isSpent && matches(target, snapshot)
    })
  }

  async #write(snapshot: VolumeSnapshot, status: Status): Promise<void> {
    await this.#world.writeStatus(VOLUME_SNAPSHOT, this.#world.snapshots, snapshot, status)
  }
}

function matches(target: SnapshotTarget, { metadata, spec }: VolumeSnapshot): boolean {
  return (
    (target.namespace === undefined || target.namespace === metadata.namespace) &&
    (target.name === undefined || target.name === metadata.name) &&
    (target.claim === undefined || target.claim === spec.source.persistentVolumeClaimName)
  )
}
