import { DNS_SUBDOMAIN } from '../api/shared.ts'
import type { WorkspaceContainerCluster, WorkspaceSpec, WorkspaceVm } from '../api/workspace.ts'
import { memoized } from '../schema/memoized.ts'

export type WorkspaceMember = WorkspaceVm | WorkspaceContainerCluster
type Named = Pick<WorkspaceMember, 'name' | 'aliases'>
export type Members = Pick<WorkspaceSpec, 'vms' | 'containerClusters'>

export function membersOf({ vms = [], containerClusters = [] }: Members): readonly WorkspaceMember[] {
  return [...vms, ...containerClusters]
}

/** Returns who is known by which names in a spec. Each member asks for that, for its file and for its warnings. */
export const memberNamesIn = memoized((spec: Members) => new MemberNames(spec))

/** These are names of the host itself, in every hosts file. */
export const LOCAL_NAMES: ReadonlySet<string> = new Set(['localhost', 'ip6-localhost', 'ip6-loopback'])
const HOST_NAME = new RegExp(DNS_SUBDOMAIN)

/** Who is known by which names, in a Workspace. A name stands for one member. */
class MemberNames {
  /** Names of the members that have a name or an alias, by it. */
  readonly #owners = new Map<string, Set<string>>()

  /** What {@link of} returns, by the name of the member. */
  readonly #usable = new Map<string, string[]>()

  constructor(spec: Members) {
    for (const { name, aliases = [] } of membersOf(spec))
      for (const one of [name, ...aliases]) this.#owners.set(one, (this.#owners.get(one) ?? new Set()).add(name))
  }

  /** Returns another member that has a name. */
  otherThan(member: string, name: string): string | undefined {
    return [...(this.#owners.get(name) ?? [])].find((one) => one !== member)
  }

  /** Returns what others know a member by: its name, and those of its aliases that nothing is wrong with. */
  of(member: Named): string[] {
    const names = this.#usable.get(member.name) ?? this.#namesOf(member)
    this.#usable.set(member.name, names)
    return names
  }

  #namesOf({ name, aliases = [] }: Named): string[] {
    const usable = aliases.filter((alias) => this.#wrong(name, alias) === undefined)
    return [...new Set([name, ...usable])].filter((one) => !LOCAL_NAMES.has(one))
  }

  /** Returns why aliases of a member cannot be used, as a sentence without its end; undefined if all can. */
  wrongIn({ name, aliases = [] }: Named): string | undefined {
    for (const alias of aliases) {
      const wrong = this.#wrong(name, alias)
      if (wrong !== undefined) return wrong
    }
    return undefined
  }

  #wrong(member: string, alias: string): string | undefined {
    const quoted = `aliases has ${JSON.stringify(alias)}`
    if (!HOST_NAME.test(alias))
      return `${quoted}, which is no host name: take lower-case letters, digits, "-" and ".", with a letter or digit at both ends`
    if (LOCAL_NAMES.has(alias)) return `${quoted}, which is a name that each host has for itself: remove it there`
    const other = this.otherThan(member, alias)
    return other && `${quoted}, which is a name of ${other}, too: leave it to one of them`
  }
}
