import { type OverrideRoot, readOverrides } from '../api/overrides.ts'
import type { SpecProblem } from '../api/spec-problem.ts'
import type { WorkspaceSpec } from '../api/workspace.ts'
import { misplacedAddress, misplacedHop } from '../api/workspace-cidrs.ts'
import { wrongDependency } from '../api/workspace-dependencies.ts'
import { membersOf, type WorkspaceMember } from '../children/member-names.ts'
import { templateWarnings } from '../children/workspace-lab-warnings.ts'

/**
 * Returns what cannot work in a spec that the API server accepts. The operator says it of an object that exists, and authors are told at synth. The places are
 * those of the items of the lists.
 */
export function labProblems(spec: WorkspaceSpec): SpecProblem[] {
  const { networks = [], vms = [], containerClusters = [] } = spec
  const members = new Map(membersOf(spec).map(({ name, dependsOn = [] }) => [name, { dependsOn }]))
  const ofMember = (list: string, root: OverrideRoot) => (member: WorkspaceMember, at: number) =>
    located(`spec.${list}[${at}]`, member.name, [
      ...some(wrongDependency(members, member.name)),
      ...some(misplacedAddress(networks, member.interfaces ?? [])),
      ...wrongOverrides(root, member),
    ])
  return [
    ...networks.flatMap((network, at) => located(`spec.networks[${at}]`, network.name, some(misplacedHop(network)))),
    ...vms.flatMap((vm, at) => located(`spec.vms[${at}]`, vm.name, templateWarnings(spec, vm))),
    ...vms.flatMap(ofMember('vms', 'vm')),
    ...containerClusters.flatMap(ofMember('containerClusters', 'pod')),
  ]
}

/** What the policy does not allow, only the operator knows. */
function wrongOverrides(root: OverrideRoot, { overrides }: WorkspaceMember): string[] {
  const read = overrides === undefined ? undefined : readOverrides(root, overrides)
  return read === undefined || read.ok ? [] : [`overrides: ${read.refused.path} ${read.refused.why}`]
}

function located(path: string, name: string, messages: readonly string[]): SpecProblem[] {
  return messages.map((message) => ({ path, message: `${name}: ${message}` }))
}

function some(message: string | undefined): string[] {
  return message === undefined ? [] : [message]
}
