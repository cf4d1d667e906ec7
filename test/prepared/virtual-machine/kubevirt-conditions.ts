import type { KubeVirtStatus } from './machine-objects.ts'

export type KubeVirtCondition = NonNullable<KubeVirtStatus['conditions']>[number]

export const NOT_READY: KubeVirtCondition = { type: 'Ready', status: 'False', reason: 'VMINotExists' }

export const kubeVirtStatus = (printableStatus: string, ...conditions: KubeVirtCondition[]): KubeVirtStatus => ({
  printableStatus,
  conditions: [NOT_READY, ...conditions],
})

export const unsynchronized = (reason: string, message: string): KubeVirtCondition => ({
  type: 'Synchronized',
  status: 'False',
  reason,
  message,
})

export const unscheduled = (message: string): KubeVirtCondition => ({
  type: 'PodScheduled',
  status: 'False',
  reason: 'Unschedulable',
  message,
})

export const NO_ROOM = unscheduled('0/3 nodes are available: 3 Insufficient memory.')
