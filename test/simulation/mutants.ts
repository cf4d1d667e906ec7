import type { Invariant } from './oracle/oracle.ts'
import type { Kind } from './story.ts'

/** A deliberate break of the product: one text in one file, replaced when the file is loaded. */
export interface Mutant {
  readonly name: string
  /** The promise that it breaks; the first oracle to notice may be that of another one. */
  readonly invariant: Invariant
  readonly alsoCaughtAs?: readonly Invariant[]
  /** Relative to the repository. */
  readonly file: string
  /** Occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
  /** Schedules in which it has to show. */
  readonly kind: Kind
}

const IMAGES = 'operator/controllers/vm-disk-image'

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'one slot more than the limit',
    invariant: 1,
    file: `${IMAGES}/slots.ts`,
    find: 'Math.max(0, limit - kept.length - unheld)',
    replace: 'Math.max(0, limit + 1 - kept.length - unheld)',
    kind: 'undisturbed',
  },
  {
    name: 'a lowered limit counts only for new leaders',
    invariant: 1,
    alsoCaughtAs: [8],
    file: `${IMAGES}/slots.ts`,
    find: 'next: { limit, holders: [...kept, ...claims] }',
    replace: 'next: { limit: Math.max(limit, ledger.limit), holders: [...kept, ...claims] }',
    kind: 'undisturbed',
  },
  {
    name: 'the ledger is replaced whatever its version',
    invariant: 1,
    alsoCaughtAs: [2, 7],
    file: `${IMAGES}/slot-ledger.ts`,
    find: 'const next: LedgerObject = { ...this.#object, data',
    replace:
      'const { resourceVersion: _version, ...metadata } = this.#object.metadata\n    const next: LedgerObject = { ...this.#object, metadata, data',
    kind: 'lateLedger',
  },
  {
    name: 'a slot is free as soon as its DataVolume is not seen',
    invariant: 2,
    file: `${IMAGES}/claims.ts`,
    find: 'if (dataVolume === undefined) return this.#notes.over.has(claimOf(holder))',
    replace: 'if (dataVolume === undefined) return true',
    kind: 'impatient',
  },
  {
    name: 'an importer that outlives its DataVolume is not looked for',
    invariant: 2,
    alsoCaughtAs: [4],
    file: `${IMAGES}/views.ts`,
    find: "return phase !== 'Succeeded' && phase !== 'Failed'",
    replace: "return phase === 'Unknown'",
    kind: 'impatient',
  },
  {
    name: 'a slot is held until the snapshot is ready',
    invariant: 2,
    file: `${IMAGES}/plan.ts`,
    find: 'if (slot === undefined) return undefined',
    replace: 'if (slot === undefined || world.dataVolumes.some(isFinished)) return undefined',
    kind: 'undisturbed',
  },
  {
    name: 'an unanswered create is forgotten at once',
    invariant: 2,
    alsoCaughtAs: [1],
    file: `${IMAGES}/claims.ts`,
    find: 'const SETTLE_MS = 15_000',
    replace: 'const SETTLE_MS = 0',
    kind: 'delayed',
  },
  {
    name: 'last come, first served',
    invariant: 3,
    file: `${IMAGES}/admission-queue.ts`,
    find: 'for (const start of this.#inOrder) {',
    replace: 'for (const start of this.#inOrder.toReversed()) {',
    kind: 'rush',
  },
  {
    name: 'tickets are compared as words',
    invariant: 3,
    file: `${IMAGES}/admission-queue.ts`,
    find: 'return compareResourceVersions(a.ticket, b.ticket) ||',
    replace: 'return a.ticket.localeCompare(b.ticket) ||',
    kind: 'rush',
  },
  {
    name: 'DataVolumes of a batch come in any order',
    invariant: 3,
    file: `${IMAGES}/claims.ts`,
    find: 'wanted.toSorted(compareTickets)',
    replace: 'wanted.toSorted(compareTickets).toReversed()',
    kind: 'rush',
  },
  {
    name: 'one slot more than the limit, at the gate alone',
    invariant: 1,
    file: `${IMAGES}/slots.ts`,
    find: 'Math.max(0, limit - kept.length - unheld)',
    replace: 'Math.max(0, limit + 1 - kept.length - unheld)',
    kind: 'gateCalm',
  },
  {
    name: 'a claim is good for ever',
    invariant: 2,
    alsoCaughtAs: [1],
    file: `${IMAGES}/slot-ledger.ts`,
    find: 'this.#clock.monotonic() - this.#askedAt < CLAIM_VALID_MS',
    replace: 'this.#clock.monotonic() >= this.#askedAt',
    kind: 'gateFrozen',
  },
  {
    name: 'an unanswered create is forgotten at once, at the gate alone',
    invariant: 2,
    alsoCaughtAs: [1],
    file: `${IMAGES}/claims.ts`,
    find: 'const SETTLE_MS = 15_000',
    replace: 'const SETTLE_MS = 0',
    kind: 'gateLate',
  },
  {
    name: 'an image that is still being enqueued is overtaken',
    invariant: 3,
    file: `${IMAGES}/admission-queue.ts`,
    find: 'else if (!isStuck(start.uid)) break',
    replace: 'else if (!isStuck(start.uid)) continue',
    kind: 'gateCalm',
  },
  {
    name: 'one retry more than the limit',
    invariant: 4,
    file: `${IMAGES}/plan.ts`,
    find: 'budget.downloads > world.policy.retryLimit',
    replace: 'budget.downloads > world.policy.retryLimit + 1',
    kind: 'undisturbed',
  },
  {
    name: 'restarts that nobody saw cost nothing',
    invariant: 4,
    file: `${IMAGES}/judge.ts`,
    find: 'downloads: 1 + dataVolume.restartCount',
    replace: 'downloads: 1',
    kind: 'unattended',
  },
  {
    name: 'teardown before the status',
    invariant: 4,
    file: 'operator/runtime/apply.ts',
    find: '  if (changes.status !== undefined) {',
    replace:
      '  for (const removal of changes.removals) await remove(removal, context)\n  if (changes.status !== undefined) {',
    kind: 'undisturbed',
  },
  {
    name: 'clones do not keep an earlier artifact',
    invariant: 5,
    file: `${IMAGES}/plan-artifact.ts`,
    find: "unlessCloned: 'live' as const",
    replace: "unlessCloned: 'never' as const",
    kind: 'cloners',
  },
  {
    name: 'the alias of a namesake is taken over',
    invariant: 6,
    file: `${IMAGES}/plan-artifact.ts`,
    find: '!world.surroundings.hasDataSources || isAliasTaken(world)',
    replace: '!world.surroundings.hasDataSources',
    kind: 'undisturbed',
  },
  {
    name: 'nobody looks again when a backoff ends',
    invariant: 7,
    file: `${IMAGES}/plan.ts`,
    find: "const wake = { afterMs: retryAt - now, because: 'the next attempt may start then' }",
    replace: 'const wake = undefined',
    kind: 'undisturbed',
  },
  {
    name: 'a watch that expired is tried again from where it was',
    invariant: 7,
    alsoCaughtAs: [8],
    file: 'operator/runtime/reflector.ts',
    find: "if (isApiError(error, 'Expired') && position.at === 'listed') {",
    replace:
      "if (isApiError(error, 'Expired') && position.at === 'listed') {\n      await this.#pause(error, signal)\n      return position",
    kind: 'disconnected',
  },
  {
    name: 'a bad policy value means the default',
    invariant: 8,
    alsoCaughtAs: [1],
    file: 'constructs/api/policy.ts',
    find: 'policy[field] = result.success ? result.data : lastGood[field]',
    replace: 'policy[field] = result.success ? result.data : POLICY_DEFAULTS[field]',
    kind: 'undisturbed',
  },
  {
    name: 'a bad spec waits without a word',
    invariant: 8,
    alsoCaughtAs: [7],
    file: `${IMAGES}/plan.ts`,
    find: "{ phase: 'Failed', reason: 'InvalidSpec', message, stalled: true, upToDate: false }",
    replace: "{ phase: 'Failed', reason: 'NotFound', message: '' }",
    kind: 'undisturbed',
  },
  {
    name: 'queries of URLs are told',
    invariant: 9,
    file: 'operator/runtime/redact.ts',
    find: 'return scheme + (query < 0 ?',
    replace: 'return scheme + (query < 100_000 ?',
    kind: 'undisturbed',
  },
]
