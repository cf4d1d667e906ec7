/**
 * Writes `dist/install.yaml`: CRDs, operator and policy. It is the app of `cdk8s synth`, and works without it. Environment:
 * `OPERATOR_IMAGE` (default: `open-terrain-operator` in this version, for clusters that have it locally), `CDK8S_OUTDIR` (set by cdk8s).
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { INSTALLATION_PARTS, renderInstallation } from '@open-terrain/constructs/platform'
import { toYaml } from './generated-files.ts'

const REPOSITORY = 'open-terrain-operator'

const root = join(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(root, 'constructs/package.json'), 'utf8')) as { version: string }
const folder = process.env.CDK8S_OUTDIR ?? join(root, 'dist')
const file = join(folder, 'install.yaml')
mkdirSync(folder, { recursive: true })
const policy = { concurrency: 4, retryLimit: 2, retryBackoffDuration: '5m' }
const parts = renderInstallation({ image: process.env.OPERATOR_IMAGE ?? `${REPOSITORY}:${version}`, policy })
writeFileSync(file, INSTALLATION_PARTS.flatMap((part) => parts[part].map(toYaml)).join('---\n'))
console.log(file)
