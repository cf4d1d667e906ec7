import { describe, expect, it } from 'vitest'
import { type Download, handOvers, idealMs, inversions, mostInParallel, type Turn } from './queue-arithmetic.ts'

/** Times are revisions as well: 20 ms is revision 1020. */
const revision = (ms: number) => String(1_000 + ms)

function download(imageUid: string, createdAt: number, endedAt: number): Download {
  return {
    imageUid,
    createdAt,
    createdRevision: revision(createdAt),
    endedAt,
    endedRevision: revision(endedAt),
  }
}

function turns(...all: { uid: string; ticket: number; admissible: number; decidedAfter?: number }[]) {
  return new Map<string, Turn>(
    all.map(({ uid, ticket, admissible, decidedAfter }) => [
      uid,
      {
        imageUid: uid,
        ticket: String(ticket),
        admissibleAt: admissible,
        admissibleRevision: revision(admissible),
        decidedAfterRevision: decidedAfter === undefined ? undefined : revision(decidedAfter),
      },
    ]),
  )
}

describe('idealMs', () => {
  it('is what the downloads take without a gap', () => {
    expect(idealMs([download('a', 0, 30), download('b', 5, 45), download('c', 40, 70)], 2)).toBe(50)
  })
})

describe('mostInParallel', () => {
  it('counts by revision, whatever the order in which it was seen', () => {
    expect(mostInParallel([download('c', 20, 30), download('a', 0, 10), download('b', 5, 25)])).toBe(2)
  })

  it('counts a download that starts before another ends', () => {
    expect(mostInParallel([download('a', 0, 10), download('b', 9, 20)])).toBe(2)
    expect(mostInParallel([download('a', 0, 10), download('b', 11, 20)])).toBe(1)
  })
})

describe('handOvers', () => {
  const waiting = turns(
    { uid: 'a', ticket: 1, admissible: 0 },
    { uid: 'b', ticket: 2, admissible: 0 },
    { uid: 'c', ticket: 3, admissible: 0 },
    { uid: 'd', ticket: 4, admissible: 60 },
  )

  it('pairs each start beyond the first free slots with the slot that was freed first', () => {
    const downloads = [download('a', 1, 30), download('b', 2, 20), download('c', 27, 50)]
    expect(handOvers(downloads, waiting, 2)).toEqual([7])
  })

  it('leaves out a slot that nobody could have taken when it became free', () => {
    const downloads = [download('a', 1, 30), download('b', 2, 20), download('c', 27, 50), download('d', 65, 70)]
    expect(handOvers(downloads, waiting, 2)).toEqual([7])
  })

  it('is nothing while there are slots for all', () => {
    expect(handOvers([download('a', 1, 30), download('b', 2, 20)], waiting, 2)).toEqual([])
  })
})

describe('inversions', () => {
  const early = { uid: 'early', ticket: 5, admissible: 10 }
  const late = { uid: 'late', ticket: 6, admissible: 10, decidedAfter: 20 }

  it('counts who is created after somebody with a later ticket', () => {
    const downloads = [download('late', 30, 90), download('early', 40, 90)]
    expect(inversions(downloads, turns(early, late))).toBe(1)
    expect(inversions(downloads.toReversed(), turns(early, late))).toBe(1)
  })

  it('counts nothing in the order of tickets', () => {
    expect(inversions([download('early', 30, 90), download('late', 40, 90)], turns(early, late))).toBe(0)
  })

  it('compares tickets as numbers', () => {
    const nine = { uid: 'early', ticket: 9, admissible: 10 }
    const ten = { uid: 'late', ticket: 10, admissible: 10, decidedAfter: 20 }
    expect(inversions([download('early', 30, 90), download('late', 40, 90)], turns(nine, ten))).toBe(0)
  })

  it('does not count who could not start yet when the other one was chosen', () => {
    const downloads = [download('late', 30, 90), download('early', 40, 90)]
    expect(inversions(downloads, turns({ ...early, admissible: 25 }, late))).toBe(0)
  })
})
