import { SECRET_COPY_POLICY, SECRET_COPY_RULE } from '@open-terrain/constructs/operator'
import { type AdmissionRule, type RuleFault, readAdmissionRule } from '../../cluster/admission-rule.ts'
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
const RULE: AdmissionRule = { name: SECRET_COPY_RULE, spec: SECRET_COPY_POLICY, subjects: 'Workspaces' }

interface Options extends LiveReadServices {
  /** Called for all Workspaces when the answer is first known, and when it changes. With a key: there is a verdict on what this Workspace asks for. */
  readonly onChange: (workspace?: string) => void
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
      const found = await readAdmissionRule(options.client, RULE, signal)
      this.#rule = 'identity' in found ? this.#noteSeen(at, found.identity) : this.#noteFault(at, found, beganMs)
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

  #noteFault(at: number, { why, isWrong }: RuleFault, beganMs: number): CopyRule {
    if (isWrong !== true) return { isSeen: false, why, isSure: false }
    this.#firstWrong ??= at
    this.#wrongSinceMs ??= beganMs
    return { isSeen: false, why, isSure: beganMs - this.#wrongSinceMs >= EVERY_MS }
  }
}
