/**
 * SHA-256 (FIPS 180-4) in plain TypeScript: this package runs wherever authors run it, so it may not import `node:crypto`,
 * and the Web Crypto digest is asynchronous, which a synchronous plan cannot await.
 */
const PRIMES: readonly number[] = firstPrimes(64)
const ROUND_CONSTANTS = Int32Array.from(PRIMES, (prime) => fractionBits(Math.cbrt(prime)))
const INITIAL_STATE = Int32Array.from(PRIMES.slice(0, 8), (prime) => fractionBits(Math.sqrt(prime)))
const UTF_8 = new TextEncoder()

/** Lower-case hexadecimal digest (64 characters) of the text's UTF-8 bytes. */
export function sha256Hex(text: string): string {
  const blocks = padded(UTF_8.encode(text))
  const state = INITIAL_STATE.slice()
  const schedule = new Int32Array(64)
  for (let offset = 0; offset < blocks.byteLength; offset += 64) compress(state, blocks, offset, schedule)
  let digest = ''
  for (const word of state) digest += (word >>> 0).toString(16).padStart(8, '0')
  return digest
}

/** Message, a 1 bit, zeros, and the length in bits as 64-bit big-endian: a multiple of 64 bytes. */
function padded(message: Uint8Array): DataView {
  const bytes = new Uint8Array(Math.ceil((message.length + 9) / 64) * 64)
  bytes.set(message)
  bytes[message.length] = 0x80
  const view = new DataView(bytes.buffer)
  view.setUint32(bytes.length - 8, Math.floor(message.length / 2 ** 29))
  view.setUint32(bytes.length - 4, message.length * 8)
  return view
}

/** Processes one block. Plain variables and loops for speed: the operator hashes several times each time it processes an image. */
function compress(state: Int32Array, blocks: DataView, offset: number, schedule: Int32Array): void {
  fillSchedule(schedule, blocks, offset)
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let round = 0; round < 64; round++) {
    const sigma1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const choice = (e & f) ^ (~e & g)
    const t1 = (h + sigma1 + choice + (ROUND_CONSTANTS[round] as number) + (schedule[round] as number)) | 0
    const sigma0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    const t2 = (sigma0 + majority) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  add(state, 0, a)
  add(state, 1, b)
  add(state, 2, c)
  add(state, 3, d)
  add(state, 4, e)
  add(state, 5, f)
  add(state, 6, g)
  add(state, 7, h)
}

function add(state: Int32Array, index: number, word: number): void {
  state[index] = ((state[index] as number) + word) | 0
}

function fillSchedule(words: Int32Array, blocks: DataView, offset: number): void {
  for (let index = 0; index < 16; index++) words[index] = blocks.getInt32(offset + index * 4)
  for (let index = 16; index < 64; index++) {
    const near = words[index - 2] as number
    const far = words[index - 15] as number
    const s1 = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10)
    const s0 = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3)
    words[index] = (s1 + (words[index - 7] as number) + s0 + (words[index - 16] as number)) | 0
  }
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
