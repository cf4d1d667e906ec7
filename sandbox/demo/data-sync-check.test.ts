import { describe, expect, it } from 'vitest'
import { RELEASE, SAME_RELEASE } from './cast.ts'
import { preloadsARelease } from './data-sync-check.ts'
import type { Evidence } from './evidence.ts'
import type { Fact } from './facts.ts'

const release = (name: string, isSettled: boolean, phase = 'Succeeded', ready = '1/1') => ({
  kind: 'dataSync',
  metadata: { name },
  status: { phase, ready },
  isSettled,
})
const BOTH = [`DataSync/default/${RELEASE}`, `DataSync/default/${SAME_RELEASE}`]
const image = (isReady: boolean, names: readonly string[] = []) => ({
  kind: 'image',
  metadata: { name: 'attacker' },
  status: { references: { count: names.length, names } },
  isReady,
})

const judgeOf = (...facts: readonly object[]) => {
  const cast = [{ name: 'attacker', role: 'released' }]
  const journal = facts.map((fact, at) => ({ revision: String(at + 1), at, isDeleted: false, fact: fact as Fact }))
  return preloadsARelease({ cast, journal } as unknown as Evidence)
}

const BEGINNING = [release(RELEASE, false, 'Syncing', '0/1'), image(false)]
const END = [release(SAME_RELEASE, true), image(true, BOTH)]

describe('a release by two pipelines', () => {
  it('holds when the first waits for its images, and the second shares them', () => {
    expect(judgeOf(...BEGINNING, image(true), release(RELEASE, true), ...END)).toMatchObject({
      held: true,
      detail: expect.stringContaining('another one of the same 0 ms after'),
    })
  })

  it.each<[string, readonly object[], string]>([
    ['settled before its images', [release(RELEASE, true), image(true), ...END], 'Settled before attacker was ready'],
    ['failed', [image(true), release(RELEASE, true, 'Failed', '0/1'), ...END], 'first Settled as Failed'],
    [
      'has no second one',
      [image(true), release(RELEASE, true), image(true, BOTH)],
      `${SAME_RELEASE} was first Settled`,
    ],
    [
      'is not all that refers to its images',
      [image(true), release(RELEASE, true), release(SAME_RELEASE, true), image(true, BOTH.slice(0, 1))],
      `does not name ${SAME_RELEASE}`,
    ],
    ['was never seen', [], 'first Settled as undefined'],
  ])('does not hold where it %s', (_what, facts, problem) => {
    const { held, detail } = judgeOf(...BEGINNING, ...facts)
    expect([held, detail]).toEqual([false, expect.stringContaining(problem)])
  })
})
