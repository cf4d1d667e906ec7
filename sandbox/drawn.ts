export interface Spread {
  readonly least: number
  readonly spread: number
}

/** @param random returns a number in [0, 1) */
export function drawn({ least, spread }: Spread, random: () => number): number {
  return least + spread * random()
}
