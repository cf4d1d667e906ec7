import { describe, expect, it } from 'vitest'
import { expectedStarts } from './expected-starts.ts'

const durations = [60, 80, 100, 120, 140]
const running = [{ secondsLeft: 30 }, { secondsSoFar: 40 }]

describe('when those who wait get a slot', () => {
  it('follows from what runs, and from how long downloads took', () => {
    expect(expectedStarts({ waiting: 5, limit: 2, running, durations })).toEqual([30, 60, 130, 160, 230])
  })

  it.each([
    ['a slot that is free is taken at once', { waiting: 2, limit: 3, running }, [0, 30]],
    [
      'a slot that is long in use holds up nobody but itself',
      { waiting: 4, limit: 2, running: [{ secondsLeft: 10 }, { secondsLeft: 250 }] },
      [10, 110, 210, 250],
    ],
    ['a limit that was lowered is reached first', { waiting: 2, limit: 1, running }, [60, 160]],
    [
      'a download that takes longer than others may end at any time',
      { waiting: 1, limit: 1, running: [{ secondsSoFar: 900 }] },
      [0],
    ],
    ['a slot whose download has not begun takes as long as any', { waiting: 1, limit: 1, running: [{}] }, [100]],
    ['nobody waits', { waiting: 0, limit: 2, running }, []],
    ['nothing starts while the limit is 0', { waiting: 2, limit: 0, running }, []],
  ])('%s', (_what, queue, expected) => {
    expect(expectedStarts({ ...queue, durations })).toEqual(expected)
  })

  it('is not guessed from too few attempts', () => {
    expect(expectedStarts({ waiting: 2, limit: 2, running, durations: durations.slice(1) })).toEqual([])
  })
})
