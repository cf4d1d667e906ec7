import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import { type DataVolumeFact, type Entry, type ImageFact, isUnfinished, type Ledger, ledgerOf } from './facts.ts'

/**
 * Goes through what was observed, by revision of etcd, and finds where a promise was broken. Nothing here trusts the
 * operator's own count of downloads: they are counted from DataVolumes.
 */

type Journal = readonly Entry[]

/** How one quantity kept to the limit that was in force at each moment. */
export interface Watermark {
  readonly revisions: number
  readonly most: number
  /** Rises above the limit. Staying above a lowered limit is not a breach: lowering stops no download. */
  readonly breaches: readonly string[]
}

export function isImage(entry: Entry): entry is Entry<ImageFact> {
  return entry.fact.kind === 'image'
}

export function isDataVolume(entry: Entry): entry is Entry<DataVolumeFact> {
  return entry.fact.kind === 'dataVolume'
}

/** Returns each observed state of the ledger. */
export function ledgers(
  journal: Journal,
): { readonly revision: string; readonly at: number; readonly ledger: Ledger }[] {
  return journal.flatMap(({ fact, revision, at, isDeleted }) => {
    const ledger = fact.kind === 'configMap' && !isDeleted ? ledgerOf(fact) : undefined
    return ledger === undefined ? [] : [{ revision, at, ledger }]
  })
}

/** Compares unfinished DataVolumes with the limit of the ledger at the same revision. */
export function watchDataVolumes(journal: Journal): Watermark {
  const unfinished = new Map<string, string>()
  const breaches: string[] = []
  let limit = 0
  let most = 0
  let revisions = 0
  for (const entry of journal) {
    const { fact, revision } = entry
    if (fact.kind === 'configMap') limit = ledgerOf(fact)?.limit ?? limit
    if (!isDataVolume(entry)) continue
    const before = unfinished.size
    const { uid = '', name } = entry.fact.metadata
    if (isUnfinished(entry)) unfinished.set(uid, name)
    else unfinished.delete(uid)
    revisions += 1
    most = Math.max(most, unfinished.size)
    const isBreach = unfinished.size > before && unfinished.size > limit
    if (isBreach) breaches.push(`${unfinished.size} of ${limit} at revision ${revision}, when ${name} came`)
  }
  return { revisions, most, breaches }
}

/** Compares the holders of slots with the limit in the same object. */
export function watchLedger(journal: Journal): Watermark {
  const breaches: string[] = []
  let before = 0
  let most = 0
  const states = ledgers(journal)
  for (const { revision, ledger } of states) {
    const held = ledger.holders.length
    most = Math.max(most, held)
    if (held > before && held > ledger.limit) breaches.push(`${held} of ${ledger.limit} at revision ${revision}`)
    before = held
  }
  return { revisions: states.length, most, breaches }
}

/** A download that an importer started, as the simulator saw it. */
export interface TransferStart {
  readonly url: string
  /** Number of downloads in flight then, including this one. */
  readonly importing: number
  /** Revision of the last ledger that was observed then. */
  readonly ledgerRevision: string
}

/**
 * Compares real downloads with the limits. A download can start a moment after its image was admitted, so the limit
 * that counts is the highest one since then.
 */
export function watchTransfers(
  journal: Journal,
  starts: readonly TransferStart[],
  uidOf: (url: string) => string,
): string[] {
  const states = ledgers(journal)
  return starts.flatMap(({ url, importing, ledgerRevision }) => {
    const known = states.filter(({ revision }) => compareResourceVersions(revision, ledgerRevision) <= 0)
    const uid = uidOf(url)
    const claim = known.findLastIndex(({ ledger }, at) => {
      return holds(ledger, uid) && !holds(known[at - 1]?.ledger, uid)
    })
    if (claim < 0) return [`${url} is downloaded without a slot`]
    const limit = Math.max(...known.slice(claim).map(({ ledger }) => ledger.limit))
    return importing > limit ? [`${importing} downloads at once where ${limit} were allowed, when ${url} began`] : []
  })
}

function holds(ledger: Ledger | undefined, uid: string): boolean {
  return ledger?.holders.some((holder) => holder.uid === uid) ?? false
}

/** Returns the first state of each DataVolume, in order of creation. */
export function creations(journal: Journal): Entry<DataVolumeFact>[] {
  const seen = new Set<string>()
  return journal.filter(isDataVolume).filter(({ fact }) => {
    const { uid = '' } = fact.metadata
    const isNew = !seen.has(uid)
    seen.add(uid)
    return isNew
  })
}

