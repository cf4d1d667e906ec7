const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const
const PART = /([0-9]+(?:\.[0-9]+)?)(ms|h|m|s)/g

/**
 * Pattern of a duration for the API server: Go syntax without a sign and without units below the millisecond. The number of digits is limited, so
 * that calculations with every matching duration are safe.
 */
export const DURATION_PATTERN = '^(0|([0-9]{1,7}([.][0-9]{1,3})?(ms|h|m|s)){1,4})$'
const SYNTAX = new RegExp(DURATION_PATTERN)

/**
 * Returns the milliseconds of a duration in Go syntax (`72h`, `1h30m`, `500ms`, `1.5h`), rounded to an integer. As in Go, only `0` may omit the unit.
 * Returns undefined if the text is not such a duration.
 */
export function parseDuration(text: string): number | undefined {
  if (!SYNTAX.test(text)) return undefined
  let total = 0
  for (const [, amount, unit] of text.matchAll(PART)) total += Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
  return Math.round(total)
}

/** Formats whole milliseconds as a duration in Go syntax, in the shortest form: `1h30m`, `45s`, `1s500ms`, `0s`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, Math.round(ms))
  let text = ''
  for (const unit of ['h', 'm', 's', 'ms'] as const) {
    const amount = Math.floor(rest / UNIT_MS[unit])
    rest -= amount * UNIT_MS[unit]
    if (amount > 0) text += `${amount}${unit}`
  }
  return text === '' ? '0s' : text
}
