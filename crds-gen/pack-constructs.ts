/**
 * Builds the published form of `constructs/` in `constructs/dist`: JavaScript, declarations and a manifest that points to them. Pack or publish that
 * folder (`npm pack ./constructs/dist`): npm uses `exports` of the manifest unchanged, and the manifest in the repository must point to the sources.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const constructs = join(root, 'constructs')
const dist = join(constructs, 'dist')

rmSync(dist, { recursive: true, force: true })
const compiler = createRequire(import.meta.url).resolve('typescript/lib/tsc.js')
execFileSync(process.execPath, [compiler, '-p', join(constructs, 'tsconfig.build.json')], { stdio: 'inherit' })

const { scripts: _scripts, ...manifest } = JSON.parse(readFileSync(join(constructs, 'package.json'), 'utf8')) as Record<
  string,
  unknown
>
const { exports, ...rest } = manifest
// The same doors as in the repository, built.
const built = Object.entries(exports as Record<string, string>).map(([door, file]) => {
  const path = file.replace(/[.]ts$/, '')
  return [door, { types: `${path}.d.ts`, default: `${path}.js` }]
})
const published = { ...rest, exports: Object.fromEntries(built) }
writeFileSync(join(dist, 'package.json'), `${JSON.stringify(published, undefined, 2)}\n`)
if (existsSync(join(root, 'LICENSE'))) copyFileSync(join(root, 'LICENSE'), join(dist, 'LICENSE'))
console.log(dist)
