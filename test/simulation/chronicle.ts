import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import type { Commit } from '../../sandbox/memory-cluster/index.ts'
import type { ContainerStatus, Pod } from '../../sandbox/simulators/models.ts'
import type { ConditionOf, ConfigMap, DataVolume, Image } from '../harness/kinds.ts'
import { Traces } from './traces.ts'

export const OPERATOR_NAMESPACE = 'sync-operator'
const LEDGER = `${OPERATOR_NAMESPACE}/sync-operator-slots`

/** A create that nobody answered is carried out no later: sent within 5 s of its claim, and 10 s on its way. */
const UNANSWERED_MS = 20_000

export interface Slot {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly revision: string
  readonly attempt: number
  readonly claimant: string
}

export interface Ledger {
  readonly limit: number
  readonly holders: readonly Slot[]
}

/** A DataVolume of an image, from its first commit to its last. */
export interface Download {
  readonly uid: string
  readonly key: string
  readonly imageUid: string
  readonly revision: string
  readonly attempt: number
  readonly createdAtMs: number
  /** As it was stored last; undefined once it is gone. */
  object: DataVolume | undefined
  /** Once is for ever: what downloads after that was not asked for by the operator. */
  hasSucceeded: boolean
  /** What went wrong with it that was no doing of the operator's; undefined while nothing did. */
  trouble: string | undefined
  /** When it was deleted by a person, or before its artifact was made; undefined when it was not. */
  deletedInHasteAtMs: number | undefined
  /**
   * The finished one before it was deleted so quickly that a create which nobody had answered found its name free.
   * Nobody admitted it: it is stopped on sight.
   */
  readonly isAfterthought: boolean
  /** When its image was deleted with --cascade=orphan; undefined when it was not. */
  orphanedAtMs: number | undefined
  /** When its phase or progress last changed. */
  movedAtMs: number
  /** Its first importer pod. */
  importerUid: string | undefined
  /** Transfers that it began. */
  transfers: number
  /** Starts of the containers of its importer pods, by uid of the pod. */
  readonly starts: Map<string, number>
  /** When the first of those was. */
  startedAtMs: number | undefined
}

/** An importer pod that carries an image's label. */
export interface Importer {
  readonly uid: string
  readonly imageUid: string
  readonly revision: string
  isAlive: boolean
}

/** All that the oracles know: what is in the cluster now, and what became of each download, told by commits alone. */
export class Chronicle {
  readonly #now: () => number
  /** By uid, as long as they exist. */
  readonly images = new Map<string, Image>()
  readonly downloads = new Map<string, Download>()
  /** By uid; those that exist, and may download. */
  readonly running = new Map<string, Download>()
  readonly importers = new Map<string, Importer>()
  /** All objects of all kinds. */
  readonly traces: Traces
  /** The latest of an image's revision, whether or not it still exists. */
  readonly #latest = new Map<string, Download>()
  /** The latest that downloads a URL. */
  readonly #byUrl = new Map<string, Download>()
  readonly #deletedByPersons = new Set<string>()
  ledger: Ledger | undefined
  /** The one before a commit of the ledger. */
  ledgerBefore: Ledger | undefined
  /** When somebody other than the operator last deleted or wrote the ledger, or took CDI away. */
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

  /** The highest limit that was in force within the last `ms`. */
  highestLimit(ms: number): number {
    const since = this.nowMs - ms
    let highest = 0
    for (const [at, { limit }] of this.#limits.entries()) {
      const until = this.#limits[at + 1]?.atMs ?? Number.POSITIVE_INFINITY
      if (until >= since) highest = Math.max(highest, limit)
    }
    return highest
  }

  /** Claims added to the ledger since it was last asked. */
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

  /** Or by the end of its namespace. What the operator deletes for having no references does not count. */
  isDeletedByPerson(imageUid: string): boolean {
    return this.#deletedByPersons.has(imageUid)
  }

