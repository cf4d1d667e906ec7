import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../operator/kube/resource-types.ts'
import * as annotation from './annotations.ts'
import { wantedClaim } from './cdi-objects.ts'
import type { CdiOptions } from './cdi-options.ts'
import {
  type CloneType,
  cloneTarget,
  helperClaim,
  helperClaimName,
  prepPod,
  prepPodName,
  sizeDetectionPod,
  sizeDetectionPodName,
} from './clone-objects.ts'
import { type Blockage, fallbackFor, inspect, isBigger, type SourceFacts } from './clone-plan.ts'
import { Delays } from './delays.ts'
import { type Situation, statusIn } from './dv-status.ts'
import type { FaultScript } from './faults.ts'
import { type Claim, type DataVolume, isTerminating, ownedBy, ownerUid, type StorageClass, uidOf } from './models.ts'
import { bytesOf } from './quantity.ts'
import { isQuota, quotaText } from './quota.ts'
import { type CloneSource, keyOfSource, sourceWithKey } from './source.ts'
import { bind, defaultClass, needsConsumer, provisioningText } from './storage.ts'
import type { Worker } from './worker.ts'
import { BY_DATA_VOLUME, type World } from './world.ts'

const ANY_NODE = 'node-1'
const NO_CLASS = 'PVC spec is missing accessMode and no storageClass to choose profile'
const PHASES = {
  snapshot: 'CloneFromSnapshotSourceInProgress',
  'csi-clone': 'CSICloneInProgress',
  copy: 'CloneInProgress',
} as const
const STEPS = { snapshot: 'SnapshotClone', 'csi-clone': 'CSIClone', copy: 'HostClone' } as const

export interface CloneParts {
  readonly world: World
  readonly options: CdiOptions
  readonly faults: FaultScript
  readonly worker: Worker
}

/**
 * Advances one cloned DataVolume by a step: target claim, helper claim in the namespace of the source, move of the
 * helper's volume to the target. Each step is decided from the state of the cluster.
 *
 * Not simulated: the pods and the prime claim of a copy (it only takes longer), and the snapshot that CDI may take of a
 * source claim (the driver does such a clone).
 */
export class ClonePopulator {
  readonly #world: World
  readonly #options: CdiOptions
  readonly #faults: FaultScript
  readonly #worker: Worker
  readonly #filling: Delays
  readonly #preparing: Delays
  /** The source of each unfinished clone, by key of its DataVolume; undefined while unknown. */
  readonly #unfinished = new Map<string, string | undefined>()
  readonly #warned = new Map<string, string>()

