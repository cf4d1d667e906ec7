import { isJsonObject, type JsonObject, jsonObject } from '../schema/json-object.ts'
import { MACHINE_OVERRIDES } from './machine-override-verdicts.ts'
import { type OverrideNode, verdictOn, verdictOnField } from './override-verdicts.ts'
import { POD_OVERRIDES } from './pod-override-verdicts.ts'

/** What is overridden, as the policy names it, with the verdicts on it. */
export const OVERRIDE_ROOTS = {
  /** `spec` of KubeVirt's VirtualMachine. */
  vm: MACHINE_OVERRIDES,
  /** The pod template of a container cluster. */
  pod: POD_OVERRIDES,
} as const satisfies Readonly<Record<string, OverrideNode>>

export type OverrideRoot = keyof typeof OVERRIDE_ROOTS

/** Characters that overrides of one object may have, all names and values together. */
export const OVERRIDES_MAX = 8_192
/** Values that overrides of one object may set. */
export const OVERRIDE_VALUES_MAX = 64
/** Characters of one entry of the policy key allowedOverrides. */
const ENTRY_MAX = 256

/** Description of the field of a machine. */
export const MACHINE_OVERRIDES_HELP =
  "A part of spec of KubeVirt's VirtualMachine, merged over what the operator renders, such as template.spec.domain.cpu.model. The policy key " +
  'allowedOverrides must list each path. Default: none.'

/** Description of the field of a container cluster. */
export const POD_OVERRIDES_HELP =
  'A part of the pod template, merged over what the operator renders, such as spec.hostAliases. The policy key allowedOverrides must list each path. A change ' +
  'replaces the pod. Default: none.'

/** The schema of `overrides`. Only the operator judges what is in it: the API server keeps it as it is written. */
export const overridesField = (description: string) => jsonObject(description).optional()

/** A step to a value: the name of a field, or an item of the list before it. */
export type OverrideStep = string | { readonly key: string; readonly item: string }

/** One value that is overridden. A list that is overridden as a whole is one value. */
export interface OverriddenValue {
  readonly steps: readonly OverrideStep[]
  readonly value: unknown
  /** Whether values such as `2048Mi` and `2Gi` are the same. */
  readonly isQuantity: boolean
  /** The list of which the operator renders all items, and the item that is overridden in it; undefined if there is none. */
  readonly among: readonly OverrideStep[] | undefined
}

/** What cannot be overridden, and why. The path is below `overrides`. */
export interface RefusedOverride {
  readonly path: string
  /** Follows the path in a sentence. Contains no value. */
  readonly why: string
}

export type ReadOverrides =
  | { readonly ok: true; readonly values: readonly OverriddenValue[] }
  | { readonly ok: false; readonly refused: RefusedOverride }

/** Returns the path of a value for people, such as `template.spec.domain.devices.disks[rootdisk].cache`. */
export function overridePath(steps: readonly OverrideStep[]): string {
  return steps.reduce<string>((path, step) => {
    if (typeof step !== 'string') return `${path}[${step.item}]`
    return path === '' ? step : `${path}.${step}`
  }, '')
}

/** Reads a path that `overridePath` has written. Returns undefined if nothing can be overridden there. */
export function overrideSteps(root: OverrideRoot, path: string): readonly OverrideStep[] | undefined {
  const steps: OverrideStep[] = []
  let node: OverrideNode | undefined = OVERRIDE_ROOTS[root]
  for (const [, name = '', item] of path.matchAll(/([^.[]+)(?:\[([^\]]*)\])?(?:\.|$)/gy)) {
    node = verdictOnField(node, name)
    steps.push(name)
    if (item === undefined) continue
    if (node?.kind !== 'items') return undefined
    steps.push({ key: node.key, item })
  }
  const isWhole = steps.length > 0 && node !== undefined && node.kind !== 'never' && node.kind !== 'items'
  return isWhole && overridePath(steps) === path ? steps : undefined
}

/** Returns the path of a value as the policy names it, without the items of lists. */
function policyPath(steps: readonly OverrideStep[]): string {
  return steps.filter((step) => typeof step === 'string').join('.')
}

/**
 * Reads overrides as they are written. Refuses what no policy can allow: what has the verdict never, or none, what has another form, and what is too
 * large. Reads no more than may be there.
 */
