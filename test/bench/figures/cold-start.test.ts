import { describe, expect, it } from 'vitest'
import { coldStartFigures } from './cold-start.ts'

describe('coldStartFigures', () => {
  const figures = coldStartFigures([{ loading: 0.5, filling: 2, admitting: 0.6, bare: 2 }])
  const valuesOf = (title: string) => figures.find((figure) => figure.title === title)?.values

  it('compares what the program does with a bare client, once it is loaded', () => {
    expect(valuesOf('cold start → first admission')).toEqual([2.6])
    expect(valuesOf('cold start → first admission / a bare client reads the same')).toEqual([1.3])
  })

  it('judges nothing but the ratio', () => {
    expect(figures.filter(({ target }) => target !== undefined)).toHaveLength(1)
  })
})
