import { describe, expect, it } from 'vitest'
import { growthOf, LEAST_MINUTES, leaksIn, MOST_SOCKETS, TO_AND_FRO_MB, WARM_UP_MINUTES } from './judgement.ts'
import type { Lifetime, Sample } from './replicas.ts'

const STEP_MINUTES = 1 / 12

/** A process that lives for this long. `at` returns what differs from an idle one. */
function lifetime(minutes: number, at: (minute: number) => Partial<Sample> = () => ({})): Lifetime {
  const count = Math.round(minutes / STEP_MINUTES) + 1
  const samples = Array.from({ length: count }, (_, number): Sample => {
    const minute = number * STEP_MINUTES
    return { minutes: minute, residentMb: 100, heapMb: 20, sockets: 30, lagMs: 10, leads: true, ...at(minute) }
  })
  return { name: 'replica-0', samples, end: undefined }
}

const LONG = WARM_UP_MINUTES + LEAST_MINUTES + 1

describe('memory', () => {
  it('that grows steadily is a leak, of the heap as well', () => {
    const rise = (minute: number) => minute * ((TO_AND_FRO_MB + 2) / LEAST_MINUTES)
    const leaks = leaksIn([lifetime(LONG, (minute) => ({ residentMb: 100 + rise(minute), heapMb: 20 + rise(minute) }))])
    expect(leaks).toMatchObject([/^replica-0: resident memory grew by 10\.\d MB in 16 min/, /heap grew/].map(matching))
  })

  it('that moves to and fro is none', () => {
    const saw = (minute: number) => (TO_AND_FRO_MB * (minute % 3)) / 3
    expect(
      leaksIn([lifetime(LONG, (minute) => ({ residentMb: 100 + saw(minute), heapMb: 20 + saw(minute) }))]),
    ).toEqual([])
  })

  it('that grows in the warm-up is none', () => {
    const residentMb = (minute: number) => 60 + 10 * Math.min(minute, WARM_UP_MINUTES)
    expect(leaksIn([lifetime(LONG, (minute) => ({ residentMb: residentMb(minute) }))])).toEqual([])
  })

  it('of a process that did not live long enough is not judged', () => {
    const short = lifetime(WARM_UP_MINUTES + LEAST_MINUTES - 1, (minute) => ({ residentMb: 100 * minute }))
    expect([growthOf(short), leaksIn([short])]).toEqual([undefined, []])
  })

  it('may grow by one more MB in each hour', () => {
    const day = 24 * 60
    const growing = (mbPerHour: number) => lifetime(day, (minute) => ({ residentMb: 100 + (mbPerHour * minute) / 60 }))
    expect(leaksIn([growing(1.2)])).toEqual([])
    expect(leaksIn([growing(1.5)])).toHaveLength(1)
  })
})

describe('sockets', () => {
  it('that are more than have a purpose are a leak, in the shortest life too', () => {
    expect(leaksIn([lifetime(1, () => ({ sockets: MOST_SOCKETS }))])).toEqual([])
    expect(leaksIn([lifetime(1, () => ({ sockets: MOST_SOCKETS + 1 }))])).toEqual([
      matching(new RegExp(`${MOST_SOCKETS + 1} sockets`)),
    ])
  })
})

function matching(pattern: RegExp): unknown {
  return expect.stringMatching(pattern)
}
