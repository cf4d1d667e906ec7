import { expect, it } from 'vitest'
import { anInstance } from '../../../../test/prepared/virtual-machine/machine-objects.ts'
import { MachineWalk } from '../../../../test/prepared/virtual-machine/machine-walk.ts'
import type { MachineWorld } from '../world.ts'

const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }
type Part = 'image' | 'claim' | 'clone' | 'secret' | 'machine' | 'instance'

/** Everything that a machine which is Ready and runs stands on, what may happen to it, and what the machine then says. */
const BREAKS: readonly (readonly [Part, what: string, (world: MachineWorld) => object | undefined, said: string])[] = [
  ['image', 'is gone', () => undefined, 'Ready Running ImageReady=False'],
  ['claim', 'is gone', () => undefined, 'Failed DiskLost ImageReady=True'],
  ['claim', 'is being deleted', ({ claim }) => going(claim), 'Failed DiskBeingDeleted ImageReady=True'],
  ['claim', 'has lost its volume', ({ claim }) => ({ ...claim, phase: 'Lost' }), 'Failed DiskLost ImageReady=True'],
  ['clone', 'is being deleted', ({ clone }) => going(clone), 'Failed DiskBeingDeleted ImageReady=True'],
  ['machine', 'is gone', () => undefined, 'Provisioning Starting ImageReady=True'],
  ['machine', 'is being deleted', ({ machine }) => going(machine), 'Provisioning Starting ImageReady=True'],
  ['instance', 'is gone', () => undefined, 'Provisioning GuestStopped ImageReady=True'],
  ['instance', 'is not ready', () => anInstance({ isReady: false }), 'Provisioning NotReady ImageReady=True'],
  ['instance', 'has failed', () => anInstance({ phase: 'Failed' }), 'Provisioning GuestStopped ImageReady=True'],
]

function going(object: object | undefined): object {
  const { metadata } = object as { readonly metadata: object }
  return { ...object, metadata: { ...metadata, ...GOING } }
}

function said(walk: MachineWalk): string {
  const { phase, reason, conditions = [] } = walk.plan().status
  return `${phase} ${reason} ImageReady=${conditions.find(({ type }) => type === 'ImageReady')?.status}`
}

it.each(BREAKS)('a machine that runs, and whose %s %s, says so', (part, _what, change, expected) => {
  const walk = new MachineWalk().deploy()
  expect(said(walk)).toBe('Ready Running ImageReady=True')
  walk.set({ [part]: change(walk.world) })
  expect(said(walk)).toBe(expected)
})

it('what only a start needs is made again without a word', () => {
  const walk = new MachineWalk().deploy().set({ secret: undefined })
  expect([said(walk), walk.plan().apply.map(({ kind }) => kind)]).toEqual(['Ready Running ImageReady=True', ['Secret']])
})
