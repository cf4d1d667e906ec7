import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { Holder } from '../../operator/controllers/vm-disk-image/world.ts'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import { isScratchRequired } from '../../sandbox/simulators/dv-status.ts'
import type { Pod } from '../../sandbox/simulators/models.ts'
import type { ConfigMap, DataVolume, Image } from '../harness/kinds.ts'
import { type Download, isMoved, noteContainer, troubleOf } from './downloads.ts'
import { Traces } from './traces.ts'

export const OPERATOR_NAMESPACE = 'sync-operator'
const LEDGER = `${OPERATOR_NAMESPACE}/sync-operator-slots`

/** A create with a lost response is carried out within this time: it is sent within 5 s of its claim, and arrives within 10 s. */
const UNANSWERED_MS = 20_000

export type Slot = Holder

export interface Ledger {
  readonly limit: number
  readonly holders: readonly Slot[]
}

/** An importer pod that is alive, and carries the labels of a download. */
export interface Importer {
  readonly imageUid: string
  readonly revision: string
}

/** Everything that the oracles know, from commits alone: what is in the cluster now, and what happened to each download. */
export class Chronicle {
  readonly #now: () => number
  /** By uid, while they exist. */
  readonly images = new Map<string, Image>()
  readonly downloads = new Map<string, Download>()
  /** By uid: those that exist and can still download. */
  readonly running = new Map<string, Download>()
  /** By uid. */
  readonly importers = new Map<string, Importer>()
  /** All objects, except for Leases and Events. */
  readonly traces: Traces
  /** The latest download of each revision of an image, even if it no longer exists. */
  readonly #latest = new Map<string, Download>()
  /** The latest download of each URL. */
  readonly #byUrl = new Map<string, Download>()
  readonly #deletedByPersons = new Set<string>()
  /** Controller of each claim that ever existed: the DataVolume or the claim that it is filled for. By uid. */
  readonly #filledFor = new Map<string, string>()
  /** Namespace of each image that ever existed, by uid. */
  readonly #homes = new Map<string, string>()
  ledger: Ledger | undefined
  /** The ledger before its last commit. */
  ledgerBefore: Ledger | undefined
  /** When somebody other than the operator last deleted or wrote the ledger. */
  ledgerLostAtMs = Number.NEGATIVE_INFINITY
  #admissions = 0
  #limits: { readonly atMs: number; readonly limit: number }[] = []

  constructor(now: () => number) {
    this.#now = now
    this.traces = new Traces(now)
  }

  get nowMs(): number {
    return this.#now()
  }

  /** Returns the highest limit that was in force within the last `ms`. */
  highestLimit(ms: number): number {
    const since = this.nowMs - ms
    let highest = 0
    for (const [at, { limit }] of this.#limits.entries()) {
      const until = this.#limits[at + 1]?.atMs ?? Number.POSITIVE_INFINITY
      if (until >= since) highest = Math.max(highest, limit)
    }
    return highest
  }

  /** Returns the number of claims that the operator added to the ledger since the last call. */
  takeAdmissions(): number {
    const admissions = this.#admissions
    this.#admissions = 0
    return admissions
  }

  slotOf(uid: string): Slot | undefined {
    return this.ledger?.holders.find((holder) => holder.uid === uid)
  }

  downloadOf(imageUid: string, revision: string): Download | undefined {
    return this.#latest.get(`${imageUid}/${revision}`)
  }

  downloadFrom(url: string): Download | undefined {
    return this.#byUrl.get(url)
  }

  /** Returns the download that a pod imports for, by owners alone, whether these still exist or not. */
  downloadBy(pod: KubeObject): Download | undefined {
    let uid = controllerUid(pod)
    // The prime claim, its target, the DataVolume.
    for (let steps = 0; uid !== undefined && steps < 3; steps += 1) {
      const found = this.downloads.get(uid)
      if (found !== undefined) return found
      uid = this.#filledFor.get(uid)
    }
    return undefined
  }

  take(commit: Commit): void {
    this.traces.take(commit)
    switch (commit.resource.kind) {
      case 'VMDiskImage':
        this.#takeImage(commit)
        return
      case 'DataVolume':
        this.#takeDataVolume(commit)
        return
      case 'Pod':
        this.#takePod(commit)
        return
      case 'PersistentVolumeClaim':
        this.#takeClaim(commit)
        return
      case 'ConfigMap':
        this.#takeConfigMap(commit)
        return
      default:
    }
  }

