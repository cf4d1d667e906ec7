/** Joins the first few texts for users. The others are only counted. */
export function firstFew(texts: readonly string[], most: number): string {
  const more = texts.length - most
  return texts.slice(0, most).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
