/** Number of runs of a chapter whose load does not set one. */
export const RUNS = 3

/** The target of a figure, with the check that a value meets it. */
export interface Target {
  readonly text: string
  readonly isMetBy: (value: number) => boolean
}

/** One measured figure: a value for each run. */
export interface Figure {
  readonly title: string
  readonly unit: string
  readonly values: readonly number[]
  /** Absent: the figure is reported without a verdict. */
  readonly target?: Target | undefined
  /** The same figure of the older operator, from a separate run. */
  readonly older?: string | undefined
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
