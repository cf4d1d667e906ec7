import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairQueue } from './fair-queue.ts'

const groupOf = (key: string) => key.split('/')[0] ?? ''
const turnsOf = (...keys: string[]) => {
  const queue = new FairQueue(groupOf)
  for (const key of keys) queue.add(key)
  return queue
}
const takeAll = (queue: FairQueue) => {
  const taken: string[] = []
  for (let key = queue.take(); key !== undefined; key = queue.take()) taken.push(key)
  return taken
}

describe('queue', () => {
  it('go round the groups, and within a group in the order in which keys came', () => {
    expect(takeAll(turnsOf('a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'c/1'))).toEqual([
      'a/1',
      'b/1',
      'c/1',
      'a/2',
      'b/2',
      'a/3',
    ])
  })

  it('have a key once, and let it go', () => {
    const queue = turnsOf('a/1', 'a/1', 'b/1', 'b/2')
    expect([queue.size, queue.has('b/1'), queue.has('c/1')]).toEqual([3, true, false])
    queue.delete('b/1')
    queue.delete('c/1')
    expect([queue.size, queue.has('b/1')]).toEqual([2, false])
    expect(takeAll(queue)).toEqual(['a/1', 'b/2'])
    expect([queue.size, queue.take()]).toEqual([0, undefined])
  })

  it('never let a group have its turn twice while another one waits, whatever is added and taken between', () => {
    const add = fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 9 })).map(([group, at]) => `${group}/${at}`)
    fc.assert(
      fc.property(fc.array(fc.option(add), { maxLength: 200 }), (steps) => {
        const queue = new FairQueue(groupOf)
        const waiting = new Set<string>()
        const passedBy = new Map<string, string[]>()
        for (const key of steps) {
          if (key === null) {
            expectTurn(queue.take(), waiting, passedBy)
            continue
          }
          queue.add(key)
          waiting.add(key)
          passedBy.set(groupOf(key), passedBy.get(groupOf(key)) ?? [])
        }
        expect(queue.size).toBe(waiting.size)
      }),
    )
  })
})

/** @param passedBy for each waiting group: the groups that had a turn since it began to wait, or since its own last turn */
function expectTurn(key: string | undefined, waiting: Set<string>, passedBy: Map<string, string[]>): void {
  expect(key === undefined).toBe(waiting.size === 0)
  if (key === undefined) return
  const group = groupOf(key)
  const ofGroup = () => [...waiting].filter((one) => groupOf(one) === group)
  expect(key).toBe(ofGroup()[0])
  waiting.delete(key)
  passedBy.delete(group)
  for (const others of passedBy.values()) {
    expect(others).not.toContain(group)
    others.push(group)
  }
  if (ofGroup().length > 0) passedBy.set(group, [])
}
