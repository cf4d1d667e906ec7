import { setTimeout as sleep } from 'node:timers/promises'
import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { Stage } from '../bench/stage.ts'
import type { EtcdHistory } from '../harness/etcd-history.ts'
import { conditionOf, type Image } from '../harness/kinds.ts'
import { persist } from '../harness/persist.ts'
import { cacheDifferences } from './cache-check.ts'
import type { Churn } from './churn.ts'
import type { Replicas } from './replicas.ts'

const SETTLE_MS = 120_000
const LOOK_MS = 500
/** Caches and fresh lists are compared twice, this far apart: only a difference that stays counts. */
const STAYS_MS = 5_000
/** Without etcd nobody can renew the Lease. This is long enough for the leader to lose it. */
const WITHOUT_ETCD_MS = 5_000

export interface Surroundings {
  readonly stage: Stage
  readonly history: EtcdHistory
  readonly churn: Churn
  readonly replicas: Replicas
}

interface Disturbance {
  readonly name: string
  /** Resolves with its findings, or with undefined if there was no leader to disturb: that does not count. */
  readonly act: (around: Surroundings) => Promise<string[] | undefined>
  /** Whether it ends a process of the operator. */
  readonly isEnd?: boolean
}

const SETTLED: Disturbance = { name: 'settled moment', act: settle }

/** Disturbances of the control plane and the operators, in this order, repeated. */
const DISTURBANCES: readonly Disturbance[] = [
  SETTLED,
  { name: 'API server killed and started again', act: restartApiServer },
  {
    name: 'leader stopped (SIGTERM)',
    act: ({ replicas }) => replicas.endLeader('SIGTERM').then(noFindings),
    isEnd: true,
  },
  { name: 'etcd killed and started again', act: restartEtcd },
  SETTLED,
  {
    name: 'leader killed (SIGKILL)',
    act: ({ replicas }) => replicas.endLeader('SIGKILL').then(noFindings),
    isEnd: true,
  },
  { name: 'leader frozen past its lead', act: ({ replicas }) => replicas.freezeLeader().then(noFindings) },
  { name: 'etcd compacted and API server killed', act: compactAndRestart },
]

export interface DisturbanceLog {
  /** How often each happened. */
  readonly counts: Map<string, number>
  readonly findings: string[]
}

export interface Pace {
  readonly everyMs: number
  /** After this time no process is ended any more. */
  readonly endsForMs: number
}

/** Causes disturbances until `signal` aborts. The last one is always a settled moment. */
export async function disturb(
  around: Surroundings,
  { everyMs, endsForMs }: Pace,
  signal: AbortSignal,
): Promise<DisturbanceLog> {
  const log: DisturbanceLog = { counts: new Map(), findings: [] }
  const run = async ({ name, act }: Disturbance) => {
    // An etcd that comes back has no versions that were compacted since: a quiet watch goes on from here, not from its last event.
    const findings = await around.history
      .catchUp()
      .then(() => act(around))
      .catch((error: unknown) => [`${name}: ${String(error)}`])
    if (findings !== undefined) log.counts.set(name, (log.counts.get(name) ?? 0) + 1)
    log.findings.push(...(findings ?? []), ...around.replicas.lost.map((lost) => `${name}: ${lost} ended by itself`))
  }
  const endsUntil = performance.now() + endsForMs
  for (let at = 0; !signal.aborted; at += 1) {
    const disturbance = DISTURBANCES[at % DISTURBANCES.length] ?? SETTLED
    if (disturbance.isEnd && performance.now() > endsUntil) continue
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
    if (!signal.aborted) await run(disturbance)
  }
  await run(SETTLED)
  return log
}

interface Machine extends KubeObject {
  readonly status?: { readonly phase?: string; readonly message?: string }
}

/** Stops the churn, waits until every image has reached a final state, and compares the caches with fresh lists. */
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
    const [images, machines] = await Promise.all([stage.client.list<Image>(IMAGE), stage.client.list<Machine>(MACHINE)])
    const restless = [
      ...images.items.filter((image) => !isAtRest(image)),
      ...machines.items.filter(({ status }) => status?.phase !== 'Ready'),
    ]
    if (restless.length === 0) return []
    if (performance.now() > deadline) {
      return restless.map(({ kind, metadata, status }) => {
        return `${kind} ${metadata.name} did not come to rest in ${SETTLE_MS / 1_000} s: ${status?.phase}, ${status?.message}`
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
  await stage.controlPlane.apiServer.kill()
  await stage.controlPlane.apiServer.start()
  return []
}

async function restartEtcd({ stage }: Surroundings): Promise<string[]> {
  await stage.controlPlane.etcd.kill()
  await sleep(WITHOUT_ETCD_MS)
  await stage.controlPlane.etcd.start()
  const look = () => stage.client.list(IMAGE, { limit: 1 })
  await persist('the API server has found its etcd again', ['Unavailable', 'NoAnswer'], look)
  return []
}

/** When the API server is back, the versions of the watches are compacted: all caches are listed again. */
async function compactAndRestart({ stage, history }: Surroundings): Promise<string[]> {
  await stage.controlPlane.apiServer.kill()
  // What the history has not received before the compaction, it can never receive.
  await history.catchUp()
  await stage.controlPlane.compact()
  await stage.controlPlane.apiServer.start()
  return []
}

function noFindings(hadLeader: boolean): string[] | undefined {
  return hadLeader ? [] : undefined
}
