import { describe, expect, it } from 'vitest'
import type { Schedule } from './schedule.ts'
import { shrink } from './shrink.ts'
import { scheduleOf, storyOf } from './story.ts'

describe('a schedule that breaks an invariant whatever is removed', () => {
  it.each([
    ['varied', { images: 1 }],
    ['dataSyncs', { images: 0, dataSyncs: 1 }],
    ['machines', { images: 0, machines: 1, sources: 1 }],
    ['workspaces', { images: 0, machines: 0, sources: 0, workspaces: 1 }],
    ['sharedWorkspaces', { images: 0, dataSyncs: 1, machines: 1, sources: 1, workspaces: 1 }],
  ] as const)('becomes one object of each kind: %s', async (kind, left) => {
    const schedule = scheduleOf(storyOf(`${kind}:2`))
    expect(schedule.steps).not.toEqual([])
    const smallest = await shrink(schedule, async () => true, 10_000)
    expect(countsOf(smallest)).toEqual({ steps: 0, ...left })
  })
})

function countsOf(schedule: Schedule): Record<string, number> {
  const lists = Object.entries(schedule).filter(([, value]) => Array.isArray(value))
  return Object.fromEntries(lists.map(([part, list]) => [part, list.length]))
}
