/**
 * Characters that JSON does not escape, but that YAML 1.1 does not read literally in quotes: it refuses control characters, U+FFFE and U+FFFF, and
 * folds its line breaks (U+0085, U+2028, U+2029) into blanks. It reads U+FEFF as a byte order mark.
 */
const NOT_LITERAL = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
/** If this is near the beginning, cloud-init parses the data as an e-mail and loses letters that are not ASCII. */
const MIME_HEADER = /(mime-version):/gi

/**
 * Returns one line of JSON that the YAML parser of cloud-init reads as exactly this value. A lone surrogate, which is not a character, becomes
 * U+FFFD.
 */
export function cloudInitJson(value: object): string {
  return JSON.stringify(value, (_key, member: unknown) => (typeof member === 'string' ? member.toWellFormed() : member))
    .replace(NOT_LITERAL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(MIME_HEADER, '$1\\u003a')
}
