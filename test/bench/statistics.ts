/** The smallest value that at least `share` (0 to 1) of all values do not exceed: nearest rank, no interpolation. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  if (values.length === 0) return Number.NaN
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** Also by nearest rank, so it is always a measured value. */
export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

/** Divides each value by the one at the same index. */
export function quotients(values: readonly number[], by: readonly number[]): number[] {
  return values.map((value, at) => value / (by[at] ?? Number.NaN))
}

export interface Line {
  /** Change of y for one unit of x. */
  readonly slope: number
  /** y where x is 0. */
  readonly intercept: number
}

/** The line with the least squared distance in y. Slope 0 where all x are the same. */
export function leastSquares(points: readonly { readonly x: number; readonly y: number }[]): Line {
  const count = points.length
  const mean = (of: (point: { x: number; y: number }) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / count
  const meanX = mean(({ x }) => x)
  const meanY = mean(({ y }) => y)
  const spread = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
  const slope = spread === 0 ? 0 : points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / spread
  return { slope, intercept: meanY - slope * meanX }
}
