import { SECRET_COPY_POLICY, SECRET_COPY_RULE } from '@open-terrain/constructs/operator'
import { isSame } from '../../base/equality.ts'
import { isApiError } from '../../kube/api-error.ts'
import { find } from '../../kube/find.ts'
import type { KubeObject, Raw } from '../../kube/kube-object.ts'
import { ADMISSION_POLICY, ADMISSION_POLICY_BINDING } from '../../kube/resource-types.ts'
import { LiveReadLoop, type LiveReadServices } from '../../runtime/live-read-loop.ts'

/** Whether the cluster checks who may have a Secret copied. */
export type CopyRule =
  | { readonly isSeen: true }
  | {
      readonly isSeen: false
      /** In words for people. */
      readonly why: string
      /** Whether nobody checks, and has not for a while. If not, what is there may be as it should: nothing is deleted for that. */
      readonly isSure: boolean
    }

/** Whether the cluster checked who asks for a copy: undefined until a look that began after the request was seen. */
export type CopyVerdict = 'checked' | 'unchecked' | undefined

/** How soon it is seen that the rule is gone, and how long it has to be gone before copies are deleted. */
const EVERY_MS = 60_000
const KEY = 'rule'
const NAME = `ValidatingAdmissionPolicy ${SECRET_COPY_RULE}`
const BINDING = `ValidatingAdmissionPolicyBinding ${SECRET_COPY_RULE}`

interface Options extends LiveReadServices {
  /** Called for all Workspaces when the answer is first known, and when it changes. With a key: there is a verdict on what this Workspace asks for. */
  readonly onChange: (workspace?: string) => void
}

interface Fault {
  readonly why: string
  /** Whether nobody checks. Default: that is not known. */
  readonly isWrong?: true
}

/** Looks are numbered from 1. */
interface Gap {
  readonly from: number
  readonly to: number
}

/**
 * Looks whether the admission rule is installed that checks who may have a Secret copied, and refuses what it should. The operator copies with rights of its
 * own, so nothing is copied where nobody checks those of the authors. Reads nothing until {@link look} is first called.
 */
export class SecretCopyRule extends LiveReadLoop {
  #rule: CopyRule | undefined
  #isAsked = false
  /** Number of looks that have begun. */
  #begun = 0
  #wrongSinceMs: number | undefined
  /** The first look that saw that nobody checks. */
  #firstWrong: number | undefined
  /** The last look that saw the rule as it has to be. */
  #seen: { readonly at: number; readonly identity: string } | undefined
  /** Between which looks the rule was not there all the time, or was another one. */
  readonly #gaps: Gap[] = []
  /** By uid of a Workspace, and by source: how many looks had begun when it was first seen. */
  readonly #requests = new Map<string, ReadonlyMap<string, number>>()
  readonly #waiting = new Set<string>()

