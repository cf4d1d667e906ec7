import {
  type OverriddenValue,
  overridePath,
  type RefusedOverride,
  valueAtSteps,
  withOverrides,
} from '@open-terrain/constructs/operator'
import { changedOverrides, overridesOf } from './machine-overrides.ts'
import type { MachineDraft } from './machine-plan.ts'
import { renderedMachine } from './plan-children.ts'

/** What KubeVirt has for an architecture. Its webhook for instances refuses all else (`pkg/virt-api/webhooks`, v1.9). */
interface Devices {
  readonly video: readonly string[]
  readonly watchdog: readonly string[]
}

/** Where nothing says the architecture, KubeVirt takes that of the cluster. It is judged as amd64, which has most. */
const AMD64: Devices = { video: ['vga', 'cirrus', 'virtio', 'ramfb', 'bochs'], watchdog: ['i6300esb'] }
const ARCHITECTURES: ReadonlyMap<string, Devices> = new Map([
  ['amd64', AMD64],
  ['arm64', { video: ['virtio', 'ramfb'], watchdog: [] }],
  ['s390x', { video: ['virtio'], watchdog: ['diag288'] }],
])

const GUEST = 'template.spec'
const ARCHITECTURE = `${GUEST}.architecture`
const VIDEO = `${GUEST}.domain.devices.video.type`
const WATCHDOG = `${GUEST}.domain.devices.watchdog`
const FEATURES = `${GUEST}.domain.features`
const BOOTLOADER = `${GUEST}.domain.firmware.bootloader`
const SOUND = `${GUEST}.domain.devices.sound`
const CPU_MODEL = `${GUEST}.domain.cpu.model`
const DISKS = `${GUEST}.domain.devices.disks`

interface Mistake extends RefusedOverride {
  /** Paths of the values that make it. */
  readonly by: readonly string[]
}

/**
 * Returns an override with which KubeVirt makes no instance, although it takes the machine. Of a machine that has it already KubeVirt says so itself, unless
 * a version of KubeVirt knows more than this.
 */
export function impossibleOverride(draft: MachineDraft): RefusedOverride | undefined {
  const read = overridesOf(draft.spec)
  if (!read.ok || read.values.length === 0) return undefined
  const changed = changedOverrides(draft, read.values)
  const merged = withOverrides(renderedMachine(draft).spec, read.values)
  return mistakesIn(merged).find(({ by }) => changed.some((one) => isBelow(one, by)))
}

function isBelow({ steps }: OverriddenValue, paths: readonly string[]): boolean {
  const path = overridePath(steps)
  return paths.some((one) => path === one || path.startsWith(`${one}.`))
}

function mistakesIn(spec: object): Mistake[] {
  const at = (path: string) => valueAtSteps(spec, path.split('.'))
  const architecture = at(ARCHITECTURE)
  const devices = architecture === undefined ? AMD64 : ARCHITECTURES.get(String(architecture))
  if (devices === undefined) {
    const why = `is none that KubeVirt has machines of: take ${anyOf([...ARCHITECTURES.keys()])}`
    return [{ path: ARCHITECTURE, why, by: [ARCHITECTURE] }]
  }
  const mistakes: Mistake[] = []
  const video = at(VIDEO)
  if (video !== undefined && !devices.video.includes(String(video)))
    mistakes.push({
      path: VIDEO,
      why: `is none that KubeVirt has: take ${anyOf(devices.video)}`,
      by: [VIDEO, ARCHITECTURE],
    })
  const watchdog = at(WATCHDOG)
  if (watchdog !== undefined && !isWatchdog(watchdog, devices))
    mistakes.push({ path: WATCHDOG, why: whyNoWatchdog(devices), by: [WATCHDOG, ARCHITECTURE] })
  if (at(`${FEATURES}.hyperv`) !== undefined && at(`${FEATURES}.hypervPassthrough`) !== undefined)
    mistakes.push({
      path: `${FEATURES}.hypervPassthrough`,
      why: 'cannot be beside features.hyperv, which overrides set, or spec.os: windows: remove one of them',
      by: [`${FEATURES}.hyperv`, `${FEATURES}.hypervPassthrough`],
    })
  const absent = architecture === 'arm64' ? absentOnArm64(at) : []
  if (absent.length > 0)
    mistakes.push({
      path: ARCHITECTURE,
      why: `is arm64, on which KubeVirt has no ${anyOf(absent)}: remove it, or change these`,
      by: [ARCHITECTURE, BOOTLOADER, SOUND, CPU_MODEL],
    })
  return mistakes
}

interface DiskOnBus {
  readonly disk?: { readonly bus?: string }
  readonly cdrom?: { readonly bus?: string }
}

/** Returns what a machine has and KubeVirt does not have on arm64 (`pkg/virt-api/webhooks/arm64.go`, v1.8). */
function absentOnArm64(at: (path: string) => unknown): string[] {
  const disks = (at(DISKS) ?? []) as readonly DiskOnBus[]
  const buses = disks.map(({ disk, cdrom }) => disk?.bus ?? cdrom?.bus ?? 'virtio')
  const efi = at(`${BOOTLOADER}.efi`) as { readonly secureBoot?: unknown } | undefined
  return [
    ...new Set(buses.filter((bus) => bus !== 'virtio' && bus !== 'scsi').map((bus) => `disk on bus ${bus}`)),
    ...(at(`${BOOTLOADER}.bios`) === undefined ? [] : ['firmware bios']),
    ...(efi === undefined || efi.secureBoot === false ? [] : ['Secure Boot']),
    ...(at(SOUND) === undefined ? [] : ['sound device']),
    ...[at(CPU_MODEL)].flatMap((model) =>
      model === undefined || model === 'host-passthrough' ? [] : ['cpu.model but host-passthrough'],
    ),
  ]
}

function isWatchdog(watchdog: unknown, devices: Devices): boolean {
  const { name: _, ...of } = watchdog as Readonly<Record<string, unknown>>
  const [device, ...others] = Object.keys(of)
  return device !== undefined && others.length === 0 && devices.watchdog.includes(device)
}

function whyNoWatchdog({ watchdog }: Devices): string {
  return watchdog.length === 0
    ? 'is nothing that KubeVirt has for this architecture: remove it'
    : `must have ${anyOf(watchdog)}, and no other device; diag288 is for ${ARCHITECTURE} s390x`
}

function anyOf(names: readonly string[]): string {
  return names.join(', ').replace(/, (?=[^,]*$)/, ' or ')
}
