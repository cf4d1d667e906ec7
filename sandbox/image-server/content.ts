import { createHash } from 'node:crypto'

const BLOCK = 64 * 1024

/** Returns a block of bytes that depends only on the seed. Images repeat their block, so none is held in a file or in memory. */
export function blockOf(seed: string): Buffer {
  const block = Buffer.alloc(BLOCK)
  const start = createHash('sha256').update(seed).digest()
  let state = start.readUInt32LE(0) | 1
  for (let at = 0; at < BLOCK; at += 4) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    block.writeInt32LE(state, at)
  }
  return block
}

/** Returns the bytes of an image from `offset`, at most `count` of them and never past the end of a block. */
export function slice(block: Buffer, offset: number, count: number): Buffer {
  const at = offset % BLOCK
  return block.subarray(at, Math.min(BLOCK, at + count))
}

/** Returns `algorithm:hex` of a whole image, in the format of a DataVolume's `checksum`. */
export function checksumOf(seed: string, sizeBytes: number, algorithm: string): string {
  const hash = createHash(algorithm)
  const block = blockOf(seed)
  for (let sent = 0; sent < sizeBytes; sent += BLOCK) hash.update(slice(block, sent, sizeBytes - sent))
  return `${algorithm}:${hash.digest('hex')}`
}
