/** What goes wrong with a download. One of `status`, `cutAfterBytes`, `stallAfterBytes` and `corrupt` is the usual use. */
export interface ImageFault {
  /** Answer with this status and an error body instead of the image. */
  readonly status?: number
  /** Break the connection after so many bytes. */
  readonly cutAfterBytes?: number
  /** Send nothing any more after so many bytes, and keep the connection open. */
  readonly stallAfterBytes?: number
  /** Send another content than the checksum promises. */
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
  /** Absent: as fast as it goes. */
  readonly bytesPerSecond?: number
  readonly fault?: ImageFault
  /** What comes after so many bytes is only sent when this is settled: so long, no download can come to its end. */
  readonly hold?: Hold
  /** The fault hits only so many requests that this rule answers; absent: all of them. */
  readonly times?: number
  /** `times` counts for each image apart. */
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
  /** Requests that it answered: of each image, or of all together under the empty name. */
  readonly answered: Map<string, number>
}

/** The rules in force: the latest that matches decides, so a later `set` overrides an earlier, broader one. */
export class RuleBook {
  readonly #entries: Entry[] = []
  readonly #defaultSizeBytes: number

  constructor(defaultSizeBytes: number) {
    this.#defaultSizeBytes = defaultSizeBytes
  }

  /** Returns how to take the rule back. */
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

  clear(): void {
    this.#entries.length = 0
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
