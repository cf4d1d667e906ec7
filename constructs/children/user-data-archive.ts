import { sha256Hex } from '../api/sha256.ts'

/** As long as a line of base64 in an e-mail may be. */
const LINE = /.{1,76}/g
/** Bytes that are encoded at once: a function takes only so many arguments. It is divisible by three, so that each piece stands alone. */
const PIECE = 24_576
const UTF_8 = new TextEncoder()

/** How a MIME archive begins: with the headers that say so. */
const HEADERS = /^(content-type|mime-version):/i

export function isMimeArchive(userData: string): boolean {
  return HEADERS.test(userData)
}

/**
 * Returns one MIME archive of both. cloud-init goes through its parts in their order, and what a later cloud-config sets replaces what an earlier one
 * has set under the same key.
 * @param theirs anything that cloud-init knows by its first line. An archive becomes a part as it is.
 * @param ours a cloud-config
 */
export function joinedUserData(theirs: string, ours: string): string {
  // cloud-init looks at the first line of a plain text to see what it is.
  return archiveOf(theirs, [
    isMimeArchive(theirs) ? theirs : partOf('text/plain', theirs),
    partOf('text/cloud-config', ours),
  ])
}

/**
 * Returns a MIME archive.
 * @param theirs a text that is in one of the parts, which its boundary follows from
 * @param parts from `partOf`, or archives
 */
export function archiveOf(theirs: string, parts: readonly string[]): string {
  // A text cannot have its own hash in it.
  const boundary = `open-terrain-${sha256Hex(theirs).slice(0, 32)}`
  return [
    `Content-Type: multipart/mixed; boundary="${boundary}"`,
    'MIME-Version: 1.0',
    '',
    ...parts.flatMap((part) => [`--${boundary}`, part]),
    `--${boundary}--`,
    '',
  ].join('\n')
}

/** A part in base64, because cloud-init loses letters beyond ASCII in any other part. @param more further headers of the part */
export function partOf(type: string, text: string, more: readonly string[] = []): string {
  const bytes = UTF_8.encode(text)
  let encoded = ''
  for (let at = 0; at < bytes.length; at += PIECE)
    encoded += btoa(String.fromCharCode(...bytes.subarray(at, at + PIECE)))
  const headers = [`Content-Type: ${type}; charset="utf-8"`, 'Content-Transfer-Encoding: base64', ...more, '']
  return [...headers, ...(encoded.match(LINE) ?? [])].join('\n')
}
