import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Turns } from './turns.ts'

const groupOf = (key: string) => key.split('/')[0] ?? ''
const turnsOf = (...keys: string[]) => {
  const turns = new Turns(groupOf)
  for (const key of keys) turns.add(key)
  return turns
}
const takeAll = (turns: Turns) => {
  const taken: string[] = []
  for (let key = turns.take(); key !== undefined; key = turns.take()) taken.push(key)
  return taken
}

describe('turns', () => {
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
    const turns = turnsOf('a/1', 'a/1', 'b/1', 'b/2')
    expect([turns.size, turns.has('b/1'), turns.has('c/1')]).toEqual([3, true, false])
    turns.delete('b/1')
    turns.delete('c/1')
    expect([turns.size, turns.has('b/1')]).toEqual([2, false])
    expect(takeAll(turns)).toEqual(['a/1', 'b/2'])
    expect([turns.size, turns.take()]).toEqual([0, undefined])
  })

  it('never let a group have its turn twice while another one waits, whatever is added and taken between', () => {
    const add = fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 9 })).map(([group, at]) => `${group}/${at}`)
    fc.assert(
      fc.property(fc.array(fc.option(add), { maxLength: 200 }), (steps) => {
        const turns = new Turns(groupOf)
        const waiting = new Set<string>()
        const passedBy = new Map<string, string[]>()
        for (const key of steps) {
          if (key === null) {
            expectTurn(turns.take(), waiting, passedBy)
            continue
          }
          turns.add(key)
          waiting.add(key)
          passedBy.set(groupOf(key), passedBy.get(groupOf(key)) ?? [])
        }
        expect(turns.size).toBe(waiting.size)
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
