import { POD } from '../../operator/kube/resource-types.ts'
import { drawn } from '../drawn.ts'
import { importerName, importerPod } from './cdi-objects.ts'
import type { CdiOptions } from './cdi-options.ts'
import { Delays } from './delays.ts'
import type { FaultScript, StateFault } from './faults.ts'
import { type Claim, type DataVolume, isTerminating, type Pod, uidOf } from './models.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

/** From such an importer to its deletion: sooner or later than its kubelet reports that it is to start. */
const DELETED_MS = { least: 5, spread: 200 }

interface NeedlessImportersOptions {
  readonly world: World
  readonly options: Pick<CdiOptions, 'needlessImporters'>
  readonly faults: FaultScript
  readonly worker: Worker
}

interface Filled {
  readonly key: string
  readonly dataVolume: DataVolume
  readonly target: Claim
  readonly prime: Claim
}

/**
 * Importers of imports that have succeeded. CDI makes one if its cache shows the end of the importer before it shows what CDI has written to the claim, and
 * deletes it when it sees that the claim is filled. The container cannot start, because the volume belongs to the target claim by then.
 */
export class NeedlessImporters {
  readonly #options: NeedlessImportersOptions
  readonly #ending: Delays
  /** Uid of the prime claim for which the last one was made, by key of the DataVolume. */
  readonly #made = new Map<string, string>()

  constructor(options: NeedlessImportersOptions) {
    this.#options = options
    this.#ending = new Delays(options.world)
  }

  forget(key: string): void {
    this.#made.delete(key)
    this.#ending.forget(key)
  }

  /** Reports whether one is still to be made before the DataVolume shows that its import has succeeded. Every other one is. */
  isFirst(filled: Filled): boolean {
    return this.#isDue(filled) && digitOf(filled.prime, 2) % 2 === 0
  }

  /** Makes it once the importer is gone, and deletes it later. */
  async reconcile(filled: Filled): Promise<void> {
    const { key, dataVolume, target, prime } = filled
    const { world, worker } = this.#options
    const pod = world.pods.get(`${prime.metadata.namespace}/${importerName(target)}`)
    if (this.#isDue(filled)) {
      if (pod !== undefined) return
      this.#made.set(key, uidOf(prime))
      await world.create(POD, world.pods, importerPod(dataVolume, target, prime))
      worker.queue.addAfter(key, DELETED_MS.least)
    } else if (pod !== undefined && this.#isToBeDeleted(filled, pod)) {
      await world.remove(POD, pod)
    }
  }

  #isDue({ key, dataVolume, prime }: Filled): boolean {
    return this.#faultOf(dataVolume, prime) !== undefined && this.#made.get(key) !== uidOf(prime)
  }

  #isToBeDeleted({ key, dataVolume, prime }: Filled, pod: Pod): boolean {
    if (this.#made.get(key) !== uidOf(prime) || isTerminating(pod) || pod.status?.phase === 'Succeeded') return false
    if (this.#faultOf(dataVolume, prime)?.hangs === true) return false
    const { world, worker } = this.#options
    return this.#ending.passed(worker, key, `needless ${uidOf(pod)}`, drawn(DELETED_MS, world.random))
  }

  #faultOf(dataVolume: DataVolume, prime: Claim): (StateFault & { type: 'needlessImporter' }) | undefined {
    const { faults, options } = this.#options
    const scripted = faults.state('needlessImporter', dataVolume)
    if (scripted !== undefined || options.needlessImporters === 0) return scripted
    if (digitOf(prime, 0) % options.needlessImporters !== 0) return undefined
    return { type: 'needlessImporter', hangs: digitOf(prime, 1) % 2 === 0 }
  }
}

/** A digit of the uid: as good as random, and what else is drawn in a run stays the same. */
function digitOf(claim: Claim, at: number): number {
  return Number.parseInt(uidOf(claim).charAt(at), 16)
}
