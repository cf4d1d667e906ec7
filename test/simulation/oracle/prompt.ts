import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { type Image, reasonOf } from '../../harness/kinds.ts'
import { type Witness, WitnessOracle } from './oracle.ts'

/** A watch reports a Secret within milliseconds, but the work queue may take a while. */
const SEEN_WITHIN_MS = 20_000

export interface PromptWitness extends Witness {
  /** Calls `work` after this many virtual milliseconds. */
  readonly later: (delayMs: number, work: () => void) => void
}

/** Invariant 7: an image that waits for a Secret continues when it is created, although nobody requests a retry. */
export class PromptOracle extends WitnessOracle<PromptWitness> {
  readonly #secrets = new Set<string>()

  onCommit({ resource, type, object }: Commit): void {
    if (resource.kind !== 'Secret') return
    const key = keyOf(object.metadata)
    if (type === 'DELETED') this.#secrets.delete(key)
    if (type !== 'ADDED') return
    this.#secrets.add(key)
    const { chronicle, later } = this.witness
    for (const [uid, image] of chronicle.images)
      if (waitsFor(image, object)) later(SEEN_WITHIN_MS, () => this.#check(uid, object))
  }

  #check(uid: string, secret: KubeObject): void {
    const { chronicle, disturbances, report } = this.witness
    const image = chronicle.images.get(uid)
    const key = keyOf(secret.metadata)
    const isExcused = disturbances.calmForMs('api', 'watch', 'freeze', 'crash') < 2 * SEEN_WITHIN_MS
    if (image === undefined || isExcused || !this.#secrets.has(key) || !waitsFor(image, secret)) return
    report(7, `image ${keyOf(image.metadata)} waits for Secret ${key}, which is there`)
  }
}

function waitsFor(image: Image, { metadata }: KubeObject): boolean {
  const { spec, status, metadata: own } = image
  const isAffected = spec.secretRef === metadata.name && own.namespace === metadata.namespace
  return isAffected && status?.observedGeneration === own.generation && reasonOf(image) === 'SecretMissing'
}
