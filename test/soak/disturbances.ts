import { setTimeout as sleep } from 'node:timers/promises'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import type { Stage } from '../bench/stage.ts'
import { conditionOf, type Image } from '../harness/kinds.ts'
import { cacheDifferences } from './cache-check.ts'
import type { Churn } from './churn.ts'
import type { Replicas } from './replicas.ts'

const SETTLE_MS = 120_000
const LOOK_MS = 500
/** A fresh list and a cache are compared at two moments: a difference counts when it stays. */
const STAYS_MS = 5_000

export interface Surroundings {
  readonly stage: Stage
  readonly churn: Churn
  readonly replicas: Replicas
}

/** What happens to the control plane and the operators, one after the other and then from the start. Each returns what it found wrong. */
const DISTURBANCES: readonly (readonly [string, (around: Surroundings) => Promise<string[]>])[] = [
  ['settled moment', settle],
  ['API server killed and started again', restartApiServer],
  ['leader frozen past its lead', ({ replicas }) => replicas.freezeLeader().then(none)],
  ['settled moment', settle],
  ['etcd compacted and API server killed', compactAndRestart],
  ['leader stopped (SIGTERM)', ({ replicas }) => replicas.endLeader('SIGTERM').then(none)],
  ['settled moment', settle],
  ['leader frozen past its lead', ({ replicas }) => replicas.freezeLeader().then(none)],
  ['leader killed (SIGKILL)', ({ replicas }) => replicas.endLeader('SIGKILL').then(none)],
]

export interface DisturbanceLog {
  /** How often each happened. */
  readonly counts: Map<string, number>
  readonly findings: string[]
}

/** Disturbs every `everyMs` until `signal` aborts. The last one is always a settled moment. */
export async function disturb(around: Surroundings, everyMs: number, signal: AbortSignal): Promise<DisturbanceLog> {
  const log: DisturbanceLog = { counts: new Map(), findings: [] }
  const run = async (name: string, act: (around: Surroundings) => Promise<string[]>) => {
    const findings = await act(around).catch((error: unknown) => [`${name}: ${String(error)}`])
    log.counts.set(name, (log.counts.get(name) ?? 0) + 1)
    log.findings.push(...findings, ...around.replicas.lost.map((lost) => `${name}: ${lost} ended by itself`))
  }
  for (let at = 0; !signal.aborted; at += 1) {
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    const [name, act] = DISTURBANCES[at % DISTURBANCES.length] ?? []
    if (!signal.aborted && name !== undefined && act !== undefined) await run(name, act)
  }
  await run('settled moment', settle)
  return log
}

/** Stops the churn, waits until every image is where it is going, and compares the caches with fresh lists. */
async function settle({ stage, churn, replicas }: Surroundings): Promise<string[]> {
  churn.pause()
  try {
    await churn.calm()
    const restless = await untilAtRest(stage)
    if (restless.length > 0) return restless
    const first = await cacheDifferences(stage.client, replicas.operators)
    if (first.length === 0) return []
    await sleep(STAYS_MS)
    return await cacheDifferences(stage.client, replicas.operators)
  } finally {
    churn.resume()
  }
}

async function untilAtRest(stage: Stage): Promise<string[]> {
  const deadline = performance.now() + SETTLE_MS
  for (;;) {
    const { items } = await stage.client.list<Image>(IMAGE)
    const restless = items.filter((image) => !isAtRest(image))
    if (restless.length === 0) return []
    if (performance.now() > deadline) {
      return restless.map(({ metadata, status }) => {
        return `image ${metadata.name} did not come to rest in ${SETTLE_MS / 1_000} s: ${status?.phase}, ${status?.message}`
      })
    }
    await sleep(LOOK_MS)
  }
}

function isAtRest(image: Image): boolean {
  const { metadata, status } = image
  const isDone = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  const isCurrent = status?.observedGeneration === metadata.generation
  return (
    isDone &&
    isCurrent &&
    metadata.deletionTimestamp === undefined &&
    conditionOf(image, 'Reconciling')?.status === 'False'
  )
}

async function restartApiServer({ stage }: Surroundings): Promise<string[]> {
  await stage.controlPlane.killApiServer()
  await stage.controlPlane.startApiServer()
  return []
}

/** What the watches were at is gone when the API server is back: all caches are listed anew. */
async function compactAndRestart(around: Surroundings): Promise<string[]> {
  await around.stage.controlPlane.killApiServer()
  await around.stage.controlPlane.compact()
  await around.stage.controlPlane.startApiServer()
  return []
}

function none(): string[] {
  return []
}
