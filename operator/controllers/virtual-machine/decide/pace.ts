import type { VirtualMachineStatus } from '@open-terrain/constructs'
import { isSame } from '../../../runtime/owned-fields.ts'
import type { StatusPace } from '../../../runtime/status-pace.ts'
import { isMachineStatusDue, movesEveryMs } from './status.ts'

/** When a status is written. @param waiting machines that wait for the same image */
export function machinePaceOf(
  before: VirtualMachineStatus,
  { finalizer, status }: { readonly finalizer: string; readonly status: VirtualMachineStatus },
  sinceWriteMs: number | undefined,
  waiting: number,
): StatusPace {
  const everyMs = movesEveryMs(waiting)
  const isStatusDue = finalizer !== 'release' && isMachineStatusDue(before, status, sinceWriteMs, everyMs)
  if (isStatusDue || isSame(before, status)) return { isStatusDue }
  return { isStatusDue, wake: { afterMs: everyMs, because: 'progress is written by then' } }
}
