import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLines } from './watch-lines.ts'

async function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): AsyncIterable<Uint8Array> {
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    if (cut > from) yield bytes.subarray(from, cut)
    from = Math.max(from, cut)
  }
}

async function linesOf(text: string, cuts: readonly number[] = []): Promise<string[]> {
  const lines: string[] = []
  for await (const line of readLines(chunksOf(new TextEncoder().encode(text), cuts))) lines.push(line)
  return lines
}

describe('the lines of a watch', () => {
  it.each([
    ['', []],
    ['a\n', ['a']],
    ['a\nb\n', ['a', 'b']],
    ['a\n\n\nb\n', ['a', 'b']],
    ['ä€😀\n', ['ä€😀']],
  ])('%j', async (text, lines) => {
    expect(await linesOf(text)).toEqual(lines)
  })

  it('are the same wherever the chunks end, within a character too', async () => {
    const line = fc.string({ unit: fc.constantFrom('a', '{', 'ä', '€', '😀', '"'), maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(fc.nat(200)), async (lines, cuts) => {
        const text = lines.map((one) => `${one}\n`).join('')
        const sorted = cuts.toSorted((a, b) => a - b)
        expect(await linesOf(text, sorted)).toEqual(lines.filter((one) => one !== ''))
      }),
    )
  })

  it('come as soon as they are complete', async () => {
    const gate = Promise.withResolvers<void>()
    async function* slow(): AsyncIterable<Uint8Array> {
      yield new TextEncoder().encode('a\nb')
      await gate.promise
      yield new TextEncoder().encode('\n')
    }
    const lines = readLines(slow())[Symbol.asyncIterator]()
    expect(await lines.next()).toEqual({ done: false, value: 'a' })
    gate.resolve()
    expect(await lines.next()).toEqual({ done: false, value: 'b' })
  })

  it('that were cut are an error, after those that were complete', async () => {
    const seen: string[] = []
    const read = async () => {
      for await (const line of readLines(chunksOf(new TextEncoder().encode('a\n{"type":'), []))) seen.push(line)
    }
    await expect(read()).rejects.toThrow('cut')
    expect(seen).toEqual(['a'])
  })

  it('that were cut within a character are an error', async () => {
    const bytes = new TextEncoder().encode('a\n{"x":"€').subarray(0, -1)
    const read = async () => {
      for await (const _line of readLines(chunksOf(bytes, [])));
    }
    await expect(read()).rejects.toThrow('cut')
  })
})
