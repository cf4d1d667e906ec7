import { keyOf } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME } from '../../operator/kube/resource-types.ts'
import { type Claim, isTerminating, type PersistentVolume, uidOf } from './models.ts'
import { bytesOf } from './quantity.ts'
import { Worker } from './worker.ts'
import type { World } from './world.ts'

const PARALLEL = 4
const PROTECTION = 'kubernetes.io/pv-protection'

/** The result for a claim that names a volume, or is named by one. */
export type Match =
  | { readonly volume: PersistentVolume }
  /** An event about the claim, which stays pending. */
  | { readonly reason: string; readonly message: string }

/**
 * Binds PersistentVolumes that people and operators create: such a volume and its claim name each other. A volume whose
 * claim is gone is `Released`, and serves no other. Volumes of a class are not objects here: their claims only name them.
 */
export class Volumes {
  readonly worker: Worker
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    this.worker = new Worker(world, 'volumes', (name) => this.#reconcile(name))
    world.volumes.onChange(({ key }) => this.worker.queue.add(key))
    world.claims.onChange(({ before, after }) => {
      for (const name of [before, after].map((claim) => claim?.spec.volumeName)) {
        if (name !== undefined) this.worker.queue.add(name)
      }
    })
  }

  start(): void {
    this.worker.start(PARALLEL)
  }

  async stop(): Promise<void> {
    await this.worker.stop()
  }

  /** Returns undefined if no volume is related to the claim: its class provisions one. */
  matchOf(claim: Claim): Match | undefined {
    const { volumeName } = claim.spec
    if (volumeName !== undefined) {
      const volume = this.#world.volumes.get(volumeName)
      return volume && (mismatch(volume, claim) ?? { volume })
    }
    const reserved = [...this.#world.volumes.values()].find((volume) => isFor(volume, claim))
    return reserved && unfit(reserved, claim) === undefined ? { volume: reserved } : undefined
  }

  /** Writes the volume's half of a binding, which comes first. */
  async take(volume: PersistentVolume, { metadata }: Claim): Promise<void> {
    const { namespace, name, uid, resourceVersion } = metadata
    if (volume.spec.claimRef?.uid === uid) return
    const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion }
    await this.#world.patch(PERSISTENT_VOLUME, this.#world.volumes, volume, { spec: { claimRef } })
  }

  async #reconcile(name: string): Promise<void> {
    const volume = this.#world.volumes.get(name)
    if (volume === undefined) return
    const phase = this.#phaseOf(volume)
    const isSame = volume.status?.phase === phase
    const shown = isSame
      ? volume
      : await this.#world.writeStatus(PERSISTENT_VOLUME, this.#world.volumes, volume, { phase })
    if (!isTerminating(shown) || phase === 'Bound') return
    await this.#world.releaseFinalizer(PERSISTENT_VOLUME, this.#world.volumes, shown, PROTECTION)
  }

  #phaseOf({ spec: { claimRef } }: PersistentVolume): 'Available' | 'Bound' | 'Released' {
    // Reserved by name for a future claim.
    if (claimRef?.uid === undefined) return 'Available'
    const claim = this.#world.claims.get(`${claimRef.namespace}/${claimRef.name}`)
    return claim !== undefined && uidOf(claim) === claimRef.uid ? 'Bound' : 'Released'
  }
}

function isFor({ spec: { claimRef } }: PersistentVolume, claim: Claim): boolean {
  if (claimRef === undefined || `${claimRef.namespace}/${claimRef.name}` !== keyOf(claim.metadata)) return false
  return claimRef.uid === undefined || claimRef.uid === uidOf(claim)
}

/** Returns why a claim cannot have the volume that it names. If they name each other, their sizes are not checked. */
function mismatch(volume: PersistentVolume, claim: Claim): { reason: string; message: string } | undefined {
  const { name } = volume.metadata
  if (volume.spec.claimRef !== undefined) {
    if (isFor(volume, claim)) return undefined
    return { reason: 'FailedBinding', message: `volume "${name}" already bound to a different claim.` }
  }
  const why = unfit(volume, claim)
  if (why === undefined) return undefined
  return { reason: 'VolumeMismatch', message: `Cannot bind to requested volume "${name}": ${why}` }
}

/** Returns why a volume does not fit, with the message of kube-controller-manager. */
function unfit({ spec: volume }: PersistentVolume, { spec: claim }: Claim): string | undefined {
  const size = (quantity = '0') => bytesOf(quantity) ?? 0
  if (size(volume.capacity?.['storage']) < size(claim.resources?.requests?.storage)) return 'requested PV is too small'
  if ((volume.storageClassName ?? '') !== (claim.storageClassName ?? '')) return 'storageClassName does not match'
  if ((volume.volumeMode ?? 'Filesystem') !== (claim.volumeMode ?? 'Filesystem')) return 'incompatible volumeMode'
  const { accessModes = [] } = volume
  return (claim.accessModes ?? []).every((mode) => accessModes.includes(mode)) ? undefined : 'incompatible accessMode'
}
