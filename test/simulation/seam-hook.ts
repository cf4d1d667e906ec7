import { registerHooks } from 'node:module'
import type { Seam } from './seam.ts'

type Exports = Readonly<Record<string, unknown>>

/** A seam as the product has it: what it calls is the replacement of the mutant of the moment, or the original. */
interface Switch {
  readonly original: unknown
  readonly module: Exports
  current: unknown
  /** Whether the product has called or constructed the replacement, or has loaded it if it is not a function. */
  isUsed: boolean
}

const urls = new Map<Seam['load'], string>()
const switches = new Map<string, Switch>()
/** The seam that is replaced when its module is loaded. */
let fixed: Seam | undefined

const keyOf = (url: string | undefined, exported: string) => `${exported} of ${url}`
const keyOfSeam = ({ load, exported }: Seam) => keyOf(urls.get(load), exported)

/**
 * From now on, every import of a module with seams gets exports that can be replaced. Nothing of the product may be loaded before.
 *
 * @param one the only seam that has its replacement from the beginning: needed for one that is not a function, as others may compute from it what they keep
 */
export async function openSeams(seams: readonly Seam[], one?: Seam): Promise<void> {
  fixed = one
  const names = new Map<string, Set<string>>()
  let found: string | undefined
  let isLooking = true
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context)
      if (!isLooking) return resolved
      found = resolved.url
      return { ...resolved, url: `${resolved.url}?sought` }
    },
    load(url, context, nextLoad) {
      if (isLooking) return { format: 'module', shortCircuit: true, source: '' }
      const exported = names.get(url)
      if (exported === undefined) return nextLoad(url, context)
      return { format: 'module', shortCircuit: true, source: replacing(url, exported) }
    },
  })
  for (const { load, exported } of seams) {
    if (!urls.has(load)) {
      await load()
      urls.set(load, found ?? '')
    }
    const url = urls.get(load) ?? ''
    names.set(url, (names.get(url) ?? new Set()).add(exported))
  }
  isLooking = false
}

/** Returns a module with the exports of the seams' module, except for the replaceable ones: its own names take precedence over `export *`. */
function replacing(url: string, exported: Iterable<string>): string {
  const original = JSON.stringify(`${url}?original`)
  const replaced = [...exported].map(
    (name) => `export const ${name} = openSeam(${JSON.stringify(url)}, '${name}', original)`,
  )
  return `
    import * as original from ${original}
    import { openSeam } from ${JSON.stringify(import.meta.url)}
    export * from ${original}
    ${replaced.join('\n')}
  `
}

/** @public for the module that `replacing` generates as text */
export function openSeam(url: string, exported: string, module: Exports): unknown {
  const original = module[exported]
  const seam: Switch = { original, module, current: original, isUsed: false }
  switches.set(keyOf(url, exported), seam)
  if (typeof original === 'function') return switchable(original, seam)
  if (fixed !== undefined && keyOfSeam(fixed) === keyOf(url, exported)) replace(seam, fixed)
  seam.isUsed = seam.current !== original
  return seam.current
}

function replace(seam: Switch, { replace: replacementOf }: Seam): void {
  seam.current = replacementOf(seam.original, seam.module)
}

function switchable(original: object, seam: Switch): unknown {
  const current = () => {
    seam.isUsed ||= seam.current !== original
    return seam.current
  }
  const proxy: object = new Proxy(original, {
    apply: (_original, self, args) => Reflect.apply(current() as () => unknown, self, args),
    construct(_original, args, newTarget) {
      const made = current() as new () => object
      return Reflect.construct(made, args, newTarget === proxy ? made : newTarget)
    },
  })
  return proxy
}

/** Whether a seam can be replaced at any time. The product must be loaded. */
export function isFunction(seam: Seam): boolean {
  return typeof switches.get(keyOfSeam(seam))?.original === 'function'
}

/** Runs the product with the replacement of a seam. Resolves also with whether the product has used it. */
export async function withReplacement<T>(
  seam: Seam,
  run: () => Promise<T>,
): Promise<{ readonly result: T; readonly isUsed: boolean }> {
  const opened = switches.get(keyOfSeam(seam))
  if (opened === undefined) throw new Error(`the product has not loaded ${keyOfSeam(seam)}`)
  if (isFunction(seam)) {
    replace(opened, seam)
    opened.isUsed = false
  }
  try {
    const result = await run()
    return { result, isUsed: opened.isUsed }
  } finally {
    if (isFunction(seam)) opened.current = opened.original
  }
}
