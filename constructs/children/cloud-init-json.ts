/**
 * What JSON leaves as it is but YAML 1.1 does not take literally inside quotes: it refuses control characters, U+FFFE and U+FFFF, and folds
 * its line breaks (U+0085, U+2028, U+2029) into blanks. U+FEFF is a byte order mark to it.
 */
const NOT_LITERAL = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
/** With this anywhere near the beginning, cloud-init takes the data for an e-mail, and loses letters that are not ASCII. */
const MIME_HEADER = /(mime-version):/gi

/**
 * One line of JSON that cloud-init's YAML parser reads as exactly this value. Half of a surrogate pair, which is no character,
 * becomes U+FFFD.
 */
export function cloudInitJson(value: object): string {
  return JSON.stringify(value, (_key, member: unknown) => (typeof member === 'string' ? member.toWellFormed() : member))
    .replace(NOT_LITERAL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(MIME_HEADER, '$1\\u003a')
}
