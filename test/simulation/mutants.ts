import { ADOPTION_MUTANTS } from './adoptions/adoption-mutants.ts'
import { DATA_SYNC_MUTANTS } from './data-syncs/data-sync-mutants.ts'
import { MACHINE_MUTANTS } from './machines/machine-mutants.ts'
import type { Mutant } from './mutant.ts'
import { ADMISSION_MUTANTS } from './mutants/admission-mutants.ts'
import { IMAGE_MUTANTS } from './mutants/image-mutants.ts'
import { RUNTIME_MUTANTS } from './mutants/runtime-mutants.ts'
import { POINT_MUTANTS } from './workspace-snapshots/point-mutants.ts'
import { RESTORE_MUTANTS } from './workspace-snapshots/restore-mutants.ts'
import { RESET_MUTANTS } from './workspaces/reset-mutants.ts'
import { WORKSPACE_MUTANTS } from './workspaces/workspace-mutants.ts'

export const MUTANTS: readonly Mutant[] = [
  ...ADMISSION_MUTANTS,
  ...IMAGE_MUTANTS,
  ...RUNTIME_MUTANTS,
  ...ADOPTION_MUTANTS,
  ...MACHINE_MUTANTS,
  ...DATA_SYNC_MUTANTS,
  ...WORKSPACE_MUTANTS,
  ...POINT_MUTANTS,
  ...RESTORE_MUTANTS,
  ...RESET_MUTANTS,
]
