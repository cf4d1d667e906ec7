import { expect, it } from 'vitest'
import { digestOf } from './cache-digest.ts'

const object = (uid: string, resourceVersion: string) => ({ metadata: { name: 'a', uid, resourceVersion } })

it('is the same for the same objects, in whatever order they come', () => {
  const [a, b] = [object('a', '1'), object('b', '2')]
  expect(digestOf([a, b])).toEqual(digestOf(new Set([b, a])))
  expect(digestOf([a, b]).objects).toBe(2)
})

it('differs where an object is older, another one, or missing', () => {
  const contents = [
    [object('a', '1'), object('b', '2')],
    [object('a', '1'), object('b', '1')],
    [object('a', '1'), object('c', '2')],
    [object('a', '1')],
    [],
  ].map((objects) => digestOf(objects).digest)
  expect(new Set(contents).size).toBe(contents.length)
})
