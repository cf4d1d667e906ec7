import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

const ROOT = join(import.meta.dirname, '../..')

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the operator bundle, as `npm run build` creates it. It starts faster than the source. */
    operatorBundle: string
  }
}

/** Builds the operator, and keeps a copy that no other build overwrites during the run. */
export default async function buildOperator(project: TestProject): Promise<() => Promise<void>> {
  await import('../../operator/build.ts')
  const directory = await mkdtemp(join(tmpdir(), 'open-terrain-bundle-'))
  const copy = join(directory, 'operator.mjs')
  await cp(join(ROOT, 'dist/operator.mjs'), copy)
  project.provide('operatorBundle', copy)
  return () => rm(directory, { recursive: true, force: true })
}
