export interface Spread {
  readonly least: number
  readonly spread: number
}

/** @param random 0 to below 1 */
export function drawn({ least, spread }: Spread, random: () => number): number {
  return least + spread * random()
}
