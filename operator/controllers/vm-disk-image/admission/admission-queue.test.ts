import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aStart } from '../../../../test/prepared/vm-disk-image/admission.ts'
import type { Start } from '../decide/image-plan.ts'
import { AdmissionQueue, compareTickets } from './admission-queue.ts'

const template = aStart('a', '1').start
const start = (uid: string, ticket: string, admissible = true): Start => ({ ...template, uid, ticket, admissible })
const uids = (starts: readonly Start[]) => starts.map(({ uid }) => uid)
const never = () => false

describe('the queue', () => {
  it('is in the order of tickets, as numbers', () => {
    const queue = new AdmissionQueue()
    for (const [uid, ticket] of [
      ['c', '100'],
      ['a', '9'],
      ['d', '1000'],
      ['b', '99'],
    ] as const)
      queue.put(start(uid, ticket))
    expect(uids(queue.values())).toEqual(['a', 'b', 'c', 'd'])
    expect(queue.position('c', 'whatever')).toBe(3)
    expect(queue.position('new', '100000')).toBe(5)
    expect(queue.position('new', '10')).toBe(2)
  })

  it('has an image once, at its newest ticket', () => {
    const queue = new AdmissionQueue()
    queue.put(start('a', '1'))
    queue.put(start('b', '2'))
    queue.put(start('a', '3'))
    expect(uids(queue.values())).toEqual(['b', 'a'])
    queue.put({ ...start('a', '3'), attempt: 7 })
    expect(queue.get('a')?.attempt).toBe(7)
    queue.remove('a')
    queue.remove('a')
    expect(queue.size).toBe(1)
  })

  it('waits for a head whose enqueueing is being written, and passes one whose writing fails', () => {
    const queue = new AdmissionQueue()
    queue.put(start('a', '1'))
    queue.put(start('b', '2', false))
    queue.put(start('c', '3'))
    expect(uids(queue.heads(9, never).heads)).toEqual(['a'])
    expect(uids(queue.heads(9, (uid) => uid === 'b').heads)).toEqual(['a', 'c'])
    expect(uids(queue.heads(9, (uid) => uid === 'b').passed)).toEqual(['b'])
    expect(uids(queue.heads(1, (uid) => uid === 'b').heads)).toEqual(['a'])
    expect(queue.heads(1, (uid) => uid === 'b').passed).toEqual([])
    expect(queue.heads(0, never).heads).toEqual([])
  })

  it('is what a sorted list would be, whatever is put and removed', () => {
    const act = fc.record({
      uid: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
      ticket: fc.nat(1_200),
      isGone: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
        const queue = new AdmissionQueue()
        const model = new Map<string, Start>()
        for (const { uid, ticket, isGone } of acts) {
          if (isGone) queue.remove(uid)
          else queue.put(start(uid, String(ticket)))
          if (isGone) model.delete(uid)
          else model.set(uid, start(uid, String(ticket)))
          const expected = uids([...model.values()].toSorted(compareTickets))
          expect(uids(queue.values())).toEqual(expected)
          expect(expected.map((one) => queue.position(one, '0'))).toEqual(expected.map((_one, at) => at + 1))
        }
      }),
    )
  })

  it('takes 10,000 images in any order', () => {
    const queue = new AdmissionQueue()
    for (let at = 0; at < 10_000; at += 1) queue.put(start(`u${at}`, String((at * 7_919) % 10_007)))
    const tickets = queue.values().map(({ ticket }) => Number(ticket))
    expect(tickets).toEqual(tickets.toSorted((a, b) => a - b))
    for (let at = 0; at < 10_000; at += 1) queue.remove(`u${at}`)
    expect(queue.size).toBe(0)
  })
})
