/** How much of a text is read, however long it is. */
const READ_LIMIT = 8_000
const MESSAGE_LIMIT = 1_000

/**
 * Removes userinfo, queries and presigned parameters of URLs from a text that others may read. Returns one line, cut to what a status can store.
 * A URL ends only at whitespace: quotes, brackets and commas may be part of a secret. It removes too much rather than too little, in linear time.
 */
export function redactUrls(text: string, limit: number = MESSAGE_LIMIT): string {
  const head = wholeWords(text, READ_LIMIT)
  const redacted = MAY_BE_SECRET.test(head) ? head.split(/(\s+)/).map(redactWord).join('') : head
  // A column of kubectl ends with the first line.
  const clean = redacted.replaceAll(/[\t\r\n]+/g, ' ')
  // The API server would not store half of a character.
  if (clean.length > limit) return `${clean.slice(0, limit - 1)}…`.toWellFormed()
  return head.length < text.length ? `${clean}…` : clean
}

/** Returns what anything that was thrown says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the log text for an unexpected error, with where it was thrown. */
export function traceOf(error: unknown): string {
  return redactUrls(error instanceof Error ? (error.stack ?? error.message) : String(error))
}

/** Returns the whole words that fit. Half of a URL does not show where its secret ends. */
export function wholeWords(text: string, limit: number): string {
  if (text.length <= limit) return text
  let end = limit
  while (end > 0 && !BLANK.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end)
}

const BLANK = /\s/
const MAY_BE_SECRET = /[/@?=&>]|:\S|%3d/i

function redactWord(word: string): string {
  if (!MAY_BE_SECRET.test(word)) return word
  const end = endOf(word)
  const body = word.slice(0, end)
  const start = startOfSecret(body)
  return (start < 0 ? withoutUsers(body) : `${withoutUsers(body.slice(0, start))}…`) + word.slice(end)
}

/** Returns the start of the parameters, or of userinfo that looks like parameters; -1 if there are none. */
function startOfSecret(word: string): number {
  const start = startOfParameters(word)
  if (start < 0) return start
  const rest = word.slice(start)
  const at = rest.indexOf('@')
  const isInUser = at >= 0 && !/[/?#]/.test(rest.slice(0, at))
  return isInUser ? Math.max(...['/', '?', '#'].map((mark) => word.lastIndexOf(mark, start - 1))) + 1 : start
}

const CLOSING = '"\'`<>()[]{},.;:!\\'

/** Returns the start of the punctuation that follows a URL in a text. */
function endOf(word: string): number {
  let end = word.length
  while (end > 0 && CLOSING.includes(word.charAt(end - 1))) end -= 1
  return end
}

/** Removes `user:password@`, with or without a scheme before it. */
function withoutUsers(word: string): string {
  const segments = word.split(/(\\{0,3}\/|[?#])/)
  return segments.map((segment, at) => withoutUser(segment, isAuthority(segments, at))).join('')
}

/** Reports whether `//` precedes it, which JSON may write as `\\/\\/`: two slashes with nothing between them. */
function isAuthority(segments: readonly string[], at: number): boolean {
  const isSlash = (separator: string | undefined) => separator?.endsWith('/') === true
  return isSlash(segments[at - 1]) && segments[at - 2] === '' && isSlash(segments[at - 3])
}

function withoutUser(segment: string, isAuthority: boolean): string {
  const at = segment.lastIndexOf('@')
  const colon = segment.indexOf(':')
  if (isAuthority && at >= 0) return segment.slice(at + 1)
  // Not a container image name with its digest.
  if (colon >= 0 && colon < at && !segment.startsWith('@sha256:', at)) return `…${segment.slice(at + 1)}`
  // A text that was cut within the password by others: no port starts like that.
  return isAuthority && colon >= 0 && NO_PORT.test(segment.charAt(colon + 1)) ? `${segment.slice(0, colon)}:…` : segment
}

const NO_PORT = /[^\d"'`<>(){}[\],;:\\]/

/** Returns where to cut, after the mark that starts the parameters; -1 if there are none. */
function startOfParameters(word: string): number {
  const found = [afterMark(word), afterFragment(word), afterPair(word), afterName(word)].filter((place) => place >= 0)
  return found.length === 0 ? -1 : Math.min(...found)
}

function afterMark(word: string): number {
  const mark = word.indexOf('?')
  return mark < word.length - 1 ? mark + 1 || -1 : -1
}

function afterFragment(word: string): number {
  const scheme = word.indexOf('//')
  return scheme < 0 ? -1 : word.indexOf('#', scheme) + 1 || -1
}

/** For a query whose start is missing: `x=1&y=2`. */
function afterPair(word: string): number {
  const [amp] = [word.indexOf('&'), word.toLowerCase().indexOf('\\u0026')].filter((place) => place >= 0)
  if (amp === undefined || !word.includes('=', amp)) return -1
  return Math.min(amp, word.indexOf('=')) + 1
}

/** What separates a name from its value in a query, encoded or not, in JSON and in XML. */
const SEPARATOR = /=|%3d|["'\\]:|>/gi
const NAME_MAX = 48
const SECRET_NAME =
  /(x-amz-|x-goog-|signature|credential|token|secret|passw|access-?_?key|google-?accessid|key-pair-id|\bsig)[\w-]{0,24}["'\\]{0,3}$/i

function afterName(word: string): number {
  for (const { 0: separator, index } of word.matchAll(SEPARATOR)) {
    const name = word.slice(Math.max(0, index - NAME_MAX), index)
    if (SECRET_NAME.test(name)) return index + separator.length
  }
  return -1
}

/** Returns a text of at most `length` characters, whose end shows that something is missing. */
export function cutTo(length: number, text: string): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`.toWellFormed()
}

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
