import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../operator/kube/resource-types.ts'
import { drawn } from '../drawn.ts'
import * as annotation from './annotations.ts'
import {
  importerName,
  importerPod,
  needsScratch,
  primeClaim,
  primeName,
  scratchClaim,
  scratchName,
  targetClaim,
  wantedClaim,
} from './cdi-objects.ts'
import type { CdiOptions } from './cdi-options.ts'
import { Delays } from './delays.ts'
import {
  isChecksumMismatch,
  isOomKilled,
  isScratchRequired,
  restartsOf,
  type Situation,
  statusIn,
} from './dv-status.ts'
import type { FaultScript } from './faults.ts'
import type { Kubelet } from './kubelet.ts'
import { type Claim, type DataVolume, isTerminating, ownerUid, type Pod, uidOf } from './models.ts'
import { NeedlessImporters } from './needless-importers.ts'
import { isQuota, quotaText } from './quota.ts'
import { bind, defaultClass, isSavedTwice, needsConsumer, provisioningText, savingText } from './storage.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

/** How often CDI repeats "No PVC found" before it sees the claim that it just created: a race, random here. */
const BLIND_CHANCE = 0.3
const BIND_MS = { least: 12, spread: 54 }

/** Reports whether an importer has filled a prime claim, as far as CDI knows. */
export function isFilled(prime: Claim): boolean {
  return prime.metadata.annotations?.[annotation.POD_PHASE] === 'Succeeded'
}

export interface PopulatorParts {
  readonly world: World
  readonly options: CdiOptions
  readonly faults: FaultScript
  readonly kubelet: Kubelet
  readonly worker: Worker
}

/**
 * Advances one imported DataVolume by a step: target claim, prime claim, importer pod, move of the volume to the
 * target. Each step is decided from the state of the cluster. What must not be lost is an annotation of a claim.
 */
export class Populator {
  readonly #world: World
  readonly #options: CdiOptions
  readonly #faults: FaultScript
  readonly #kubelet: Kubelet
  readonly #worker: Worker
  readonly #binding: Delays
  readonly #ending: Delays
  /** The progress that was last read from a pod, and when. */
  readonly #scraped = new Map<
    string,
    { readonly pod: string; readonly at: number; readonly text: string | undefined }
  >()
  readonly #warned = new Map<string, string>()
  readonly #needless: NeedlessImporters

  constructor(parts: PopulatorParts) {
    this.#world = parts.world
    this.#options = parts.options
    this.#faults = parts.faults
    this.#kubelet = parts.kubelet
    this.#worker = parts.worker
    this.#binding = new Delays(parts.world)
    this.#ending = new Delays(parts.world)
    this.#needless = new NeedlessImporters(parts)
  }

  forget(key: string): void {
    this.#binding.forget(key)
    this.#ending.forget(key)
    this.#needless.forget(key)
    this.#scraped.delete(key)
    this.#warned.delete(key)
  }

