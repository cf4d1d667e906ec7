const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d

/** Matches right before a list. In JSON, a quote without a preceding backslash starts or ends a string, and a colon follows only a name. */
const ITEMS_BEFORE = /(?<!\\)"items"\s*:\s*$/

/**
 * Reads a list of the API server as it arrives. Calls `onItem` with the JSON of each item, and returns the JSON of the list without its items.
 * A page of large objects is never in memory as a whole. Invalid JSON stays invalid, in an item or in the returned list.
 */
export async function readList(
  body: AsyncIterable<Uint8Array>,
  onItem: (json: string) => void,
): Promise<{ readonly json: string; readonly bytes: number }> {
  const reader = new ListReader(onItem)
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    reader.read(chunk)
  }
  return { json: reader.rest(), bytes }
}

/** Streaming JSON libraries tokenize the whole document. That is ten times the work, and a cut at each item is enough here. */
class ListReader {
  readonly #onItem: (json: string) => void
  /** Pieces of the list without its items, and of the current item. */
  #list: Uint8Array[] = []
  #item: Uint8Array[] = []
  #depth = 0
  #isInItems = false
  #isInString = false
  /** Number of backslashes at the end of the last piece, within a string. */
  #backslashes = 0
  /** Offset in the current piece of the first byte that is not yet in `#list` or `#item`. */
  #from = 0

  constructor(onItem: (json: string) => void) {
    this.#onItem = onItem
  }

  read(piece: Uint8Array): void {
    this.#from = 0
    for (let at = this.#isInString ? this.#endOfString(piece, 0) + 1 : 0; at < piece.length; at += 1) {
      switch (piece[at]) {
        case QUOTE:
          this.#backslashes = 0
          at = this.#endOfString(piece, at + 1)
          break
        case OPEN_OBJECT:
          this.#depth += 1
          break
        case OPEN_LIST:
          this.#openList(piece, at)
          break
        case CLOSE_OBJECT:
        case CLOSE_LIST:
          if (this.#isBetweenItems) this.#endItems(piece, at)
          this.#depth -= 1
          break
        case COMMA:
          if (this.#isBetweenItems) this.#endItem(piece, at)
          break
        default:
      }
    }
    this.#keep(piece, piece.length)
  }

  rest(): string {
    return textOf([...this.#list, ...this.#item])
  }

  get #isBetweenItems(): boolean {
    return this.#isInItems && this.#depth === 2
  }

  #openList(piece: Uint8Array, at: number): void {
    this.#depth += 1
    if (this.#depth !== 2) return
    this.#keep(piece, at)
    this.#isInItems = ITEMS_BEFORE.test(textOf(this.#list))
    this.#list.push(piece.subarray(at, at + 1))
    this.#from = at + 1
  }

  #endItem(piece: Uint8Array, at: number): void {
    this.#keep(piece, at)
    const json = textOf(this.#item).trim()
    this.#item = []
    this.#from = at + 1
    if (json !== '') this.#onItem(json)
  }

  #endItems(piece: Uint8Array, at: number): void {
    this.#endItem(piece, at)
    this.#isInItems = false
    this.#from = at
  }

  #keep(piece: Uint8Array, end: number): void {
    const parts = this.#isInItems ? this.#item : this.#list
    if (this.#from < end) parts.push(piece.subarray(this.#from, end))
  }

  /** Returns the index of the quote that ends the string around `start`, or the length of the piece if the string continues in the next one. */
  #endOfString(piece: Uint8Array, start: number): number {
    for (let from = start; ; ) {
      const quote = piece.indexOf(QUOTE, from)
      const end = quote < 0 ? piece.length : quote
      const backslashes = backslashesBefore(piece, from, end)
      this.#backslashes = backslashes + (backslashes === end - from ? this.#backslashes : 0)
      this.#isInString = quote < 0 || this.#backslashes % 2 === 1
      if (quote < 0 || !this.#isInString) return end
      this.#backslashes = 0
      from = quote + 1
    }
  }
}

function backslashesBefore(piece: Uint8Array, from: number, end: number): number {
  let at = end
  while (at > from && piece[at - 1] === BACKSLASH) at -= 1
  return end - at
}

/** Splits no multi-byte character: all cuts between items are at ASCII characters. */
function textOf(parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts).toString()
}
