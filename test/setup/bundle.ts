import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

const ROOT = join(import.meta.dirname, '../..')

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the operator bundle, as `npm run build` creates it. It starts faster than the source. */
    operatorBundle: string
    /** Path of `ot` as one file, which people run. */
    ot: string
  }
}

/** Builds our programs, and keeps copies that no other build overwrites during the run. */
export default async function buildPrograms(project: TestProject): Promise<() => Promise<void>> {
  await import('../../tooling/build.ts')
  const directory = await mkdtemp(join(tmpdir(), 'open-terrain-bundle-'))
  const copyOf = async (name: string): Promise<string> => {
    const copy = join(directory, name)
    await cp(join(ROOT, 'dist', name), copy)
    return copy
  }
  project.provide('operatorBundle', await copyOf('operator.mjs'))
  project.provide('ot', await copyOf('ot.mjs'))
  return () => rm(directory, { recursive: true, force: true })
}
