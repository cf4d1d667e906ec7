import type { VirtualMachineSpec } from '../api/virtual-machine.ts'

/** The parts of KubeVirt's machine that `firmware` and `tpm` of a spec decide about, as KubeVirt has them. */
export interface MachineHardware {
  readonly bootloader?: object | undefined
  /** System management mode, without which there is no Secure Boot. */
  readonly smm?: object | undefined
  readonly tpm?: object | undefined
}

/**
 * Returns what a spec asks for.
 * @param present what KubeVirt's machine has. What the spec does not name stays: people may have given it that themselves.
 */
export function hardwareOf(
  { firmware, tpm }: Pick<VirtualMachineSpec, 'firmware' | 'tpm'>,
  present: MachineHardware = {},
): MachineHardware {
  return { ...firmwareOf(firmware, present), tpm: tpmOf(tpm, present) }
}

function firmwareOf(firmware: VirtualMachineSpec['firmware'], { bootloader, smm }: MachineHardware): MachineHardware {
  if (firmware === undefined) return { bootloader, smm }
  if (firmware === 'uefi-secure') return { bootloader: { efi: { secureBoot: true } }, smm: { enabled: true } }
  // It is switched off, not left out: the patch would take away all features, those of others too.
  const off = smm === undefined ? undefined : { enabled: false }
  return { bootloader: firmware === 'bios' ? { bios: {} } : { efi: { secureBoot: false } }, smm: off }
}

function tpmOf(tpm: boolean | undefined, present: MachineHardware): object | undefined {
  if (tpm === undefined) return present.tpm
  return tpm ? (present.tpm ?? {}) : undefined
}
