import { expect, it } from 'vitest'
import { memoized, memoizedLately } from './memoized.ts'

it('works once for each object, also where the result is undefined', () => {
  const asked: object[] = []
  const known = memoized((one: object) => void asked.push(one))
  const [a, b] = [{}, {}]
  for (const one of [a, b, a, b, a]) known(one)
  expect(asked).toEqual([a, b])
})

it('works again for what it has forgotten: all but the last few', () => {
  const asked: string[] = []
  const known = memoizedLately(2, (one: string) => {
    asked.push(one)
    return undefined
  })
  for (const one of ['a', 'b', 'a', 'b', 'c', 'c', 'b', 'a']) known(one)
  expect(asked).toEqual(['a', 'b', 'c', 'a'])
})

it('tells arguments apart by what they say, if asked to', () => {
  const asked: string[] = []
  const known = memoizedLately(2, ({ name }: { readonly name: string }) => asked.push(name), JSON.stringify)
  expect([known({ name: 'a' }), known({ name: 'b' }), known({ name: 'a' })]).toEqual([1, 2, 1])
  expect(asked).toEqual(['a', 'b'])
})