  /** Includes the deletion of its namespace. Deletions by the operator, for lack of references, do not count. */
  isDeletedByPerson(imageUid: string): boolean {
    return this.#deletedByPersons.has(imageUid)
  }

  #takeImage(commit: Commit): void {
    const { type, object, actor } = commit
    const { uid = '', namespace = '' } = object.metadata
    this.#homes.set(uid, namespace)
    if (isEnd(commit) && !isOperator(actor) && type !== 'DELETED') this.#deletedByPersons.add(uid)
    if (type === 'DELETED') this.images.delete(uid)
    else this.images.set(uid, object as Image)
  }

  #takeDataVolume(commit: Commit): void {
    const { type, object, actor } = commit
    const { uid = '' } = object.metadata
    const owner = imageOwner(object)
    const download = this.downloads.get(uid) ?? this.#begin(commit, owner?.uid)
    if (download === undefined) return
    const dataVolume = object as DataVolume
    if (owner === undefined) download.orphanedAtMs ??= this.nowMs
    if (isMoved(download.object, dataVolume)) download.movedAtMs = this.nowMs
    download.object = type === 'DELETED' ? undefined : dataVolume
    download.hasSucceeded ||= dataVolume.status?.phase === 'Succeeded'
    download.trouble ??= troubleOf(dataVolume)
    if (isEnd(commit) && !isOperator(actor)) download.trouble ??= 'deleted by somebody'
    const isSpare = this.images.get(download.imageUid)?.status?.artifact?.revision === download.revision
    if (isEnd(commit) && (isPerson(actor) || !isSpare)) download.deletedInHasteAtMs = this.nowMs
    if (type === 'DELETED' || download.hasSucceeded) this.running.delete(uid)
    else this.running.set(uid, download)
  }

  /** Ignores what others create in the name of an image: it was never admitted, and the operator stops it as soon as it sees it. */
  #begin({ type, object, actor }: Commit, imageUid: string | undefined): Download | undefined {
    const isAdmitted = type === 'ADDED' && isOperator(actor) && this.#isAtHome(object, imageUid)
    if (imageUid === undefined || !isAdmitted) return undefined
    const { uid = '', labels = {}, annotations = {} } = object.metadata
    const { [LABELS.revision]: of = '' } = labels
    const download: Download = {
      uid,
      key: keyOf(object.metadata),
      imageUid,
      revision: of,
      attempt: Number(annotations[ANNOTATIONS.attempt] ?? 1),
      createdAtMs: this.nowMs,
      object: undefined,
      hasSucceeded: false,
      trouble: undefined,
      importerUid: undefined,
      filledBy: undefined,
      orphanedAtMs: undefined,
      movedAtMs: this.nowMs,
      deletedInHasteAtMs: undefined,
      isAfterthought: this.#isAfterthought(imageUid, of),
      transfers: 0,
      starts: new Map(),
      startedAtMs: undefined,
      failedAtMs: undefined,
    }
    this.downloads.set(uid, download)
    this.#latest.set(`${imageUid}/${of}`, download)
    const [source] = Object.values((object as DataVolume).spec.source ?? {}) as { readonly url?: string }[]
    if (source?.url !== undefined) this.#byUrl.set(source.url, download)
    return download
  }

  #isAfterthought(imageUid: string, revision: string): boolean {
    const { hasSucceeded = false, deletedInHasteAtMs } = this.downloadOf(imageUid, revision) ?? {}
    return hasSucceeded && deletedInHasteAtMs !== undefined && this.nowMs - deletedInHasteAtMs < UNANSWERED_MS
  }

  #takeClaim(commit: Commit): void {
    const owner = controllerUid(commit.object)
    if (owner !== undefined) this.#filledFor.set(commit.object.metadata.uid ?? '', owner)
    const { [LABELS.imageUid]: imageUid = '', [LABELS.revision]: revision = '' } = commit.object.metadata.labels ?? {}
    const download = this.#isAtHome(commit.object, imageUid) ? this.downloadOf(imageUid, revision) : undefined
    if (download !== undefined && isEnd(commit) && isPerson(commit.actor)) download.trouble ??= 'its claim was deleted'
  }

  #takePod(commit: Commit): void {
    const { type, object } = commit
    const { uid = '', labels = {} } = object.metadata
    const { [LABELS.imageUid]: imageUid, [LABELS.revision]: revision } = labels
    if (imageUid === undefined || revision === undefined || !this.#isAtHome(object, imageUid)) return
    const download = this.downloadOf(imageUid, revision)
    if (download === undefined) return
    const { phase, containerStatuses } = (object as Pod).status ?? {}
    const isAlive = type !== 'DELETED' && phase !== 'Succeeded' && phase !== 'Failed'
    if (isAlive) this.importers.set(uid, { imageUid, revision })
    else this.importers.delete(uid)
    noteContainer(download, uid, containerStatuses?.[0], this.nowMs)
    if (phase === 'Succeeded' && !isScratchRequired(object as Pod)) download.filledBy ??= uid
    // CDI may make one more for a claim that is filled. It never starts, so it is nobody's trouble.
    if ((download.filledBy ?? uid) === uid) this.#takeTrouble(commit, download)
  }

  #takeTrouble(commit: Commit, download: Download): void {
    const { type, object, actor } = commit
    const { uid } = object.metadata
    const { imageUid, importerUid } = download
    const { phase = '' } = (object as Pod).status ?? {}
    if (importerUid !== undefined && importerUid !== uid) this.#trouble(imageUid, 'its importer pod was replaced')
    if (type === 'ADDED') download.importerUid ??= uid
    const isHarmed = phase === 'Failed' || (isEnd(commit) && (isPerson(actor) || actor === NODES))
    if (isHarmed) this.#trouble(imageUid, `its importer pod ended (${phase})`)
  }

  /** Reports whether the object is in the namespace of the image. Whatever a tenant creates elsewhere is not the image's. */
  #isAtHome({ metadata }: KubeObject, imageUid = ''): boolean {
    return this.#homes.get(imageUid) === metadata.namespace
  }

  #claimsAdded(): number {
    const before = this.ledgerBefore?.holders ?? []
    return (this.ledger?.holders ?? []).filter((holder) => !before.some((one) => isSameClaim(one, holder))).length
  }

  /** Records trouble of the running downloads of this image. */
  #trouble(imageUid: string, what: string): void {
    for (const download of this.running.values()) if (download.imageUid === imageUid) download.trouble ??= what
  }

  #takeConfigMap({ type, object, actor }: Commit): void {
    if (keyOf(object.metadata) !== LEDGER) return
    this.ledgerBefore = this.ledger
    this.ledger = type === 'DELETED' ? undefined : ledgerIn(object)
    if (!isOperator(actor)) this.ledgerLostAtMs = this.nowMs
    else this.#admissions += this.#claimsAdded()
    if (this.ledger === undefined || this.ledger.limit === this.#limits.at(-1)?.limit) return
    this.#limits.push({ atMs: this.nowMs, limit: this.ledger.limit })
    if (this.#limits.length > 200) this.#limits = this.#limits.slice(-100)
  }
}

