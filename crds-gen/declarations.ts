import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')

/** The promised doors of the package, and their declarations in its folder. */
export const DOORS = { constructs: 'index.d.ts', 'constructs-platform': 'platform/index.d.ts' } as const

/** Calls a function with a folder that has the declarations of the package of constructs, as people get them. The folder is removed afterwards. */
export function withDeclarations<T>(use: (folder: string) => T): T {
  // Not in node_modules: what is there counts as the package of others.
  const parent = join(import.meta.dirname, 'dist')
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'declarations-'))
  try {
    const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc')
    const project = join(ROOT, 'constructs/tsconfig.build.json')
    const options = ['--declaration', '--emitDeclarationOnly', '--outDir', folder]
    execFileSync(process.execPath, [compiler, '-p', project, ...options], { stdio: 'inherit' })
    return use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
