import { setTimeout as sleep } from 'node:timers/promises'
import type { BundledOperator, Requests } from './bundled-operator.ts'

const READS: ReadonlySet<string> = new Set(['get', 'list', 'watch'])
const QUIET_MS = 2_000
const LONGEST_MS = 120_000

export function total(requests: Requests): number {
  return [...requests.values()].reduce((sum, count) => sum + count, 0)
}

/** The requests since `before`. Omits kinds without new ones. */
export function difference(after: Requests, before: Requests): Requests {
  const changes = [...after].map(([kind, count]) => [kind, count - (before.get(kind) ?? 0)] as const)
  return new Map(changes.filter(([, count]) => count !== 0))
}

/** Renewals of the Lease and of watches never stop, and are reported separately. */
export function withoutRenewals(requests: Requests): Requests {
  return only(requests, (kind) => !isOfLease(kind) && !isOfWatch(kind))
}

export function renewalsOfLease(requests: Requests): Requests {
  return only(requests, isOfLease)
}

export function renewalsOfWatches(requests: Requests): Requests {
  return only(requests, isOfWatch)
}

export function readsIn(requests: Requests): Requests {
  return only(requests, isRead)
}

export function writesIn(requests: Requests): Requests {
  return only(requests, (kind) => !isRead(kind))
}

/** Resolves with all requests so far, once there were only renewals for two seconds. */
export async function untilQuiet(operator: BundledOperator): Promise<Requests> {
  const deadline = performance.now() + LONGEST_MS
  let requests = await operator.requests()
  let quietSince = performance.now()
  while (performance.now() - quietSince < QUIET_MS) {
    if (performance.now() > deadline) throw new Error('the operator does not come to rest')
    await sleep(QUIET_MS / 10)
    const now = await operator.requests()
    if (total(withoutRenewals(now)) !== total(withoutRenewals(requests))) quietSince = performance.now()
    requests = now
  }
  return requests
}

function only(requests: Requests, isWanted: (kind: string) => boolean): Requests {
  return new Map([...requests].filter(([kind]) => isWanted(kind)))
}

function isOfLease(kind: string): boolean {
  return kind.endsWith(' leases')
}

function isOfWatch(kind: string): boolean {
  return kind.startsWith('watch ')
}

function isRead(kind: string): boolean {
  return READS.has(kind.split(' ')[0] ?? '')
}
