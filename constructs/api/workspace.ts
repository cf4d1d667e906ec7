import { z } from 'zod'
import { defineResource } from '../schema/define-resource.ts'
import { ageColumn, MESSAGE_COLUMN, phaseColumn, reasonColumn, WARNINGS_COLUMN } from './columns.ts'
import { type Parsed, parseSpec } from './parse-spec.ts'
import { powerStateField } from './power-state.ts'
import { cel, DNS_LABEL, GROUP, VERSION } from './shared.ts'
import { ansibleField } from './workspace-ansible.ts'
import { containerClusters } from './workspace-containers.ts'
import { expiryFields } from './workspace-expiry.ts'
import { internetAccessField } from './workspace-internet-access.ts'
import { networks } from './workspace-networks.ts'
import { owners } from './workspace-owners.ts'
import { workspaceRules } from './workspace-rules.ts'
import { secrets } from './workspace-secrets.ts'
import { services } from './workspace-services.ts'
import { WORKSPACE_CONDITION_RULES, workspaceStatus } from './workspace-status.ts'
import { updateStrategyField } from './workspace-update-strategy.ts'
import { vms } from './workspace-vms.ts'
import { volumes } from './workspace-volumes.ts'

export { WORKSPACE_REASON_HELP, WORKSPACE_REASONS, type WorkspaceReason } from './workspace-reasons.ts'
export {
  COMPONENT_MESSAGE_MAX,
  WORKSPACE_CONDITION_RULES,
  WORKSPACE_CONDITIONS,
  WORKSPACE_PHASES,
  type WorkspaceComponent,
  type WorkspacePhase,
  type WorkspaceStatus,
} from './workspace-status.ts'

const specFields = z.object({
  vms: vms.optional(),
  containerClusters: containerClusters.optional(),
  volumes: volumes.optional(),
  networks: networks.optional(),
  owners: owners.optional(),
  services: services.optional(),
  secrets: secrets.optional(),
  internetAccess: internetAccessField,
  ansible: ansibleField.optional(),
  powerState: powerStateField(
    'Halted: all machines and container clusters are off. Disks, volumes, addresses, networks, Services and Secrets stay, and images stay in use. Default: Running.',
  ),
  ...expiryFields,
  updateStrategy: updateStrategyField,
  names: z
    .enum(['hosts'])
    .describe(
      'hosts: containers and Linux machines have the static addresses of all members on their networks in /etc/hosts, by their names, as they are when they start. Default: not set.',
    )
    .optional(),
})

const spec = cel(specFields, ...workspaceRules).describe('What the workspace is made of.')

export const workspace = defineResource({
  group: GROUP,
  version: VERSION,
  kind: 'Workspace',
  plural: 'workspaces',
  singular: 'workspace',
  shortNames: ['otws'],
  categories: ['ot'],
  namespaced: false,
  description:
    'A lab: virtual machines, containers, networks and volumes that belong together, in a namespace of the same name, apart from all others. ' +
    'The operator creates all of it, keeps it as this spec says, reports its status, and removes it with the workspace.',
  name: {
    pattern: DNS_LABEL,
    message:
      'metadata.name must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends: it names the namespace of ' +
      'the workspace',
  },
  spec,
  status: workspaceStatus,
  conditions: WORKSPACE_CONDITION_RULES,
  printerColumns: [
    phaseColumn('Current phase.'),
    reasonColumn('Why it is in this phase.'),
    { name: 'Ready', type: 'string', jsonPath: '.status.ready', description: 'Components that are ready, of all.' },
    {
      name: 'Outdated',
      type: 'string',
      jsonPath: '.status.outdated',
      description: 'Machines that are outdated, of all.',
    },
    { name: 'Waiting', type: 'string', jsonPath: '.status.waitingFor', description: 'What the workspace waits for.' },
    {
      name: 'Expires',
      // Not a date: kubectl shows a date that is still to come as <invalid>.
      type: 'string',
      jsonPath: '.status.expiresAt',
      description: 'When the workspace ends.',
    },
    ageColumn('workspace'),
    WARNINGS_COLUMN,
    MESSAGE_COLUMN,
  ],
})

/** The spec as the operator reads it. */
export type WorkspaceSpec = z.output<typeof spec>
export type WorkspaceVm = NonNullable<WorkspaceSpec['vms']>[number]
export type WorkspaceContainerCluster = NonNullable<WorkspaceSpec['containerClusters']>[number]
export type WorkspaceContainer = WorkspaceContainerCluster['containers'][number]
export type WorkspaceVolume = NonNullable<WorkspaceSpec['volumes']>[number]
export type WorkspaceOwner = NonNullable<WorkspaceSpec['owners']>[number]
export type WorkspaceService = NonNullable<WorkspaceSpec['services']>[number]
export type WorkspaceSecret = NonNullable<WorkspaceSpec['secrets']>[number]
export type WorkspaceNetwork = NonNullable<WorkspaceSpec['networks']>[number]

export type ParsedWorkspaceSpec = Parsed<WorkspaceSpec>

/** Returns all containers of the pod of a cluster, those that run first included. */
export function containersOf({
  initContainers = [],
  containers,
}: Pick<WorkspaceContainerCluster, 'initContainers' | 'containers'>): readonly WorkspaceContainer[] {
  return [...initContainers, ...containers]
}

/** Validates a spec from any source. Returns at most one problem per field. Drops unknown fields. Never throws. */
export function parseWorkspaceSpec(raw: unknown): ParsedWorkspaceSpec {
  return parseSpec(spec, raw)
}