export function readOverrides(root: OverrideRoot, overrides: JsonObject): ReadOverrides {
  const reader = new OverridesReader()
  const refused = reader.read(OVERRIDE_ROOTS[root], overrides, { steps: [], among: undefined })
  return refused === undefined ? { ok: true, values: reader.values } : { ok: false, refused }
}

/** Returns all that no policy can allow, for authors. */
export function allRefusedOverrides(root: OverrideRoot, overrides: JsonObject): readonly RefusedOverride[] {
  const reader = new OverridesReader('all')
  const last = reader.read(OVERRIDE_ROOTS[root], overrides, { steps: [], among: undefined })
  return last === undefined ? reader.refused : [...reader.refused, last]
}

/** Returns the first value that the policy does not allow. @param allowed entries of the policy key allowedOverrides */
export function notAllowedOverride(
  root: OverrideRoot,
  values: readonly OverriddenValue[],
  allowed: readonly string[],
): OverriddenValue | undefined {
  return values.find(({ steps }) => {
    const path = `${root}:${policyPath(steps)}`
    return !allowed.some((entry) => path === entry || path.startsWith(`${entry}.`))
  })
}

/** Says why a value that the policy does not allow is refused. */
export function whyNotAllowed(root: OverrideRoot, { steps }: Pick<OverriddenValue, 'steps'>): RefusedOverride {
  const why = `is not allowed: the policy key allowedOverrides does not list ${root}:${policyPath(steps)}; remove it, or have the policy allow it`
  return { path: overridePath(steps), why }
}

/** Reports whether a text can be an entry of the policy key allowedOverrides: something at or below it can be overridden. */
export function isOverrideEntry(text: string): boolean {
  const [, root = '', path = ''] = /^([a-z]+):([-A-Za-z0-9.]+)$/.exec(text) ?? []
  if (text.length > ENTRY_MAX || !Object.hasOwn(OVERRIDE_ROOTS, root)) return false
  const verdict = verdictOn(OVERRIDE_ROOTS[root as OverrideRoot], path)
  return verdict !== undefined && verdict.kind !== 'never'
}

interface Place {
  readonly steps: readonly OverrideStep[]
  readonly among: readonly OverrideStep[] | undefined
}

/** A name of an item that a path can show: of a container or a variable, an address, or a path of a file. */
const ITEM = /^[-A-Za-z0-9._:/]{1,253}$/
/** A name of a field that a path can show. Others are nobody's fields. */
const FIELD = /^[A-Za-z0-9][-A-Za-z0-9._/]{0,62}$/

const EMPTY = 'is empty: remove it'
const NO_FIELD = 'is no field that can be overridden: remove it, or correct its spelling'

class OverridesReader {
  readonly values: OverriddenValue[] = []
  /** What was refused before the end of what it reads. */
  readonly refused: RefusedOverride[] = []
  readonly #until: 'first' | 'all'
  #length = 0

  /** @param until which refusal is the last that it looks for */
  constructor(until: 'first' | 'all' = 'first') {
    this.#until = until
  }

  /** Adds the values below a place. Returns the first thing that is refused. */
  read(node: OverrideNode, value: unknown, place: Place): RefusedOverride | undefined {
    if (node.kind === 'never') return refusal(place, `cannot be overridden: ${node.because}`)
    if (node.kind === 'items') return this.#readItems(node, value, place)
    if (node.kind !== 'fields') return this.#refusedIn(node, value, place) ?? this.#add(node, value, place)
    if (!isJsonObject(value)) return refusal(place, 'must be an object with fields')
    const names = Object.keys(value)
    if (names.length === 0) return this.#addEmpty(node, value, place)
    return this.#firstRefused(names, (name) => this.#readField(node, value, place, name))
  }

