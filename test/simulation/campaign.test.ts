import { describe, expect, it } from 'vitest'
import { conclusionOf } from './campaign.ts'
import { mostOfOneKind, NOTHING_YET, type Tally } from './tally.ts'

const tallyWith = (admissions: Tally['admissions']): Tally => ({ ...NOTHING_YET, admissions })

describe('the share that one kind of schedules has in a campaign', () => {
  it('is that of the kind with most admissions, of those of the whole operator', () => {
    expect(mostOfOneKind(tallyWith({ crowd: 60, varied: 40, gate: 1_000 }))).toEqual({ kind: 'crowd', share: 0.6 })
    expect(mostOfOneKind(NOTHING_YET)).toBeUndefined()
  })

  it('makes the campaign fail, and its conclusion says so, where it is more than a half', () => {
    const conclude = (crowd: number) => conclusionOf({ tally: tallyWith({ crowd, varied: 40 }), findings: [] })
    expect(conclude(40)).toEqual({ isGood: true, sentences: ['no invariant was broken'] })
    expect(conclude(60)).toEqual({
      isGood: false,
      sentences: [
        'no invariant was broken',
        'schedules of kind crowd had 60.0 % of the admissions of the whole operator: at most half of them may come from one kind, so it takes more --admissions',
      ],
    })
  })
})
