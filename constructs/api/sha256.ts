import { createHash } from 'node:crypto'

/** Lower-case hexadecimal digest (64 characters) of the text's UTF-8 bytes. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
