import type { KubeVirtStatus } from './machine-objects.fixtures.ts'

export type Said = NonNullable<KubeVirtStatus['conditions']>[number]

export const NOT_READY: Said = { type: 'Ready', status: 'False', reason: 'VMINotExists' }

export const said = (printableStatus: string, ...conditions: Said[]): KubeVirtStatus => ({
  printableStatus,
  conditions: [NOT_READY, ...conditions],
})

export const unsynchronized = (reason: string, message: string): Said => ({
  type: 'Synchronized',
  status: 'False',
  reason,
  message,
})

export const unscheduled = (message: string): Said => ({
  type: 'PodScheduled',
  status: 'False',
  reason: 'Unschedulable',
  message,
})

export const NO_ROOM = unscheduled('0/3 nodes are available: 3 Insufficient memory.')
