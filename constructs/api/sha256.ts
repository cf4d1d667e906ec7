/**
 * SHA-256 (FIPS 180-4) in plain TypeScript: this package runs wherever authors run it, so it may not import `node:crypto`,
 * and the Web Crypto digest is asynchronous, which a synchronous plan cannot await.
 */
const PRIMES: readonly number[] = firstPrimes(64)
const ROUND_CONSTANTS: readonly number[] = PRIMES.map((prime) => fractionBits(Math.cbrt(prime)))
const INITIAL_STATE: readonly number[] = PRIMES.slice(0, 8).map((prime) => fractionBits(Math.sqrt(prime)))

/** Lower-case hexadecimal digest (64 characters) of the text's UTF-8 bytes. */
export function sha256Hex(text: string): string {
  const bytes = padded(new TextEncoder().encode(text))
  const state = Uint32Array.from(INITIAL_STATE)
  for (let offset = 0; offset < bytes.length; offset += 64) compress(state, new DataView(bytes.buffer, offset, 64))
  return Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('')
}

/** Message, a 1 bit, zeros, and the length in bits as 64-bit big-endian: a multiple of 64 bytes. */
function padded(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64)
  bytes.set(message)
  bytes[message.length] = 0x80
  new DataView(bytes.buffer).setBigUint64(bytes.length - 8, BigInt(message.length) * 8n)
  return bytes
}

function compress(state: Uint32Array, block: DataView): void {
  const schedule = messageSchedule(block)
  let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
  for (let round = 0; round < 64; round++) {
    const sigma1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const choice = (e & f) ^ (~e & g)
    const t1 = (h + sigma1 + choice + (ROUND_CONSTANTS[round] as number) + (schedule[round] as number)) | 0
    const sigma0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const t2 = (sigma0 + majority) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0]
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) state[index] = ((state[index] as number) + word) | 0
}

function messageSchedule(block: DataView): Int32Array {
  const words = new Int32Array(64)
  for (let index = 0; index < 16; index++) words[index] = block.getInt32(index * 4)
  for (let index = 16; index < 64; index++) {
    const near = words[index - 2] as number
    const far = words[index - 15] as number
    const s1 = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10)
    const s0 = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3)
    words[index] = (s1 + (words[index - 7] as number) + s0 + (words[index - 16] as number)) | 0
  }
  return words
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

/** First 32 bits of a number's fraction, which is how the standard derives its constants. */
function fractionBits(value: number): number {
  return ((value - Math.floor(value)) * 2 ** 32) | 0
}

function firstPrimes(count: number): number[] {
  const primes: number[] = []
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate)
  }
  return primes
}
