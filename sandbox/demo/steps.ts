import { compareResourceVersions } from '../../operator/kube/kube-object.ts'
import type { Entry } from './facts.ts'

/** What must happen, as a sentence, and the entry that showed it first. */
export type Step = readonly [what: string, entry: Entry | undefined]

/** Returns the steps that did not come after the one before, by revisions of etcd, or were never observed. */
export function outOfOrder(steps: readonly Step[]): string[] {
  return steps.flatMap(([what, entry], at) => {
    if (entry === undefined) return [`it was never seen that ${what}`]
    const [whatBefore, before] = steps[at - 1] ?? []
    if (before === undefined || compareResourceVersions(before.revision, entry.revision) < 0) return []
    return [`${what} before ${whatBefore}`]
  })
}
