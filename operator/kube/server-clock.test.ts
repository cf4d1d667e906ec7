import { expect, it } from 'vitest'
import { FakeClock } from '../../test/prepared/kube/fake-clock.ts'
import { ServerClock } from './server-clock.ts'

const HOUR = 3_600_000
const START = Date.parse('2026-01-31T12:00:00Z')

function started() {
  const clock = new FakeClock()
  const server = new ServerClock(clock)
  const note = (ms: number) => server.note(new Date(ms).toUTCString())
  return { clock, server, note }
}

it('is unknown until the API server has answered with a date, and then goes on by itself', async () => {
  const { clock, server, note } = started()
  for (const date of [undefined, '', 'soon']) server.note(date)
  expect(server.now()).toBeUndefined()
  note(START)
  await clock.advance(90_000)
  expect(server.now()).toBe(START + 90_000)
})

it('goes back with the clock of the API server, or of another one, at once', () => {
  const { server, note } = started()
  note(START)
  note(START - 60_000)
  expect(server.now()).toBe(START - 60_000)
  note(START)
  expect(server.now()).toBe(START - 60_000)
})

it('follows a jump forward only when it has been there for an hour', async () => {
  const { clock, server, note } = started()
  const jumpMs = 7 * 24 * HOUR
  note(START)
  for (let minutes = 1; minutes < 60; minutes += 1) {
    await clock.advance(60_000)
    note(START + jumpMs + minutes * 60_000)
    expect(server.now()).toBe(START + minutes * 60_000)
  }
  await clock.advance(2 * HOUR)
  note(START + jumpMs + 3 * HOUR)
  await clock.advance(HOUR)
  note(START + jumpMs + 4 * HOUR)
  expect(server.now()).toBeGreaterThanOrEqual(START + jumpMs)
})
