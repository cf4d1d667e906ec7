/** Returns the texts that a list has more than once, each one once, in the order of the list. */
export function repeatedIn(texts: readonly string[]): readonly string[] {
  return texts.filter((one, at) => texts.indexOf(one) === at && texts.includes(one, at + 1))
}
