import { shortHash, type VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { planWorkspace } from './plan.ts'

const MACHINE = 'VirtualMachine demo-vm'
const AGES = {
  current: { type: 'UpToDate', status: 'True', reason: 'UpToDate', message: 'as it is to be' },
  changed: { type: 'UpToDate', status: 'False', reason: 'SpecChanged', message: 'of an earlier spec' },
  lost: { type: 'DiskLost', status: 'True', reason: 'DiskLost', message: 'is gone' },
} as const

/** The machine says this of its disk, whatever the workspace writes. */
function says(planned: PlannedWorld, ages: readonly (keyof typeof AGES)[], more: Partial<VirtualMachineStatus> = {}) {
  const machine = planned.children.get(MACHINE) as KubeObject
  const conditions = ages.map((age) => AGES[age])
  const status = { phase: 'Ready', reason: 'Running', message: 'runs', observedGeneration: 9, conditions, ...more }
  planned.children.set(MACHINE, { ...machine, status } as KubeObject)
}

/** Carries out plans until nothing more is told, and returns what was told of requests that do not count. */
function told(
  planned: PlannedWorld,
  ages: readonly (keyof typeof AGES)[] = ['current'],
  more: Partial<VirtualMachineStatus> = {},
): string[] {
  const texts: string[] = []
  for (let round = 0; round < 4; round += 1) {
    if (planned.children.has(MACHINE)) says(planned, ages, more)
    const plan = planWorkspace(planned.world, NOW)
    // An Event is written with the status, or not at all.
    if (JSON.stringify(plan.status) !== JSON.stringify(planned.status))
      texts.push(
        ...plan.events
          .filter(({ reason }) => reason.endsWith('NotCounted'))
          .map(({ reason, message }) => `${reason}: ${message}`),
      )
    planned.take(plan)
  }
  return texts
}

describe('a request of a workspace that does not count is told once', () => {
  it('that it was created with', () => {
    const planned = new PlannedWorld(parsed(DEPLOYED))
    planned.rebuildRequestedAt = 'then'
    planned.resetRequestedAt = 'then'
    planned.allImagesReady()
    expect(told(planned)).toEqual([
      'RebuildNotCounted: annotation pelotech.ot/rebuild-requested-at was there when the Workspace was created: it does not count, and all machines keep their disks; to have disks replaced that are outdated or lost, set another value',
      'ResetNotCounted: annotation pelotech.ot/reset-requested-at was there when the Workspace was created: it does not count, and all machines keep their disks; to have them replaced, set another value',
    ])
  })

  it('whose value comes back, also the one that it was created with', () => {
    const planned = settledWorld(DEPLOYED)
    planned.status = { ...planned.status, uncountedReset: shortHash(['first']) }
    for (const value of ['one', 'two']) {
      planned.resetRequestedAt = value
      expect(told(planned)).toEqual([])
    }
    for (const value of ['one', 'first']) {
      planned.resetRequestedAt = value
      expect(told(planned).join()).toMatch(
        /^ResetNotCounted: .* has a value again that it had before: it does not count/,
      )
    }
    planned.resetRequestedAt = 'three'
    expect(told(planned)).toEqual([])
  })

  it('of a rebuild, where no disk is lost or outdated', () => {
    const planned = settledWorld(DEPLOYED)
    planned.rebuildRequestedAt = 'now'
    expect(told(planned)).toEqual([
      'RebuildNotCounted: annotation pelotech.ot/rebuild-requested-at asks for disks in the place of those that are lost or outdated, and no machine is known to have one: nothing is replaced; to set all of them back to their images, with all that is on their disks, set annotation pelotech.ot/reset-requested-at',
    ])
  })

  it('of a rebuild that was meant for a loss, and finds outdated disks', () => {
    const planned = settledWorld(DEPLOYED)
    planned.rebuildRequestedAt = 'now'
    const texts = told(planned, ['changed', 'lost'])
    expect(texts.join()).toContain('is about that alone: demo-vm, whose disks are outdated, keep them')
    expect(texts).toHaveLength(1)
  })
})

it.each([
  ['a disk is outdated', ['changed'], {}],
  ['a disk is lost', ['lost', 'current'], {}],
  ['a disk is being replaced', ['current'], { replacement: { asked: 'Rebuild', disk: { name: 'g2' } } }],
  ['the machine has said nothing of its present spec', ['current'], { observedGeneration: 0 }],
] as const)('nothing is told of a rebuild while %s', (_what, ages, more) => {
  const planned = settledWorld(DEPLOYED)
  planned.rebuildRequestedAt = 'now'
  expect(told(planned, ages, more as Partial<VirtualMachineStatus>)).toEqual([])
})
