import { isWaitingForDependents } from '../../../cluster/dependents.ts'
import { importersOf } from '../../../cluster/importers.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import { isApiError } from '../../../kube/api-error.ts'
import { find } from '../../../kube/find.ts'
import type { KubeClient } from '../../../kube/kube-client.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import type { SharedLooks } from '../../../kube/shared-looks.ts'
import { Semaphore } from '../../../runtime/semaphore.ts'
import type { Holder } from '../world.ts'
import type { AdmissionOptions } from './admission-options.ts'
import type { DownloadNotes } from './download-notes.ts'
import { livePods, lookForDataVolume, lookForImporters } from './downloads.ts'
import type { ImporterNotes } from './slot-notes.ts'

/** Somebody may have written thousands of holders, and other requests must not wait behind the reads for all of them. */
const LOOKS_AT_ONCE = 16

interface SlotLooksOptions extends Pick<AdmissionOptions, 'client' | 'clock' | 'dataVolumes' | 'claims' | 'pods'> {
  readonly importers: ImporterNotes
  readonly downloads: DownloadNotes
}

/** Finds out by live reads whether anything may still download for the holder of a slot. */
export class SlotLooks {
  readonly #options: SlotLooksOptions
  readonly #semaphore = new Semaphore(LOOKS_AT_ONCE)
  readonly #livePods: SharedLooks<readonly KubeObject[]>

  constructor(options: SlotLooksOptions) {
    this.#options = options
    this.#livePods = livePods(options.client)
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
    const { client, clock, dataVolumes, claims, pods, importers, downloads } = this.#options
    const found = await lookForDataVolume(client, holder, signal)
    const isThere = found !== undefined && found !== 'foreign'
    if (isThere) {
      dataVolumes.observeWrite(found)
      if (!downloads.isLookDue(found) || (await hasFillableClaim(client, found, signal))) return false
    }
    const seen = isThere ? importersOf(found, { claims, pods }).map(({ metadata }) => metadata.uid ?? '') : []
    const known = new Set([...importers.of(holder).keys(), ...seen])
    const remains = await lookForImporters(this.#livePods, holder, { known, claims }, signal)
    const isNothingLeft =
      remains === 'nothing' || (remains === 'doubtful' && importers.isDoubtOver(holder, clock.monotonic()))
    if (!isThere || !isNothingLeft) return isNothingLeft
    // The dependents that it still waits for download nothing.
    if (isWaitingForDependents(found)) await stopWaitingForDependents(client, found, signal)
    else downloads.setOver(found)
    return false
  }
}

/**
 * Reports whether a terminating DataVolume has a claim that CDI may fill. CDI starts no importer for a claim that is terminating too,
 * whatever finalizer keeps it. A prime claim follows its target.
 */
async function hasFillableClaim(client: KubeClient, dataVolume: KubeObject, signal: AbortSignal): Promise<boolean> {
  const claim = await find(client, PERSISTENT_VOLUME_CLAIM, dataVolume.metadata, { signal })
  return claim !== undefined && !isTerminating(claim) && isChildOf(claim, dataVolume)
}

/**
 * Deletes the DataVolume again, in the background. This removes the finalizer with which the garbage collector waits for its dependents:
 * somebody may have given it a dependent that is never deleted.
 */
async function stopWaitingForDependents(client: KubeClient, { metadata }: KubeObject, signal: AbortSignal) {
  try {
    await client.delete(DATA_VOLUME, metadata, { signal, propagationPolicy: 'Background', uid: metadata.uid })
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error
  }
}