  #takeImage(commit: Commit): void {
    const { type, object, actor } = commit
    const { uid = '' } = object.metadata
    if (isEnd(commit) && !isOperator(actor) && type !== 'DELETED') this.#deletedByPersons.add(uid)
    if (type === 'DELETED') this.images.delete(uid)
    else this.images.set(uid, object as Image)
  }

  #takeDataVolume(commit: Commit): void {
    const { type, object, actor } = commit
    const { uid = '' } = object.metadata
    const owner = imageOwner(object)
    const download = this.downloads.get(uid) ?? (owner && this.#begin(commit, owner.uid))
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

  #begin({ object }: Commit, imageUid: string): Download {
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
      orphanedAtMs: undefined,
      movedAtMs: this.nowMs,
      deletedInHasteAtMs: undefined,
      isAfterthought: this.#isAfterthought(imageUid, of),
      transfers: 0,
      starts: new Map(),
      startedAtMs: undefined,
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
    const { [LABELS.imageUid]: imageUid = '', [LABELS.revision]: revision = '' } = commit.object.metadata.labels ?? {}
    const download = this.downloadOf(imageUid, revision)
    if (download !== undefined && isEnd(commit) && isPerson(commit.actor)) download.trouble ??= 'its claim was deleted'
  }

  #takePod(commit: Commit): void {
    const { type, object, actor } = commit
    const { uid = '', labels = {} } = object.metadata
    const { [LABELS.imageUid]: imageUid, [LABELS.revision]: revision } = labels
    if (imageUid === undefined || revision === undefined) return
    const { phase = '', containerStatuses } = (object as Pod).status ?? {}
    const isAlive = type !== 'DELETED' && phase !== 'Succeeded' && phase !== 'Failed'
    this.importers.set(uid, { uid, imageUid, revision, isAlive })
    if (!isAlive) this.importers.delete(uid)
    const isHarmed = phase === 'Failed' || (isEnd(commit) && (isPerson(actor) || actor === NODES))
    const { importerUid } = this.downloadOf(imageUid, revision) ?? {}
    if (importerUid !== undefined && importerUid !== uid) this.#trouble(imageUid, 'its importer pod was replaced')
    const download = this.downloadOf(imageUid, revision)
    if (download !== undefined && type === 'ADDED') download.importerUid ??= uid
    if (isHarmed) this.#trouble(imageUid, `its importer pod ended (${phase})`)
    if (download !== undefined) noteContainer(download, uid, containerStatuses?.[0], this.nowMs)
  }

  #claimsAdded(): number {
    const before = this.ledgerBefore?.holders ?? []
    return (this.ledger?.holders ?? []).filter((holder) => !before.some((one) => isSameClaim(one, holder))).length
  }

  /** Of the download of this image that runs now. */
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

function noteContainer(
  download: Download,
  podUid: string,
  container: ContainerStatus | undefined,
  nowMs: number,
): void {
  const { restartCount = 0, state, lastState } = container ?? {}
  const end = state?.terminated ?? lastState?.terminated
  if (state?.running !== undefined || end?.startedAt !== undefined) download.starts.set(podUid, 1 + restartCount)
  if (end !== undefined && end.exitCode !== 0) download.trouble ??= `an importer ended with ${end.exitCode}`
  if (download.starts.size > 0) download.startedAtMs ??= nowMs
}

function isMoved(before: DataVolume | undefined, after: DataVolume): boolean {
  const [then, now] = [before, after].map((one) => [one?.status?.phase, one?.status?.progress].join(' '))
  return then !== now
}

/** Who drains nodes. */
export const NODES = 'node-controller'

/** Everybody who comes through the administrator's door. */
export function isPerson(actor: string): boolean {
  return actor === 'administrator'
}

export function isLedger({ resource, object }: Commit): boolean {
  return resource.kind === 'ConfigMap' && keyOf(object.metadata) === LEDGER
}

/** Undefined: nobody can read it. */
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

export function isDeletion({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** The object is deleted by this commit, or begins to be. */
export function isEnd({ type, object, before }: Commit): boolean {
  const wasEnding = before !== undefined && isDeletion(before)
  return !wasEnding && (type === 'DELETED' || isDeletion(object))
}

export function isSameClaim(a: Slot, b: Slot): boolean {
  return a.uid === b.uid && a.revision === b.revision && a.attempt === b.attempt
}

const TROUBLES: ReadonlySet<string> = new Set([
  'Error',
  'OOMKilled',
  'CrashLoopBackOff',
  'ChecksumError',
  'CreateContainerConfigError',
  'ErrExceededQuota',
  'ErrClaimNotValid',
  'ClaimLost',
  'Pod is running',
])

function troubleOf({ status }: DataVolume): string | undefined {
  const {
    phase = '',
    conditions = [],
    restartCount = 0,
  } = (status ?? {}) as {
    phase?: string
    conditions?: readonly ConditionOf[]
    restartCount?: number
  }
  if (phase === 'Failed') return 'phase Failed'
  if (restartCount > 0) return `${restartCount} restarts`
  const said = conditions.find(({ status: holds, reason = '' }) => holds === 'False' && TROUBLES.has(reason))
  return said && `${said.type}=False, ${said.reason}`
}
