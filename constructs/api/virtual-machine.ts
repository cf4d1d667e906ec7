import { z } from 'zod'
import { defineResource } from '../schema/define-resource.ts'
import { ageColumn, MESSAGE_COLUMN, phaseColumn, queueColumns, reasonColumn, WARNINGS_COLUMN } from './columns.ts'
import { hostAliasesField } from './host-aliases.ts'
import { disksField, MACHINE_DISKS_MAX } from './machine-disks.ts'
import { hardwareFields } from './machine-hardware.ts'
import { matcherFields, sizedOnce } from './machine-instancetype.ts'
import { osFields, osRules } from './machine-os.ts'
import { placementFields } from './machine-placement.ts'
import { readinessField, readinessRule } from './machine-readiness.ts'
import { MACHINE_OVERRIDES_HELP, overridesField } from './overrides.ts'
import { type Parsed, parseSpec } from './parse-spec.ts'
import { powerStateField, runStrategyField } from './power-state.ts'
import { cel, DNS_LABEL, dnsLabel, GROUP, labelTextField, maybeFlag, objectName, VERSION } from './shared.ts'
import { diskSizeField, memoryField } from './sizes.ts'
import { userDataFields, withOneUserData } from './user-data.ts'
import { cpuField } from './virtual-machine-cpu.ts'
import { interfaces } from './virtual-machine-interfaces.ts'
import { VIRTUAL_MACHINE_CONDITION_RULES, virtualMachineStatus } from './virtual-machine-status.ts'
import { usersField } from './virtual-machine-users.ts'
import { vmDiskImage } from './vm-disk-image.ts'

export {
  VIRTUAL_MACHINE_REASON_HELP,
  VIRTUAL_MACHINE_REASONS,
  type VirtualMachineReason,
} from './virtual-machine-reasons.ts'
export {
  VIRTUAL_MACHINE_CONDITION_RULES,
  VIRTUAL_MACHINE_CONDITIONS,
  VIRTUAL_MACHINE_PHASES,
  type VirtualMachinePhase,
  type VirtualMachineStatus,
} from './virtual-machine-status.ts'

/** What happens if the image does not exist. */
export const VM_DISK_IMAGE_MODES = ['CreateIfNotExist', 'FailIfNotExist'] as const
export type VMDiskImageMode = (typeof VM_DISK_IMAGE_MODES)[number]

const resources = z
  .object({
    cpu: cpuField(
      "Virtual CPUs, at most 512. A fraction such as 500m or '1.5' (in quotes: YAML takes it for a number otherwise, which is refused) gives " +
        'the guest the next whole number of them and reserves only the fraction on the node.',
    ).optional(),
    memory: memoryField('Memory of the guest as a quantity such as 2Gi, between 64Mi and 16Ti.').optional(),
    diskSize: diskSizeField(
      'Size of the root disk as a quantity such as 24Gi. A disk is never smaller than its image. Default: the size of the image.',
    ).optional(),
  })
  .describe('CPU, memory and disk of the machine. With instancetype only diskSize.')
  .optional()

const imageRef = z.object({
  name: objectName().describe('Name of the VMDiskImage.').meta({ example: 'redblue-1.4.0-kali' }),
  namespace: dnsLabel()
    .describe(
      'Its namespace. Another one needs the right to use the image there. Default: that of the virtual machine.',
    )
    .meta({ example: 'vmdi-farm' })
    .optional(),
})
const vmDiskImageRef = imageRef.describe('The VMDiskImage that the root disk is cloned from.')