  async reconcile(key: string, dataVolume: DataVolume): Promise<void> {
    const target = this.#world.claims.get(key)
    if (target === undefined) return await this.#createTarget(key, dataVolume)
    if (ownerUid(target.metadata, 'DataVolume') !== uidOf(dataVolume)) {
      const reason = isTerminating(target) ? 'ErrResourceMarkedForDeletion' : 'ErrResourceExists'
      this.#warn(
        dataVolume,
        reason,
        `Resource "${target.metadata.name}" already exists and is not managed by DataVolume`,
      )
      return await this.#show(dataVolume, { at: 'name taken', claim: target })
    }
    if (isTerminating(target)) return
    if (target.metadata.annotations?.[annotation.POD_PHASE] === 'Succeeded') {
      return await this.#handOver(key, dataVolume, target)
    }
    await this.#populate(key, dataVolume, target)
  }

  async #createTarget(key: string, dataVolume: DataVolume): Promise<void> {
    const wanted = wantedClaim(dataVolume)
    const className = wanted.storageClassName ?? defaultClass(this.#world)
    const classExists = className !== undefined && this.#world.storageClasses.get(className) !== undefined
    if (!classExists && dataVolume.spec.storage !== undefined && (wanted.accessModes?.length ?? 0) === 0) {
      const message = 'PVC spec is missing accessMode and no storageClass to choose profile'
      this.#warn(dataVolume, 'ErrClaimNotValid', message)
      return await this.#show(dataVolume, { at: 'claim not valid', message })
    }
    const profile = this.#world.storageProfiles.get(className ?? '')
    if (profile?.status !== undefined && !profile.status.claimPropertySets?.length) {
      const message = `no accessMode specified in StorageProfile ${className}`
      this.#warn(dataVolume, 'ErrClaimNotValid', message)
      return await this.#show(dataVolume, { at: 'claim not valid', message })
    }
    if (this.#faults.quota('target', dataVolume)) return await this.#showRefused(dataVolume, quotaText(key))
    const marked = await this.#markPopulator(dataVolume)
    try {
      await this.#world.create(PERSISTENT_VOLUME_CLAIM, this.#world.claims, targetClaim(marked, className))
    } catch (error) {
      if (!isQuota(error)) throw error
      return await this.#showRefused(marked, error.message)
    }
    if (this.#world.random() < BLIND_CHANCE) await this.#show(marked, { at: 'no claim' })
  }

  async #showRefused(dataVolume: DataVolume, message: string): Promise<void> {
    await this.#show(dataVolume, { at: 'claim refused', message })
    this.#worker.queue.addAfter(keyOfVolume(dataVolume), this.#options.retryMs)
  }

  /** CDI records its choice of path on the DataVolume itself. */
  async #markPopulator(dataVolume: DataVolume): Promise<DataVolume> {
    if (dataVolume.metadata.annotations?.[annotation.USE_POPULATOR] === 'true') return dataVolume
    const patch = { metadata: { annotations: { [annotation.USE_POPULATOR]: 'true' } } }
    return await this.#world.patch(DATA_VOLUME, this.#world.dataVolumes, dataVolume, patch)
  }

  async #populate(key: string, dataVolume: DataVolume, target: Claim): Promise<void> {
    const { namespace = '', name } = target.metadata
    const className = target.spec.storageClassName ?? ''
    const storageClass = this.#world.storageClasses.get(className)
    if (storageClass === undefined) {
      const message = `target PVC ${name} Pending and storageclass.storage.k8s.io "${className}" not found`
      return await this.#show(dataVolume, { at: 'pending', message })
    }
    if (needsConsumer(storageClass, target)) {
      return await this.#show(dataVolume, { at: 'pending', message: `PVC ${name} Pending`, needsConsumer: true })
    }
    const prime = this.#world.claims.get(`${namespace}/${primeName(target)}`)
    if (prime === undefined) return await this.#createPrime(key, dataVolume, target)
    if (isTerminating(prime)) return
    const pod = this.#world.pods.get(`${namespace}/${importerName(target)}`)
    const fatal = prime.metadata.annotations?.[annotation.FATAL_ERROR]
    if (fatal !== undefined) return await this.#giveUp(dataVolume, prime, pod)
    if (isFilled(prime)) return await this.#markPopulated(key, dataVolume, target, prime, pod)
    const isRefused = pod === undefined && !(await this.#createPod(dataVolume, target, prime))
    if (prime.status?.phase !== 'Bound') {
      const isAwaited = this.#faults.state('unprovisioned', dataVolume) !== undefined || !isSavedTwice(prime)
      const event = isAwaited ? provisioningText(storageClass) : savingText(prime)
      const message = `target PVC ${name} Pending and [${prime.metadata.name}] : ${event}`
      return await this.#show(dataVolume, { at: 'pending', message })
    }
    await this.#import(key, dataVolume, target, prime, pod, isRefused)
  }

  async #createPrime(key: string, dataVolume: DataVolume, target: Claim): Promise<void> {
    const refusal = this.#faults.quota('prime', dataVolume) ? quotaText(key) : undefined
    try {
      if (refusal !== undefined) throw new Error(refusal)
      await this.#world.create(PERSISTENT_VOLUME_CLAIM, this.#world.claims, primeClaim(dataVolume, target))
    } catch (error) {
      if (refusal === undefined && !isQuota(error)) throw error
      // The DataVolume shows nothing of this.
      this.#warn(target, 'ErrCreatingPVCPrime', (error as Error).message, 'PersistentVolumeClaim')
      this.#worker.queue.addAfter(key, this.#options.retryMs)
      return
    }
    await this.#show(dataVolume, { at: 'pending', message: `PVC ${target.metadata.name} Pending` })
  }

  /** Resolves with false if a quota rejects the pod. */
  async #createPod(dataVolume: DataVolume, target: Claim, prime: Claim): Promise<boolean> {
    try {
      if (this.#faults.quota('pod', dataVolume)) {
        this.#worker.queue.addAfter(keyOfVolume(dataVolume), this.#options.retryMs)
        return false
      }
      const pod = await this.#world.create(POD, this.#world.pods, importerPod(dataVolume, target, prime))
      if (needsScratch(prime)) await this.#createScratch(dataVolume, target, prime, pod)
      return true
    } catch (error) {
      if (!isQuota(error)) throw error
      this.#worker.queue.addAfter(keyOfVolume(dataVolume), this.#options.retryMs)
      return false
    }
  }

  /** The pod exists already, and waits for the claim. A quota that refuses it is reported only in an Event, which CDI copies from the prime claim. */
  async #createScratch(dataVolume: DataVolume, target: Claim, prime: Claim, pod: Pod): Promise<void> {
    const key = `${prime.metadata.namespace}/${scratchName(prime)}`
    if (this.#world.claims.get(key) !== undefined) return
    const refusal = this.#faults.quota('scratch', dataVolume) ? quotaText(key) : undefined
    try {
      if (refusal !== undefined) throw new Error(refusal)
      await this.#world.create(PERSISTENT_VOLUME_CLAIM, this.#world.claims, scratchClaim(prime, pod))
    } catch (error) {
      if (refusal === undefined && !isQuota(error)) throw error
      const message = `[${prime.metadata.name}] : ${(error as Error).message}`
      this.#warn(target, 'ErrExceededQuota', message, 'PersistentVolumeClaim')
      this.#worker.queue.addAfter(keyOfVolume(dataVolume), this.#options.retryMs)
    }
  }

  async #import(
    key: string,
    dataVolume: DataVolume,
    target: Claim,
    prime: Claim,
    pod: Pod | undefined,
    isPodRefused: boolean,
  ): Promise<void> {
    if (pod !== undefined && isChecksumMismatch(pod)) return await this.#fail(dataVolume, prime, pod)
    if (pod?.status?.phase === 'Succeeded' && !isScratchRequired(pod)) {
      return await this.#markPopulated(key, dataVolume, target, prime, pod)
    }
    const progress = pod && this.#progressOf(key, pod)
    const isNews = await this.#write(dataVolume, { at: 'importing', prime, pod, progress, isPodRefused })
    if (pod === undefined || isTerminating(pod)) return
    if (isNews) this.#warnOfError(dataVolume, prime, pod)
    if (isOomKilled(pod)) return await this.#world.remove(POD, pod)
    if (isScratchRequired(pod)) return await this.#addScratch(key, prime, pod)
    if (needsScratch(prime)) await this.#createScratch(dataVolume, target, prime, pod)
    await this.#keepRestarts(target, prime, pod)
    if (pod.status?.containerStatuses?.[0]?.state.running !== undefined) {
      this.#worker.queue.addAfter(key, this.#options.progressMs)
    }
  }

  async #addScratch(key: string, prime: Claim, pod: Pod): Promise<void> {
    if (!this.#ending.passed(this.#worker, key, `scratch ${uidOf(pod)}`, this.#options.scratchMs)) return
    await this.#annotate(prime, { [annotation.REQUIRES_SCRATCH]: 'true' })
    await this.#world.remove(POD, pod)
  }

  /** The only error that CDI does not retry. */
  async #fail(dataVolume: DataVolume, prime: Claim, pod: Pod): Promise<void> {
    const { state, lastState } = pod.status?.containerStatuses?.[0] ?? {}
    const message = (state?.terminated ?? lastState?.terminated)?.message ?? ''
    const marks = { [annotation.FATAL_ERROR]: 'true', [annotation.RUNNING_MESSAGE]: message }
    await this.#giveUp(dataVolume, await this.#annotate(prime, marks), pod)
  }

  async #giveUp(dataVolume: DataVolume, prime: Claim, pod: Pod | undefined): Promise<void> {
    const message = prime.metadata.annotations?.[annotation.RUNNING_MESSAGE] ?? ''
    await this.#show(dataVolume, { at: 'fatal', message })
    if (pod !== undefined && !isTerminating(pod)) await this.#world.remove(POD, pod)
  }

  async #keepRestarts(target: Claim, prime: Claim, pod: Pod): Promise<void> {
    const restarts = restartsOf(prime, pod)
    if (restarts === Number(prime.metadata.annotations?.[annotation.POD_RESTARTS] ?? 0)) return
    await this.#annotate(prime, { [annotation.POD_RESTARTS]: String(restarts) })
    await this.#annotate(target, { [annotation.POD_RESTARTS]: String(restarts) })
  }

  /**
   * Sets the mark before the pod is deleted: a simulator that dies in between must not import again. CDI deletes the pod of a claim with that mark
   * only now: if it does not come to that, nobody ever does.
   */
  async #markPopulated(
    key: string,
    dataVolume: DataVolume,
    target: Claim,
    prime: Claim,
    pod: Pod | undefined,
  ): Promise<void> {
    let isGoing = pod === undefined || isTerminating(pod)
    if (!isFilled(prime)) {
      await this.#annotate(prime, { [annotation.POD_PHASE]: 'Succeeded' })
      const isForgotten = this.#faults.state('forgottenImporter', dataVolume) !== undefined
      if (pod !== undefined && !isForgotten && !isGoing && !this.#retains(dataVolume)) {
        await this.#world.remove(POD, pod)
        isGoing = true
      }
    }
    const filled = { key, dataVolume, target, prime }
    if (isGoing) await this.#needless.reconcile(filled)
    // The end of the importer, which is awaited then, is seen.
    if (isGoing && this.#needless.isFirst(filled)) return
    const marked = await this.#annotate(target, {
      [annotation.POD_PHASE]: 'Succeeded',
      [annotation.POPULATOR_PRIME]: prime.metadata.name,
      [annotation.POPULATOR_PROGRESS]: '100.0%',
      [annotation.RUNNING]: 'false',
      [annotation.RUNNING_REASON]: 'Completed',
      [annotation.RUNNING_MESSAGE]: 'Import Complete',
    })
    await this.#handOver(key, dataVolume, marked)
  }

  /** Reports Succeeded first. The volume follows a moment later, and then the prime claim is deleted. */
  async #handOver(key: string, dataVolume: DataVolume, target: Claim): Promise<void> {
    const { namespace = '' } = target.metadata
    const prime = this.#world.claims.get(`${namespace}/${primeName(target)}`)
    const retains = this.#retains(dataVolume)
    await this.#show(dataVolume, { at: 'populated', claim: target, prime })
    if (target.status?.phase === 'Lost') return
    if (target.status?.phase !== 'Bound') {
      const delayMs = drawn(BIND_MS, this.#world.random)
      if (!this.#binding.passed(this.#worker, key, `bind ${uidOf(target)}`, delayMs)) return
      await bind(this.#world, target, prime?.spec.volumeName ?? `pvc-${uidOf(target)}`)
      return
    }
    if (prime === undefined || isTerminating(prime) || retains) return
    await this.#needless.reconcile({ key, dataVolume, target, prime })
    if (!this.#ending.passed(this.#worker, key, `prime ${uidOf(prime)}`, this.#options.primeLingerMs)) return
    await this.#world.remove(PERSISTENT_VOLUME_CLAIM, prime)
  }

  #retains(dataVolume: DataVolume): boolean {
    return dataVolume.metadata.annotations?.[annotation.RETAIN_POD] === 'true'
  }

  /** Read from the pod at most once per interval, as CDI scrapes it. */
  #progressOf(key: string, pod: Pod): string | undefined {
    const now = this.#world.clock.monotonic()
    const run = `${uidOf(pod)} ${pod.status?.containerStatuses?.[0]?.restartCount ?? 0}`
    const last = this.#scraped.get(key)
    if (last?.pod === run && now - last.at < this.#options.progressMs) return last.text
    // A run that just started has reported nothing yet. The first read is one interval later.
    const text = last?.pod === run ? (this.#kubelet.progressOf(pod) ?? last.text) : undefined
    this.#scraped.set(key, { pod: run, at: now, text })
    return text
  }

  async #show(dataVolume: DataVolume, situation: Situation): Promise<void> {
    await this.#write(dataVolume, situation)
  }

  /** Resolves with false if the status is already up to date. */
  async #write(dataVolume: DataVolume, situation: Situation): Promise<boolean> {
    const previous = dataVolume.status ?? {}
    const status = statusIn(situation, dataVolume.metadata.name, previous, this.#world.timestamp())
    if (status === previous) return false
    await this.#world.writeStatus(DATA_VOLUME, this.#world.dataVolumes, dataVolume, status)
    return true
  }

  async #annotate(claim: Claim, annotations: Readonly<Record<string, string>>): Promise<Claim> {
    return await this.#world.patch(PERSISTENT_VOLUME_CLAIM, this.#world.claims, claim, { metadata: { annotations } })
  }

  #warnOfError(dataVolume: DataVolume, prime: Claim, pod: Pod): void {
    const { exitCode = 0, message = '' } = pod.status?.containerStatuses?.[0]?.state.terminated ?? {}
    if (exitCode === 0 || message === '') return
    this.#world.event(prime, 'PersistentVolumeClaim', 'ErrImportFailed', message)
    this.#world.event(dataVolume, 'DataVolume', 'Error', message)
  }

  /** Emits an event when the reason changes, not on every reconcile. */
  #warn(about: KubeObject, reason: string, message: string, kind = 'DataVolume'): void {
    const key = `${about.metadata.namespace}/${about.metadata.name}`
    if (this.#warned.get(key) === reason) return
    this.#warned.set(key, reason)
    this.#world.event(about, kind, reason, message)
  }
}

function keyOfVolume({ metadata }: DataVolume): string {
  return `${metadata.namespace}/${metadata.name}`
}
