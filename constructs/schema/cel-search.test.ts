import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { cel, findsOf } from './cel.ts'
import { celText, searchRule } from './cel-search.ts'

interface Shelf {
  readonly shelves?:
    | readonly { readonly name: string; readonly books: readonly { readonly title: string }[] }[]
    | undefined
}

const untitled = searchRule<Shelf>({
  message: 'every book must have a title',
  field: 'shelves',
  among: [
    { item: 'shelf', list: 'self.shelves', isOptional: true, says: 'shelf "{shelf.name}" ' },
    { item: 'book', list: 'shelf.books', says: "has {book.title} (100 %), isn't it" },
  ],
  isWrong: "book.title.startsWith('x')",
  finds: ({ shelves = [] }) =>
    shelves.flatMap(({ name, books }, at) =>
      books.flatMap(({ title }, nth) =>
        title.startsWith('x') ? [{ at: ['shelves', at, 'books', nth], values: [name, title] }] : [],
      ),
    ),
})

const schema = cel(
  z.object({
    shelves: z.array(z.object({ name: z.string(), books: z.array(z.object({ title: z.string() })) })).optional(),
  }),
  untitled,
)
const shelvesOf = (...titles: string[]) => ({
  shelves: titles.map((title, at) => ({ name: `s${at}`, books: [{ title }] })),
})

describe('searchRule', () => {
  it('walks lists inside lists, and those that may be left out', () => {
    expect(untitled.rule).toBe(
      "(!has(self.shelves) || self.shelves.all(shelf, shelf.books.all(book, !(book.title.startsWith('x')))))",
    )
  })

  it('says of the first what each list says of it, from the outside in', () => {
    expect(untitled.offender?.rule).toBe(
      "self.shelves.map(shelf, shelf.books.map(book, book.title.startsWith('x'), " +
        "'has %s (100 %%), isn\\'t it'.format([book.title]))" +
        '.map(rest, \'shelf "%s" %s\'.format([shelf.name, rest]))).flatten()[0]',
    )
  })

  it('is the same in TypeScript', () => {
    expect(schema.safeParse({}).success).toBe(true)
    expect(schema.safeParse(shelvesOf('a', 'b')).success).toBe(true)
    expect(schema.safeParse(shelvesOf('a', 'x1', 'x2')).error?.issues).toMatchObject([
      { path: ['shelves'], message: 'shelf "s1" has x1 (100 %), isn\'t it' },
    ])
  })

  it('has all that it finds for authors, each with its place', () => {
    const [issue] = schema.safeParse(shelvesOf('a', 'x1', 'x2')).error?.issues ?? []
    expect(issue && findsOf(issue)).toEqual([
      { path: ['shelves', 1, 'books', 0], message: 'shelf "s1" has x1 (100 %), isn\'t it' },
      { path: ['shelves', 2, 'books', 0], message: 'shelf "s2" has x2 (100 %), isn\'t it' },
    ])
  })

  it('does not end the rules after it', () => {
    const twice = cel(
      z.string(),
      ...['one', 'other'].map((message) => ({ rule: 'false', message, holds: () => false })),
    )
    expect(twice.safeParse('').error?.issues.map(({ message }) => message)).toEqual(['one', 'other'])
  })

  it('says its message where the sentence has a line break, as the API server does', () => {
    expect(schema.safeParse(shelvesOf('x\n')).error?.issues).toMatchObject([
      { message: 'every book must have a title' },
    ])
  })
})

describe('celText', () => {
  it('is a text alone where nothing stands in braces', () => {
    expect(celText('100 % of {}')).toBe("'100 %% of {}'")
  })
})
