/** Faults of a download. Usually, one of `status`, `cutAfterBytes`, `stallAfterBytes` and `corrupt` is set. */
export interface ImageFault {
  /** Answer with this status and no body instead of the image. */
  readonly status?: number
  /** Break the connection after this many bytes. */
  readonly cutAfterBytes?: number
  /** Send nothing more after this many bytes, and keep the connection open. */
  readonly stallAfterBytes?: number
  /** Send content that does not match the checksum. */
  readonly corrupt?: boolean
}

export interface Hold {
  readonly afterBytes: number
  readonly until: Promise<unknown>
}

export interface ImageRule {
  /** Host name as in the URL, without scheme and port; absent: any host. */
  readonly host?: string
  /** Path prefix (starts with `/`); absent: any path. */
  readonly path?: string
  /** `path` must be the whole path. */
  readonly exact?: boolean
  readonly sizeBytes?: number
  /** Absent: no limit. */
  readonly bytesPerSecond?: number
  readonly fault?: ImageFault
  /** Bytes after `afterBytes` are sent only when `until` resolves. Until then, no download can finish. */
  readonly hold?: Hold
  /** The fault affects only the first `times` requests that this rule answers. Absent: all of them. */
  readonly times?: number
  /** `times` counts separately for each image. */
  readonly perImage?: boolean
}

/** How one request is answered. */
export interface ImageAnswer {
  readonly sizeBytes: number
  readonly bytesPerSecond: number | undefined
  readonly fault: ImageFault
  readonly hold: Hold | undefined
}

interface Entry {
  readonly rule: ImageRule
  /** Number of requests that the rule answered: for each image, or for all together under the empty name. */
  readonly answered: Map<string, number>
}

/** The active rules. The latest rule that matches wins, so a later `set` overrides an earlier, broader one. */
export class RuleBook {
  readonly #entries: Entry[] = []
  readonly #defaultSizeBytes: number

  constructor(defaultSizeBytes: number) {
    this.#defaultSizeBytes = defaultSizeBytes
  }

  /** Returns a function that removes the rule. */
  set(rule: ImageRule): () => void {
    const entry: Entry = { rule, answered: new Map() }
    const same = this.#entries.findIndex(({ rule: other }) => sameTarget(other, rule))
    if (same >= 0) this.#entries.splice(same, 1)
    this.#entries.push(entry)
    return () => {
      const at = this.#entries.indexOf(entry)
      if (at >= 0) this.#entries.splice(at, 1)
    }
  }

  /** Counts the request against the rule's `times`. */
  answer(host: string, path: string): ImageAnswer {
    const entry = this.#entries.findLast(({ rule }) => matches(rule, host, path))
    const { rule } = entry ?? { rule: {} as ImageRule }
    const counted = rule.perImage ? `${host}${path}` : ''
    const answered = entry?.answered.get(counted) ?? 0
    const isFaulty = rule.fault !== undefined && (rule.times === undefined || answered < rule.times)
    entry?.answered.set(counted, answered + 1)
    return {
      sizeBytes: rule.sizeBytes ?? this.#defaultSizeBytes,
      bytesPerSecond: rule.bytesPerSecond,
      fault: isFaulty ? (rule.fault ?? {}) : {},
      hold: rule.hold,
    }
  }

  sizeOf(host: string, path: string): number {
    return this.#entries.findLast(({ rule }) => matches(rule, host, path))?.rule.sizeBytes ?? this.#defaultSizeBytes
  }
}

function matches(rule: ImageRule, host: string, path: string): boolean {
  if (rule.host !== undefined && rule.host !== host) return false
  if (rule.path === undefined) return true
  return rule.exact ? path === rule.path : path.startsWith(rule.path)
}

function sameTarget(a: ImageRule, b: ImageRule): boolean {
  return a.host === b.host && a.path === b.path && (a.exact ?? false) === (b.exact ?? false)
}
