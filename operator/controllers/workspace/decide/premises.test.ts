import { expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { DEPLOYED } from '../workspace-bench.fixtures.ts'
import { NOW, settledWorld } from '../workspace-world.fixtures.ts'
import { planWorkspace } from './plan.ts'

/** What may happen to an object that is part of a Ready workspace. */
const BREAKS: Readonly<Record<string, (child: KubeObject) => KubeObject | undefined>> = {
  'is gone': () => undefined,
  'is being deleted': (child) => ({
    ...child,
    metadata: { ...child.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  }),
}

const CASES = [undefined, '/srv'].flatMap((localVolumeRoot) => {
  const parts = [...settledWorld(DEPLOYED, { localVolumeRoot }).children.keys()]
  return parts.flatMap((part) => Object.keys(BREAKS).map((what) => [part, what, localVolumeRoot] as const))
})

/** That a workspace is Ready says that all of it exists, and that nobody is deleting any of it. */
it.each(CASES)('a workspace is not just Ready where %s %s (localVolumeRoot %s)', (part, what, localVolumeRoot) => {
  const planned = settledWorld(DEPLOYED, { localVolumeRoot })
  const broken = BREAKS[what]?.(planned.children.get(part) as KubeObject)
  if (broken === undefined) planned.children.delete(part)
  else planned.children.set(part, broken)
  const { phase, reason, message } = planWorkspace(planned.world, NOW).status
  expect(`${phase} ${reason}`).not.toBe('Ready Ready')
  expect(message).toContain(part.split(' ')[1])
})
