/**
 * Letters and digits in a row that are a piece of another text, whatever is between them. Fewer are ordinary words that both have. `unsupported value`
 * has 16, and no word that the API server says in such texts has more.
 */
const PIECE = 16
const HIDDEN = '…'

/** The letters and digits of a text, and where in it each begins and ends. */
interface Letters {
  readonly text: string
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

/**
 * Returns a text without the pieces of others that are quoted in it: as they are, in quotes, in quotes within quotes, as YAML with other spaces, or cut
 * anywhere. Takes a time that grows as the lengths do.
 */
export function withoutPiecesOf(text: string, others: readonly string[]): string {
  const letters = lettersOf(text)
  const own = new Set(piecesOf(letters.text))
  if (own.size === 0) return text
  const marks = new Uint8Array(2 ** 16)
  for (let at = 0; at + PIECE <= letters.text.length; at += 1) marks[markAt(letters.text, at)] = 1
  const quoted = new Set<string>()
  for (const other of others) {
    const { text } = lettersOf(other)
    for (let at = 0; at + PIECE <= text.length; at += 1) {
      // Tells nearly all that are no pieces of it in a fraction of the time.
      if (marks[markAt(text, at)] === 0) continue
      const piece = text.slice(at, at + PIECE)
      if (own.has(piece)) quoted.add(piece)
    }
  }
  return quoted.size === 0 ? text : withoutQuoted(text, letters, quoted)
}

/** Returns a number of 16 bits that equal pieces have. */
function markAt(text: string, at: number): number {
  const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 7), text.charCodeAt(at + PIECE - 1)]
  return (a * 1_597 + b * 51_749 + c * 244_944) & 0xffff
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at + PIECE <= text.length; at += 1) yield text.slice(at, at + PIECE)
}

function withoutQuoted(text: string, letters: Letters, quoted: ReadonlySet<string>): string {
  const rest: string[] = []
  let kept = 0
  let from = 0
  /** End of the pieces that have been found one upon the other, counted in letters. */
  let end = 0
  const leaveOut = () => {
    if (end === 0) return
    rest.push(text.slice(kept, letters.starts[from]), HIDDEN)
    kept = letters.ends[end - 1] ?? text.length
  }
  let at = 0
  for (const piece of piecesOf(letters.text)) {
    if (quoted.has(piece)) {
      if (at > end || end === 0) {
        leaveOut()
        from = at
      }
      end = at + PIECE
    }
    at += 1
  }
  leaveOut()
  return rest.join('') + text.slice(kept)
}

const BACKSLASH = 92
/** What stands for a character that is no letter, after backslashes: `\n`. */
const ESCAPES = new Set('abfnrtv')
const HEX = /^[0-9a-f]{4}$/i

function lettersOf(text: string): Letters {
  const codes = new Uint16Array(text.length)
  const starts = new Uint32Array(text.length)
  const ends = new Uint32Array(text.length)
  let count = 0
  let at = 0
  while (at < text.length) {
    const { code, end } =
      text.charCodeAt(at) === BACKSLASH ? escapeAt(text, at) : { code: text.charCodeAt(at), end: at + 1 }
    if (isLetter(code)) {
      codes[count] = code
      starts[count] = at
      ends[count] = end
      count += 1
    }
    at = end
  }
  return { text: Buffer.from(codes.buffer, 0, count * 2).toString('utf16le'), starts, ends }
}

/** Reads an escape as JSON, Go and YAML have it. It has more backslashes in quotes within quotes. */
function escapeAt(text: string, start: number): { readonly code: number; readonly end: number } {
  let end = start
  while (text.charCodeAt(end) === BACKSLASH) end += 1
  const hex = text.slice(end + 1, end + 5)
  if (text[end] === 'u' && HEX.test(hex)) return { code: Number.parseInt(hex, 16), end: end + 5 }
  return { code: BACKSLASH, end: ESCAPES.has(text[end] ?? '') ? end + 1 : end }
}

/** Of other scripts than Latin, all characters count. */
function isLetter(code: number): boolean {
  return code > 127 || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}
