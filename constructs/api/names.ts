import { sha256Hex } from './sha256.ts'

const LABEL_MAX = 63
const HASH_LENGTH = 8
const REMEMBERED = 2_000
/** Recent hashes: the operator needs the same few each time it processes an image. */
const remembered = new Map<string, string>()

/**
 * Returns a hash of an ordered list of parts: 8 lowercase hexadecimal digits. Each part is encoded with its length, and an absent part with a marker
 * of its own, so different lists never have the same encoding (`['ab', 'c']`, `['a', 'bc']`).
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
 * Returns the name of an image's child: `<image>-<suffix>`, a DNS-1123 label of at most 63 characters, because CDI derives label values and pod names
 * from it. If an image name is too long or has dots, it is shortened, its dots are replaced, and it gets a hash of the full name, so that two images
 * never share a child name.
 * @param suffix8 8 characters of `[0-9a-f]`, usually a revision
 */
export function childName(imageName: string, suffix8: string): string {
  return `${shortenedTo(LABEL_MAX - suffix8.length - 1, imageName, imageName.replaceAll('.', '-'))}-${suffix8}`
}

/**
 * Returns the name as a DNS-1123 label of at most 63 characters, for objects that are named like their owner. A name that is not a label is
 * shortened, its dots are replaced, and a hash keeps it unique.
 */
export function labelName(name: string): string {
  return shortenedTo(LABEL_MAX, name, name.replaceAll('.', '-'))
}

/** Returns the text as a label value: unchanged up to 63 characters, otherwise shortened, with a hash that keeps it unique. */
export function labelValue(text: string): string {
  return shortenedTo(LABEL_MAX, text, text)
}

/** Returns any text as a label value. Characters that a label cannot have become `-`, and a hash then keeps the value unique. */
export function labelText(text: string): string {
  const safe = text.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replaceAll(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, '')
  return shortenedTo(LABEL_MAX, text, safe === '' ? 'name' : safe)
}

function shortenedTo(max: number, original: string, safe: string): string {
  if (safe === original && safe.length <= max) return safe
  const head = safe.slice(0, max - HASH_LENGTH - 1).replace(/[^a-zA-Z0-9]+$/, '')
  return `${head}-${shortHash([original])}`
}

/** Returns a UUID (version 8) that depends only on the parts. */
export function uuidFrom(parts: readonly (string | undefined)[]): string {
  const hex = sha256Hex(JSON.stringify(parts.map((part) => part ?? null)))
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
