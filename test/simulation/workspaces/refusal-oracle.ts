import type { RequestInfo } from '../../../sandbox/memory-cluster/index.ts'
import { isOperator } from '../chronicle.ts'
import type { Oracle } from '../oracle/oracle.ts'
import type { World } from '../world.ts'
import { isType, PART_TYPES } from './lab-parts.ts'

const MINUTE_MS = 60_000
/**
 * Tries of one part within a minute. After 1, 2, 4 s and so on it is tried seven times at most, and again from the start if another object is wanted or
 * the leader changes. That the delay grows is seen only by this: with 3 s between all tries there are as many. Conflicts are
 * retried at once a few times, because they may be races, and count too.
 */
const TRIES_MAX = 20

/** Invariant 7: a part of a workspace that the API server refuses is retried with a growing delay. */
export class RefusalOracle implements Oracle {
  readonly #world: World
  /** Times of the refusals of the last minute, by kind and key. */
  readonly #refusals = new Map<string, number[]>()

  constructor(world: World) {
    this.#world = world
    world.cluster.onRequest((request, code) => this.#onRequest(request, code))
  }

  onCommit(): void {
    // Only requests count.
  }

  #onRequest(request: RequestInfo, code: string): void {
    const { actor, verb, resource, key } = request
    const isWrite = verb === 'create' || verb === 'mergePatch'
    const isRefused = !code.startsWith('2')
    if (!isWrite || !isOperator(actor) || !isRefused || !PART_TYPES.some((type) => isType(resource, type))) return
    const { nowMs } = this.#world.chronicle
    const id = `${resource.kind} ${key}`
    const recent = [...(this.#refusals.get(id) ?? []), nowMs].filter((at) => nowMs - at <= MINUTE_MS)
    this.#refusals.set(id, recent)
    if (recent.length === TRIES_MAX) this.#world.report(7, `${id} is refused ${TRIES_MAX} times in a minute (${code})`)
  }
}
