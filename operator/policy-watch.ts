import { isDeepStrictEqual } from 'node:util'
import {
  POLICY_DEFAULTS,
  POLICY_KEYS,
  POLICY_NAME,
  type Policy,
  type PolicyProblem,
  parsePolicy,
} from '@open-terrain/constructs/operator'
import { firstFew } from './base/messages.ts'
import type { KubeObject, Raw } from './kube/kube-object.ts'
import { CONFIG_MAP } from './kube/resource-types.ts'
import type { PolicyVerdict } from './policy-status.ts'
import type { Basics } from './runtime/basics.ts'
import type { EventNote } from './runtime/event-recorder.ts'
import { Reflector } from './runtime/reflector.ts'
import { type Change, Store } from './runtime/store.ts'

interface PolicyObject extends KubeObject {
  /** Null if the value is not text. */
  readonly data: Readonly<Record<string, string | null>>
}

interface PolicyChange {
  /** At most `concurrency` changed, so no image needs to be reconciled. */
  readonly isLimitAlone: boolean
}

interface PolicyWatchOptions extends Basics {
  readonly namespace: string
  readonly onValid: (isValid: boolean) => void
}

/**
 * The current policy: a watch on ConfigMap `sync-operator-policy`. An invalid value leaves the last valid one in force, for its key only.
 * Deletion of the ConfigMap leaves all values in force.
 */
export class PolicyWatch {
  readonly #options: PolicyWatchOptions
  readonly #reflector: Reflector<PolicyObject>
  readonly #listeners = new Set<(change: PolicyChange) => void>()
  #policy = POLICY_DEFAULTS
  /** Whether a valid value was ever observed. Until then, the ledger's limit applies. */
  #isConcurrencyKnown = false
  #subject: PolicyObject | undefined
  #notes: EventNote[] = []
  #isThere = false
  #problems: readonly string[] = []
  /** Set only while this process leads. */
  onVerdict: (() => void) | undefined
  /** Returns what to tell of a change. Set only while this process leads. */
  effectsOf: ((before: Policy, after: Policy) => readonly EventNote[]) | undefined
  /** Set only while this process leads: one replica is enough to notify users. */
  onNote: ((subject: KubeObject, note: EventNote) => void) | undefined

  constructor(options: PolicyWatchOptions) {
    this.#options = options
    const { namespace } = options
    const store = new Store<PolicyObject>()
    this.#reflector = new Reflector({
      ...options,
      type: CONFIG_MAP,
      selection: { namespace, fieldSelector: `metadata.name=${POLICY_NAME}` },
      store,
      project,
    })
    store.onChange((change) => this.#onChange(change))
  }

  get current(): Policy {
    return this.#policy
  }

  get verdict(): PolicyVerdict {
    return { policy: this.#policy, problems: this.#problems, isThere: this.#isThere }
  }

  get synced(): Promise<void> {
    return this.#reflector.synced
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#reflector.run(signal)
  }

  /** Returns the limit in force, given the limit in the ledger. */
  limit(ledgerLimit: number | undefined): number {
    return this.#isConcurrencyKnown ? this.#policy.concurrency : (ledgerLimit ?? this.#policy.concurrency)
  }

  /** Calls `listener` after each change. Returns a function that stops the calls. */
  readonly onChange = (listener: (change: PolicyChange) => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Repeats the notes about problems of the current policy, for a new leader. */
  repeatNotes(): void {
    if (this.#subject !== undefined) for (const note of this.#notes) this.onNote?.(this.#subject, note)
  }

  #onChange({ before, after }: Change<PolicyObject>): void {
    this.#isThere = after !== undefined
    if (after === undefined) {
      // A replacement is a deletion followed by a creation. In both cases nothing stops in the meantime.
      const message = `ConfigMap ${POLICY_NAME} was deleted: the last values stay in force until there is one again, or until a restart`
      if (before !== undefined) this.#record(before, [{ type: 'Warning', reason: 'PolicyDeleted', message }])
      this.onVerdict?.()
      return
    }
    const { policy, problems } = parsePolicy(after.data, this.#policy)
    const isConcurrencyUsable = 'concurrency' in after.data && !problems.some(({ key }) => key === 'concurrency')
    this.#isConcurrencyKnown ||= isConcurrencyUsable
    const isLimitAlone = isDeepStrictEqual({ ...policy, concurrency: 0 }, { ...this.#policy, concurrency: 0 })
    const effects = this.effectsOf?.(this.#policy, policy) ?? []
    this.#policy = policy
    this.#options.onValid(problems.length === 0)
    const notes = notesOn(problems)
    const isMended = this.#problems.length > 0 && notes.length === 0
    this.#problems = notes.map(({ message }) => message)
    this.#record(after, notes)
    if (isMended) this.onNote?.(after, MENDED)
    for (const effect of effects) this.onNote?.(after, effect)
    this.onVerdict?.()
    this.#options.log.info({ concurrency: this.limit(undefined), problems: problems.length }, 'policy in force')
    for (const listener of this.#listeners) listener({ isLimitAlone })
  }

  #record(subject: PolicyObject, notes: EventNote[]): void {
    this.#subject = subject
    this.#notes = notes
    for (const note of notes) this.#options.log.warn({ reason: note.reason }, note.message)
    this.repeatNotes()
  }
}

/** A key under `binaryData` is an invalid value. It is not absent, so its default does not apply. */
function project(configMap: KubeObject): PolicyObject {
  const { data, binaryData, ...object }: Raw = configMap
  const unusable = Object.fromEntries(Object.keys(binaryData ?? {}).map((key) => [key, null]))
  return { ...object, data: { ...unusable, ...data } }
}

const MENDED: EventNote = {
  type: 'Normal',
  reason: 'PolicyValid',
  message: 'all keys of the policy are used as they are written',
}

const SHOWN = 60
const NAMES_SHOWN = 5
const LAST_GOOD = 'the last valid value stays in force, or the default if there was none since the operator started'

/** Returns one note for each invalid key of the policy, of which there are few, and one for all other keys together. */
function notesOn(problems: readonly PolicyProblem[]): EventNote[] {
  const isKnown = ({ key }: PolicyProblem) => (POLICY_KEYS as readonly string[]).includes(key)
  const unknown = problems.filter((problem) => !isKnown(problem)).map(({ key }) => key)
  const messages = [...problems.filter(isKnown).map(unusable), ...(unknown.length === 0 ? [] : [noKeys(unknown)])]
  return messages.map((message) => ({ type: 'Warning', reason: 'InvalidPolicy', message }))
}

function unusable({ key, value, message, instead = LAST_GOOD }: PolicyProblem): string {
  const shown = value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value
  return `${key}: ${JSON.stringify(shown)} is not used: ${message}; ${instead}`
}

function noKeys(names: readonly string[]): string {
  const shown = firstFew(names, NAMES_SHOWN)
  return names.length === 1
    ? `${shown}: is not a key of the policy, so it has no effect: correct its name, or remove it`
    : `${shown}: are not keys of the policy, so they have no effect: correct their names, or remove them`
}
