import { FINALIZER, LABELS } from '@open-terrain/constructs'
import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import { type ConfigMap, type DataVolume, type Image, isFinished, reasonOf } from './kinds.ts'
import type { SeenEvent } from './mirror.ts'

interface Slot {
  readonly uid: string
  readonly name: string
  readonly revision: string
  readonly attempt: number
}

interface Ledger {
  readonly limit: number
  readonly holders: readonly Slot[]
}

/** All changes in the order of the API server's own revisions, whichever watch told them first. */
function inOrder(history: readonly SeenEvent[]): SeenEvent[] {
  return history.toSorted((a, b) => compareResourceVersions(versionOf(a), versionOf(b)))
}

/** After an outage a watch may have to list again; what it then missed cannot be held against anybody. */
function isEverythingKnown(history: readonly SeenEvent[]): boolean {
  return !history.some(({ type }) => type === 'RELIST')
}

function versionOf({ object }: SeenEvent): string {
  return object.metadata.resourceVersion ?? '0'
}

function ledgerIn({ kind, type, object }: SeenEvent, namespace: string): Ledger | undefined {
  const isLedger = object.metadata.name === 'sync-operator-slots' && object.metadata.namespace === namespace
  if (kind !== 'ConfigMap' || !isLedger || type === 'DELETED' || type === 'RELIST') return undefined
  const { data = {} } = object as ConfigMap
  return { limit: Number(data['limit']), holders: JSON.parse(data['holders'] ?? '[]') }
}

/**
 * Replays what the watches told, revision by revision: no claim ever goes beyond the limit in the same object, and no
 * DataVolume ever comes to be without a claim of its image and revision.
 */
export function checkLedger(history: readonly SeenEvent[], namespace: string): void {
  let ledger: Ledger | undefined
  const isComplete = isEverythingKnown(history)
  const downloads = new Map<string, DataVolume>()
  for (const event of inOrder(history)) {
    const next = ledgerIn(event, namespace)
    if (next !== undefined) {
      checkClaims(ledger, next, versionOf(event))
      ledger = next
    }
    if (event.kind === 'DataVolume' && isComplete) followDownload(event, downloads, ledger)
  }
}

function checkClaims(before: Ledger | undefined, after: Ledger, version: string): void {
  const claimed = after.holders.filter(({ uid }) => !before?.holders.some((holder) => holder.uid === uid))
  const isRebuilt = before === undefined
  if (!isRebuilt && claimed.length > 0 && after.holders.length > after.limit) {
    throw new Error(`revision ${version}: ${after.holders.length} slots are held, the limit is ${after.limit}`)
  }
}

function followDownload(event: SeenEvent, downloads: Map<string, DataVolume>, ledger: Ledger | undefined): void {
  const dataVolume = event.object as DataVolume
  const { uid = '', name, labels = {}, ownerReferences = [] } = dataVolume.metadata
  const owner = ownerReferences.find(({ kind }) => kind === 'VMDiskImage')
  if (owner === undefined) return
  if (event.type === 'DELETED' || isFinished(dataVolume)) {
    downloads.delete(uid)
    return
  }
  const isNew = event.type === 'ADDED'
  downloads.set(uid, dataVolume)
  if (!isNew || ledger === undefined) return
  const hasSlot = ledger.holders.some(
    (holder) => holder.uid === owner.uid && holder.revision === labels[LABELS.revision],
  )
  if (!hasSlot) throw new Error(`DataVolume ${name} was created without a slot at revision ${versionOf(event)}`)
  if (downloads.size > ledger.holders.length) {
    throw new Error(
      `${downloads.size} DataVolumes are unfinished at revision ${versionOf(event)}, ${ledger.holders.length} slots are held`,
    )
  }
}

interface Waiting {
  readonly name: string
  readonly ticket: string
  /** Since when it could have been claimed. */
  readonly since: string
}

/**
 * First come, first served: nobody is claimed for while an image with an earlier ticket waits, and one batch of
 * DataVolumes comes in the order of its tickets. An image counts as waiting only if it had been ready to start before
 * the ledger write before the one that passed it by: the operator decides a moment before it writes.
 */
export function checkOrder(history: readonly SeenEvent[], namespace: string): void {
  if (!isEverythingKnown(history)) return
  const waiting = new Map<string, Waiting>()
  let ledger: Ledger | undefined
  /** A ticket is good for one claim; the status says so only later. */
  const used = new Set<string>()
  let writes: string[] = []
  for (const event of inOrder(history)) {
    if (event.kind === 'VMDiskImage') followImage(event, waiting, used)
    const next = ledgerIn(event, namespace)
    if (next === undefined) continue
    const claimed = next.holders.filter(({ uid }) => !ledger?.holders.some((holder) => holder.uid === uid))
    const turns = claimed.flatMap(({ uid }) => waiting.get(uid) ?? [])
    for (const { uid } of claimed) {
      used.add(`${uid}/${waiting.get(uid)?.ticket}`)
      waiting.delete(uid)
    }
    for (const turn of turns) checkTurn(turn, waiting, writes.at(-2))
    writes = [...writes, versionOf(event)].slice(-2)
    ledger = next
  }
}

function checkTurn(mine: Waiting, waiting: ReadonlyMap<string, Waiting>, known: string | undefined): void {
  if (known === undefined) return
  for (const { name, ticket, since } of waiting.values()) {
    if (compareResourceVersions(ticket, mine.ticket) < 0 && compareResourceVersions(since, known) < 0) {
      throw new Error(`image ${mine.name} (ticket ${mine.ticket}) got a slot before ${name} (ticket ${ticket})`)
    }
  }
}

function followImage(event: SeenEvent, waiting: Map<string, Waiting>, used: ReadonlySet<string>): void {
  const image = event.object as Image
  const { uid = '', name, finalizers, deletionTimestamp } = image.metadata
  const { status } = image
  const reason = reasonOf(image)
  const isAdmissible =
    event.type !== 'DELETED' &&
    deletionTimestamp === undefined &&
    status?.phase === 'Queued' &&
    (reason === 'Queued' || reason === 'Paused') &&
    status.observedGeneration === image.metadata.generation &&
    finalizers?.includes(FINALIZER) === true
  if (!isAdmissible || status.ticket === undefined || used.has(`${uid}/${status.ticket}`)) {
    waiting.delete(uid)
    return
  }
  const before = waiting.get(uid)
  const isSame = before?.ticket === status.ticket
  waiting.set(uid, { name, ticket: status.ticket, since: isSame ? before.since : versionOf(event) })
}