/**
 * Returns the DataVolumes that were created although an image with an earlier ticket could have started. Which images
 * could start is judged at the moment of the claim: the ledger write that gave the slot.
 */
export function inversions(journal: Journal): string[] {
  const images = Map.groupBy(journal.filter(isImage), ({ fact }) => fact.metadata.uid ?? '')
  const created = creations(journal)
  return created.flatMap(({ fact: started, revision }) => {
    const claim = claimRevision(journal, started)
    const mine = ticketAt(images.get(started.imageUid) ?? [], claim ?? '0')
    if (claim === undefined || mine === undefined) return [`${started.metadata.name} was created without a claim`]
    return [...images].flatMap(([uid, history]) => {
      const ticket = startableTicket(history, claim, journal)
      const isEarlier = uid !== started.imageUid && ticket !== undefined && compareResourceVersions(ticket, mine) < 0
      if (!isEarlier || hasStarted(created, uid, ticket, revision)) return []
      return [`${started.metadata.name} was created before ${history[0]?.fact.metadata.name}, whose ticket is earlier`]
    })
  })
}

function claimRevision(journal: Journal, { imageUid, revision, attempt }: DataVolumeFact): string | undefined {
  return ledgers(journal).find(({ ledger }) =>
    ledger.holders.some((one) => one.uid === imageUid && one.revision === revision && one.attempt === attempt),
  )?.revision
}

function stateAt<E extends Entry>(history: readonly E[], revision: string): number {
  return history.findLastIndex((entry) => compareResourceVersions(entry.revision, revision) < 0)
}

function ticketAt(history: readonly Entry<ImageFact>[], revision: string): string | undefined {
  return history[stateAt(history, revision)]?.fact.status.ticket
}

function canStart({ fact, isDeleted }: Entry<ImageFact>): boolean {
  const { status, metadata, reason } = fact
  const isEnqueued = status.ticket !== undefined && (metadata.finalizers ?? []).length > 0
  return isEnqueued && reason === 'Queued' && !isDeleted && metadata.deletionTimestamp === undefined
}

/** Returns the ticket of an image that could start at this claim. */
function startableTicket(history: readonly Entry<ImageFact>[], claim: string, journal: Journal): string | undefined {
  const now = stateAt(history, claim)
  const state = history[now]
  if (state === undefined || !canStart(state)) return undefined
  const lastOther = history.slice(0, now).findLastIndex((entry) => !canStart(entry))
  const wasBlocked =
    history[lastOther]?.fact.status.ticket === state.fact.status.ticket && isBlocked(history[lastOther])
  if (!wasBlocked) return state.fact.status.ticket
  // What it waited for has only just appeared. The write that was in flight at that moment could not know.
  const since = history[lastOther + 1]?.revision ?? '0'
  const isFirstWrite = !ledgers(journal).some(
    ({ revision }) => compareResourceVersions(revision, since) > 0 && compareResourceVersions(revision, claim) < 0,
  )
  return isFirstWrite ? undefined : state.fact.status.ticket
}

function isBlocked(entry: Entry<ImageFact> | undefined): boolean {
  return entry?.fact.status.phase === 'Queued' && entry.fact.reason !== 'Queued' && entry.fact.reason !== ''
}

/** Reports whether a DataVolume was created for this ticket up to a revision. */
function hasStarted(created: readonly Entry<DataVolumeFact>[], uid: string, ticket: string, until: string): boolean {
  return created.some(({ fact, revision }) => {
    const isInTime = compareResourceVersions(revision, ticket) > 0 && compareResourceVersions(revision, until) <= 0
    return fact.imageUid === uid && isInTime
  })
}

/** Counts the DataVolumes that were unfinished when the limit was lowered, and names those that never succeeded. */
export function stoppedByLowering(journal: Journal, loweredAt: string, mayStop: ReadonlySet<string>) {
  const before = journal.filter(isDataVolume).filter((one) => compareResourceVersions(one.revision, loweredAt) < 0)
  const last = new Map(before.map((entry) => [entry.fact.metadata.uid, entry]))
  const running = [...last.values()].filter((entry) => isUnfinished(entry) && !mayStop.has(entry.fact.imageUid))
  const stopped = running.filter(({ fact }) => {
    const later = journal.filter(isDataVolume).filter((one) => one.fact.metadata.uid === fact.metadata.uid)
    return !later.some(({ fact: state }) => state.phase === 'Succeeded')
  })
  return { running: running.length, stopped: stopped.map(({ fact }) => fact.metadata.name) }
}
