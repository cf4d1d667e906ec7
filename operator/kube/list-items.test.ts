import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readList } from './list-items.ts'

/** Reads a document that arrives in pieces of these sizes, which repeat from the first. */
async function read(text: string, sizes: readonly number[] = [7]) {
  const bytes = Buffer.from(text)
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
      const size = sizes[turn % sizes.length] ?? 1
      yield bytes.subarray(at, at + size)
      at += size
    }
  }
  const items: string[] = []
  const { json, bytes: count } = await readList(body(), (item) => items.push(item))
  expect(count).toBe(bytes.length)
  return { rest: json, items }
}

describe('a list of the API server', () => {
  it('is read item by item, and the rest of it is the list without them', async () => {
    const text = '{"kind":"List","metadata":{"continue":"x"},"items":[{"a":"]}"},\n {"b":[1,{"items":[2]}]}]}\n'
    expect(await read(text)).toEqual({
      rest: '{"kind":"List","metadata":{"continue":"x"},"items":[]}\n',
      items: ['{"a":"]}"}', '{"b":[1,{"items":[2]}]}'],
    })
  })

  it.each([
    '{"items":null,"metadata":{}}',
    '{"items":[]}',
    '{"items":[ ]}',
    '{"items":{"items":[1]}}',
    '{"x":"\\"items\\":","y":[1],"x\\"items":[2],"items":"[1]"}',
    '{"metadata":{"items":[1]},"list":[[1],[2]]}',
    '[{"items":[1]}]',
    '"items"',
    '',
    'no JSON at all',
  ])('may have no items: %s', async (text) => {
    const { rest, items } = await read(text)
    expect(items).toEqual([])
    expect(rest.replace('[ ]', '[]')).toBe(text.replace('[ ]', '[]'))
  })

  it('that was cut is no JSON, for whoever reads on', async () => {
    const { rest, items } = await read('{"items":[{"a":1},{"b":')
    expect(items).toEqual(['{"a":1}'])
    expect(() => JSON.parse(rest)).toThrow(SyntaxError)
  })

  it('is read as JSON.parse reads it, whatever it says and however it is cut', async () => {
    const json = fc.jsonValue({
      maxDepth: 3,
      stringUnit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', 'é', '\u{1f600}', '\n', 'a'),
    })
    const name = fc.oneof(fc.string(), fc.constantFrom('items', 'x"items', '\\"items', 'metadata'))
    const document = fc.oneof(
      fc.tuple(fc.dictionary(name, json), fc.array(json), fc.dictionary(name, json)).map(([before, items, after]) => {
        const { items: _one, ...others } = { ...before }
        const { items: _other, ...more } = { ...after }
        return { ...others, items, ...more }
      }),
      fc.dictionary(name, json),
      json,
    )
    const space = fc.constantFrom(undefined, 1, '\t')
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(document, space, sizes, async (value, indent, cuts) => {
        const text = JSON.stringify(value, null, indent)
        const { rest, items } = await read(text, cuts)
        const list = value as { readonly items?: unknown } | null
        const isList = typeof list === 'object' && list !== null && !Array.isArray(list) && Array.isArray(list.items)
        expect(items.map((one) => JSON.parse(one))).toEqual(isList ? JSON.parse(text).items : [])
        expect(JSON.parse(rest)).toEqual(isList ? { ...JSON.parse(text), items: [] } : JSON.parse(text))
      }),
    )
  })
})

describe('a page of large objects', () => {
  it('is never in memory as a whole: what arrived is let go before more of it is asked for', async () => {
    const item = Buffer.from(JSON.stringify({ note: 'x'.repeat(250_000) }))
    const count = 200
    let given = 0
    let done = 0
    let most = 0
    async function* body(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"items":[')
      for (let at = 0; at < count; at += 1) {
        if (at > 0) yield Buffer.from(',')
        for (let from = 0; from < item.length; from += 65_536) {
          const chunk = item.subarray(from, from + 65_536)
          given += chunk.length
          most = Math.max(most, given - done)
          yield chunk
        }
      }
      yield Buffer.from(']}')
    }
    await readList(body(), (json) => {
      done += json.length
    })
    expect(done).toBe(count * item.length)
    expect(most).toBeLessThan(2 * item.length)
  })
})
