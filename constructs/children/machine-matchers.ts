import { matcherKind } from '../api/machine-instancetype.ts'
import type { VirtualMachineSpec } from '../api/virtual-machine.ts'

/** What KubeVirt completes a machine with, as its VirtualMachine names it. KubeVirt may add `revisionName`. */
export interface GuestMatcher {
  readonly kind?: string
  readonly name?: string
}

export interface GuestMatchers {
  readonly instancetype?: GuestMatcher | undefined
  readonly preference?: GuestMatcher | undefined
}

/** What KubeVirt's machine has. */
export interface PresentMatchers extends GuestMatchers {
  /** Whether it has memory of its own. */
  readonly hasMemory: boolean
  /** Annotation `ANNOTATIONS.matchers`. */
  readonly had: string | undefined
}

export interface MachineMatchers {
  readonly named: GuestMatchers
  /** Value of annotation `ANNOTATIONS.matchers`; undefined if none is needed. */
  readonly annotation: string | undefined
  /** KubeVirt has put what they say into the machine, and taken them away. What it has put there stays. */
  readonly isExpanded: boolean
}

const WORDS = ['instancetype', 'preference'] as const
type Word = (typeof WORDS)[number]
const NOTHING: PresentMatchers = { hasMemory: false, had: undefined }

/**
 * Returns what KubeVirt's machine is to name. With the reference policy `expand` of KubeVirt it names nothing any more once KubeVirt has seen it. It would
 * refuse to have that written again, beside the CPU and memory that it has put there: the annotation tells that it was.
 */
export function matchersOf(spec: Pick<VirtualMachineSpec, Word>, present: PresentMatchers = NOTHING): MachineMatchers {
  const { hasMemory, had } = present
  const ours = WORDS.filter((word) => spec[word] !== undefined)
  const texts = ours.map((word) => textOf(word, spec[word]))
  const former = had?.split(',') ?? []
  const isSame = texts.length > 0 && texts.join() === had
  const isAway = ours.every((word) => present[word] === undefined)
  const isExpanded = isSame && isAway && (spec.instancetype === undefined || hasMemory)
  const named = WORDS.map((word) => {
    const isFormer = former.some((text) => text.startsWith(`${word}=`))
    if (spec[word] === undefined) return [word, isFormer ? undefined : present[word]] as const
    return [word, isExpanded ? undefined : matcherOf(word, spec[word], present[word])] as const
  })
  const annotation = texts.length > 0 || had !== undefined ? texts.join() : undefined
  return { named: Object.fromEntries(named), annotation, isExpanded }
}

/** Another name is written without the rest: the revision that KubeVirt has noted is one of the old name. */
function matcherOf(word: Word, wanted: GuestMatcher = {}, present?: GuestMatcher): GuestMatcher {
  const matcher = { kind: matcherKind(word, wanted.kind), name: wanted.name ?? '' }
  return present !== undefined && textOf(word, present) === textOf(word, matcher) ? present : matcher
}

function textOf(word: Word, { kind, name }: GuestMatcher = {}): string {
  return `${word}=${matcherKind(word, kind)}/${name}`
}