  #readField(node: OverrideNode, value: object, { steps, among }: Place, name: string): RefusedOverride | undefined {
    const within = { steps: [...steps, FIELD.test(name) ? name : '?'], among }
    const verdict = verdictOnField(node, name) ?? verdictOnField(node, '*')
    if (verdict === undefined) return refusal(within, NO_FIELD)
    return this.#takes(name, within) ?? this.read(verdict, (value as Record<string, unknown>)[name], within)
  }

  #readItems(
    { key, item, among }: Extract<OverrideNode, { kind: 'items' }>,
    value: unknown,
    place: Place,
  ): RefusedOverride | undefined {
    if (!Array.isArray(value)) return refusal(place, 'must be a list')
    const seen = new Set<unknown>()
    return this.#firstRefused(value, (one) => {
      const name: unknown = isJsonObject(one) ? one[key] : undefined
      if (typeof name !== 'string' || !ITEM.test(name)) return refusal(place, `must have items with a ${key}`)
      const steps = [...place.steps, { key, item: name }]
      const within = { steps, among: among === 'rendered' ? steps : place.among }
      if (seen.has(name)) return refusal(within, `is there twice: give every item another ${key}`)
      seen.add(name)
      const { [key]: _, ...fields } = one as Record<string, unknown>
      if (Object.keys(fields).length === 0) return refusal(within, 'sets nothing: remove it')
      return this.#takes(name, within) ?? this.read(item, fields, within)
    })
  }

  /** Looks at a value that is overridden as a whole, and at no more of it than may be there. */
  #refusedIn(node: OverrideNode, value: unknown, place: Place): RefusedOverride | undefined {
    if (node.kind === 'never') return refusal(place, `cannot be overridden: ${node.because}`)
    if (node.kind === 'list') {
      if (!Array.isArray(value)) return refusal(place, 'must be a list')
      return this.#firstRefused(value, (one) => this.#takes('', place) ?? this.#refusedIn(node.item, one, place))
    }
    if (node.kind !== 'fields') {
      if (node.kind === 'switch' && value !== true) return refusal(place, 'must be true, or left out')
      if (node.kind === 'number' && !isWithin(node, value))
        return refusal(place, `must be a whole number from ${node.least} to ${node.most}`)
      const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
      return isPlain ? this.#takes(String(value), place) : refusal(place, 'must be a text, a number, true or false')
    }
    if (!isJsonObject(value)) return refusal(place, 'must be an object with fields')
    return this.#firstRefused(Object.keys(value), (name) => {
      const within = { ...place, steps: [...place.steps, FIELD.test(name) ? name : '?'] }
      const verdict = verdictOnField(node, name)
      if (verdict === undefined) return refusal(within, NO_FIELD)
      // It would not be stored, as in `#add`.
      if (value[name] === '') return refusal(within, EMPTY)
      return this.#takes(name, within) ?? this.#refusedIn(verdict, value[name], within)
    })
  }

  /** Looks at one after the other, until something is refused, or the whole is too large. */
  #firstRefused<T>(list: Iterable<T>, refusedOf: (one: T) => RefusedOverride | undefined): RefusedOverride | undefined {
    for (const one of list) {
      const refused = refusedOf(one)
      if (refused === undefined) continue
      if (this.#until === 'first' || this.#length > OVERRIDES_MAX) return refused
      this.refused.push(refused)
    }
    return undefined
  }

  /** Counts a text and what separates it from the next one. */
  #takes({ length }: string, place: Place): RefusedOverride | undefined {
    this.#length += length + 1
    return this.#length > OVERRIDES_MAX
      ? refusal(place, `is beyond the ${OVERRIDES_MAX} characters that overrides may have`)
      : undefined
  }

  #addEmpty(node: Extract<OverrideNode, { kind: 'fields' }>, value: object, place: Place): RefusedOverride | undefined {
    if (place.steps.length === 0) return undefined
    return node.mayBeEmpty ? this.#add(node, value, place) : refusal(place, 'sets nothing: remove it')
  }

  #add(node: OverrideNode, value: unknown, place: Place): RefusedOverride | undefined {
    // It would not be stored: the object would never be as wanted.
    if (value === '' || (Array.isArray(value) && value.length === 0)) return refusal(place, EMPTY)
    if (this.values.length >= OVERRIDE_VALUES_MAX)
      return refusal(place, `is beyond the ${OVERRIDE_VALUES_MAX} values that overrides may set`)
    this.values.push({ ...place, value, isQuantity: node.kind === 'quantity' })
    return undefined
  }
}

function isWithin({ least, most }: Extract<OverrideNode, { kind: 'number' }>, value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
}

function refusal({ steps }: Place, why: string): RefusedOverride {
  return { path: overridePath(steps), why }
}
