import type { Policy } from '@open-terrain/constructs/operator'
import type { Clock } from '../../base/clock.ts'

/** Between two deletions of workspaces: three a minute at most, so that people see it and can stop it. */
const EVERY_MS = 20_000

interface Options {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly policy: () => Pick<Policy, 'expiryNoticeMs'>
  readonly onPolicyChange: (listener: () => void) => () => void
}

/** What limits the deletion of workspaces at their end beside their own warnings, while this process leads. */
export class ExpiryLimits {
  readonly #options: Options
  /** Values of the policy key that are not in force any more, and until when they count. */
  #former: readonly { readonly noticeMs: number; readonly untilMs: number }[] = []
  #current: number
  #turn: { readonly uid: string; readonly atMs: number }

  constructor(options: Options) {
    this.#options = options
    this.#current = options.policy().expiryNoticeMs
    // Another leader may have deleted one just now.
    this.#turn = { uid: '', atMs: options.clock.monotonic() }
  }

  /** Listens to the policy. Returns what stops it. */
  listen(): () => void {
    return this.#options.onPolicyChange(() => this.#look())
  }

  /** How old a warning has to be: a value that has just been shortened counts only later, because it may be a mistake. */
  get noticeMs(): number {
    this.#look()
    return Math.max(this.#current, ...this.#former.map(({ noticeMs }) => noticeMs))
  }

  /** Takes the turn of a workspace that is to be deleted. The one that has it keeps it until the next one can have it. */
  take(uid: string): boolean {
    const now = this.#options.clock.monotonic()
    if (now - this.#turn.atMs < EVERY_MS) return uid === this.#turn.uid
    this.#turn = { uid, atMs: now }
    return true
  }

  #look(): void {
    const now = this.#options.clock.monotonic()
    const { expiryNoticeMs } = this.#options.policy()
    this.#former = this.#former.filter(({ untilMs }) => untilMs > now)
    if (expiryNoticeMs === this.#current) return
    this.#former = [...this.#former, { noticeMs: this.#current, untilMs: now + this.#current }]
    this.#current = expiryNoticeMs
  }
}
