import type { ProxiedRequest } from '../harness/fault-proxy-request.ts'
import { type Image, type Machine, reasonOf } from '../harness/kinds.ts'

const KUBEVIRT = 'kubevirt.io'

/** `verb resource`, such as `update vmdiskimages/status`. KubeVirt's kinds come with their group: one has the name of ours. */
export function nameOf({ verb, group, resource }: ProxiedRequest): string {
  return `${verb} ${resource}${group === KUBEVIRT ? `.${group}` : ''}`
}

/** A write without the reason that its status tells: of `update virtualmachines/status Ready` all but the last word. */
export function kindOf(write: string): string {
  return write.split(' ', 2).join(' ')
}

/** @param write as `verb resource`, or as `verb resource Reason` where only a status that tells this reason is meant */
export function isWrite(request: ProxiedRequest, write: string): boolean {
  const name = nameOf(request)
  return name === write || `${name} ${reasonOf(request.body as Image | Machine | undefined)}` === write
}

/** How often each kind of write is in a list. */
export function tally(writes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const write of writes) counts[write] = (counts[write] ?? 0) + 1
  return counts
}
