import { sha256Hex } from './sha256.ts'

const LABEL_MAX = 63
const HASH_LENGTH = 8
const REMEMBERED = 2_000
/** Hashes of late: the operator asks for the same few whenever it looks at an image. */
const remembered = new Map<string, string>()

/**
 * 8 lower-case hexadecimal digits over an ordered list of parts. Every part goes in with its length and an absent one
 * with a mark of its own, so no two different lists are hashed as the same text (`['ab', 'c']`, `['a', 'bc']`).
 */
export function shortHash(parts: readonly (string | undefined)[]): string {
  const encoded = parts.map((part) => (part === undefined ? '-' : `${part.length}:${part}`)).join(',')
  const known = remembered.get(encoded)
  if (known !== undefined) return known
  const hash = sha256Hex(encoded).slice(0, HASH_LENGTH)
  if (remembered.size >= REMEMBERED) remembered.clear()
  remembered.set(encoded, hash)
  return hash
}

/**
 * Name of an image's child: `<image>-<suffix>`, a DNS-1123 label of at most 63 characters, since CDI derives label values
 * and pod names from it. An image name that is too long or has dots is cut and made safe, and gets a hash of the whole
 * name, so that two images never meet in one child name.
 * @param suffix8 8 characters of `[0-9a-f]`, usually a revision
 */
export function childName(imageName: string, suffix8: string): string {
  return `${shortenedTo(LABEL_MAX - suffix8.length - 1, imageName, imageName.replaceAll('.', '-'))}-${suffix8}`
}

/**
 * The name as a DNS-1123 label of at most 63 characters, for what is called like its owner: unchanged where it is one, else cut,
 * without dots, and told apart by a hash.
 */
export function labelName(name: string): string {
  return shortenedTo(LABEL_MAX, name, name.replaceAll('.', '-'))
}

/** The text as a label value: unchanged up to 63 characters, beyond that cut and told apart by a hash. */
export function labelValue(text: string): string {
  return shortenedTo(LABEL_MAX, text, text)
}

/** Any text as a label value: what a label cannot hold becomes `-`, and a hash tells it apart then. */
export function labelText(text: string): string {
  const safe = text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return shortenedTo(LABEL_MAX, text, safe === '' ? 'name' : safe)
}

function shortenedTo(max: number, original: string, safe: string): string {
  if (safe === original && safe.length <= max) return safe
  const head = safe.slice(0, max - HASH_LENGTH - 1).replace(/[^a-zA-Z0-9]+$/, '')
  return `${head}-${shortHash([original])}`
}

/** A UUID (version 8) that is the same for the same parts. */
export function uuidFrom(parts: readonly (string | undefined)[]): string {
  const hex = sha256Hex(JSON.stringify(parts.map((part) => part ?? null)))
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
