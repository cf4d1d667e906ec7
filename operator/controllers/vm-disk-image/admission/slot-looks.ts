import { isWaitingForDependents } from '../../../cluster/dependents.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { KubeClient } from '../../../kube/kube-client.ts'
import { isTerminating, type KubeObject, keyOf, type ResourceType } from '../../../kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { Semaphore } from '../../../runtime/semaphore.ts'
import type { Holder } from '../world.ts'
import type { AdmissionOptions } from './admission-options.ts'
import type { DownloadNotes } from './download-notes.ts'
import {
  type KnownDownloads,
  type LeftoverLooks,
  liveClaims,
  livePods,
  lookForDataVolume,
  lookForRemains,
} from './downloads.ts'
import { DOUBT_MS, type RemainNotes } from './slot-notes.ts'

/** Somebody may have written thousands of holders, and other requests must not wait behind the reads for all of them. */
const LOOKS_AT_ONCE = 16

interface SlotLooksOptions
  extends Pick<AdmissionOptions, 'client' | 'clock' | 'dataVolumes' | 'claims' | 'images' | 'patience'> {
  readonly remains: RemainNotes
  readonly downloads: DownloadNotes
}

/** Finds out by live reads whether anything may still download for the holder of a slot. */
export class SlotLooks {
  readonly #options: SlotLooksOptions
  readonly #semaphore = new Semaphore(LOOKS_AT_ONCE)
  readonly #live: LeftoverLooks

  constructor(options: SlotLooksOptions) {
    this.#options = options
    this.#live = { claims: liveClaims(options.client), pods: livePods(options.client) }
  }

  /** Throws ApiError. */
  async isEmpty(holder: Holder, signal: AbortSignal): Promise<boolean> {
    await this.#semaphore.acquire()
    try {
      return await this.#look(holder, signal)
    } finally {
      this.#semaphore.release()
    }
  }

  async #look(holder: Holder, signal: AbortSignal): Promise<boolean> {
    const { client, dataVolumes, remains, downloads } = this.#options
    const found = await lookForDataVolume(client, holder, signal)
    const isThere = found !== undefined && found !== 'foreign'
    if (isThere) {
      dataVolumes.observeWrite(found)
      if (!downloads.isLookDue(found)) return false
      remains.note(holder, found)
    }
    const known = this.#known(holder, isThere ? found.metadata.uid : undefined)
    const left = await lookForRemains(this.#live, holder, known, signal)
    if (isThere && left !== 'nothing') await this.#endClaim(found, signal)
    const isNothingLeft = left === 'nothing' || (left !== 'importer' && this.#isWaitOver(holder, left))
    if (!isThere || !isNothingLeft) return isNothingLeft
    // The dependents that it still waits for download nothing.
    if (isWaitingForDependents(found)) await stopWaitingForDependents(client, found, signal)
    else downloads.setOver(found)
    return false
  }

  /** Includes what the status of the image says, which is written before its DataVolume is deleted: this process may have noted nothing. */
  #known(holder: Holder, uid: string | undefined): KnownDownloads {
    const { remains, images } = this.#options
    const image = images.get(keyOf(holder))
    const { dataVolumeUID, importerPodUID } = image?.metadata.uid === holder.uid ? image.status : {}
    const claims = [...remains.claimsOf(holder).values()]
    const isText = (one: string | undefined): one is string => one !== undefined
    return {
      claims,
      dataVolumes: new Set([uid, dataVolumeUID, ...claims.map(({ dataVolume }) => dataVolume)].filter(isText)),
      pods: new Set([importerPodUID, ...remains.podsOf(holder).keys()].filter(isText)),
    }
  }

  /**
   * Deletes the claim of a DataVolume that is being deleted, and that somebody keeps with a finalizer. The garbage collector deletes the claim only
   * when the DataVolume is gone. Until then CDI would go on filling it, with one importer after another.
   */
  async #endClaim(dataVolume: KubeObject, signal: AbortSignal): Promise<void> {
    const { client, claims } = this.#options
    const claim = claims.get(keyOf(dataVolume.metadata))
    if (claim === undefined || isTerminating(claim) || !isChildOf(claim, dataVolume)) return
    await deleteInBackground(client, PERSISTENT_VOLUME_CLAIM, claim, signal)
  }

  /** A claim of the holder that nobody deletes counts as long as a download without progress may last: CDI would have filled it by then. */
  #isWaitOver(holder: Holder, left: 'claim' | 'doubtful'): boolean {
    const { remains, clock, patience } = this.#options
    return remains.waitedMs(holder, clock.monotonic()) >= (left === 'claim' ? patience().stallTimeoutMs : DOUBT_MS)
  }
}

/**
 * Deletes the DataVolume again, in the background. This removes the finalizer with which the garbage collector waits for its dependents:
 * somebody may have given it a dependent that is never deleted.
 */
async function stopWaitingForDependents(client: KubeClient, dataVolume: KubeObject, signal: AbortSignal) {
  await deleteInBackground(client, DATA_VOLUME, dataVolume, signal)
}

async function deleteInBackground(
  client: KubeClient,
  type: ResourceType,
  { metadata }: KubeObject,
  signal: AbortSignal,
) {
  try {
    await client.delete(type, metadata, { signal, propagationPolicy: 'Background', uid: metadata.uid })
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error
  }
}