const specFields = z.object({
  baseVm: labelTextField(
    "Machine that this one is derived from, such as ubuntu_2004_lts_en-us_x64. A label of KubeVirt's machine, its instance and its pod.",
  ).optional(),
  baseVmVersion: labelTextField(
    "Version of that machine, such as 2.1.2; quote a number. A label of KubeVirt's machine, its instance and its pod.",
  ).optional(),
  version: labelTextField(
    "Version of this machine, such as 2.1.0; quote a number. A label of KubeVirt's machine, its instance and its pod.",
  ).optional(),
  name: dnsLabel()
    .describe('Host name of the guest. Default: the name of the virtual machine.')
    .meta({ example: 'kali' })
    .optional(),
  ignoreOnDeploy: maybeFlag(
    'True: only the image is ensured, no machine is created; one that exists stays. Default: false.',
  ),
  runStrategy: runStrategyField(
    'When the guest runs. Always: it is started again whenever it ends. Halted: it is off, and its disk stays. Manual: people start ' +
      'and stop it with virtctl, and it is left as they leave it. Default: Always.',
  ),
  powerState: powerStateField(
    'Halted: the guest is off, and its disk stays, whatever runStrategy says. Running: runStrategy counts. A Workspace sets it for its machines. Default: Running.',
  ),
  ...osFields,
  ...hardwareFields,
  ...placementFields('machine'),
  readiness: readinessField,
  users: usersField({ users: 16, keys: 16, keyLength: 4096 }).optional(),
  ...userDataFields,
  ...matcherFields,
  resources,
  disks: disksField(
    objectName()
      .describe(
        'Name of a PersistentVolumeClaim in the namespace of the virtual machine: the disk is what is in it. The machine waits for it.',
      )
      .meta({ example: 'evidence' }),
    {
      vmDiskImageRef: imageRef
        .describe('A VMDiskImage: the disk is a clone of it. The machine waits for the image, which must exist.')
        .optional(),
    },
    MACHINE_DISKS_MAX,
  ).optional(),
  interfaces: interfaces.optional(),
  overrides: overridesField(MACHINE_OVERRIDES_HELP),
  hostAliases: hostAliasesField,
  nodeGroup: dnsLabel()
    .describe(
      'Machines and pods of the namespace with the same node group run on one node, as networks that are Linux bridges of a node need it. Default: ' +
        'none, any node will do.',
    )
    .meta({ example: 'redblue' })
    .optional(),
  vmDiskImageRef,
  vmDiskImageTemplate: vmDiskImage.spec
    .describe('The VMDiskImage to create where the one in vmDiskImageRef does not exist: the fields of its spec.')
    .optional(),
  vmDiskImageMode: z
    .enum(VM_DISK_IMAGE_MODES)
    .describe(
      'What happens where the image does not exist. CreateIfNotExist: it is created from the template, or waited for without one. ' +
        'FailIfNotExist: the virtual machine is Failed until it appears. Default: CreateIfNotExist.',
    )
    .optional(),
})

const spec = withOneUserData(cel(specFields, readinessRule, sizedOnce, ...osRules)).describe(
  'What machine is wanted, and which image its disk is cloned from.',
)

export const virtualMachine = defineResource({
  group: GROUP,
  version: VERSION,
  kind: 'VirtualMachine',
  plural: 'virtualmachines',
  singular: 'virtualmachine',
  shortNames: ['otvm'],
  categories: ['ot'],
  namespaced: true,
  description:
    'A virtual machine that waits for its image, gets a disk that is cloned from it, and runs on KubeVirt. The image is created from a ' +
    'template where it does not exist.',
  name: {
    pattern: DNS_LABEL,
    message:
      'metadata.name must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends: it names the machine ' +
      'in KubeVirt and in the network',
  },
  spec,
  status: virtualMachineStatus,
  conditions: VIRTUAL_MACHINE_CONDITION_RULES,
  printerColumns: [
    phaseColumn('Where the machine is on its way.'),
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the machine is as its spec says: it runs, or it is off or not deployed on purpose.',
    },
    reasonColumn('Why it is where it is, or what it waits for though it runs: a restart, or a new disk.'),
    { name: 'Image', type: 'string', jsonPath: '.spec.vmDiskImageRef.name', description: 'Image of its disk.' },
    ...queueColumns('.status.image.queuePosition', 'Place of the image in the queue'),
    ageColumn('virtual machine'),
    {
      name: 'Node',
      type: 'string',
      jsonPath: '.status.kubevirt.nodeName',
      description: 'Node that it runs on.',
      priority: 1,
    },
    { name: 'IP', type: 'string', jsonPath: '.status.addresses[0]', description: 'Its first address.', priority: 1 },
    WARNINGS_COLUMN,
    MESSAGE_COLUMN,
  ],
})

/** The spec as the operator reads it. */
export type VirtualMachineSpec = z.output<typeof spec>
export type VirtualMachineUser = NonNullable<VirtualMachineSpec['users']>[number]
export type VirtualMachineDisk = NonNullable<VirtualMachineSpec['disks']>[number]
export type VirtualMachineInterface = NonNullable<VirtualMachineSpec['interfaces']>[number]

export type ParsedVirtualMachineSpec = Parsed<VirtualMachineSpec>

/** Validates a spec from any source. Returns at most one problem per field. Drops unknown fields. Never throws. */
export function parseVirtualMachineSpec(raw: unknown): ParsedVirtualMachineSpec {
  return parseSpec(spec, raw)
}
