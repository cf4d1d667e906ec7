import { allRefusedOverrides, type OverrideRoot, overridePath, readOverrides } from '../api/overrides.ts'
import type { SpecProblem } from '../api/spec-problem.ts'
import type { WorkspaceSpec, WorkspaceVm } from '../api/workspace.ts'
import { misplacedAddresses, misplacedHops } from '../api/workspace-cidrs.ts'
import { wrongDependencies } from '../api/workspace-dependencies.ts'
import { guestNames } from '../children/kubevirt-virtual-machine.ts'
import { membersOf, type WorkspaceMember } from '../children/member-names.ts'
import { podNames } from '../children/pod-overrides.ts'
import { templateWarnings } from '../children/workspace-lab-warnings.ts'
import { networkNames } from '../children/workspace-names.ts'

/**
 * Returns what cannot work in a spec that the API server accepts. For a stored object, the status says it; authors get it at synth. The places are
 * those of the items of the lists.
 */
export function labProblems(spec: WorkspaceSpec): SpecProblem[] {
  const { networks = [], vms = [], containerClusters = [] } = spec
  const members = new Map(membersOf(spec).map(({ name, dependsOn = [] }) => [name, { dependsOn }]))
  const ofMember = (list: string, root: OverrideRoot) => (member: WorkspaceMember, at: number) =>
    located(`spec.${list}[${at}]`, [
      ...wrongDependencies(members, member.name),
      ...misplacedAddresses(networks, member.interfaces ?? []),
      ...wrongOverrides(root, member),
    ])
  return [
    ...networks.flatMap((network, at) => located(`spec.networks[${at}]`, misplacedHops(network))),
    ...vms.flatMap((vm, at) => located(`spec.vms[${at}]`, templateWarnings(spec, vm))),
    ...vms.flatMap(ofMember('vms', 'vm')),
    ...containerClusters.flatMap(ofMember('containerClusters', 'pod')),
  ]
}

/** What the policy does not allow, only the operator knows. */
function wrongOverrides(root: OverrideRoot, member: WorkspaceMember): string[] {
  const { overrides } = member
  if (overrides === undefined) return []
  const refused = allRefusedOverrides(root, overrides)
  if (refused.length > 0) return refused.map(({ path, why }) => `overrides: ${path} ${why}`)
  const read = readOverrides(root, overrides)
  const items = read.ok ? read.values.flatMap(({ among }) => (among === undefined ? [] : [overridePath(among)])) : []
  const names = 'containers' in member ? podNames(member) : namesInGuest(member)
  return [...new Set(items)]
    .filter((item) => !names.has(item))
    .map((item) => `overrides: ${item} is not there: name one of ${[...names].join(', ')}`)
}

/** Networks of the lab have other names in the machine. */
function namesInGuest({ disks, interfaces = [], sysprepSecretRef }: WorkspaceVm): ReadonlySet<string> {
  const cards = interfaces.map((nic) => ({ ...nic, network: networkNames(nic.network).machines }))
  return guestNames({ disks, interfaces: cards, sysprepSecretRef } as never)
}

function located(path: string, messages: readonly string[]): SpecProblem[] {
  return messages.map((message) => ({ path, message }))
}
