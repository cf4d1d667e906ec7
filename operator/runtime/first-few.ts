/** Joins the first few texts for users. The others are only counted. */
export function firstFew(texts: readonly string[], most: number): string {
  const more = texts.length - most
  return texts.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/** Orders texts by their code units: the same everywhere, which the locale of a machine is not. */
export function compareTexts(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1
}

/** Returns a number as people read it: `1,500,000`. */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}
