/** RFC 3339 in whole milliseconds. */
export function toTime(ms: number): string {
  return new Date(ms).toISOString()
}

/** As {@link toTime}, without the milliseconds where there are none. */
export function toShortTime(ms: number): string {
  return toTime(ms).replace('.000Z', 'Z')
}

/** The reverse. Never returns NaN. */
export function fromTime(text: string | undefined): number | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}