  constructor(options: Options) {
    super(options, 'secret-copy-rule', async (_key, signal) => {
      this.#begun += 1
      const [at, beganMs, before] = [this.#begun, options.clock.monotonic(), this.#rule]
      const found = await readRule(options, signal)
      this.#rule = typeof found === 'string' ? this.#noteSeen(at, found) : this.#noteFault(at, found, beganMs)
      this.readAfter(KEY, EVERY_MS)
      const waiting = [...this.#waiting]
      this.#waiting.clear()
      if (JSON.stringify(before) !== JSON.stringify(this.#rule)) options.onChange()
      else for (const workspace of waiting) options.onChange(workspace)
      return undefined
    })
  }

  /** Returns the answer, or undefined until it is known. */
  look(): CopyRule | undefined {
    if (!this.#isAsked) {
      this.#isAsked = true
      this.readAfter(KEY, 0)
    }
    return this.#rule
  }

  /**
   * Remembers what a Workspace asks for, and returns the verdict on each source, which is good as long as {@link look} says that the rule is there. What was
   * written before this process began is taken as checked.
   * @param sources `<namespace>/<name>` of all that it asks for
   */
  verdicts(workspace: { readonly key: string; readonly uid: string }, sources: readonly string[]) {
    const before = this.#requests.get(workspace.uid)
    const requests = new Map(sources.map((source) => [source, before?.get(source) ?? this.#begun]))
    this.#requests.set(workspace.uid, requests)
    return (source: string): CopyVerdict => {
      const first = requests.get(source) ?? this.#begun
      if (this.#gaps.some(({ from, to }) => from <= first && first <= to)) return 'unchecked'
      if (this.#seen !== undefined && this.#seen.at > first) return 'checked'
      this.#waiting.add(workspace.key)
      this.readAfter(KEY, 0)
      return undefined
    }
  }

  /** Forgets what a Workspace that is gone asked for. */
  forget(uid: string): void {
    this.#requests.delete(uid)
  }

  #noteSeen(at: number, identity: string): CopyRule {
    // Without either, this process has not seen that it was ever otherwise.
    const from = this.#seen?.at ?? this.#firstWrong
    if (from !== undefined && this.#seen?.identity !== identity) this.#gaps.push({ from, to: at })
    this.#seen = { at, identity }
    this.#wrongSinceMs = undefined
    return { isSeen: true }
  }

  #noteFault(at: number, { why, isWrong }: Fault, beganMs: number): CopyRule {
    if (isWrong !== true) return { isSeen: false, why, isSure: false }
    this.#firstWrong ??= at
    this.#wrongSinceMs ??= beganMs
    return { isSeen: false, why, isSure: beganMs - this.#wrongSinceMs >= EVERY_MS }
  }
}

/** Returns what changes with each change of the rule, or what is wrong with it. */
async function readRule({ client }: Options, signal: AbortSignal): Promise<string | Fault> {
  const read = async (type: typeof ADMISSION_POLICY) =>
    await find<KubeObject & { readonly spec?: Raw }>(client, type, { name: SECRET_COPY_RULE }, { signal })
  try {
    const [policy, binding] = [await read(ADMISSION_POLICY), await read(ADMISSION_POLICY_BINDING)]
    const identity = [policy, binding].map((one) => [one?.metadata.uid, one?.metadata.generation])
    return faultIn(policy?.spec, binding?.spec) ?? JSON.stringify(identity)
  } catch (error) {
    if (!isApiError(error, 'Rejected')) throw error
    return { why: `the operator may not read ${NAME} and its binding` }
  }
}

/** Returns why what is installed does not refuse, in words for people. */
function faultIn(policy: Raw | undefined, binding: Raw | undefined): Fault | undefined {
  const why = wrongIn(policy, binding)
  if (why !== undefined) return { why, isWrong: true }
  const fields = FIELDS.filter((field) => !isSame(policy?.[field], (SECRET_COPY_POLICY as Raw)[field]))
  // It may be of a version that is being rolled out.
  return fields.length === 0
    ? undefined
    : { why: `${NAME} is not the one of this version: its ${fields.join(', ')} differ` }
}

/** What decides about Workspaces. The API server gives none of these a default that the construct does not have. */
const FIELDS = ['paramKind', 'matchConstraints', 'matchConditions', 'variables', 'validations'] as const

function wrongIn(policy: Raw | undefined, binding: Raw | undefined): string | undefined {
  if (policy === undefined) return `${NAME} is not there`
  if ((policy.failurePolicy ?? 'Fail') !== 'Fail') return `failurePolicy of ${NAME} is not Fail`
  if (!hasAny(policy.validations)) return `${NAME} has no validations`
  if (binding === undefined) return `${BINDING} is not there`
  if (binding.policyName !== SECRET_COPY_RULE || !hasAny(binding.validationActions, 'Deny'))
    return `${BINDING} does not refuse anything: it needs policyName ${SECRET_COPY_RULE} and validationActions Deny`
  if (binding.matchResources !== undefined) return `${BINDING} has matchResources, so that it is not for all Workspaces`
  return undefined
}

function hasAny(list: unknown, item?: string): boolean {
  return Array.isArray(list) && (item === undefined ? list.length > 0 : list.includes(item))
}
