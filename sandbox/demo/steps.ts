import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import type { Entry } from './facts.ts'

/** What has to happen, as a sentence, and where it was seen first. */
export type Step = readonly [what: string, entry: Entry | undefined]

/** Each step has to come after the one before it, by revisions of etcd. */
export function outOfOrder(steps: readonly Step[]): string[] {
  return steps.flatMap(([what, entry], at) => {
    if (entry === undefined) return [`it was never seen that ${what}`]
    const [whatBefore, before] = steps[at - 1] ?? []
    if (before === undefined || compareResourceVersions(before.revision, entry.revision) < 0) return []
    return [`${what} before ${whatBefore}`]
  })
}
