import { FOREGROUND, isWaitingForDependents } from '../../cluster/dependents.ts'
import { BY_CLAIM, claimOwning, claimsFilledFor, scratchOf } from '../../cluster/importers.ts'
import { controllerOfKind, familyKey, isChildOf } from '../../cluster/ownership.ts'
import { isApiError } from '../../kube/api-error.ts'
import { isTerminating, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM, POD } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadServices } from '../../runtime/live-read-loop.ts'
import { IMAGE, type ImageCaches } from './caches.ts'

/** CDI and the kubelet come first. */
const FORGOTTEN_AFTER_MS = 5_000
/** A watch that is later than this is given up. */
const REMEMBERED_MS = 10 * 60_000

interface ImporterRemainsOptions extends LiveReadServices {
  readonly caches: Pick<ImageCaches, 'cluster' | 'images'>
}

/**
 * Removes importer pods that nobody else removes. With such a pod stay the claims that it fills, which `pvc-protection` keeps, and what they take of a
 * quota.
 *
 * - **A pod whose claim is being deleted.** CDI deletes the pod when its import is done, with one request. If that request fails, or CDI is killed before
 *   it, CDI never looks at that claim again. If CDI is away, the pod of a claim that somebody deleted goes on with its download.
 * - **A pod that is deleted in the foreground.** It waits until its claim for scratch space is gone, and `pvc-protection` keeps that claim until the pod
 *   is gone. The operator deletes in the background. But people delete in the foreground too, and so did earlier versions of the operator. Kubernetes finds
 *   some such cycles by itself, and then makes the owner references of what waits no longer block. The same is done here: a second deletion of the pod,
 *   in the background, would have no effect until its kubelet has ended it.
 */
export class ImporterRemains extends LiveReadLoop {
  readonly #options: ImporterRemainsOptions
  /** Uids of the claims in the cache that importers of an image fill. Later, what shows that may be gone. */
  readonly #filled = new Set<string>()
  /** DataVolumes of images that are gone, by key: the watches of claims and pods may be later than theirs. */
  readonly #left = new Map<string, { readonly dataVolume: KubeObject; readonly since: number }>()

  constructor(options: ImporterRemainsOptions) {
    super(options, 'vmdiskimage-importer-remains', async (key, signal) => await this.#free(key, signal))
    this.#options = options
  }

  /** Starts to look at all importers. Returns a function that stops that. */
  listen(): () => void {
    const { pods, claims, dataVolumes } = this.#options.caches.cluster
    const look = (pod: KubeObject | undefined) => {
      if (pod === undefined) return
      const claim = this.#claimOf(pod)
      if (claim !== undefined) this.#note(claim)
      if (isWaitingForDependents(pod)) this.readAfter(keyOf(pod.metadata), 0)
      else if (this.#isForgotten(pod)) this.readAfter(keyOf(pod.metadata), FORGOTTEN_AFTER_MS)
    }
    const stops = [
      dataVolumes.onChange(({ before, after }) => {
        if (after !== undefined) for (const claim of claimsFilledFor(after, claims)) this.#note(claim)
        else if (before !== undefined && this.#isOfImage(before)) this.#remember(before)
      }),
      pods.onChange(({ after }) => {
        look(after)
      }),
      claims.onChange(({ before, after }) => {
        if (after === undefined) {
          this.#filled.delete(before?.metadata.uid ?? '')
          return
        }
        this.#note(after)
        const { namespace, uid = '' } = after.metadata
        const owner = controllerOfKind(after, POD)
        if (owner !== undefined) look(pods.get(keyOf({ namespace, name: owner.name })))
        for (const pod of pods.find(BY_CLAIM, familyKey(namespace, uid))) look(pod)
      }),
    ]
    for (const claim of claims.values()) this.#note(claim)
    for (const pod of pods.values()) look(pod)
    return () => {
      for (const stop of stops) stop()
    }
  }

  async #free(key: string, signal: AbortSignal): Promise<undefined> {
    const pod = this.#options.caches.cluster.pods.get(key)
    if (pod === undefined) return
    try {
      if (this.#isForgotten(pod)) await this.#remove(pod, signal)
      else if (isWaitingForDependents(pod)) await this.#unblock(pod, signal)
    } catch (error) {
      if (isApiError(error, 'NotFound')) return
      if (!isApiError(error, 'Conflict')) throw error
      // It has changed, or something on the way says so: there may be no further watch event.
      this.readAfter(key, FORGOTTEN_AFTER_MS)
    }
  }

  #isForgotten(pod: KubeObject): boolean {
    const claim = this.#claimOf(pod)
    return (
      claim !== undefined && isTerminating(claim) && this.#filled.has(claim.metadata.uid ?? '') && !isTerminating(pod)
    )
  }

  #note(claim: KubeObject): void {
    const { claims, dataVolumes } = this.#options.caches.cluster
    const { namespace, uid = '' } = claim.metadata
    if (this.#filled.has(uid)) return
    const key = keyOf({ namespace, name: (claimOwning(claim) ?? claim.metadata).name })
    const there = dataVolumes.get(key)
    const dataVolume = there !== undefined && this.#isOfImage(there) ? there : this.#left.get(key)?.dataVolume
    if (dataVolume === undefined) return
    if (claimsFilledFor(dataVolume, claims).some((one) => one.metadata.uid === uid)) this.#filled.add(uid)
  }

  #isOfImage(dataVolume: KubeObject): boolean {
    const owner = controllerOfKind(dataVolume, IMAGE)
    const { namespace } = dataVolume.metadata
    const image = owner && this.#options.caches.images.get(keyOf({ namespace, name: owner.name }))
    return image !== undefined && isChildOf(dataVolume, image)
  }

  #remember(dataVolume: KubeObject): void {
    const now = this.#options.clock.monotonic()
    // The eldest is the first one.
    for (const [key, { since }] of this.#left) {
      if (now - since <= REMEMBERED_MS) break
      this.#left.delete(key)
    }
    const key = keyOf(dataVolume.metadata)
    this.#left.delete(key)
    this.#left.set(key, { dataVolume, since: now })
  }

  /** Returns the claim that the pod fills. */
  #claimOf(pod: KubeObject): KubeObject | undefined {
    const owner = claimOwning(pod)
    const { namespace } = pod.metadata
    const claim = owner && this.#options.caches.cluster.claims.get(keyOf({ namespace, name: owner.name }))
    return claim?.metadata.uid === owner?.uid ? claim : undefined
  }

  async #remove(pod: KubeObject, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options
    await client.delete(POD, pod.metadata, { signal, propagationPolicy: 'Background', uid: pod.metadata.uid })
    log.info(
      { key: keyOf(pod.metadata), claim: claimOwning(pod)?.name },
      'an importer was removed, whose claim is being deleted',
    )
  }

  async #unblock(pod: KubeObject, signal: AbortSignal): Promise<void> {
    const { caches, client, log } = this.#options
    const scratch = scratchOf(pod, caches.cluster.claims)
    const owner = scratch && controllerOfKind(scratch, POD)
    if (scratch === undefined || owner?.blockOwnerDeletion !== true) return
    const { name, uid, resourceVersion } = scratch.metadata
    const metadata = { uid, resourceVersion, ownerReferences: [{ ...owner, blockOwnerDeletion: false }] }
    await client.mergePatch(PERSISTENT_VOLUME_CLAIM, scratch.metadata, { metadata }, { signal })
    const key = keyOf(pod.metadata)
    log.info({ key, claim: name, finalizer: FOREGROUND }, 'an importer no longer waits for its claim for scratch space')
  }
}