export function isOperator(actor: string): boolean {
  return actor.startsWith('operator')
}

/** The actor that drains nodes. */
export const NODES = 'node-controller'

/** Reports whether the actor is the administrator, as which all people act. */
export function isPerson(actor: string): boolean {
  return actor === 'administrator'
}

export function isLedger({ resource, object }: Commit): boolean {
  return resource.kind === 'ConfigMap' && keyOf(object.metadata) === LEDGER
}

/** Returns undefined if the ledger cannot be parsed. */
export function ledgerIn(object: KubeObject): Ledger | undefined {
  const { data = {} } = object as ConfigMap
  try {
    const holders: unknown = JSON.parse(data['holders'] ?? '')
    const limit = Number(data['limit'] ?? Number.NaN)
    return Array.isArray(holders) && Number.isInteger(limit) ? { limit, holders } : undefined
  } catch {
    return undefined
  }
}

export function imageOwner({ metadata }: KubeObject) {
  return metadata.ownerReferences?.find((owner) => owner.controller === true && owner.kind === 'VMDiskImage')
}

function controllerUid({ metadata }: KubeObject): string | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller === true)?.uid
}

export function isDeletion({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** Reports whether this commit starts the deletion of the object, or removes it at once. */
export function isEnd({ type, object, before }: Commit): boolean {
  const wasEnding = before !== undefined && isDeletion(before)
  return !wasEnding && (type === 'DELETED' || isDeletion(object))
}

export function isSameClaim(a: Slot, b: Slot): boolean {
  return a.uid === b.uid && a.revision === b.revision && a.attempt === b.attempt
}
