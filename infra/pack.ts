/**
 * Builds the published form of `infra/` into `infra/dist`, and that of `constructs/`, which it needs: JavaScript, declarations and a manifest that
 * points to them. Pack or publish that folder (`npm pack ./infra/dist`).
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const infra = import.meta.dirname
const root = join(infra, '..')
const dist = join(infra, 'dist')
const run = (...args: string[]) => execFileSync(process.execPath, args, { stdio: 'inherit' })

run(join(root, 'crds-gen/pack-constructs.ts'))
rmSync(dist, { recursive: true, force: true })
run(createRequire(import.meta.url).resolve('typescript/lib/tsc.js'), '-p', join(infra, 'tsconfig.build.json'))

const { scripts: _, ...manifest } = JSON.parse(readFileSync(join(infra, 'package.json'), 'utf8')) as Record<
  string,
  unknown
>
const { dependencies, ...rest } = manifest as { dependencies: Record<string, string> }
// Only the program, its tools and its policy pack need these. The package does not.
const { '@pulumi/policy': _policy, yaml: _yaml, ...needed } = dependencies
const published = { ...rest, exports: { '.': { types: './index.d.ts', default: './index.js' } }, dependencies: needed }
const exported = JSON.stringify(published, undefined, 2)
writeFileSync(join(dist, 'package.json'), `${exported}\n`)
copyFileSync(join(root, 'LICENSE'), join(dist, 'LICENSE'))
console.log(dist)
