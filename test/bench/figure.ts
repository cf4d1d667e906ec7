/** So often a chapter measures that has no load of its own to say so. */
export const RUNS = 3

/** What a figure has to reach, and whether a value does. */
export interface Target {
  readonly text: string
  readonly isMetBy: (value: number) => boolean
}

/** One measured figure: a value for each run. */
export interface Figure {
  readonly title: string
  readonly unit: string
  readonly values: readonly number[]
  /** Absent: reported, and judged by nobody. */
  readonly target?: Target
  /** What the older operator was measured with, in its own run. */
  readonly older?: string
  /** Digits after the decimal point. Default 0. */
  readonly digits?: number
}

/** Counts by kind, for example requests. */
export interface Table {
  readonly title: string
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Figures that were measured together. */
export interface Chapter {
  readonly title: string
  /** How it was measured, for readers of the figures. */
  readonly method: string
  readonly figures: readonly Figure[]
  readonly tables?: readonly Table[]
}

export function atMost(limit: number, unit = ''): Target {
  return { text: `<= ${limit}${unit && ` ${unit}`}`, isMetBy: (value) => value <= limit }
}

export function exactly(wanted: number): Target {
  return { text: String(wanted), isMetBy: (value) => value === wanted }
}
