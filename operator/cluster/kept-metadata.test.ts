import { FINALIZERS } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { bounded, KEPT_MAX } from '../runtime/foreign.ts'
import { keptMetadata } from './kept-metadata.ts'

describe('of an object with owners of any length', () => {
  it('the identity of a real one is kept', () => {
    const owner = { apiVersion: 'v1', kind: 'Thing', name: 'a', uid: 'u', controller: true }
    const long = { ...owner, name: 'x'.repeat(1_000_000) }
    expect(keptMetadata({ name: 'a', ownerReferences: [owner] }).ownerReferences).toEqual([owner])
    expect(JSON.stringify(keptMetadata({ name: 'a', ownerReferences: [long] })).length).toBeLessThan(1_000)
  })
})

describe('of an object with any number of finalizers', () => {
  it.each([...Object.values(FINALIZERS), 'foregroundDeletion', 'orphan'])(
    '%s is kept, so that nobody hides it behind others',
    (finalizer) => {
      const others = Array.from({ length: 1_000 }, (_, at) => `others.example/${at}`)
      expect(keptMetadata({ name: 'a', finalizers: [...others, finalizer] }).finalizers).toContain(finalizer)
      const long = Array.from({ length: 30 }, (_, at) => `${'x'.repeat(253)}/${'y'.repeat(60)}${at}`)
      const view = { metadata: keptMetadata({ name: 'a', finalizers: [...long, finalizer] }) }
      expect(bounded(view, KEPT_MAX).metadata.finalizers).toContain(finalizer)
    },
  )
})
