/** Returns a text of at most `length` characters, whose end shows that something is missing. */
export function cutTo(length: number, text: string): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`.toWellFormed()
}
