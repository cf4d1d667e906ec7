import { describe, expect, it } from 'vitest'
import { runGate } from './gate-run.ts'
import { gateStory } from './gate-story.ts'
import { gateSuite } from './gate-suite.ts'

describe('the gate keeps limit, slots and order', () => {
  gateSuite(1)

  it('tells the same story again', async () => {
    const again = () => runGate(gateStory('gate', 3))
    expect(await again()).toEqual(await again())
  })
})
