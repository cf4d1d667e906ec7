import type { Reason, ReasonHelp, VirtualMachineReason, WorkspaceReason } from '@open-terrain/constructs/operator'
import type { ClusterChoice } from '../surroundings.ts'
import { isQuiet } from './quiet.ts'
import { remedyCommands } from './remedies.ts'
import { helpOf, type Note, type StoryLink, type Subject } from './story.ts'
import { toPaste } from './to-paste.ts'
import { toldCommands } from './told-commands.ts'

/** What a chain ends at, with what to do about it. */
export interface Cause {
  readonly about: Subject
  readonly phase?: string | undefined
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly meaning?: string | undefined
  readonly remedy?: string | undefined
  /** Nobody has to act. */
  readonly isQuiet: boolean
  /** To paste. Words in capitals stand for what only people know. A line that starts with `#` says what the next one loses. */
  readonly commands: readonly string[]
}

/** A warning beside the chain. */
export interface Warning extends Note {
  readonly about: Subject
  readonly remedy?: string | undefined
  readonly isQuiet: boolean
  readonly commands: readonly string[]
}

interface Place {
  readonly operatorNamespace: string
  /** Workspace that the first link is part of. */
  readonly lab?: string | undefined
  readonly cluster?: ClusterChoice | undefined
}

/** Returns what the chain from a link ends at, once each. What nobody can look at ends it too. */
export function causesOf(first: StoryLink, place: Place): readonly Cause[] {
  const found = new Map<string, Cause>()
  for (const path of rootsOf(first, [])) {
    const cause = causeAt(path, place)
    const id = JSON.stringify(cause.about)
    if (!found.has(id)) found.set(id, cause)
  }
  return [...found.values()]
}

/** Returns the path to each link that is not well for nothing that is known. The link itself is the first of its path. */
function rootsOf(link: StoryLink, ancestors: readonly StoryLink[]): readonly (readonly StoryLink[])[] {
  if (link.isWell || link.isRepeated === true) return []
  const path = [link, ...ancestors]
  const further = link.because.flatMap((one) => rootsOf(one, path))
  const isToldBefore = link.because.some(({ isRepeated }) => isRepeated === true)
  return further.length > 0 || isToldBefore ? further : [path]
}

function causeAt(path: readonly StoryLink[], { operatorNamespace, lab, cluster }: Place): Cause {
  const [link] = path as readonly [StoryLink, ...StoryLink[]]
  const whole = labOfSecrets(path)
  if (whole !== undefined) return causeAt([whole], { operatorNamespace, cluster })
  // A neighbour's object has no remedy. That of the object which waits for it has.
  const at = path.findIndex(({ help, commands }) => help !== undefined || commands !== undefined)
  const told = path[at] ?? link
  const said = path
    .slice(0, at + 1)
    .map(toldCommands)
    .find((commands) => commands.length > 0)
  const subject = told.subject ?? told.about
  const of = path.find(({ about }) => about.kind === 'Workspace')?.about.name ?? lab
  const looked = link.about.group === undefined ? subject : link.about
  const place = { subject, looked, operatorNamespace, lab: of }
  return {
    about: link.about,
    ...{ phase: link.phase, reason: link.reason, message: link.message ?? told.message },
    ...{ meaning: told.help?.meaning, remedy: told.help?.remedy },
    isQuiet: told.help !== undefined && isQuiet(told.help),
    commands: toPaste(told.commands ?? remedyCommands(told.help, said ?? [], place), cluster),
  }
}

/** Reasons of a member of a lab that waits for a Secret or a ConfigMap. */
const OF_SECRETS: ReadonlySet<string | undefined> = new Set<WorkspaceReason | VirtualMachineReason | Reason>([
  'SecretMissing',
  'ConfigMapMissing',
  'MissingPasswordSecret',
  'MissingUserDataSecret',
])

/** Returns the lab that says it of all of its members, with one command for all that is missing. */
function labOfSecrets([link, ...ancestors]: readonly StoryLink[]): StoryLink | undefined {
  if (!OF_SECRETS.has(link?.reason) || link?.about.kind === 'VMDiskImage') return undefined
  return ancestors.find((one) => {
    return one.about.kind === 'Workspace' && OF_SECRETS.has(one.reason) && toldCommands(one).length > 0
  })
}

/** Returns the warnings of all links, once each. */
export function notesAlong(first: StoryLink, place: Place): readonly Warning[] {
  const warnings = new Map<string, Warning>()
  for (const link of linksOf(first)) {
    for (const note of link.notes ?? []) {
      const help: ReasonHelp | undefined = helpOf(link.about.kind, note.reason)
      const said = toldCommands({ ...note, about: link.about })
      const here = { ...place, subject: link.about, looked: link.about }
      const commands = toPaste(remedyCommands(help, said, here), place.cluster)
      const { about } = link
      const warning = { ...note, about, remedy: help?.remedy, isQuiet: help !== undefined && isQuiet(help), commands }
      warnings.set(JSON.stringify([note.reason, note.message]), warning)
    }
  }
  return [...warnings.values()]
}

/** Returns a link with all behind it. */
export function linksOf(link: StoryLink): readonly StoryLink[] {
  return [link, ...link.because.flatMap(linksOf)]
}
