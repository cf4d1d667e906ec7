import { addressingOf, isOnPodNetwork } from '../api/interface-words.ts'
import type { WorkspaceNetwork, WorkspaceSpec, WorkspaceVm } from '../api/workspace.ts'
import { membersOf, type WorkspaceMember } from '../children/member-names.ts'

/** Returns what to say of a network that nobody is on. */
export function unusedNetwork(spec: WorkspaceSpec, { name }: WorkspaceNetwork): string[] {
  const isUsed = membersOf(spec).some(({ interfaces = [] }) => interfaces.some((nic) => isOn(nic, name)))
  return isUsed ? [] : ['nobody is on it: connect a member, or remove it']
}

/**
 * Returns the networks on which a machine asks for an address, and where nobody can answer: all others ask, too. Who serves addresses has one itself, or says
 * that it asks for none. What a container gives its interface, nobody knows, nor who is on a network of the cluster.
 */
export function unservedNetworks(spec: WorkspaceSpec, vm: WorkspaceVm): string[] {
  const { networks = [] } = spec
  const servers = membersOf(spec).filter((one) => one.name !== vm.name && one.ignoreOnDeploy !== true)
  return networks
    .filter(({ name, attach }) => attach === undefined && asksOn(vm, name))
    .filter(({ name }) => !servers.some((one) => mayServe(one, name)))
    .map(
      ({ name }) =>
        `its guest asks for an address on network ${name}, and nobody there can be a DHCP server: give it an address, connect a server that has one, or write addressing: none where the guest sets its address itself`,
    )
}

type Nic = NonNullable<WorkspaceMember['interfaces']>[number]

/** An interface on pod without an address is on the pod network, whatever the networks are called. */
function isOn(nic: Nic, network: string): boolean {
  return nic.network === network && !isOnPodNetwork(nic)
}

function asksOn({ interfaces = [] }: WorkspaceVm, network: string): boolean {
  return interfaces.some((nic) => isOn(nic, network) && addressingOf(nic) === 'dhcp')
}

function mayServe(member: WorkspaceMember, network: string): boolean {
  const own = (member.interfaces ?? []).filter((nic) => isOn(nic, network))
  return own.some((nic) => 'containers' in member || addressingOf(nic) !== 'dhcp')
}
