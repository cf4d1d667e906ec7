import { expect, it } from 'vitest'
import { FakeClock } from '../../../test/prepared/kube/fake-clock.ts'
import { ExpiryLimits } from './expiry-limits.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

function started(expiryNoticeMs = 60 * MINUTE) {
  const clock = new FakeClock()
  const policy = { expiryNoticeMs }
  const listeners: (() => void)[] = []
  const onPolicyChange = (listener: () => void) => {
    listeners.push(listener)
    return () => undefined
  }
  const limits = new ExpiryLimits({ clock, policy: () => policy, onPolicyChange })
  limits.listen()
  const set = (ms: number) => {
    policy.expiryNoticeMs = ms
    for (const listener of listeners) listener()
  }
  return { clock, limits, set }
}

it('a shorter notice counts when the longer one has not been in force for its own length, a longer one at once', async () => {
  const { clock, limits, set } = started()
  set(5 * MINUTE)
  set(10 * MINUTE)
  await clock.advance(59 * MINUTE)
  expect(limits.noticeMs).toBe(60 * MINUTE)
  await clock.advance(MINUTE)
  expect(limits.noticeMs).toBe(10 * MINUTE)
  set(120 * MINUTE)
  expect(limits.noticeMs).toBe(120 * MINUTE)
})

it('three workspaces have their turn in a minute, none at once after a change of leader, and each keeps it', async () => {
  const { clock, limits } = started()
  const taken: string[] = []
  for (let second = 0; second < 60; second += 1) {
    for (const uid of ['a', 'b', 'c', 'd', 'e']) {
      if (taken.includes(uid)) continue
      if (limits.take(uid)) {
        expect(limits.take(uid)).toBe(true)
        taken.push(uid)
      }
    }
    await clock.advance(SECOND)
  }
  expect(taken).toEqual(['a', 'b'])
  expect(limits.take('c')).toBe(true)
})
