import type { WorkspaceStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { workspaceThrottleOf } from './status.ts'

const component = (phase: 'Provisioning' | 'Ready', message = '') => ({
  kind: 'Network',
  name: 'n',
  phase,
  reason: 'x',
  message,
})
const BEFORE: WorkspaceStatus = { phase: 'Provisioning', components: [component('Provisioning')] }
const due = (after: WorkspaceStatus, sinceWriteMs?: number) => workspaceThrottleOf(BEFORE, after, sinceWriteMs)

describe('the status of a workspace is written', () => {
  it.each<[what: string, after: WorkspaceStatus, sinceMs: number | undefined, leftMs: number | undefined]>([
    ['at once when its phase changes', { ...BEFORE, phase: 'Ready' }, 1, undefined],
    [
      'at once when something is lost: nothing else may show it later',
      { ...BEFORE, lost: [{ component: 'VirtualMachine web' }] },
      1,
      undefined,
    ],
    [
      'at once when something has data: nothing else shows later that it had any',
      { ...BEFORE, irreplaceable: ['Volume data'] },
      1,
      undefined,
    ],
    [
      'at once when all machines have got a request: each may have one of its own from then on',
      { ...BEFORE, passedReset: '0123abcd' },
      1,
      undefined,
    ],
    [
      'at once when nothing was written yet',
      { phase: 'Provisioning', components: [component('Ready')] },
      undefined,
      undefined,
    ],
    ['every two seconds when components move', { phase: 'Provisioning', components: [component('Ready')] }, 500, 1_500],
    [
      'every ten seconds when only words change',
      { phase: 'Provisioning', components: [component('Provisioning', 'new')] },
      4_000,
      6_000,
    ],
  ])('%s', (_what, after, sinceMs, leftMs) => {
    const { isStatusDue, requeue } = due(after, sinceMs)
    expect([isStatusDue, requeue?.afterMs]).toEqual([leftMs === undefined, leftMs])
  })

  it('not at all when it says the same', () => {
    expect(due(BEFORE)).toEqual({ isStatusDue: false })
  })
})
