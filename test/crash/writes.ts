import type { ProxiedRequest } from '../harness/fault-proxy-request.ts'
import { type Image, type Machine, reasonOf } from '../harness/kinds.ts'

const KUBEVIRT = 'kubevirt.io'

/** `verb resource`, such as `update vmdiskimages/status`. Kinds of KubeVirt include their group, because one has the same name as ours. */
export function nameOf({ verb, group, resource }: ProxiedRequest): string {
  return `${verb} ${resource}${group === KUBEVIRT ? `.${group}` : ''}`
}

/** A write without the reason of its status: `update virtualmachines/status Ready` without the last word. */
export function kindOf(write: string): string {
  return write.split(' ', 2).join(' ')
}

/** @param write `verb resource`, or `verb resource Reason` to match only a status with this reason */
export function isWrite(request: ProxiedRequest, write: string): boolean {
  const name = nameOf(request)
  return name === write || `${name} ${reasonOf(request.body as Image | Machine | undefined)}` === write
}

/** Number of writes of each kind in a list. */
export function tally(writes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const write of writes) counts[write] = (counts[write] ?? 0) + 1
  return counts
}
