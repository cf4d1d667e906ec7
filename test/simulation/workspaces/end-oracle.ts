import { fromTime } from '../../../operator/base/time.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { isDeletion, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import type { World } from '../world.ts'
import { isType } from './lab-parts.ts'

/** The policy key `expiryNotice` of schedules whose labs have ends, and its shortest value. */
export const NOTICE_MS = 5 * MINUTE
/** Of answers that show the time of the API server. */
const RESOLUTION_MS = 1_000
/** Two deletions are at least this far apart. */
const APART_MS = 20_000
/** An end is acted on within this time of the operator's life. All labs of a schedule may end at once. */
const LATE_MS = MINUTE + 3 * APART_MS
/** Somebody who has disturbed the operator may have stopped it for so long. */
const CALM_MS = LATE_MS + MINUTE

/** What the stored status of a workspace warns of, and since when. */
interface Warning {
  readonly text: string
  readonly atMs: number
}

/**
 * Invariants 5 and 7, for labs that end: none is switched off or deleted before its warning has been there for as long as the policy says, none is deleted
 * without its own word, two are never deleted at the same time, and none outlives its end by more than a minute in which the operator works.
 */
export class EndOracle extends WitnessOracle<World> {
  /** By uid. */
  readonly #warnings = new Map<string, Warning>()
  #deletedAtMs = Number.NEGATIVE_INFINITY

  onCommit({ resource, type, object, before, actor, revision }: Commit): void {
    if (!isType(resource, WORKSPACE)) return
    const [now, then] = [object as Workspace, before as Workspace | undefined]
    const report = (text: string) =>
      this.witness.report(5, `revision ${revision}: Workspace ${object.metadata.name} ${text}`)
    const isGoing = type === 'DELETED' || isDeletion(now)
    const isDeleted = isGoing && then !== undefined && !isDeletion(then) && isOperator(actor)
    if (isDeleted) this.#judgeDeletion(then, report)
    const isOver = isOperator(actor) && now.status?.expiry?.ended === true && then?.status?.expiry?.ended !== true
    if (isOver && then !== undefined) this.#judgeEnd(then, 'Halt', report)
    const { uid = '' } = object.metadata
    if (isGoing) this.#warnings.delete(uid)
    else {
      this.#note(now, uid)
      if (isOperator(actor)) judgeSource(now, report)
    }
    if (then?.metadata.generation !== now.metadata.generation) this.#expectWarning(now)
  }

  #judgeDeletion(stored: Workspace, report: (text: string) => void): void {
    const { nowMs } = this.witness.chronicle
    const { expiresAt, lifetime, onExpiry } = stored.spec
    if (onExpiry !== 'Delete' || (expiresAt ?? lifetime) === undefined)
      report('is deleted, and its spec does not say so')
    if (nowMs - this.#deletedAtMs < APART_MS - RESOLUTION_MS) report('is deleted right after another one')
    this.#deletedAtMs = nowMs
    this.#judgeEnd(stored, 'Delete', report)
  }

  #judgeEnd({ metadata, spec }: Workspace, action: 'Halt' | 'Delete', report: (text: string) => void): void {
    const { nowMs } = this.witness.chronicle
    const warning = this.#warnings.get(metadata.uid ?? '')
    if (warning?.text.startsWith(action) !== true) report(`ends (${action}), and nothing warns of that`)
    const ageMs = nowMs - (warning?.atMs ?? nowMs)
    if (ageMs < NOTICE_MS - RESOLUTION_MS) report(`ends (${action}) ${ageMs} ms after the warning`)
    if (this.#inMs(spec.expiresAt) > nowMs + RESOLUTION_MS) report(`ends (${action}) before its time`)
  }

  #note({ status, spec, metadata }: Workspace, uid: string): void {
    const { announced, value } = status?.expiry ?? {}
    const { nowMs } = this.witness.chronicle
    const text = `${announced} ${value}`
    if (announced === undefined) this.#warnings.delete(uid)
    if (announced === undefined || this.#warnings.get(uid)?.text === text) return
    this.#warnings.set(uid, { text, atMs: nowMs })
    // Where the end is put off, that is to a whole minute.
    const dueMs = Math.max(this.#inMs(spec.expiresAt), nowMs + NOTICE_MS + MINUTE)
    const isOfPolicy = status?.expiry?.source === 'policy'
    this.#expect(uid, metadata.generation, dueMs, (one) => {
      // The policy may take back what it has said.
      if (isOfPolicy && one.status?.expiry === undefined) return true
      const isHalt = isOfPolicy || (one.spec.onExpiry ?? 'Halt') === 'Halt'
      const isOff = one.status?.expiry?.ended === true && isHalt
      return isOff || isDeletion(one)
    })
  }

  #expectWarning({ metadata: { uid = '', generation }, spec }: Workspace): void {
    if (spec.expiresAt === undefined) return
    const dueMs = Math.max(this.witness.chronicle.nowMs, this.#inMs(spec.expiresAt) - NOTICE_MS)
    this.#expect(uid, generation, dueMs, ({ status }) => {
      return status?.expiry?.announced !== undefined || status?.expiry?.ended === true
    })
  }

  /** Reports a workspace whose spec stays the same, and of which this does not hold by then. */
  #expect(uid: string, generation: number | undefined, dueMs: number, holds: (one: Workspace) => boolean): void {
    const { chronicle, disturbances, time, schedule } = this.witness
    if (schedule.policy.more?.['expiryNotice'] === undefined) return
    time.schedule(Math.max(0, dueMs - chronicle.nowMs) + LATE_MS, () => {
      const found = chronicle.traces.of<Workspace>(WORKSPACE).get(uid)?.object
      const isCalm = disturbances.calmForMs('api', 'watch', 'freeze', 'crash') > CALM_MS
      if (found === undefined || found.metadata.generation !== generation || !isCalm) return
      if (found.status?.reason === 'InvalidSpec' || isDeletion(found) || holds(found)) return
      this.witness.report(
        7,
        `Workspace ${found.metadata.name} outlives its end: ${JSON.stringify([found.spec.expiresAt, found.spec.onExpiry, found.status?.expiresAt, found.status?.expiry])}`,
      )
    })
  }

  /** When a time is, on the clock of the chronicle. */
  #inMs(expiresAt: string | undefined): number {
    return (fromTime(expiresAt) ?? Number.NEGATIVE_INFINITY) - this.witness.time.epochMs
  }
}

/** The policy is only about labs that say nothing of an end. */
function judgeSource({ metadata, spec, status }: Workspace, report: (text: string) => void): void {
  const isOwn = (spec.expiresAt ?? spec.lifetime) !== undefined && status?.observedGeneration === metadata.generation
  // While a spec cannot be read, its lab keeps the end that it had.
  if (isOwn && status?.expiry?.source === 'policy' && status.reason !== 'InvalidSpec')
    report('has an end of the policy, and one of its own')
}
