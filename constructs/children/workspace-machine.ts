import type { Construct } from 'constructs'
import { isOnPodNetwork, staticAddresses } from '../api/interface-words.ts'
import { ANNOTATIONS } from '../api/labels.ts'
import { isWindows } from '../api/machine-os.ts'
import type { NetworkDriver } from '../api/policy.ts'
import { isHalted } from '../api/power-state.ts'
import { type VirtualMachineInterface, type VirtualMachineSpec, virtualMachine } from '../api/virtual-machine.ts'
import type { WorkspaceNetwork, WorkspaceSpec, WorkspaceVm } from '../api/workspace.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { type ClaimsOfVolumes, presentClaimName } from './volume-claims.ts'
import { type WorkspaceChild, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'
import { hostAliasesOf } from './workspace-hosts.ts'
import { networkNames } from './workspace-names.ts'
import { mtuOf, routesOf } from './workspace-network.ts'
import { machineNodeGroup } from './workspace-node-group.ts'

/**
 * At the end of a value of annotation `ANNOTATIONS.rebuildRequestedAt` that a machine gets from its workspace: it was set while the workspace told of a loss,
 * and is about what is lost alone. A person who wants an empty volume again does not mean the disks of other machines.
 */
export const ABOUT_LOSSES = ' for-losses'

/** What a machine is asked for by an annotation. What is undefined is not rendered, and stays as it is. */
export interface MachineRequest {
  readonly value: string | undefined
  /** Which request of its workspace the machine was given last. */
  readonly given: string | undefined
}

export interface MachineRequests {
  readonly rebuild: MachineRequest
  readonly reset: MachineRequest
}

export interface WorkspaceMachineProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
  readonly vm: WorkspaceVm
  readonly driver: NetworkDriver
  readonly imageNamespace: string
  /** What the machine is asked for. Default: nothing. */
  readonly requests?: MachineRequests | undefined
  /** Claims of volumes that were restored. @default none */
  readonly volumeClaims?: ClaimsOfVolumes | undefined
}

type MachineInterface = NonNullable<WorkspaceVm['interfaces']>[number]

export type WorkspaceMachineObject = WorkspaceChild<'VirtualMachine', VirtualMachineSpec>

/** One machine of a workspace. It has no image template: the workspace ensures the images. Contains passwords if the workspace does. */
export class WorkspaceMachine extends RenderedObject<WorkspaceMachineObject> {
  constructor(scope: Construct, id: string, props: WorkspaceMachineProps) {
    super(scope, id, machineOf(props))
  }
}

export function renderWorkspaceMachine(props: WorkspaceMachineProps): WorkspaceMachineObject {
  return renderOne((chart) => new WorkspaceMachine(chart, 'VirtualMachine', props))
}

function machineOf(props: WorkspaceMachineProps): WorkspaceMachineObject {
  const { workspace, vm, requests } = props
  const asked = [
    [ANNOTATIONS.rebuildRequestedAt, requests?.rebuild.value],
    [ANNOTATIONS.givenRebuild, requests?.rebuild.given],
    [ANNOTATIONS.resetRequestedAt, requests?.reset.value],
    [ANNOTATIONS.givenReset, requests?.reset.given],
  ] as const
  const annotations = {
    ...Object.fromEntries(asked.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
    ...(vm.runStrategy !== undefined && { [ANNOTATIONS.runStrategy]: vm.runStrategy }),
  }
  return {
    apiVersion: virtualMachine.apiVersion,
    kind: 'VirtualMachine',
    metadata: workspaceChildMetadata({
      workspace,
      name: vm.name,
      ...(Object.keys(annotations).length > 0 && { annotations }),
    }),
    spec: machineSpec(props),
  }
}

/** Fields that a machine of a workspace and its VirtualMachine have alike, in the order in which they are rendered. */
const SAME_FIELDS = [
  'baseVm',
  'baseVmVersion',
  'version',
  'ignoreOnDeploy',
  'runStrategy',
  'os',
  'sysprepSecretRef',
  'firmware',
  'tpm',
  'instancetype',
  'preference',
  'nodeSelector',
  'tolerations',
  'readiness',
  'users',
  'userData',
  'userDataSecretRef',
  'overrides',
] as const satisfies readonly (keyof WorkspaceVm & keyof VirtualMachineSpec)[]

function machineSpec({
  workspace,
  spec,
  vm,
  driver,
  imageNamespace,
  volumeClaims,
}: WorkspaceMachineProps): VirtualMachineSpec {
  const { diskSize, disks = [], interfaces = [] } = vm
  const nodeGroup = machineNodeGroup(workspace, spec, vm, driver)
  const networks = new Map((spec.networks ?? []).map((network) => [network.name, network]))
  return {
    name: vm.name,
    ...Object.fromEntries(SAME_FIELDS.flatMap((field) => (vm[field] === undefined ? [] : [[field, vm[field]]]))),
    ...(isHalted(spec) && { powerState: 'Halted' as const }),
    ...((vm.resources !== undefined || diskSize !== undefined) && {
      resources: { ...vm.resources, ...(diskSize !== undefined && { diskSize }) },
    }),
    ...(disks.length > 0 && {
      disks: disks.map(({ volume, backingVMDiskImage: name, ...disk }) => ({
        ...disk,
        ...(volume !== undefined && { volume: presentClaimName(volume, volumeClaims) }),
        ...(name !== undefined && { vmDiskImageRef: { name, namespace: imageNamespace } }),
      })),
    }),
    ...(interfaces.length > 0 && {
      interfaces: interfaces.map((nic) => interfaceOf(nic, networks.get(nic.network))),
    }),
    ...hostAliasesIn(spec, vm),
    ...(nodeGroup !== undefined && { nodeGroup }),
    vmDiskImageRef: { name: vm.backingVMDiskImage, namespace: imageNamespace },
  }
}

/** Windows does not get them. */
function hostAliasesIn(spec: WorkspaceSpec, vm: WorkspaceVm): Pick<VirtualMachineSpec, 'hostAliases'> {
  const hostAliases = spec.names === 'hosts' && !isWindows(vm) ? hostAliasesOf(spec, vm) : []
  return hostAliases.length > 0 ? { hostAliases } : {}
}

function interfaceOf(nic: MachineInterface, network: WorkspaceNetwork | undefined): VirtualMachineInterface {
  if (isOnPodNetwork(nic)) return nic
  return {
    ...nic,
    network: networkNames(nic.network).machines,
    ...(network?.attach !== undefined && { attach: network.attach }),
    ...(network !== undefined && mtuOf(network)),
    // Without an address of its own the guest takes those of the DHCP server.
    ...(staticAddresses(nic).length > 0 && settingsOf(network)),
  }
}

/** Routes and name servers that everything on a network gets. */
function settingsOf(network: WorkspaceNetwork | undefined) {
  if (network === undefined) return {}
  const routes = routesOf(network)
  const nameservers = network.nameservers?.addresses ?? []
  return { ...(routes.length > 0 && { routes }), ...(nameservers.length > 0 && { nameservers }) }
}
