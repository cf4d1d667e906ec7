import type { StatusPace, Wake } from '../../../runtime/wake.ts'
import { isBehind, isImageStatusDue, NAMES_EVERY_MS } from './status.ts'

const NAMES_DUE: Wake = { afterMs: NAMES_EVERY_MS, because: 'who refers to the image is written by then' }

/** Decides when a status is written. */
export function imagePaceOf(...what: Parameters<typeof isImageStatusDue>): StatusPace {
  if (isImageStatusDue(...what)) return { isStatusDue: true }
  const [before, after] = what
  return { isStatusDue: false, wake: isBehind(before, after) ? NAMES_DUE : undefined }
}
