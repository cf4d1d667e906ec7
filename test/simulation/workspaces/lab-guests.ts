import type { InstanceSpec, Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import type { Machine } from '../../harness/kinds.ts'

/** How KubeVirt asks a guest, by the word of its machine. */
const PROBES = { guestAgent: 'guestAgentPing', tcpPort: 'tcpSocket', cloudInit: 'exec' } as const

/** Returns what KubeVirt is told of a guest otherwise than its machine says. Derived from the design and from KubeVirt's API. */
export function wrongGuest({ metadata: { name }, spec }: Machine, { spec: told }: KubeVirtMachine): string[] {
  const { readiness, nodeSelector, tpm, firmware, instancetype, disks = [], os } = spec
  const guest = told.template.spec as TemplateSpec
  const [asked] = Object.entries(PROBES).flatMap(([word, probe]) =>
    readiness?.[word as keyof typeof PROBES] === undefined ? [] : [probe],
  )
  const has = Object.values(PROBES).filter((probe) => guest.readinessProbe?.[probe] !== undefined)
  const named = (guest.domain.devices.disks ?? []).map((disk) => disk.name)
  const checks: Readonly<Record<string, boolean>> = {
    'is asked whether it is ready': has.join() === (asked ?? ''),
    'is asked on its port': guest.readinessProbe?.tcpSocket?.port === readiness?.tcpPort,
    'is on its nodes': Object.entries(nodeSelector ?? {}).every(([key, value]) => guest.nodeSelector?.[key] === value),
    'has its TPM': tpm !== true || guest.domain.devices.tpm !== undefined,
    'has its firmware':
      firmware === undefined || (guest.domain.firmware?.bootloader?.efi !== undefined) === (firmware !== 'bios'),
    'has its instance type': told.instancetype?.name === instancetype?.name,
    'has its disks': disks.every((disk) => named.includes(disk.name)),
    'is set up as its system is':
      (guest.volumes ?? []).some((one) => one.cloudInitConfigDrive !== undefined) === (os === 'windows'),
  }
  return Object.entries(checks).flatMap(([what, holds]) =>
    holds ? [] : [`of the guest of ${name} it does not hold that it ${what}`],
  )
}

interface TemplateSpec extends Omit<InstanceSpec, 'readinessProbe'> {
  readonly readinessProbe?: Readonly<Record<string, { readonly port?: number } | undefined>>
  readonly domain: InstanceSpec['domain'] & {
    readonly firmware?: { readonly bootloader?: { readonly efi?: object } }
    readonly devices: { readonly disks?: readonly { readonly name: string }[]; readonly tpm?: object }
  }
}
