/**
 * The lines of a watch's body, each one JSON document. A body that ends within a line was cut: that is an error, or an
 * event would be lost without a word.
 */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let pending: string[] = []
  for await (const chunk of body) {
    let text = decoder.decode(chunk, { stream: true })
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      pending.push(text.slice(0, end))
      text = text.slice(end + 1)
      const line = pending.join('')
      pending = []
      if (line !== '') yield line
    }
    if (text !== '') pending.push(text)
  }
  pending.push(decoder.decode())
  if (pending.some((part) => part !== '')) throw new Error('the connection was cut in the middle of an event')
}
