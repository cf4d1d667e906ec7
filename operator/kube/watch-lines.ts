/** In UTF-8, no other character contains this byte. */
const NEWLINE = 0x0a

/**
 * Yields the lines of a watch's body, each one a JSON document. Throws if the body ends within a line; otherwise an event would be lost silently.
 */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  let pending: Uint8Array[] = []
  for await (const piece of body) {
    let from = 0
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      const line = Buffer.concat([...pending, piece.subarray(from, end)]).toString()
      pending = []
      from = end + 1
      if (line !== '') yield line
    }
    if (from < piece.length) pending.push(piece.subarray(from))
  }
  if (pending.length > 0) throw new Error('the connection was cut in the middle of an event')
}
