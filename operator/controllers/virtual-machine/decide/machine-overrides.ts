import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  guestNames,
  isSameAmount,
  type KubeVirtVirtualMachineObject,
  notAllowedOverride,
  type OverriddenValue,
  overridePath,
  type ReadOverrides,
  type RefusedOverride,
  readOverrides,
  valueAtSteps,
  whyNotAllowed,
  withOverrides,
} from '@open-terrain/constructs/operator'
import { isSame } from '../../../base/equality.ts'
import type { KubeVirtView } from '../kubevirt-views.ts'
import type { MachineDraft } from './machine-plan.ts'

type Spec = MachineDraft['spec']

/** Returns what the spec overrides. */
export function overridesOf({ overrides = {} }: Pick<Spec, 'overrides'>): ReadOverrides {
  return readOverrides('vm', overrides)
}

/** Returns an override that keeps the machine from being made or changed. What KubeVirt's machine has from this spec already stays. */
export function refusedOverride({ world, spec }: Pick<MachineDraft, 'world' | 'spec'>): RefusedOverride | undefined {
  const read = overridesOf(spec)
  if (!read.ok) return read.refused
  const names = guestNames(spec)
  const missing = read.values.find(({ among }) => among !== undefined && !names.has(overridePath(among)))
  if (missing?.among !== undefined)
    return { path: overridePath(missing.among), why: 'is not there: the machine has no item of that name' }
  const refused = notAllowedOverride('vm', changedOverrides({ world }, read.values), world.policy.allowedOverrides)
  return refused && whyNotAllowed('vm', refused)
}

/** Returns the values that KubeVirt's machine does not have from overrides yet. */
export function changedOverrides(
  { world }: Pick<MachineDraft, 'world'>,
  values: readonly OverriddenValue[],
): OverriddenValue[] {
  return values.filter((one) => !isApplied(world.machine, one))
}

/**
 * Returns KubeVirt's machine with the overrides of the spec, none of which is refused. What was overridden before, and is not any more, is as it is rendered,
 * or gone.
 */
export function withMachineOverrides(
  rendered: KubeVirtVirtualMachineObject,
  spec: Pick<Spec, 'overrides'>,
  machine: KubeVirtView | undefined,
): KubeVirtVirtualMachineObject {
  const read = overridesOf(spec)
  const values = read.ok ? read.values.filter((one) => isRendered(rendered, one)) : []
  const had = machine?.metadata.annotations?.[ANNOTATIONS.overrides]
  if (values.length === 0 && had === undefined) return rendered
  const paths = values.map(({ steps }) => overridePath(steps))
  const stored = values.flatMap((one) => asStored(rendered, machine, one))
  const { metadata } = rendered
  return {
    ...rendered,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [ANNOTATIONS.overrides]: paths.join(',') } },
    spec: withOverrides(withOverrides(rendered.spec, stored), objectsToKeep(machine, paths)),
  }
}

/** A disk whose claim does not exist yet is not rendered. */
function isRendered({ spec }: KubeVirtVirtualMachineObject, { among }: OverriddenValue): boolean {
  return among === undefined || valueAtSteps(spec, among) !== undefined
}

/** Reports whether KubeVirt's machine has a value from overrides, as far as KubeVirt keeps it. */
function isApplied(machine: KubeVirtView | undefined, one: OverriddenValue): boolean {
  if (!wasOverridden(machine, one)) return false
  const present = valueAtSteps(machine?.spec, one.steps)
  return present === undefined ? isZero(one.value) : isSameAs(present, one)
}

/**
 * KubeVirt rewrites quantities, and leaves out what is as if it was not set: the value is written once, and is as wanted then. Otherwise the machine would be
 * written at each look.
 */
function asStored(
  rendered: KubeVirtVirtualMachineObject,
  machine: KubeVirtView | undefined,
  one: OverriddenValue,
): OverriddenValue[] {
  const present = valueAtSteps(machine?.spec, one.steps)
  if (present !== undefined && isSameAs(present, one)) return [{ ...one, value: present }]
  const isLeftOut = present === undefined && isZero(one.value) && wasOverridden(machine, one)
  return isLeftOut && valueAtSteps(rendered.spec, one.steps) === undefined ? [] : [one]
}

function wasOverridden(machine: KubeVirtView | undefined, { steps }: OverriddenValue): boolean {
  return machine?.overridden?.paths.includes(overridePath(steps)) ?? false
}

function isSameAs(present: unknown, { value, isQuantity }: OverriddenValue): boolean {
  return isSame(withoutZeros(present), withoutZeros(value)) || (isQuantity && isSameAmount(present, value))
}

/**
 * Returns a list without the fields of its items that are zero. KubeVirt's webhook writes those that its types demand, such as the name of an input device,
 * and leaves out the others (seen with its mutating webhook, v1.9). Another value stays as it is.
 */
function withoutZeros(value: unknown): unknown {
  return Array.isArray(value) ? value.map(withoutZeroFields) : value
}

function withoutZeroFields(item: unknown): unknown {
  if (Array.isArray(item)) return item.map(withoutZeroFields)
  if (typeof item !== 'object' || item === null) return item
  const fields = Object.entries(item).filter(([, field]) => !isZero(field) && field !== '')
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutZeroFields(field)]))
}

/** A patch takes away whole objects. Those with something of others stay when a value in them is not overridden any more. */
function objectsToKeep(machine: KubeVirtView | undefined, paths: readonly string[]): OverriddenValue[] {
  const { paths: had, shared } = machine?.overridden ?? { paths: [], shared: [] }
  const gone = had.filter((path) => !paths.includes(path))
  const kept = shared.filter((object) => gone.some((path) => path === object || path.startsWith(`${object}.`)))
  return kept.map((object) => ({ steps: object.split('.'), value: {}, isQuantity: false, among: undefined }))
}

function isZero(value: unknown): boolean {
  return value === false || value === 0
}
