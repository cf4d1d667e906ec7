/** How long a response of the ledger is valid, counted from the request. The operator must not act on an older one. */
export const ANSWER_VALID_MS = 5_000

/**
 * After a slot changes hands, requests of its former claimant may still arrive: it sends none later than ANSWER_VALID_MS after it read the ledger,
 * and we assume that each takes effect within 10 s or never. Until then only a download that is known to be over frees the slot.
 */
export const SETTLE_MS = ANSWER_VALID_MS + 10_000

/** Requests for the DataVolume of a slot that may still take effect. All times are monotonic, in milliseconds. */
export interface Requests {
  /** Those of another process or term. This process has sent none since it took over the slot. */
  readonly areInherited: boolean
  /** Until when one may arrive. */
  readonly arriveUntil: number
  /** Until when one without a definite response may arrive, whatever the responses to later ones are. */
  readonly doubtfulUntil: number
}

export const NO_REQUESTS: Requests = { areInherited: false, arriveUntil: 0, doubtfulUntil: 0 }

/** Of a slot that belonged to another process or term until now. */
export function inheritedRequests(now: number): Requests {
  return { areInherited: true, arriveUntil: now + SETTLE_MS, doubtfulUntil: now + SETTLE_MS }
}

/** This process sends one now. */
export function withSent(requests: Requests, now: number): Requests {
  return { ...requests, areInherited: false, arriveUntil: now + SETTLE_MS }
}

/** The last one had no definite response. */
export function withDoubt(requests: Requests, now: number): Requests {
  return { ...requests, doubtfulUntil: now + SETTLE_MS }
}

/** The last one had its definite response. */
export function withAnswer(requests: Requests): Requests {
  return { ...requests, arriveUntil: requests.doubtfulUntil }
}

/** Reports whether a request may still create the DataVolume. */
export function canArrive({ arriveUntil }: Requests, now: number): boolean {
  return arriveUntil > now
}
