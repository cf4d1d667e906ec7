/** A seeded generator with numbers from 0 to below 1, as Math.random (mulberry32). Equal seeds give equal numbers. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Returns a separate seed for each purpose, so that one more draw for one of them does not change the others. */
export function seedFor(seed: number, purpose: string): number {
  let hash = seed | 0
  for (let at = 0; at < purpose.length; at += 1) hash = (Math.imul(hash, 31) + purpose.charCodeAt(at)) | 0
  return hash
}
