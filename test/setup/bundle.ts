import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { holdLock } from '../../sandbox/control-plane/directory-lock.ts'

const ROOT = join(import.meta.dirname, '../..')

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the operator bundle, as `npm run build` creates it. It starts faster than the source. */
    operatorBundle: string
    /** Path of `ot` as one file, which people run. */
    ot: string
  }
}

/** Where the programs are that the first project of this run has built. Each project has a copy of this module. */
const BUILT = Symbol.for('open-terrain/bundle')

/** Builds our programs, and keeps copies that no other build overwrites during the run. */
export default async function buildPrograms(project: TestProject): Promise<() => Promise<void>> {
  const built: Promise<string> = Reflect.get(globalThis, BUILT) ?? buildOnce()
  Reflect.set(globalThis, BUILT, built)
  const directory = await built
  project.provide('operatorBundle', join(directory, 'operator.mjs'))
  project.provide('ot', join(directory, 'ot.mjs'))
  return () => rm(directory, { recursive: true, force: true })
}

/** Another run may build at the same time. */
async function buildOnce(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'open-terrain-bundle-'))
  const release = await holdLock(join(ROOT, 'node_modules/.cache/build.lock'), () => undefined)
  try {
    await import('../../tooling/build.ts')
    for (const name of ['operator.mjs', 'ot.mjs']) await cp(join(ROOT, 'dist', name), join(directory, name))
  } finally {
    await release()
  }
  return directory
}
