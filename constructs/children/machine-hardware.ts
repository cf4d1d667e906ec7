import { isWindows } from '../api/machine-os.ts'
import type { VirtualMachineSpec } from '../api/virtual-machine.ts'

/** The parts of KubeVirt's machine that `os`, `firmware` and `tpm` of a spec decide about, as KubeVirt has them. */
export interface MachineHardware {
  readonly bootloader?: object | undefined
  /** System management mode, without which there is no Secure Boot. */
  readonly smm?: object | undefined
  readonly tpm?: object | undefined
  /** What only a Windows guest is given. Of a machine that exists: what it has of that, from us or from others. */
  readonly windows?: WindowsHardware | undefined
}

export interface WindowsHardware {
  /** acpi, apic and hyperv. */
  readonly features: Readonly<Record<string, object>>
  readonly clock?: object | undefined
}

/** What is left of it when a guest is one of Windows no more: the features of others, which would go with an absent field. */
const FORMER: WindowsHardware = { features: {} }

/** In annotation `ANNOTATIONS.fieldsFromSpec`: the hardware of a Windows guest is from the spec. */
export const WINDOWS_FROM_SPEC = 'windows'

/** As in the example of KubeVirt for Windows: every supported version of Windows and every node can do that. */
const HYPERV = { relaxed: {}, vapic: {}, spinlocks: { spinlocks: 8191 } }
const TIMER = { hpet: { present: false }, hyperv: {}, pit: { tickPolicy: 'delay' }, rtc: { tickPolicy: 'catchup' } }

/**
 * Returns what a spec asks for.
 * @param present what KubeVirt's machine has. What the spec does not name stays: people may have given it that themselves.
 * @param former what KubeVirt's machine has from the spec as it was (`namesFromSpec`)
 */
export function hardwareOf(
  { firmware, tpm, ...spec }: Pick<VirtualMachineSpec, 'os' | 'firmware' | 'tpm' | 'preference'>,
  present: MachineHardware = {},
  former: ReadonlySet<string> = new Set(),
): MachineHardware {
  const ended = former.has(WINDOWS_FROM_SPEC) ? FORMER : undefined
  const windows = hasWindowsHardware(spec) ? windowsOf(present.windows) : ended
  return { ...firmwareOf(firmware, present), tpm: tpmOf(tpm, present), ...(windows !== undefined && { windows }) }
}

/** Reports whether a machine gets what KubeVirt's example has for Windows. Where there is a preference, that decides. */
export function hasWindowsHardware(spec: Pick<VirtualMachineSpec, 'os' | 'preference'>): boolean {
  return isWindows(spec) && spec.preference === undefined
}

/** Each of it that people have set themselves stays. */
function windowsOf({ features, clock = {} }: WindowsHardware = FORMER): WindowsHardware {
  const offset = 'timezone' in clock ? {} : { utc: {} }
  const { timer } = clock as { readonly timer?: object }
  return {
    features: { acpi: {}, apic: {}, ...features, hyperv: { ...HYPERV, ...features['hyperv'] } },
    clock: { ...offset, ...clock, timer: { ...TIMER, ...timer } },
  }
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
