import { FINALIZERS } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { keptMetadata } from './kept-metadata.ts'

describe('of an object with any number of finalizers', () => {
  it.each([...Object.values(FINALIZERS), 'foregroundDeletion', 'orphan'])(
    '%s is kept, so that nobody hides it behind others',
    (finalizer) => {
      const others = Array.from({ length: 1_000 }, (_, at) => `others.example/${at}`)
      expect(keptMetadata({ name: 'a', finalizers: [...others, finalizer] }).finalizers).toContain(finalizer)
    },
  )
})