  constructor({ world, options, faults, worker }: CloneParts) {
    this.#world = world
    this.#options = options
    this.#faults = faults
    this.#worker = worker
    this.#filling = new Delays(world)
    this.#preparing = new Delays(world)
    world.snapshots.onChange(({ key }) => this.#wakeReadersOf(`snapshot/${key}`))
    world.claims.onChange(({ key }) => this.#wakeReadersOf(`pvc/${key}`))
    world.dataSources.onChange(() => this.#wakeReadersOf(undefined))
  }

  async forget(key: string): Promise<void> {
    await this.#removeSizeDetection(key, this.#unfinished.get(key))
    this.#unfinished.delete(key)
    this.#filling.forget(key)
    this.#preparing.forget(key)
    this.#warned.delete(key)
  }

  /** @param source undefined if a DataSource is missing or empty; CDI then reports nothing and retries */
  async reconcile(key: string, dataVolume: DataVolume, source: CloneSource | undefined): Promise<void> {
    const target = this.#world.claims.get(key)
    const noted = sourceWithKey(target?.metadata.annotations?.[annotation.CLONE_SOURCE] ?? '') ?? source
    this.#unfinished.set(key, noted && keyOfSource(noted))
    const isFilledByOthers = dataVolume.metadata.annotations?.[annotation.PRE_POPULATED] !== undefined
    if (target === undefined) return isFilledByOthers ? undefined : await this.#begin(key, dataVolume, source)
    if (isLeftTo(dataVolume, target)) return await this.#adopt(dataVolume, target)
    if (ownerUid(target.metadata, 'DataVolume') !== uidOf(dataVolume)) {
      return await this.#show(dataVolume, { at: 'name taken', claim: target })
    }
    if (isTerminating(target)) return
    if (target.status?.phase === 'Bound') return await this.#finish(key, dataVolume, target)
    if (noted !== undefined && !isFilledByOthers) await this.#fill(key, dataVolume, target, noted)
  }

  /** Becomes the owner of a claim that was filled for this DataVolume, as a restore in place does. */
  async #adopt(dataVolume: DataVolume, target: Claim): Promise<void> {
    const metadata = { ownerReferences: ownedBy(dataVolume) }
    await this.#world.patch(PERSISTENT_VOLUME_CLAIM, this.#world.claims, target, { metadata })
    const { name } = target.metadata
    const marks = { metadata: { annotations: { [annotation.PRE_POPULATED]: name } } }
    await this.#world.patch(DATA_VOLUME, this.#world.dataVolumes, dataVolume, marks)
  }

  /** The helpers of a deleted target claim are deleted with it. Nothing waits until they are gone. */
  async releaseTarget(key: string): Promise<void> {
    const target = this.#world.claims.get(key)
    if (target === undefined || !isTerminating(target)) return
    if (!target.metadata.finalizers?.includes(annotation.CLONE_FINALIZER)) return
    await this.#removeHelpers(key, target)
    await this.#unfinalize(target)
  }

  /** Removes the clone finalizer from a deleted DataVolume. Resolves with false if it has none. */
  release(dataVolume: DataVolume): Promise<boolean> {
    return this.#world.releaseFinalizer(
      DATA_VOLUME,
      this.#world.dataVolumes,
      dataVolume,
      annotation.DATA_VOLUME_FINALIZER,
    )
  }

  async #begin(key: string, dataVolume: DataVolume, source: CloneSource | undefined): Promise<void> {
    // A DataVolume that has succeeded stays so while it cannot be cloned again.
    const hasSucceeded = dataVolume.status?.phase === 'Succeeded'
    const wanted = wantedClaim(dataVolume)
    const className = wanted.storageClassName ?? defaultClass(this.#world)
    const classExists = className !== undefined && this.#world.storageClasses.get(className) !== undefined
    if (source === undefined) return
    if (!classExists && dataVolume.spec.storage !== undefined && (wanted.accessModes?.length ?? 0) === 0) {
      if (!hasSucceeded) await this.#show(dataVolume, { at: 'claim not valid', message: NO_CLASS })
      return
    }
    const facts = inspect(this.#world, source, dataVolume)
    if ('reason' in facts) {
      this.#warn(key, dataVolume, facts.reason, facts.message)
      if (!hasSucceeded) await this.#show(dataVolume, { at: 'clone blocked', ...facts })
      return
    }
    if (!(await this.#isSizeKnown(key, dataVolume, source))) return
    await this.#createTarget(dataVolume, source, { className, size: facts.size })
  }

  /** Without a size in the DataVolume, a pod reads that of the disk from the claim first. Until then there is no target claim, and no status. */
  async #isSizeKnown(key: string, dataVolume: DataVolume, { of, namespace, name }: CloneSource): Promise<boolean> {
    const claim = of === 'pvc' ? this.#world.claims.get(`${namespace}/${name}`) : undefined
    const isAsked =
      dataVolume.spec.storage !== undefined && wantedClaim(dataVolume).resources?.requests?.storage === undefined
    const { annotations = {} } = claim?.metadata ?? {}
    const hasDisk = annotations[annotation.CONTENT_TYPE] === 'kubevirt' && claim?.spec.volumeMode !== 'Block'
    if (claim === undefined || !isAsked || !hasDisk) return true
    const capacity = claim.status?.capacity?.['storage'] ?? ''
    if (annotations[annotation.SOURCE_CAPACITY] === capacity) return true
    if (claim.status?.phase !== 'Bound') return false
    const pod = this.#world.pods.get(`${namespace}/${sizeDetectionPodName(claim)}`)
    if (pod === undefined) {
      await this.#world.create(POD, this.#world.pods, sizeDetectionPod(dataVolume, claim))
      return false
    }
    if (!this.#preparing.passed(this.#worker, key, `size ${uidOf(pod)}`, this.#options.prepareMs)) return false
    await this.#world.writeStatus(POD, this.#world.pods, pod, { ...pod.status, phase: 'Succeeded' })
    await this.#annotate(claim, {
      [annotation.VIRTUAL_SIZE]: String(bytesOf(capacity) ?? 0),
      [annotation.SOURCE_CAPACITY]: capacity,
    })
    return true
  }

  /** It stays until the clone that it was made for is complete, or gone. */
  async #removeSizeDetection(key: string, source: string | undefined): Promise<void> {
    const { namespace = '', name = '' } = sourceWithKey(source ?? '') ?? {}
    const claim = this.#world.claims.get(`${namespace}/${name}`)
    const pod = claim && this.#world.pods.get(`${namespace}/${sizeDetectionPodName(claim)}`)
    if (pod?.metadata.annotations?.[annotation.CLONE] === key && !isTerminating(pod)) await this.#world.remove(POD, pod)
  }

  async #createTarget(
    dataVolume: DataVolume,
    source: CloneSource,
    { className, size }: { readonly className: string | undefined; readonly size: string },
  ): Promise<void> {
    const { namespace, name } = dataVolume.metadata
    const key = `${namespace}/${name}`
    if (this.#faults.quota('target', dataVolume)) {
      await this.#show(dataVolume, { at: 'claim refused', message: quotaText(key) })
      return
    }
    const marked = await this.#mark(dataVolume, source)
    const message = `Cloning from ${source.namespace}/${source.name} into ${key} scheduled`
    await this.#show(marked, { at: 'clone scheduled', message })
    try {
      const target = cloneTarget(marked, source, className, size)
      await this.#world.create(PERSISTENT_VOLUME_CLAIM, this.#world.claims, target)
    } catch (error) {
      if (!isQuota(error)) throw error
      this.#worker.queue.addAfter(key, this.#options.retryMs)
      const current = this.#world.dataVolumes.get(key) ?? marked
      await this.#show(current, { at: 'claim refused', message: error.message })
    }
  }

