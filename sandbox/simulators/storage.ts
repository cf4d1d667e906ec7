import { keyOf } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import { BIND_COMPLETED, DATA_VOLUME_NAME, DEFAULT_CLASS, IMMEDIATE_BINDING, SELECTED_NODE } from './annotations.ts'
import { Delays } from './delays.ts'
import type { FaultScript } from './faults.ts'
import { type Claim, isTerminating, type Pod, type StorageClass, uidOf } from './models.ts'
import { isUnschedulable } from './pod-status.ts'
import { type Match, Volumes } from './volumes.ts'
import { Worker } from './worker.ts'
import { BY_CLAIM, type World } from './world.ts'

const PROTECTION = 'kubernetes.io/pvc-protection'

/**
 * Provisions and binds claims, and releases deleted claims that no pod uses. It creates no PersistentVolume objects: a
 * claim only names one. The populator binds claims with a populator's data source.
 */
export class Storage {
  readonly worker: Worker
  /** From a claim that can be provisioned to a bound one; can be changed at any time. */
  provisionMs: number
  readonly #world: World
  readonly #faults: FaultScript
  readonly #delays: Delays
  readonly #volumes: Volumes
  /** Why claims cannot have the volumes that they name, as last reported in an event, by key. */
  readonly #told = new Map<string, string>()

  constructor(world: World, provisionMs: number, faults: FaultScript) {
    this.#world = world
    this.provisionMs = provisionMs
    this.#faults = faults
    this.#delays = new Delays(world)
    this.worker = new Worker(world, 'storage', (key) => this.#reconcile(key))
    this.#volumes = new Volumes(world)
    world.claims.onChange(({ key }) => this.worker.queue.add(key))
    world.volumes.onChange(() => this.wake())
    world.pods.onChange(({ before, after }) => {
      const { metadata, spec } = after ?? before ?? {}
      for (const { persistentVolumeClaim: claim } of spec?.volumes ?? []) {
        if (claim !== undefined) this.worker.queue.add(`${metadata?.namespace}/${claim.claimName}`)
      }
    })
    world.storageClasses.onChange(() => this.wake())
  }

  start(): void {
    this.worker.start()
    if (this.#world.hasWorkloads) this.#volumes.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.worker.stop(), this.#volumes.stop()])
  }

  /** Requeues all unbound claims. */
  wake(): void {
    for (const claim of this.#world.claims.values()) {
      if (claim.status?.phase !== 'Bound') this.worker.queue.add(keyOf(claim.metadata))
    }
  }

  async #reconcile(key: string): Promise<void> {
    const claim = this.#world.claims.get(key)
    if (claim === undefined) {
      this.#told.delete(key)
      return this.#delays.forget(key)
    }
    if (isTerminating(claim)) return await this.#release(key, claim)
    if (claim.status?.phase === 'Bound') return
    const match = this.#volumes.matchOf(claim)
    if (match !== undefined) return await this.#bindTo(claim, match)
    if (!this.#canProvision(claim)) return
    if (!this.#delays.passed(this.worker, key, `provision ${uidOf(claim)}`, this.provisionMs)) return
    await bind(this.#world, claim, `pvc-${uidOf(claim)}`)
    this.#delays.forget(key)
  }

  async #bindTo(claim: Claim, match: Match): Promise<void> {
    if (!('volume' in match)) {
      const key = keyOf(claim.metadata)
      if (this.#told.get(key) === match.message) return
      this.#told.set(key, match.message)
      return this.#world.event(claim, 'PersistentVolumeClaim', match.reason, match.message)
    }
    await this.#volumes.take(match.volume, claim)
    await bind(this.#world, claim, match.volume.metadata.name, match.volume.spec.capacity?.['storage'])
  }

  #canProvision(claim: Claim): boolean {
    const { dataSourceRef, volumeName } = claim.spec
    if (dataSourceRef?.apiGroup === 'cdi.kubevirt.io') return false
    // Another component creates this volume.
    if (volumeName !== undefined && volumeName !== `pvc-${uidOf(claim)}`) return false
    const storageClass = this.#world.storageClasses.get(claim.spec.storageClassName ?? defaultClass(this.#world) ?? '')
    if (storageClass === undefined) return false
    if (needsConsumer(storageClass, claim)) return false
    const dataVolume = claim.metadata.annotations?.[DATA_VOLUME_NAME]
    const owner = this.#world.dataVolumes.get(`${claim.metadata.namespace}/${dataVolume}`)
    return this.#faults.state('unprovisioned', owner) === undefined
  }

  /** What kube-controller-manager's claim protection does, which only the in-memory cluster lacks. */
  async #release(key: string, claim: Claim): Promise<void> {
    // A pod without a node cannot start with a terminating claim, so it does not count as a user.
    const isUsable = claim.status?.phase === 'Bound'
    if (isUsable && this.#world.pods.find(BY_CLAIM, key).some(isUser)) return
    await this.#world.releaseFinalizer(PERSISTENT_VOLUME_CLAIM, this.#world.claims, claim, PROTECTION)
  }
}

/** A pod that has a node keeps its claims as long as it exists, however it has ended. */
function isUser(pod: Pod): boolean {
  return !isUnschedulable(pod)
}

/** Binds a claim to its volume. */
export async function bind(world: World, claim: Claim, volumeName: string, capacity?: string): Promise<Claim> {
  let bound = claim
  if (claim.spec.volumeName === undefined) {
    const patch = { metadata: { annotations: { [BIND_COMPLETED]: 'yes' } }, spec: { volumeName } }
    bound = await world.patch(PERSISTENT_VOLUME_CLAIM, world.claims, claim, patch)
  }
  return await world.writeStatus(PERSISTENT_VOLUME_CLAIM, world.claims, bound, {
    phase: 'Bound',
    accessModes: bound.spec.accessModes ?? ['ReadWriteOnce'],
    capacity: { storage: capacity ?? bound.spec.resources?.requests?.storage ?? '1Gi' },
  })
}

/** Reports whether a claim waits for the pod that will use it. */
export function needsConsumer(storageClass: StorageClass, claim: Claim): boolean {
  if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer') return false
  const { annotations = {} } = claim.metadata
  return !(IMMEDIATE_BINDING in annotations) && !(SELECTED_NODE in annotations)
}

/** Returns the class of a claim that names none. */
export function defaultClass(world: World): string | undefined {
  for (const { metadata } of world.storageClasses.values()) {
    if (metadata.annotations?.[DEFAULT_CLASS] === 'true') return metadata.name
  }
  return undefined
}

/** Returns the event message of Kubernetes for every claim of an immediate class without a volume, however soon it gets one. */
export function provisioningText({ provisioner = '' }: StorageClass): string {
  return `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`
}

/** Reports whether somebody writes a claim while Kubernetes does, as happens to some: one in four here. */
export function isSavedTwice({ metadata: { uid = '' } }: Claim): boolean {
  return Number.parseInt(uid.slice(-1), 16) % 4 === 0
}

/** Returns the event message of such a claim. Kubernetes tries again at once, and this stays the newest event until there is a volume. */
export function savingText({ metadata: { name } }: Claim): string {
  return `Error saving claim: Operation cannot be fulfilled on persistentvolumeclaims "${name}": the object has been modified; please apply your changes to the latest version and try again`
}
