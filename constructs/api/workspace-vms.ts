import { z } from 'zod'
import { jsonObject } from '../schema/json-object.ts'
import { disksField } from './machine-disks.ts'
import { hardwareFields } from './machine-hardware.ts'
import { matcherFields, sizedOnce } from './machine-instancetype.ts'
import { osFields, osRules } from './machine-os.ts'
import { placementFields } from './machine-placement.ts'
import { readinessField, readinessRule } from './machine-readiness.ts'
import { MACHINE_OVERRIDES_HELP, overridesField } from './overrides.ts'
import { runStrategyField } from './power-state.ts'
import { cel, labelTextField, listMap, matching, maybeFlag, objectName } from './shared.ts'
import { diskSizeField, memoryField } from './sizes.ts'
import { userDataFields, withOneUserData } from './user-data.ts'
import { cpuField } from './virtual-machine-cpu.ts'
import { usersField } from './virtual-machine-users.ts'
import { vmDiskImage } from './vm-disk-image.ts'
import { WORKSPACE_LIMITS } from './workspace-limits.ts'
import { aliasesField, dependsOnField, memberName } from './workspace-member-name.ts'
import { machineInterfaces } from './workspace-networks.ts'

const role = z
  .object({
    role: matching(
      z.string().min(1).max(64),
      '^[A-Za-z0-9_]([-A-Za-z0-9_.]*[A-Za-z0-9_])?$',
      'must be the name of an Ansible role: letters, digits, "_", "-" and ".", such as linuxRouter or lab.net.router',
    ).describe('Name of the role, such as linuxRouter.'),
    variables: jsonObject(
      'Variables of the role: any fields with any values, which are kept as they are. Default: none.',
    )
      .meta({ example: { forward: true } })
      .optional(),
  })
  .describe('One role.')

const roles = (when: string) =>
  z.array(role).max(WORKSPACE_LIMITS.roles).describe(`Roles that are played ${when}, in this order.`).optional()

const ansible = z
  .object({
    roles: z
      .object({
        build: roles('when the machine is built'),
        deploy: roles('when the machine is deployed'),
      })
      .describe('Roles of the machine.')
      .optional(),
  })
  .describe(
    'What Ansible does with the machine: it becomes a part of the plays that containers can mount as volume ansible.',
  )

const vmFields = z.object({
  name: memberName()
    .describe('Name of the machine: of its VirtualMachine and its host name.')
    .meta({ example: 'kali' }),
  aliases: aliasesField,
  baseVm: labelTextField(
    'Machine that this one is derived from, such as ubuntu_2004_lts_en-us_x64. A label, and {baseVm} of the policy key imageUrlTemplate.',
  ).optional(),
  baseVmVersion: labelTextField(
    'Version of that machine, such as 2.1.2; quote a number. A label, and {baseVmVersion} of the policy key imageUrlTemplate.',
  ).optional(),
  version: labelTextField(
    'Version of this machine, such as 2.1.0; quote a number. A label, and {version} of the policy key imageUrlTemplate.',
  ).optional(),
  ignoreOnDeploy: maybeFlag(
    'True: only the image is ensured, no machine is created; one that exists stays. Default: false.',
  ),
  runStrategy: runStrategyField(
    'When the guest runs while the workspace is Running: Always, Halted or Manual, as of a VirtualMachine. Default: as people set it there, else Always.',
  ),
  dependsOn: dependsOnField,
  backingVMDiskImage: objectName()
    .describe(
      'Name of the VMDiskImage that the disk is cloned from, in the namespace that the policy key imageNamespace names. If it does not exist, it is ' +
        'created from vmDiskImageTemplate, or from the policy key imageUrlTemplate. Without either, the workspace waits for it.',
    )
    .meta({ example: 'redblue-1.4.0-kali' }),
  vmDiskImageTemplate: vmDiskImage.spec
    .describe(
      'The VMDiskImage to create if the one that backingVMDiskImage names does not exist: the fields of its spec.',
    )
    .optional(),
  resources: z
    .object({
      cpu: cpuField(
        "Virtual CPUs, at most 512. A fraction such as 500m or '1.5' (in quotes) gives the guest the next whole number of them and reserves only " +
          'the fraction on the node.',
      ),
      memory: memoryField('Memory of the guest as a quantity such as 2Gi, between 64Mi and 16Ti.'),
    })
    .describe('CPU and memory of the machine.')
    .optional(),
  ...matcherFields,
  diskSize: diskSizeField(
    'Size of the root disk as a quantity such as 18Gi. A disk is never smaller than its image. Default: the size of the image.',
  ).optional(),
  disks: disksField(
    z
      .string()
      .min(1)
      .max(63)
      .describe(
        'Name of one of spec.volumes: the disk is what is in it. It cannot be in two machines that run at once.',
      )
      .meta({ example: 'evidence' }),
    {
      backingVMDiskImage: objectName()
        .describe(
          'Name of a VMDiskImage in the namespace of the policy key imageNamespace: the disk is a clone of it. The machine waits until it exists.',
        )
        .meta({ example: 'redblue-1.4.0-tools' })
        .optional(),
    },
    WORKSPACE_LIMITS.vmDisks,
  ).optional(),
  ...osFields,
  ...hardwareFields,
  ...placementFields('machine'),
  readiness: readinessField,
  users: usersField(WORKSPACE_LIMITS.vmUsers).optional(),
  ...userDataFields,
  interfaces: machineInterfaces.optional(),
  overrides: overridesField(MACHINE_OVERRIDES_HELP),
  ansible: ansible.optional(),
})

const vm = withOneUserData(cel(vmFields, readinessRule, sizedOnce, ...osRules)).describe('One virtual machine.')

export const vms = listMap(z.array(vm).max(WORKSPACE_LIMITS.vms), 'name', 'Virtual machines of the workspace.')
