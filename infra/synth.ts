/**
 * Writes the manifests of environments for `kubectl apply` and for tools that apply from Git: `1-crds.yaml`, `2-namespaces.yaml`, `3-install.yaml` and, if
 * enabled, `4-monitoring.yaml` in `dist/<environment>/`. It is the app of `cdk8s synth`, and works without cdk8s.
 *
 * The environment `release` is what is released: it has no stack file. All of it but monitoring is in `dist/install.yaml` too, and all of it in a chart of
 * Helm, `dist/chart/open-terrain/`.
 *
 *   node infra/synth.ts [environment...] [--output folder] [--adopt]
 *
 * Without arguments: every environment that has a file `Pulumi.<environment>.yaml`, and `release`. With `--adopt` they take over
 * what another owner has installed in the cluster, such as a stack of Pulumi or another environment. Environment variables:
 *
 * - `OPERATOR_IMAGE`: container image of the operator in all environments, overrides `open-terrain:image` in their files
 * - `CDK8S_OUTDIR`, set by cdk8s: a second folder for the same files
 *
 * Writes nothing if the manifests of one environment cannot be rendered.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { CHART, chartFiles } from './chart.ts'
import { environmentManifests, leftOut, RELEASE, RELEASED_FILE, releasedManifest, TITLE } from './manifests.ts'
import { environmentsIn } from './stack-files.ts'

const ROOT = join(import.meta.dirname, '..')

function synthesize(args: readonly string[]): void {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { output: { type: 'string', default: join(ROOT, 'dist') }, adopt: { type: 'boolean', default: false } },
  })
  const known = [...environmentsIn(ROOT), RELEASE]
  const unknown = positionals.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Error(`${unknown}: there is no Pulumi.${unknown}.yaml, name one of ${known.join(', ')}`)
  const environments = positionals.length === 0 ? known : positionals
  const files = environments.flatMap((environment) => filesOf(environment, values.adopt))
  const { CDK8S_OUTDIR } = process.env
  for (const folder of CDK8S_OUTDIR === undefined ? [values.output] : [values.output, CDK8S_OUTDIR]) {
    for (const { path, content } of files) write(join(folder, path), content)
    removeOlder(folder, environments, new Set(files.map(({ path }) => path)))
  }
  for (const environment of environments) {
    const missing = leftOut(ROOT, environment)
    if (missing !== undefined) console.warn(`${environment}: ${missing}`)
  }
}

/** `kubectl apply -f` takes a whole folder: a file that an earlier version wrote under another name would undo what a new one says. */
function removeOlder(folder: string, environments: readonly string[], written: ReadonlySet<string>): void {
  for (const environment of environments) {
    for (const name of readdirSync(join(folder, environment))) {
      const path = join(environment, name)
      if (written.has(path) || !name.endsWith('.yaml')) continue
      if (readFileSync(join(folder, path), 'utf8').startsWith(TITLE)) rmSync(join(folder, path))
    }
  }
}

function filesOf(environment: string, adopt: boolean): { path: string; content: string }[] {
  // A shell turns a variable that is not set into an empty one.
  const image = process.env['OPERATOR_IMAGE'] || undefined
  try {
    const manifests = environmentManifests({
      folder: ROOT,
      environment,
      adopt,
      ...(image === undefined ? {} : { image }),
    })
    const files = [...manifests].map(([file, content]) => ({ path: join(environment, file), content }))
    if (environment !== RELEASE) return files
    const chart = [...chartFiles(manifests, image ?? '')].map(([file, content]) => ({
      path: join('chart', CHART, file),
      content,
    }))
    return [...files, { path: RELEASED_FILE, content: releasedManifest(manifests) }, ...chart]
  } catch (error) {
    throw new Error(`${environment}: ${(error as Error).message}`, { cause: error })
  }
}

function write(path: string, content: string): void {
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, content)
  console.log(relative(process.cwd(), path))
}

try {
  synthesize(process.argv.slice(2))
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}
