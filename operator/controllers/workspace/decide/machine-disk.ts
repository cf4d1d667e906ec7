import type { VirtualMachineReason } from '@open-terrain/constructs/operator'
import type { MachineFacts } from '../world.ts'

/** Reasons of a machine that waits for its image, whatever it once had. */
const WAITS_FOR_IMAGE: ReadonlySet<string> = new Set<VirtualMachineReason>([
  'ImageMissing',
  'ImageNotFound',
  'ImageTerminating',
  'ImageFailed',
  'ImageSyncing',
  'ImageCorrected',
  'WaitingForImage',
  'CloneSourceGone',
])

/** Reports whether a machine does not need its image any more: its disk is a copy, and complete. */
export function hasItsDisk({ status }: Pick<MachineFacts, 'status'>): boolean {
  const { phase, reason = '', bootedAt, clone } = status
  const isMade = bootedAt !== undefined || clone?.phase === 'Succeeded'
  return isMade && (phase === 'Ready' || !WAITS_FOR_IMAGE.has(reason))
}
