import { describe, expect, it } from 'vitest'
import { runStory } from '../story-run.ts'
import { interleavingSuite } from './interleaving-suite.ts'

interleavingSuite(0.2)

describe('what was found', () => {
  // KubeVirt shows Ready on the instance first. A kick that is decided by the machine alone may end a guest that has just recovered.
  it('machinesHanging:211: a guest that is ready is not kicked', async () => {
    expect((await runStory({ kind: 'machinesHanging', seed: 211 })).violations).toEqual([])
  })
})
