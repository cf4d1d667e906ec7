import { compareResourceVersions } from '../../operator/kube/kube-object.ts'

/** One download, as an outside observer saw it. Times are milliseconds on the observer's monotonic clock. */
export interface Download {
  readonly imageUid: string
  readonly createdAt: number
  /** The etcd revision of its creation. */
  readonly createdRevision: string
  /** Time of the event that first showed Succeeded, or of its deletion if that came first. */
  readonly endedAt: number
  readonly endedRevision: string
}

/** When an image could start: it had its ticket and its finalizer. */
export interface Turn {
  readonly imageUid: string
  /** Decimal; the smallest is next. */
  readonly ticket: string
  readonly admissibleAt: number
  readonly admissibleRevision: string
  /** Revision of the last ledger write before the one that gave it a slot. Undefined if there was none. */
  readonly decidedAfterRevision: string | undefined
}

/** How long the downloads take if `limit` of them run at any time, without a gap. */
export function idealMs(downloads: readonly Download[], limit: number): number {
  return downloads.reduce((sum, { createdAt, endedAt }) => sum + endedAt - createdAt, 0) / limit
}

/** The most downloads that are unfinished at any revision. */
export function mostInParallel(downloads: readonly Download[]): number {
  const steps = downloads.flatMap(({ createdRevision, endedRevision }) => [
    { revision: createdRevision, by: 1 },
    { revision: endedRevision, by: -1 },
  ])
  let running = 0
  let most = 0
  for (const { by } of steps.toSorted((a, b) => compareResourceVersions(a.revision, b.revision))) {
    running += by
    most = Math.max(most, running)
  }
  return most
}

/**
 * Milliseconds from each freed slot to the download that took it. A download that ends frees a slot; free slots are taken
 * in the order in which they became free. A slot does not count if no image could have taken it at that moment: the image
 * that took it became admissible only later.
 */
export function handOvers(downloads: readonly Download[], turns: ReadonlyMap<string, Turn>, limit: number): number[] {
  const ends = downloads.map(({ endedAt }) => endedAt).toSorted((a, b) => a - b)
  const starts = downloads.toSorted((a, b) => a.createdAt - b.createdAt)
  // The first `limit` starts take the slots that were free from the beginning.
  return starts.slice(limit).flatMap(({ imageUid, createdAt }, at) => {
    const freedAt = ends[at]
    const couldStartAt = turns.get(imageUid)?.admissibleAt
    if (freedAt === undefined || couldStartAt === undefined || couldStartAt > freedAt) return []
    return [createdAt - freedAt]
  })
}

/**
 * Number of pairs of downloads in the wrong order: the later one has the earlier ticket, and could have started when the other one was chosen. An
 * image that became admissible only after the ledger write before the choice was not known to the operator that chose.
 */
export function inversions(downloads: readonly Download[], turns: ReadonlyMap<string, Turn>): number {
  const inOrder = downloads.toSorted((a, b) => compareResourceVersions(a.createdRevision, b.createdRevision))
  const taken = inOrder.flatMap(({ imageUid }) => turns.get(imageUid) ?? [])
  return taken.reduce(
    (sum, chosen, at) => sum + taken.slice(at + 1).filter((late) => isPassedBy(late, chosen)).length,
    0,
  )
}

function isPassedBy({ ticket, admissibleRevision }: Turn, chosen: Turn): boolean {
  if (compareResourceVersions(ticket, chosen.ticket) >= 0 || chosen.decidedAfterRevision === undefined) return false
  return compareResourceVersions(admissibleRevision, chosen.decidedAfterRevision) < 0
}
