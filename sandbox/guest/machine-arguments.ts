import { type KubeVirtVirtualMachineSpec, parseQuantity } from '@open-terrain/constructs/operator'

const MIB = 1024n * 1024n

/** Files of a guest, by the names of its disks, and its links on this machine, by the names of its interfaces. */
export interface MachineParts {
  readonly disks: Readonly<Record<string, { readonly file: string; readonly isReadOnly?: boolean }>>
  /** Interfaces that are not here are on QEMU's own network, with DHCP, as with KubeVirt's masquerade. */
  readonly links: Readonly<Record<string, string>>
  /** Whether KVM runs its CPUs. QEMU emulates them otherwise, which is slow. */
  readonly hasKvm: boolean
}

/** The arguments with which QEMU gives a guest what KubeVirt would give it: devices of a q35 machine, each in a slot of its own. */
export function machineArguments(spec: KubeVirtVirtualMachineSpec, parts: MachineParts): string[] {
  const { domain } = spec.template.spec
  const { sockets, cores, threads } = domain.cpu ?? { sockets: 1, cores: 1, threads: 1 }
  const memory = parseQuantity(domain.memory?.guest ?? '') ?? 0n
  const slots: string[] = []
  const slot = () => {
    const name = `slot${slots.length / 2}`
    slots.push('-device', `pcie-root-port,id=${name},chassis=${slots.length / 2 + 1}`)
    return name
  }
  // Network first: so KubeVirt numbers them, and the guest names them.
  const nics = domain.devices.interfaces.flatMap(({ name, macAddress, masquerade }, at) => {
    const link = parts.links[name]
    if (link === undefined && masquerade === undefined) throw new Error(`the interface ${name} has no link`)
    const backend =
      link === undefined
        ? 'user,net=10.0.2.0/24,host=10.0.2.1,dhcpstart=10.0.2.2'
        : `tap,ifname=${link},script=no,downscript=no`
    const device = `virtio-net-pci-non-transitional,netdev=nic${at},mac=${macAddress},romfile=,bus=${slot()}`
    return ['-netdev', `${backend},id=nic${at}`, '-device', device]
  })
  const disks = domain.devices.disks.flatMap(({ name, bootOrder }, at) => {
    const disk = parts.disks[name]
    if (disk === undefined) throw new Error(`the disk ${name} has no file`)
    const access = disk.isReadOnly ? 'on' : 'off'
    const first = bootOrder === undefined ? '' : `,bootindex=${bootOrder}`
    return [
      ...['-drive', `file=${disk.file},format=raw,if=none,id=disk${at},cache=unsafe,readonly=${access}`],
      ...['-device', `virtio-blk-pci-non-transitional,drive=disk${at},bus=${slot()}${first}`],
    ]
  })
  return [
    // Inside of another machine, KVM may refuse what it says of this register.
    ...(parts.hasKvm
      ? ['-accel', 'kvm', '-cpu', 'host,arch-capabilities=off']
      : ['-accel', 'tcg,thread=multi', '-cpu', 'max']),
    ...['-machine', 'q35', '-nodefaults', '-display', 'none'],
    ...['-smp', `sockets=${sockets},cores=${cores},threads=${threads}`, '-m', `${memory / MIB}M`],
    ...['-uuid', domain.firmware.uuid, '-smbios', 'type=1,manufacturer=KubeVirt,product=None'],
    ...slots,
    ...nics,
    ...disks,
    ...['-device', 'virtio-rng-pci'],
  ]
}
