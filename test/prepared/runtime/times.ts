/** When a test begins. */
export const START = Date.parse('2026-01-01T00:00:00Z')
export const SECOND = 1_000
export const MINUTE = 60_000
export const HOUR = 3_600_000
