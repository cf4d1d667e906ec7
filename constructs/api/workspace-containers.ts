import { z } from 'zod'
import { cel, dnsLabel, listMap, matching, maybeFlag, maybeText } from './shared.ts'
import { containerMemoryField } from './sizes.ts'
import { cpuField } from './virtual-machine-cpu.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'
import { memberName } from './workspace-member-name.ts'
import { workspaceInterfaces } from './workspace-networks.ts'
import { absolutePath } from './workspace-volumes.ts'

/** As in the proposal: lower case, where Kubernetes uses upper case. */
const PROTOCOLS = ['tcp', 'udp', 'sctp'] as const

const CAPABILITY = 'must be a capability of Linux in upper case without CAP_, such as NET_BIND_SERVICE, or ALL'

const capabilityNames = (description: string) =>
  z
    .array(
      cel(matching(z.string().min(1).max(32), '^[A-Z][A-Z_]*$', CAPABILITY), {
        rule: "!self.startsWith('CAP_')",
        message: CAPABILITY,
        holds: (name: string) => !name.startsWith('CAP_'),
      }).describe('One capability, such as NET_BIND_SERVICE.'),
    )
    .max(WORKSPACE_LIMITS.capabilities)
    .describe(description)
    .optional()

const capabilities = z
  .object({
    add: capabilityNames(
      'Capabilities to add to those of the runtime. The policy key allowedCapabilities must name each.',
    ),
    drop: capabilityNames('Capabilities to remove. ALL removes all that add does not name.'),
  })
  .describe('Linux capabilities of the container. Default: those of the runtime.')

const volumeMount = z
  .object({
    name: z
      .string()
      .min(1)
      .max(63)
      .describe('Name of one of spec.volumes, or ansible: the inventory and the plays of the workspace.'),
    containerPath: absolutePath('containerPath').describe('Where the volume is in the container, such as /config.'),
    readOnly: maybeFlag('True: the container cannot write to it. Default: false; ansible is always read-only.'),
  })
  .describe('One volume in a container.')

const port = (description: string) => z.int().min(1).max(65535).describe(description)

const portMapping = z
  .object({
    containerPort: port('Port that the container listens on.'),
    protocol: z.enum(PROTOCOLS).describe('tcp, udp or sctp. Default: tcp.').optional(),
    hostPort: port(
      'Port of the node that leads to it, where the policy key allowHostPorts is true. Default: none.',
    ).optional(),
  })
  .describe('One port that may be reached from outside the workspace.')

const env = z
  .object({
    name: matching(
      z.string().min(1).max(128),
      '^[-._a-zA-Z][-._a-zA-Z0-9]*$',
      'must be the name of an environment variable: letters, digits, "_", "-" and ".", with no digit first',
    ).describe('Name of the variable.'),
    value: maybeText(4096, 'Its value: a text, so quote numbers, true and false. Default: the empty text.'),
  })
  .describe('One environment variable.')

const container = z
  .object({
    name: dnsLabel().describe('Name of the container.'),
    image: matching(
      z.string().min(1).max(512),
      '^[!-~]+$',
      'must be the reference of a container image such as ghcr.io/demo/app:1.0.2, without blanks',
    ).describe('Container image, such as ghcr.io/demo/demo-containers/demo-app:1.0.2.'),
    resources: z
      .object({
        cpu: cpuField("CPUs that are reserved, at most 512, such as 128m, 2 or '1.5' (in quotes).").optional(),
        memory: containerMemoryField(
          'Memory that is reserved, and most that the container may use, such as 256Mi.',
        ).optional(),
      })
      .describe('What the container needs. Default: nothing in particular.')
      .optional(),
    capabilities: capabilities.optional(),
    env: listMap(
      z.array(env).max(WORKSPACE_LIMITS.env),
      'name',
      'Environment variables. Everyone who may read the workspace can read them: no place for passwords.',
    ).optional(),
    volumeMounts: listMap(
      z.array(volumeMount).max(WORKSPACE_LIMITS.volumeMounts),
      'containerPath',
      'Volumes in the container.',
    ).optional(),
    portMappings: z
      .array(portMapping)
      .max(WORKSPACE_LIMITS.portMappings)
      .describe('Ports that may be reached from outside the workspace. Default: none.')
      .optional(),
  })
  .describe('One container.')

const containerCluster = z
  .object({
    name: memberName().describe('Name of the cluster: of its Deployment, and its host name.'),
    ignoreOnDeploy: maybeFlag('True: its containers are not created; what exists stays. Default: false.'),
    interfaces: workspaceInterfaces('containers, which they share', 'the pod network alone.').optional(),
    containers: listMap(
      z.array(container).min(1).max(WORKSPACE_LIMITS.containers),
      'name',
      'Containers of the cluster: one pod.',
    ),
  })
  .describe('Containers that share one host name and its interfaces.')

export const containerClusters = listMap(
  z.array(containerCluster).max(WORKSPACE_LIMITS.containerClusters),
  'name',
  'Container clusters of the workspace.',
)
