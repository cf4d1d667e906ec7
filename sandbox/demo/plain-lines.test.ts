import { expect, describe as group, it } from 'vitest'
import type { Fact, ImageFact, MachineFact } from './facts.ts'
import { describe } from './plain-lines.ts'

const line = (fact: Fact, before?: Fact, isDeleted = false) =>
  describe({ revision: '1', at: 0, isDeleted, fact }, before)

group('a plain line about a virtual machine', () => {
  const machine = (reason: string, status: object = {}): MachineFact => ({
    kind: 'machine',
    metadata: { name: 'desk' },
    status: { phase: 'Provisioning', message: 'it waits', ...status },
    reason,
  })
  const waits = machine('WaitingForImage')

  it('says what it waits for, and when the place in the queue is known', () => {
    expect(line(waits)).toBe('VirtualMachine desk: Provisioning (WaitingForImage): it waits')
    const placed = machine('WaitingForImage', {
      message: 'it waits, place 3',
      image: { namespace: 'a', name: 'b', queuePosition: 3 },
    })
    expect(line(placed, waits)).toBe('VirtualMachine desk: Provisioning (WaitingForImage): it waits, place 3')
  })

  it('is written once for each reason, and at the end', () => {
    expect(line(machine('WaitingForImage', { message: 'another text' }), waits)).toBeUndefined()
    expect(line(machine('Cloning'), waits)).toContain('(Cloning)')
    expect(line(waits, waits, true)).toBe('VirtualMachine desk: gone')
  })

  it('is not written before the operator has seen it', () => {
    expect(line({ kind: 'machine', metadata: { name: 'desk' }, status: {}, reason: '' })).toBeUndefined()
  })
})

group('a plain line about an image', () => {
  const image = (blocked: string | undefined): ImageFact => ({
    kind: 'image',
    metadata: { name: 'golden' },
    status: { phase: 'Succeeded', message: 'it can be cloned' },
    reason: 'Synced',
    isReady: true,
    blocked,
  })

  it('says once whom its deletion waits for', () => {
    const blocked = image('deletion is blocked: the image is used by desk')
    expect(line(blocked, image(undefined))).toBe(
      'golden: Terminating (DeletionBlocked): deletion is blocked: the image is used by desk',
    )
    expect(line(blocked, blocked)).toBeUndefined()
  })
})
