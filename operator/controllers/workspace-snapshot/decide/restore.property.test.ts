import { ANNOTATIONS } from '@open-terrain/constructs'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SnapshotWalk } from '../../../../test/prepared/workspace-snapshot/snapshot-walk.ts'

it('whatever is written into the annotations of a restore, each value is looked at once, and what is said fits into the status', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 500 }),
    fc.constantFrom('', 'none', 'Machines', '😀'.repeat(3_000)),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 9 }), (asked) => {
      const walk = new SnapshotWalk()
      walk.settle()
      const told: string[] = []
      for (const [value, scope] of asked) {
        walk.annotate({ [ANNOTATIONS.restoreRequestedAt]: value, [ANNOTATIONS.restoreScope]: scope })
        const before = walk.events.length
        walk.settle()
        walk.settle()
        told.push(...walk.events.slice(before))
        const { restore, restoreRequest = '' } = walk.status
        expect(restoreRequest.length).toBeLessThanOrEqual(64)
        expect((restore?.message ?? '').length).toBeLessThanOrEqual(4_096)
        expect((restore?.message ?? '').isWellFormed()).toBe(true)
      }
      const values = new Set(asked.map(([value]) => value))
      expect(told.filter((event) => event === 'Warning RestoreRefused').length).toBeLessThanOrEqual(values.size)
      expect(walk.restores).toEqual([])
    }),
    { numRuns: 20 },
  )
})
