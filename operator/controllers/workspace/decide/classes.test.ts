import type { WorkspaceStatus } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { CLASSES_MAX, labClasses, OTHER_CLASSES } from './classes.ts'

const COURSE = 'course'
const machine = (phase: 'Ready' | 'Failed', reason: string) => ({ kind: 'VirtualMachine', name: 'web', phase, reason })

function lab(course: string | undefined, status: WorkspaceStatus, deletionTimestamp?: string) {
  const labels: Record<string, string> = course === undefined ? {} : { [COURSE]: course }
  return { metadata: { name: 'lab', labels, ...(deletionTimestamp !== undefined && { deletionTimestamp }) }, status }
}

it('each lab of a class is in one state, and each machine that is deployed', () => {
  const ready: WorkspaceStatus = {
    phase: 'Ready',
    reason: 'RebuildRequired',
    components: [
      machine('Ready', 'Ready'),
      machine('Ready', 'Halted'),
      machine('Ready', 'IgnoredOnDeploy'),
      { ...machine('Ready', 'Ready'), kind: 'Network' },
    ],
  }
  const labs = [
    lab('net-1', ready),
    lab('net-1', { phase: 'Ready', reason: 'Halted' }),
    lab('net-1', { phase: 'Ready', reason: 'Expired' }),
    lab('net-1', { phase: 'Failed', reason: 'DiskLost', components: [machine('Failed', 'DiskLost')] }),
    lab('net-1', { phase: 'Provisioning', reason: 'Creating' }),
    lab('net-1', {}),
    lab('net-1', ready, '2026-01-01T00:00:00Z'),
    lab('net-2', ready),
    lab('', ready),
    lab(undefined, ready),
  ]
  expect(labClasses(labs, COURSE)).toEqual([
    {
      value: 'net-1',
      labs: { Ready: 1, Halted: 2, NotReady: 3, Failed: 1 },
      machines: { Ready: 4, NotReady: 1 },
    },
    { value: 'net-2', labs: { Ready: 1, Halted: 0, NotReady: 0, Failed: 0 }, machines: { Ready: 2, NotReady: 0 } },
  ])
})

it('outdated members are counted where labs say how many there are', () => {
  const counted = (outdated?: number) => ({ counts: { total: 3, ready: 3, provisioning: 0, failed: 0, outdated } })
  const labs = [lab('a', counted(2)), lab('a', counted(1)), lab('a', {}), lab('b', {})]
  expect(labClasses(labs, COURSE).map(({ value, outdated }) => [value, outdated])).toEqual([
    ['a', 3],
    ['b', undefined],
  ])
})

it('a label of many values has few classes: the largest, and one of all others', () => {
  const labs = Array.from({ length: CLASSES_MAX + 5 }, (_, at) => lab(`course-${String(at).padStart(3, '0')}`, {}))
  const classes = labClasses([...labs, lab('course-104', {})], COURSE)
  expect(classes).toHaveLength(CLASSES_MAX + 1)
  expect([classes[0]?.value, classes[1]?.value]).toEqual(['course-104', 'course-000'])
  expect(classes.at(-1)).toMatchObject({ value: OTHER_CLASSES, labs: { NotReady: 5 } })
  expect(classes.reduce((sum, { labs: { NotReady } }) => sum + NotReady, 0)).toBe(CLASSES_MAX + 6)
})
