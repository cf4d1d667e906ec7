import { describe, expect, it } from 'vitest'
import { atMost, exactly, type Figure } from './figure.ts'
import { renderReport, renderValues, verdictOn } from './report.ts'

const figure = (values: readonly number[], more: Partial<Figure> = {}): Figure => ({
  title: 'ratio',
  unit: '',
  values,
  ...more,
})

describe('renderValues', () => {
  it('is one value, or the median with the spread', () => {
    expect(renderValues(figure([1.0149], { digits: 3 }))).toBe('1.015')
    expect(renderValues(figure([12, 10, 1_100], { unit: 'ms' }))).toBe('12 ms (10 to 1,100)')
  })

  it('says that nothing was measured', () => {
    expect(renderValues(figure([Number.NaN]))).toBe('none')
  })
})

describe('verdictOn', () => {
  const target = atMost(1.05)
  it.each([
    [[1.01, 1.05], 'met'],
    [[1.01, 1.02, 1.06], 'met in the median'],
    [[1.01, 1.06, 1.06], '**missed**'],
    [[], '**missed**'],
    [[Number.NaN], '**missed**'],
  ])('%j: %s', (values, verdict) => {
    expect(verdictOn(figure(values, { target }))).toBe(verdict)
  })

  it('takes exactly literally', () => {
    expect(verdictOn(figure([0, 0], { target: exactly(0) }))).toBe('met')
    expect(verdictOn(figure([1], { target: exactly(0) }))).toBe('**missed**')
  })

  it('is silent without a target', () => {
    expect(verdictOn(figure([1]))).toBe('')
  })
})

describe('renderReport', () => {
  const chapter = {
    title: 'Idle',
    method: 'How.',
    measured: 'with commit abc',
    figures: [figure([1], { target: exactly(1) })],
  }

  it('has the column of the older operator where there is something to put in', () => {
    const text = renderReport({ facts: [['memory', '24 GiB']], chapters: [chapter], failures: [] })
    expect(text).toContain('| memory | 24 GiB |')
    expect(text).toContain('Measured with commit abc.')
    expect(text).toContain(
      '| figure | measured | target | verdict |\n| --- | --- | --- | --- |\n| ratio | 1 | 1 | met |',
    )
    const older = { ...chapter, figures: [figure([1], { older: '4.49' })] }
    expect(renderReport({ facts: [], chapters: [older], failures: [] })).toContain('| ratio | 1 |  |  | 4.49 |')
  })

  it('keeps chapters of an earlier report that were not measured again, if all facts are the same', () => {
    const facts = [['memory', '24 GiB']] as const
    const other = { ...chapter, title: 'Queue', method: 'Before.' }
    const earlier = renderReport({ facts, chapters: [other, chapter], failures: [] })
    const again = renderReport({ facts, chapters: [{ ...other, method: 'Again.' }], failures: [] }, earlier)
    expect(again).toBe(earlier.replace('Before.', 'Again.'))
    const elsewhere = renderReport({ facts: [['memory', '8 GiB']], chapters: [other], failures: [] }, earlier)
    expect(elsewhere).not.toContain('## Idle')
  })

  it('says what could not be measured', () => {
    const text = renderReport({ facts: [], chapters: [], failures: ['idle: no API server'] })
    expect(text).toContain('**Could not be measured:** idle: no API server')
  })
})
