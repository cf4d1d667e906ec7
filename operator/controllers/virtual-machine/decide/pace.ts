import type { VirtualMachineStatus } from '@open-terrain/constructs'
import { reasonOf } from '../../../runtime/standing.ts'
import { paceBetween, type StatusPace } from '../../../runtime/wake.ts'
import { isRemark, isTrouble } from './status.ts'

/** Messages of other components about trouble may change all the time. */
const WORDS_EVERY_MS = 10_000
const MOVES_EVERY_MS = 30_000
/** If many machines wait for the same image, one write per second is enough for all of them together. */
const APART_MS = 1_000

/**
 * Decides when a status is written: the standing at once, texts that people must act upon every 10 s, what changes by itself every 30 s.
 * @param waiting number of machines that wait for the same image
 */
export function machinePaceOf(
  before: VirtualMachineStatus,
  after: VirtualMachineStatus,
  sinceWriteMs?: number,
  waiting = 1,
): StatusPace {
  // The first place in the queue is written at once. Its changes, and its absence for a while, are written with other changes.
  const isPlaceNew = hasPlace(after) && !hasPlace(before)
  const place = (status: VirtualMachineStatus) => isPlaceNew && hasPlace(status)
  const aspects = [[place, 0] as const, [standing, 0] as const, [words, WORDS_EVERY_MS] as const]
  const movesEveryMs = Math.max(MOVES_EVERY_MS, waiting * APART_MS)
  return paceBetween([before, after], aspects, movesEveryMs, sinceWriteMs, 'what has moved is written then')
}

function hasPlace({ image }: VirtualMachineStatus): boolean {
  return image?.queuePosition !== undefined
}

/** Returns everything except texts and the progress of a step. */
function standing(status: VirtualMachineStatus): unknown {
  const { message: _message, clone, image, kubevirt: _kubevirt, addresses, conditions, ...rest } = status
  return {
    ...rest,
    // Clients that wait for a machine read its addresses when it is ready.
    addresses: status.phase === 'Ready' ? addresses : undefined,
    clone: clone && { ...clone, uid: undefined, phase: undefined, progress: undefined, progressTime: undefined },
    image: image && { namespace: image.namespace, name: image.name },
    conditions: conditions?.map(({ type, status: holds, reason }) => [type, holds, reason].join()).toSorted(),
  }
}

/** Returns the texts that people must act upon. */
function words(status: VirtualMachineStatus): unknown {
  const { phase, message, conditions = [] } = status
  const isToActUpon = phase === 'Failed' || isTrouble(reasonOf(status))
  return [isToActUpon && message, conditions.filter(isRemark).map((one) => one.message)]
}
