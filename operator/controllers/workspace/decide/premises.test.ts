import { expect, it } from 'vitest'
import { DEPLOYED } from '../../../../test/prepared/workspace/workspace-bench.ts'
import { NOW, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { planWorkspace } from './plan.ts'

/** What may happen to an object that is part of a Ready workspace. */
const BREAKS: Readonly<Record<string, (child: KubeObject) => KubeObject | undefined>> = {
  'is gone': () => undefined,
  'is being deleted': (child) => ({
    ...child,
    metadata: { ...child.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  }),
}

const SPECS = { on: DEPLOYED, off: { ...DEPLOYED, powerState: 'Halted' } } as const

const CASES = [undefined, '/srv'].flatMap((localVolumeRoot) => {
  const parts = [...settledWorld(DEPLOYED, { localVolumeRoot }).children.keys()]
  return parts.flatMap((part) =>
    Object.keys(BREAKS).flatMap((what) =>
      (['on', 'off'] as const).map((power) => [part, what, power, localVolumeRoot] as const),
    ),
  )
})

/** That a workspace is Ready says that all of it exists, on or off, and that nobody is deleting any of it. */
it.each(CASES)('a workspace is not just Ready where %s %s (%s, localVolumeRoot %s)', (part, what, power, root) => {
  const planned = settledWorld(SPECS[power], { localVolumeRoot: root })
  const broken = BREAKS[what]?.(planned.children.get(part) as KubeObject)
  if (broken === undefined) planned.children.delete(part)
  else planned.children.set(part, broken)
  const { phase, reason, message } = planWorkspace(planned.world, NOW).status
  expect(['Ready Ready', 'Ready Halted']).not.toContain(`${phase} ${reason}`)
  expect(message).toContain(part.split(' ')[1])
})