  async #mark(dataVolume: DataVolume, source: CloneSource): Promise<DataVolume> {
    const { annotations = {}, finalizers = [], namespace, resourceVersion } = dataVolume.metadata
    const isForeign = source.namespace !== namespace
    const wanted = isForeign ? [...new Set([...finalizers, annotation.DATA_VOLUME_FINALIZER])] : finalizers
    if (annotations[annotation.USE_POPULATOR] === 'true' && wanted.length === finalizers.length) return dataVolume
    const marks = { annotations: { [annotation.USE_POPULATOR]: 'true' }, finalizers: wanted, resourceVersion }
    return await this.#world.patch(DATA_VOLUME, this.#world.dataVolumes, dataVolume, { metadata: marks })
  }

  async #fill(key: string, dataVolume: DataVolume, target: Claim, source: CloneSource): Promise<void> {
    const storageClass = this.#classOf(target)
    if (storageClass === undefined) return
    if (needsConsumer(storageClass, target)) {
      const message = `PVC ${target.metadata.name} Pending`
      return await this.#show(dataVolume, { at: 'pending', message, needsConsumer: true })
    }
    const facts = inspect(this.#world, source, dataVolume)
    const typed = await this.#noteType(key, target, source, facts, storageClass)
    const type = typed.metadata.annotations?.[annotation.CLONE_TYPE] as CloneType | undefined
    if (type === undefined) return
    const marked = await this.#markType(dataVolume, type)
    const error = this.#faults.state('cloneError', marked)
    const situation = this.#cloning(typed, PHASES[type])
    if (error !== undefined) {
      const { fatal = false, message } = error
      return await this.#show(marked, fatal ? { at: 'clone failed', message } : { ...situation, error: message })
    }
    const helper = this.#world.claims.get(`${source.namespace}/${helperClaimName(typed, type)}`)
    if (helper !== undefined) return await this.#transfer(key, marked, typed, helper, type)
    await this.#show(marked, situation)
    if ('reason' in facts || !facts.isReady) return
    const claim = helperClaim(marked, typed, source, type, facts.size)
    await this.#world.create(PERSISTENT_VOLUME_CLAIM, this.#world.claims, claim)
  }

  async #transfer(key: string, dataVolume: DataVolume, target: Claim, helper: Claim, type: CloneType): Promise<void> {
    if (isTerminating(helper)) return
    if (await this.#isPreparing(key, target, helper, type)) {
      return await this.#show(dataVolume, this.#cloning(target, 'PrepClaimInProgress'))
    }
    await this.#show(dataVolume, this.#cloning(target, PHASES[type]))
    // The pod that reads from the helper is its first consumer.
    if (type === 'copy' && this.#isLate(helper)) await this.#annotate(helper, { [annotation.SELECTED_NODE]: ANY_NODE })
    if (helper.status?.phase !== 'Bound' || !this.#hasData(key, dataVolume, target, type)) return
    await bind(this.#world, target, type === 'copy' ? `pvc-${uidOf(target)}` : (helper.spec.volumeName ?? ''))
  }

  /** The provisioner handles a claim of an immediate class at once, so the claim has an event that says that it waits. */
  #cloning(target: Claim, phase: string): Extract<Situation, { at: 'cloning' }> {
    const storageClass = this.#classOf(target)
    if (storageClass === undefined || storageClass.volumeBindingMode === 'WaitForFirstConsumer')
      return { at: 'cloning', phase }
    return { at: 'cloning', phase, event: provisioningText(storageClass) }
  }

  /** A helper claim that needs a node or must be expanded gets a pod that uses it, and takes some time. */
  async #isPreparing(key: string, target: Claim, helper: Claim, type: CloneType): Promise<boolean> {
    const isLate = this.#isLate(target)
    const grows = isBigger(target.spec.resources?.requests?.storage, helper.spec.resources?.requests?.storage)
    if (type === 'copy' || !(isLate || grows) || phaseOf(target) === 'Rebind') return false
    await this.#annotate(target, { [annotation.CLONE_PHASE]: 'PrepClaim' })
    const { namespace } = helper.metadata
    const pod = this.#world.pods.get(`${namespace}/${prepPodName(target)}`)
    if (pod === undefined) await this.#world.create(POD, this.#world.pods, prepPod(target, helper))
    const node = target.metadata.annotations?.[annotation.SELECTED_NODE]
    if (isLate) await this.#annotate(helper, { [annotation.SELECTED_NODE]: node ?? ANY_NODE })
    if (helper.status?.phase !== 'Bound') return true
    if (!this.#preparing.passed(this.#worker, key, `prepare ${uidOf(target)}`, this.#options.prepareMs)) return true
    await this.#annotate(target, { [annotation.CLONE_PHASE]: 'Rebind' })
    return true
  }

  #hasData(key: string, dataVolume: DataVolume, target: Claim, type: CloneType): boolean {
    if (this.#faults.state('cloneStalls', dataVolume) !== undefined) return false
    const { cloneMs, copyMs } = this.#options
    const slowMs = this.#faults.state('slowClone', dataVolume)?.delayMs ?? 0
    const delayMs = (type === 'copy' ? copyMs : cloneMs) + slowMs
    return this.#filling.passed(this.#worker, key, `fill ${uidOf(target)}`, delayMs)
  }

  async #finish(key: string, dataVolume: DataVolume, target: Claim): Promise<void> {
    await this.#show(await this.#unhold(dataVolume), { at: 'cloned' })
    await this.#removeHelpers(key, target)
    await this.#removeSizeDetection(key, target.metadata.annotations?.[annotation.CLONE_SOURCE])
    await this.#unfinalize(await this.#annotate(target, { [annotation.CLONE_PHASE]: 'Succeeded' }))
    this.#unfinished.delete(key)
  }

  async #unhold(dataVolume: DataVolume): Promise<DataVolume> {
    await this.release(dataVolume)
    return this.#world.dataVolumes.get(`${dataVolume.metadata.namespace}/${dataVolume.metadata.name}`) ?? dataVolume
  }

  async #removeHelpers(key: string, target: Claim): Promise<void> {
    const helpers = this.#world.claims.find(BY_DATA_VOLUME, key)
    for (const helper of helpers.filter((one) => isHelperOf(one, target))) {
      const pod = this.#world.pods.get(`${helper.metadata.namespace}/${prepPodName(target)}`)
      if (pod !== undefined) await this.#world.remove(POD, pod)
      if (!isTerminating(helper)) await this.#world.remove(PERSISTENT_VOLUME_CLAIM, helper)
    }
  }

  async #unfinalize(target: Claim): Promise<void> {
    await this.#world.releaseFinalizer(PERSISTENT_VOLUME_CLAIM, this.#world.claims, target, annotation.CLONE_FINALIZER)
  }

  /** Decides once how a claim is cloned. */
  async #noteType(
    key: string,
    target: Claim,
    source: CloneSource,
    facts: SourceFacts | Blockage,
    storageClass: StorageClass,
  ): Promise<Claim> {
    if (target.metadata.annotations?.[annotation.CLONE_TYPE] !== undefined || 'reason' in facts) return target
    const fallback = fallbackFor(source, facts, target, storageClass)
    if (fallback !== undefined) this.#warn(key, target, fallback.reason, fallback.message, target.kind)
    const cheap: CloneType = source.of === 'snapshot' ? 'snapshot' : 'csi-clone'
    const type = fallback === undefined ? cheap : 'copy'
    return await this.#annotate(target, {
      [annotation.CLONE_TYPE]: type,
      [annotation.CLONE_PHASE]: STEPS[type],
      ...(fallback && { [annotation.CLONE_FALLBACK]: fallback.message }),
    })
  }

  async #markType(dataVolume: DataVolume, type: CloneType): Promise<DataVolume> {
    if (dataVolume.metadata.annotations?.[annotation.CLONE_TYPE] === type) return dataVolume
    const patch = { metadata: { annotations: { [annotation.CLONE_TYPE]: type } } }
    return await this.#world.patch(DATA_VOLUME, this.#world.dataVolumes, dataVolume, patch)
  }

  #isLate(claim: Claim): boolean {
    return this.#classOf(claim)?.volumeBindingMode === 'WaitForFirstConsumer'
  }

  #classOf({ spec }: Claim): StorageClass | undefined {
    return this.#world.storageClasses.get(spec.storageClassName ?? '')
  }

  #wakeReadersOf(source: string | undefined): void {
    for (const [key, read] of this.#unfinished) {
      if (read === source || read === undefined) this.#worker.queue.add(key)
    }
  }

  async #annotate(claim: Claim, annotations: Readonly<Record<string, string>>): Promise<Claim> {
    const present = claim.metadata.annotations ?? {}
    if (Object.entries(annotations).every(([name, value]) => present[name] === value)) return claim
    return await this.#world.patch(PERSISTENT_VOLUME_CLAIM, this.#world.claims, claim, { metadata: { annotations } })
  }

  async #show(dataVolume: DataVolume, situation: Situation): Promise<void> {
    const previous = dataVolume.status ?? {}
    const status = statusIn(situation, dataVolume.metadata.name, previous, this.#world.timestamp())
    if (status === previous) return
    await this.#world.writeStatus(DATA_VOLUME, this.#world.dataVolumes, dataVolume, status)
  }

  /** Emits an event when the reason changes, not on every reconcile. */
  #warn(key: string, about: KubeObject, reason: string, message: string, kind = 'DataVolume'): void {
    if (this.#warned.get(key) === reason) return
    this.#warned.set(key, reason)
    this.#world.event(about, kind, reason, message)
  }
}

function isLeftTo(dataVolume: DataVolume, { metadata }: Claim): boolean {
  const isFor = metadata.annotations?.[annotation.POPULATED_FOR] === dataVolume.metadata.name
  return isFor && (metadata.ownerReferences ?? []).length === 0 && metadata.deletionTimestamp === undefined
}

function isHelperOf(claim: Claim, target: Claim): boolean {
  return claim.metadata.labels?.[annotation.OWNED_BY_UID] === uidOf(target)
}

function phaseOf(target: Claim): string | undefined {
  return target.metadata.annotations?.[annotation.CLONE_PHASE]
}
