import { workspace } from '@open-terrain/constructs/operator'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { HeldWatches } from '../../test/prepared/kube/held-watches.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { follow } from './follow.ts'

let client: ScriptedClient
let held: HeldWatches
let stopping: AbortController
let done: Promise<void>
beforeEach(async () => {
  client = new ScriptedClient()
  held = new HeldWatches()
  client.held = held
  stopping = new AbortController()
  const { clock } = client
  const project = () => undefined
  done = follow({ client, clock, type: workspace, project, onChange: () => undefined, signal: stopping.signal })
  await clock.advance(0)
})
afterEach(async () => {
  stopping.abort()
  await done
})

it('begins a watch anew that says nothing, not even that it ends', async () => {
  await client.clock.advance(60_000)
  expect(held.opened.length).toBe(2)
})

it('asks at most once a second where each watch ends at once', async () => {
  for (let at = 0; at < 100; at++) {
    held.opened.at(-1)?.end()
    await client.clock.advance(100)
  }
  expect(held.opened.length).toBeLessThanOrEqual(11)
})

it('lists at most once a second where each version is too old', async () => {
  for (let at = 0; at < 100; at++) {
    held.opened.at(-1)?.break(apiError('Expired'))
    await client.clock.advance(100)
  }
  expect(client.callsOf('list').length).toBeLessThanOrEqual(11)
})
