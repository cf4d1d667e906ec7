import { isDeepStrictEqual } from 'node:util'
import type { Instance, InstanceSpec, Machine, MachineFailure, MachineVolume } from './kubevirt-models.ts'
import { instanceSpecFrom } from './kubevirt-objects.ts'
import { conditionOf } from './kubevirt-status.ts'
import { bytesOf } from './quantity.ts'

/** The effect of a template change on the running instance. */
export interface TemplateChange {
  /** A merge patch of the instance, for changes that are possible while it runs. */
  readonly patch: object | undefined
  /** Why the change needs a restart; undefined again when the change is reverted. */
  readonly restartRequired: string | undefined
  /** Why a change cannot be applied now. The virtual machine has `Failure`, and its guest keeps running. */
  readonly failure?: MachineFailure
}

/** Compares the template with the running instance, within KubeVirt's live update: more sockets, more memory, placement. */
export function templateChange(machine: Machine, instance: Instance): TemplateChange {
  const wanted = instanceSpecFrom(machine.spec.template.spec)
  const sockets = changedSockets(wanted, instance)
  const memory = changedMemory(wanted, instance)
  const isOtherwiseSame = isDeepStrictEqual(fixedPart(wanted), fixedPart(instance.spec))
  const restartRequired =
    (isOtherwiseSame ? undefined : 'a non-live-updatable field was changed in the template spec') ??
    sockets.refusal ??
    memory.refusal
  if (restartRequired !== undefined) return { patch: undefined, restartRequired }
  if (sockets.failure !== undefined) return { patch: undefined, restartRequired, failure: sockets.failure }
  const placement = changedPlacement(wanted, instance.spec)
  const domain = { ...sockets.patch, ...memory.patch }
  const spec = { ...placement, ...(Object.keys(domain).length > 0 && { domain }) }
  return { patch: Object.keys(spec).length === 0 ? undefined : { spec }, restartRequired: undefined }
}

interface Part {
  readonly patch?: object
  readonly refusal?: string
  readonly failure?: MachineFailure
}

const ANOTHER_HOTPLUG: MachineFailure = {
  reason: 'HotPlugCPUError',
  message: 'Error encountered while handling CPU change request: another CPU hotplug is in progress',
}

const MIGRATES: MachineFailure = {
  reason: 'HotPlugCPUError',
  message: 'Error encountered while handling CPU change request: CPU hotplug is not allowed while VMI is migrating',
}

function changedSockets({ domain: { cpu: wanted } }: InstanceSpec, instance: Instance): Part {
  const { cpu: current } = instance.spec.domain
  const [asked = 1, has = 1] = [wanted?.sockets, current?.sockets]
  if (asked === has) return {}
  if (instance.status?.migrationState?.completed === false) return { failure: MIGRATES }
  // Even a change that would revert the first one.
  if (conditionOf(instance, 'HotVCPUChange')?.status === 'True') return { failure: ANOTHER_HOTPLUG }
  if (asked < has) return { refusal: 'Reduction of CPU socket count requires a restart' }
  if (asked > (current?.maxSockets ?? asked)) {
    return { refusal: 'CPU sockets updated in template spec to a value higher than what is available' }
  }
  return { patch: { cpu: { sockets: asked } } }
}

function changedMemory({ domain: { memory: wanted } }: InstanceSpec, instance: Instance): Part {
  const current = instance.spec.domain.memory
  const [asked = 0, has = 0] = [bytesOf(wanted?.guest ?? ''), bytesOf(current?.guest ?? '')]
  if (asked === has) return {}
  if (asked < has) return { refusal: 'memory updated in template spec to a value lower than what the VM started with' }
  if (conditionOf(instance, 'LiveMigratable')?.status !== 'True') {
    return { refusal: 'Memory-hotplug is only available for migratable VMs' }
  }
  return { patch: { memory: { guest: wanted?.guest } } }
}

function changedPlacement(wanted: InstanceSpec, current: InstanceSpec): object {
  const fields = ['nodeSelector', 'affinity', 'tolerations'] as const
  const changed = fields.filter((field) => !isDeepStrictEqual(wanted[field], current[field]))
  return Object.fromEntries(changed.map((field) => [field, wanted[field] ?? null]))
}

/** Returns the spec without the parts that can change while an instance runs. */
function fixedPart(spec: InstanceSpec): object {
  const { nodeSelector: _n, affinity: _a, tolerations: _t, domain, volumes = [], ...rest } = spec
  const { cpu: { sockets: _s, maxSockets: _m, ...cpu } = {}, memory: _memory, devices, ...others } = domain
  const plugged = new Set(volumes.filter(isHotpluggable).map(({ name }) => name))
  const isFixed = ({ name }: { readonly name: string }) => !plugged.has(name)
  return {
    ...rest,
    volumes: volumes.filter(isFixed),
    domain: { ...others, devices: { ...devices, disks: devices?.disks?.filter(isFixed) }, cpu },
  }
}

/** Reports whether KubeVirt plugs the volume into a guest that runs. */
function isHotpluggable({ dataVolume, persistentVolumeClaim, memoryDump }: MachineVolume): boolean {
  return [dataVolume, persistentVolumeClaim, memoryDump].some((source) => source?.hotpluggable === true)
}
