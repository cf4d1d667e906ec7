import { type OverriddenValue, type OverrideStep, overridePath } from '../api/overrides.ts'
import { isJsonObject } from '../schema/json-object.ts'

/**
 * Returns an object with other values in it. Lists with keys are merged: an item keeps its place and its other fields, and a new item follows those that
 * are there. Everything else stays as it is, in its order. Nothing is changed in place.
 */
export function withOverrides<T extends object>(object: T, values: readonly OverriddenValue[]): T {
  return values.reduce((merged, { steps, value }) => valueSet(merged, steps, value) as T, object)
}

function valueSet(target: unknown, [step, ...rest]: readonly OverrideStep[], value: unknown): unknown {
  if (step === undefined) return isEmptyObject(value) && isJsonObject(target) ? target : value
  if (typeof step === 'string') {
    const fields = isJsonObject(target) ? target : {}
    return { ...fields, [step]: valueSet(fields[step], rest, value) }
  }
  const items: readonly unknown[] = Array.isArray(target) ? target : []
  const isMeant = (item: unknown) => isJsonObject(item) && item[step.key] === step.item
  if (items.some(isMeant)) return items.map((item) => (isMeant(item) ? valueSet(item, rest, value) : item))
  return [...items, valueSet({ [step.key]: step.item }, rest, value)]
}

/** Returns the value at a place; undefined if there is none. */
export function valueAtSteps(target: unknown, steps: readonly OverrideStep[]): unknown {
  return steps.reduce<unknown>((value, step) => {
    if (typeof step === 'string') return isJsonObject(value) ? value[step] : undefined
    return Array.isArray(value) ? value.find((item) => isJsonObject(item) && item[step.key] === step.item) : undefined
  }, target)
}

/** Returns the paths at which values replace others that are there. */
export function replacedBy(object: object, values: readonly OverriddenValue[]): string[] {
  const replaced = values.filter(({ steps, value }) => {
    const before = valueAtSteps(object, steps)
    return before !== undefined && !isEmptyObject(value) && JSON.stringify(before) !== JSON.stringify(value)
  })
  return replaced.map(({ steps }) => overridePath(steps))
}

/**
 * Returns an object without the values at some places, and without the objects that have nothing else. Items of lists stay, and so does an object that has
 * fields at such a place: only its presence was the value.
 */
export function withoutValues<T>(target: T, places: readonly (readonly OverrideStep[])[]): T {
  return places.reduce<unknown>((left, steps) => valueRemoved(left, steps) ?? {}, target) as T
}

function valueRemoved(target: unknown, [step, ...rest]: readonly OverrideStep[]): unknown {
  if (step === undefined) return isJsonObject(target) && !isEmptyObject(target) ? target : undefined
  if (typeof step !== 'string') {
    if (!Array.isArray(target)) return target
    const isMeant = (item: unknown) => isJsonObject(item) && item[step.key] === step.item
    return target.map((item) => (isMeant(item) ? valueRemoved(item, rest) : item))
  }
  if (!isJsonObject(target) || target[step] === undefined) return target
  const { [step]: value, ...others } = target
  const left = valueRemoved(value, rest)
  if (left === undefined) return Object.keys(others).length === 0 ? undefined : others
  return { ...target, [step]: left }
}

function isEmptyObject(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0
}
