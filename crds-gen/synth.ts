/**
 * Writes `dist/install.yaml`: CRDs, operator and policy. It is the app of `cdk8s synth`, and works without it. Environment:
 * `OPERATOR_IMAGE` (default: `open-terrain-operator` in this version, for clusters that have it locally), `CDK8S_OUTDIR` (set by cdk8s).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installManifest } from './install-manifest.ts'

const REPOSITORY = 'open-terrain-operator'

const root = join(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(root, 'constructs/package.json'), 'utf8')) as { version: string }
const folder = process.env.CDK8S_OUTDIR ?? join(root, 'dist')
const file = join(folder, 'install.yaml')
mkdirSync(folder, { recursive: true })
writeFileSync(file, installManifest(process.env.OPERATOR_IMAGE ?? `${REPOSITORY}:${version}`))
console.log(file)
