import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bounded, VALUES_MAX } from '../runtime/foreign.ts'
import { cutToFit, type OwnView, parserOf } from './own-view.ts'

const viewOf = (spec: unknown, annotations?: Record<string, string>): OwnView => {
  const metadata = { name: 'a', uid: 'u', finalizers: ['f'], ...(annotations && { annotations }) }
  return { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Thing', metadata, spec, status: { ticket: '7' } }
}
const refersTo = (spec: unknown) => ({ ref: (spec as { readonly ref?: unknown } | null)?.ref })

describe('the view of an object of ours', () => {
  it('that fits as a whole is the view itself, as ever', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 40, max: 300 }), (spec, max) => {
        const view = viewOf(spec)
        if (bounded(view, max) === view) expect(cutToFit(view, max, refersTo)).toBe(view)
      }),
    )
  })

  it.each([
    ['a spec', viewOf({ ref: 'x', text: 'y'.repeat(1_000) })],
    ['an annotation', viewOf({ ref: 'x', text: 'y' }, { long: 'y'.repeat(1_000), short: 'z' })],
  ])(
    'that is too large by %s has its identity, status and references left, and says that it was cut',
    (_what, view) => {
      const kept = cutToFit(view, 500, refersTo)
      const { name, uid, finalizers } = view.metadata
      expect(kept).toMatchObject({ metadata: { name, uid, finalizers }, spec: { ref: 'x' }, status: view.status })
      expect(kept.isCut).toBe(true)
      expect(JSON.stringify(kept).length).toBeLessThan(500)
      expect(kept.metadata.annotations).toEqual(view.metadata.annotations && { short: 'z' })
    },
  )

  it.each([
    ['texts', () => ''],
    ['lists', () => []],
    ['maps', () => ({})],
  ])('is too large by the number of its %s alone, wherever they are', (_what, made) => {
    const specOf = (count: number) => ({ ref: 'x', roles: [{ variables: { a: Array.from({ length: count }, made) } }] })
    expect(cutToFit(viewOf(specOf(VALUES_MAX)), 1_500_000, refersTo)).toMatchObject({ spec: { ref: 'x' }, isCut: true })
    const most = viewOf(specOf(VALUES_MAX - 30))
    expect(cutToFit(most, 1_500_000, refersTo)).toBe(most)
  })

  it('is never planned by what is left of its spec', () => {
    const parse = parserOf((spec) => ({ ok: true as const, spec }), 500)
    expect(parse(viewOf({}))).toEqual({ ok: true, spec: {} })
    expect(parse({ spec: {}, isCut: true })).toMatchObject({ ok: false, problems: [{ path: 'spec' }] })
  })
})
