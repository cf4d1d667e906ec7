import type { Construct } from 'constructs'
import { type InterfaceWords, staticAddresses } from '../api/interface-words.ts'
import type { WorkspaceNetwork, WorkspaceSpec, WorkspaceVm } from '../api/workspace.ts'
import { ansibleYaml } from './ansible-yaml.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { type WorkspaceChildMetadata, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'
import { ansibleName } from './workspace-names.ts'

export interface AnsibleRenderingProps {
  readonly workspace: WorkspaceRef
  readonly spec: WorkspaceSpec
}

export interface AnsibleObject {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: WorkspaceChildMetadata
  readonly data: Readonly<Record<'inventory.yaml' | 'build.yaml' | 'deploy.yaml', string>>
}

/** Maximum size that the API server accepts for one ConfigMap. */
const BYTES_MAX = 2 ** 20

/**
 * The machines and containers of a workspace as an Ansible inventory, and the roles of its machines as plays, one for each machine with
 * roles. Contains no logins. The format is YAML 1.1, which is what Ansible reads.
 */
export class WorkspaceAnsible extends RenderedObject<AnsibleObject> {
  constructor(scope: Construct, id: string, props: AnsibleRenderingProps) {
    super(scope, id, ansibleOf(props))
  }
}

export function renderWorkspaceAnsible(props: AnsibleRenderingProps): AnsibleObject {
  return renderOne((chart) => new WorkspaceAnsible(chart, 'Ansible', props))
}

function ansibleOf({ workspace, spec }: AnsibleRenderingProps): AnsibleObject {
  const { vms = [] } = spec
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: workspaceChildMetadata({ workspace, name: ansibleName(workspace.name) }),
    data: {
      'inventory.yaml': ansibleYaml(inventory(workspace, spec)),
      'build.yaml': ansibleYaml(plays(vms, 'build')),
      'deploy.yaml': ansibleYaml(plays(vms, 'deploy')),
    },
  }
}

/**
 * Reports whether the plays are certainly larger than the API server accepts. Counts no further than that, and renders nothing: a deep list of empty
 * texts is many times as large as YAML, and rendering it takes seconds and hundreds of megabytes.
 */
export function areVariablesTooLarge({ vms = [] }: Pick<WorkspaceSpec, 'vms'>): boolean {
  const room = { left: BYTES_MAX }
  return vms.some(({ ansible }) =>
    [...(ansible?.roles?.build ?? []), ...(ansible?.roles?.deploy ?? [])].some(
      ({ variables }) => !takeLines(room, variables, VARIABLES_LEVEL),
    ),
  )
}

/** Level at which the variables of a role are in a play: below the play, its list of roles, the role and `vars`. */
const VARIABLES_LEVEL = 4
/** Spaces for each level. */
const INDENTATION = 2

/** Takes the least that a value takes as YAML: a line for each member of a map, and for each item without members. False if there is not enough. */
function takeLines(room: { left: number }, value: unknown, level: number): boolean {
  if (!hasMembers(value)) {
    room.left -= typeof value === 'string' ? value.length || '""'.length : 1
    return room.left >= 0
  }
  const isList = Array.isArray(value)
  for (const key in value) {
    const member = value[key]
    // The dash and its space, or the colon, and the end of the line.
    const around = isList ? 3 : key.length + 2
    if (!isList || !hasMembers(member)) room.left -= INDENTATION * level + around
    if (room.left < 0 || !takeLines(room, member, level + 1)) return false
  }
  return true
}

function hasMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  for (const _key in value) return true
  return false
}

/** Reports whether it is larger than the API server accepts. */
export function isAnsibleTooLarge({ data }: Pick<AnsibleObject, 'data'>): boolean {
  const encoder = new TextEncoder()
  return Object.values(data).reduce((bytes, text) => bytes + encoder.encode(text).length, 0) > BYTES_MAX
}

interface AnsibleHost {
  readonly name: string
  readonly interfaces?: readonly InterfaceWords[] | undefined
}

/** Names of groups have an underscore, so that they are never the name of a machine. */
function inventory({ name }: WorkspaceRef, { vms = [], containerClusters = [], networks = [] }: WorkspaceSpec): object {
  return {
    all: {
      vars: {
        ot_workspace: name,
        ot_networks: Object.fromEntries(networks.map((one) => [one.name, networkFacts(one)])),
      },
      children: {
        ot_machines: { hosts: Object.fromEntries(vms.map((vm) => [vm.name, { ...addresses(vm), ...versions(vm) }])) },
        ot_containers: { hosts: Object.fromEntries(containerClusters.map((one) => [one.name, addresses(one)])) },
      },
    },
  }
}

function addresses({ interfaces = [] }: AnsibleHost): object {
  if (interfaces.length === 0) return {}
  const [first] = interfaces.flatMap(staticAddresses)
  return {
    ...(first !== undefined && { ansible_host: first.split('/', 1)[0] }),
    ot_interfaces: interfaces.map((nic) => {
      const [address, ...others] = staticAddresses(nic)
      return {
        network: nic.network,
        ...(address !== undefined && { address }),
        ...(others.length > 0 && { further_addresses: others }),
      }
    }),
  }
}

function versions({ baseVm, baseVmVersion, version }: WorkspaceVm): object {
  return {
    ...(baseVm !== undefined && { ot_base_vm: baseVm }),
    ...(baseVmVersion !== undefined && { ot_base_vm_version: baseVmVersion }),
    ...(version !== undefined && { ot_version: version }),
  }
}

function networkFacts({ cidr, cidrs, rangeGateway, nameservers }: WorkspaceNetwork): object {
  return {
    ...(cidr !== undefined && { cidr }),
    ...(cidrs !== undefined && { cidrs }),
    ...(rangeGateway !== undefined && { gateway: rangeGateway }),
    ...(nameservers !== undefined && { nameservers: nameservers.addresses }),
  }
}

function plays(vms: readonly WorkspaceVm[], when: 'build' | 'deploy'): object[] {
  const all = vms.flatMap(({ name, ansible }) => {
    const roles = ansible?.roles?.[when] ?? []
    if (roles.length === 0) return []
    const entries = roles.map(({ role, variables }) => ({ role, ...(variables !== undefined && { vars: variables }) }))
    return [{ name: `${when} ${name}`, hosts: name, roles: entries }]
  })
  // Ansible treats an empty playbook as an error.
  return all.length > 0 ? all : [{ name: `nothing to ${when}`, hosts: 'all', gather_facts: false, tasks: [] }]
}
