import type { StatusPace } from '../../../runtime/object-controller.ts'
import type { Wake } from '../../../runtime/wake.ts'
import { isBehind, isWorthWriting, NAMES_EVERY_MS } from './status.ts'

const NAMES_DUE: Wake = { afterMs: NAMES_EVERY_MS, because: 'who refers to the image is written by then' }

/** When a status is written. */
export function paceOf(...what: Parameters<typeof isWorthWriting>): StatusPace {
  if (isWorthWriting(...what)) return { isStatusDue: true }
  const [before, after] = what
  return { isStatusDue: false, wake: isBehind(before, after) ? NAMES_DUE : undefined }
}
