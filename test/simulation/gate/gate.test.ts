import { describe, expect, it } from 'vitest'
import { runGate } from './gate-run.ts'
import { gateStory } from './gate-story.ts'
import { gateSuite, QUICK_GATES } from './gate-suite.ts'

describe('the gate keeps limit, slots and order', () => {
  gateSuite(QUICK_GATES)

  it('tells the same story again', async () => {
    const again = () => runGate(gateStory('gate', 3))
    expect(await again()).toEqual(await again())
  })

  // The ledger is corrupted and rebuilt, an importer outlives its DataVolume, and a second later another replica leads.
  it('gate:20262859: who takes over while a ledger is settling waits as well', async () => {
    expect((await runGate(gateStory('gate', 20_262_859))).violations).toEqual([])
  })
})
