import type { VirtualMachineSpec } from '../api/virtual-machine.ts'
import { hasWindowsHardware, WINDOWS_FROM_SPEC } from './machine-hardware.ts'
import { type NodePlacement, placementOf } from './placement.ts'
import { type ReadinessProbe, readinessProbeOf } from './readiness-probe.ts'

/** Fields of KubeVirt's template that a spec may set, and people in KubeVirt's machine where the spec does not. */
export interface MaybeFromSpec extends NodePlacement {
  readonly readinessProbe?: ReadinessProbe
}

export interface FieldsFromSpec {
  readonly fields: MaybeFromSpec
  /** Value of annotation `ANNOTATIONS.fieldsFromSpec`; undefined if none is needed. */
  readonly annotation: string | undefined
  /** Whether the CPUs of the guest are cores of one socket. */
  readonly hasCores: boolean
  /** Whether the preference alone says how long the guest has to shut down. */
  readonly leavesGrace: boolean
}

/** In the annotation: the disk with the answer file for the setup of a Windows guest is from the spec. */
export const SYSPREP_FROM_SPEC = 'sysprep'

/** In the annotation: the CPUs of a Windows guest are cores of one socket, as they were from when its machine was made. */
export const CORES_FROM_SPEC = 'cores'

/** In the annotation: the machine was made with a preference, and that says how long the guest has to shut down. */
const GRACE_FROM_PREFERENCE = 'grace'

/** Each with the field of the spec that it follows from. */
const FIELDS = [
  ['nodeSelector', 'nodeSelector'],
  ['tolerations', 'tolerations'],
  ['readinessProbe', 'readiness'],
] as const

/**
 * Returns the fields that KubeVirt's machine is to have. What the spec does not set stays as people set it there. What the spec has set before, and does not
 * set any more, goes: the annotation tells the two apart.
 * @param present the fields of KubeVirt's machine; undefined: there is none yet
 * @param had the annotation that it has
 * @param hasSockets whether the guest has booted with its CPUs as sockets, so that a machine which is made again for it has sockets, too
 */
export function fieldsFromSpec(
  spec: Pick<
    VirtualMachineSpec,
    'nodeSelector' | 'tolerations' | 'readiness' | 'os' | 'preference' | 'sysprepSecretRef'
  >,
  present?: MaybeFromSpec,
  had?: string,
  hasSockets = false,
): FieldsFromSpec {
  const former = namesFromSpec(had)
  const readinessProbe = readinessProbeOf(spec.readiness ?? {})
  const wanted: MaybeFromSpec = { ...placementOf(spec), ...(readinessProbe !== undefined && { readinessProbe }) }
  const ours = FIELDS.filter(([, from]) => spec[from] !== undefined).map(([field]) => field)
  const kept = FIELDS.map(([field]) => {
    const isOurs = ours.includes(field) || former.has(field)
    return [field, isOurs ? wanted[field] : present?.[field]] as const
  })
  // What was decided when the machine was made stays recorded, also while another os, or a preference, makes it count for nothing.
  const made = (word: string, isSo: boolean) => former.has(word) || (present === undefined && isSo)
  const cores = made(CORES_FROM_SPEC, hasWindowsHardware(spec) && !hasSockets)
  const grace = made(GRACE_FROM_PREFERENCE, spec.preference !== undefined)
  const all = [
    ...ours,
    ...(hasWindowsHardware(spec) ? [WINDOWS_FROM_SPEC] : []),
    ...(cores ? [CORES_FROM_SPEC] : []),
    ...(grace ? [GRACE_FROM_PREFERENCE] : []),
    ...(spec.sysprepSecretRef === undefined ? [] : [SYSPREP_FROM_SPEC]),
  ]
  return {
    fields: Object.fromEntries(kept.filter(([, value]) => value !== undefined)),
    annotation: all.length > 0 || had !== undefined ? all.join(',') : undefined,
    hasCores: cores && hasWindowsHardware(spec),
    leavesGrace: grace && spec.preference !== undefined,
  }
}

/** Returns what KubeVirt's machine has from a spec. @param had the annotation that it has */
export function namesFromSpec(had: string | undefined): ReadonlySet<string> {
  return new Set(had?.split(','))
}
