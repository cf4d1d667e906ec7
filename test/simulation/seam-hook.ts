import { registerHooks } from 'node:module'
import type { Seam } from './seam.ts'

let seam: Seam | undefined
let isUsedNow = false

/** From now on, every import of the seam's module gets the replacement. Nothing of the product may be loaded before. */
export async function mutate(one: Seam): Promise<void> {
  seam = one
  let target: string | undefined
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context)
      // The first module that is resolved is that of the seam.
      target ??= resolved.url
      return resolved
    },
    load(url, context, nextLoad) {
      if (url !== target) return nextLoad(url, context)
      return { format: 'module', shortCircuit: true, source: replacing(url, one.exported) }
    },
  })
  await one.load()
}

/** Reports whether the product has called or constructed the replacement, or has loaded it if it is not a function. */
export function isUsed(): boolean {
  return isUsedNow
}

/** Returns a module with the exports of the seam's module, except for the replacement: its own names take precedence over `export *`. */
function replacing(url: string, exported: string): string {
  const original = JSON.stringify(`${url}?original`)
  return `
    import * as original from ${original}
    import { replacementIn } from ${JSON.stringify(import.meta.url)}
    export * from ${original}
    export const ${exported} = replacementIn(original)
  `
}

/** @public for the module that `replacing` generates as text */
export function replacementIn(module: Readonly<Record<string, unknown>>): unknown {
  if (seam === undefined) throw new Error('there is no seam')
  const original = module[seam.exported]
  const replacement = seam.replace(original, module)
  if (typeof replacement === 'function') return watched(replacement)
  isUsedNow = true
  return replacement
}

function watched(replacement: object): unknown {
  const note = () => {
    isUsedNow = true
  }
  return new Proxy(replacement, {
    apply(target, self, args) {
      note()
      return Reflect.apply(target as () => unknown, self, args)
    },
    construct(target, args, newTarget) {
      note()
      return Reflect.construct(target as new () => object, args, newTarget)
    },
  })
}
