import type { KubeVirtVirtualMachineObject } from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import type { KubeVirtView } from '../kubevirt-views.ts'

type Domain = KubeVirtVirtualMachineObject['spec']['template']['spec']['domain']
type Disk = Domain['devices']['disks'][number]
type Nic = Domain['devices']['interfaces'][number]

/** What a preference may give a disk. */
const OF_DISK = ['cache', 'io', 'blockSize', 'dedicatedIOThread'] as const

/**
 * Returns the machine with what KubeVirt has put into it from an instance type and a preference, as far as the spec does not decide that: taking it away would
 * undo what the spec asks for, and KubeVirt does not do it again.
 */
export function withExpansion(
  rendered: KubeVirtVirtualMachineObject,
  machine: KubeVirtView | undefined,
): KubeVirtVirtualMachineObject {
  const { spec } = (machine ?? {}) as { readonly spec?: Partial<KubeVirtVirtualMachineObject['spec']> }
  const has: Partial<Domain> = spec?.template?.spec?.domain ?? {}
  const { template } = rendered.spec
  const { domain } = template.spec
  const devices = {
    ...pick(has.devices, ['autoattachPodInterface']),
    ...withoutUndefined(domain.devices),
  } as Domain['devices']
  const completed: Domain = {
    ...pick(has, ['cpu', 'memory', 'resources']),
    ...withoutUndefined(domain),
    devices: {
      ...devices,
      disks: devices.disks.map((disk) => completedDisk(disk, named(has.devices?.disks, disk.name))),
      interfaces: devices.interfaces.map((nic) => completedCard(nic, named(has.devices?.interfaces, nic.name))),
    },
  }
  return {
    ...rendered,
    spec: { ...rendered.spec, template: { ...template, spec: { ...template.spec, domain: completed } } },
  }
}

function completedDisk(disk: Disk, present: Partial<Disk> = {}): Disk {
  const target = disk.cdrom === undefined ? 'disk' : 'cdrom'
  const { bus } = present[target] ?? {}
  return { ...pick(present, OF_DISK), ...disk, [target]: { ...(bus !== undefined && { bus }), ...disk[target] } }
}

function completedCard(nic: Nic, { model }: Partial<Nic> = {}): Nic {
  return { ...nic, ...(nic.model === undefined && model !== undefined && { model }) }
}

function named<T extends { readonly name: string }>(list: readonly T[] = [], name: string): T | undefined {
  return list.find((one) => one.name === name)
}

function pick(object: object = {}, fields: readonly string[]): object {
  return withoutUndefined(Object.fromEntries(Object.entries(object).filter(([field]) => fields.includes(field))))
}
