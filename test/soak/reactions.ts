import type { SeenEvent } from '../harness/etcd-history.ts'
import type { Image } from '../harness/kinds.ts'

/**
 * Milliseconds from each change of a spec, including creation, to the status that reflects it (`observedGeneration`). A change
 * that is superseded by another one, or by the deletion of its image, never gets such a status and does not count.
 */
export function reactionTimes(events: readonly SeenEvent[]): number[] {
  const asked = new Map<string, { generation: number; at: number }>()
  return events.flatMap(({ kind, type, object, at }) => {
    if (kind !== 'VMDiskImage') return []
    const { metadata, status } = object as Image
    const { uid = '', generation = 0, deletionTimestamp } = metadata
    if (type === 'DELETED' || deletionTimestamp !== undefined) {
      asked.delete(uid)
      return []
    }
    const open = asked.get(uid)
    const isAnswered = status?.observedGeneration === generation
    if (!isAnswered && open?.generation !== generation) asked.set(uid, { generation, at })
    if (!isAnswered || open === undefined) return []
    asked.delete(uid)
    return open.generation === generation ? [at - open.at] : []
  })
}
