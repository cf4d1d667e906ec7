import { POLICY_NAME } from '@open-terrain/constructs/operator'
import { stringify } from 'yaml'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { groupOf, type KubeObject, keyOf, objectKeyOf } from '../operator/kube/kube-object.ts'
import { CommandError, EXIT_CODES, type ExitCode } from './exit-codes.ts'
import { type Compared, comparePlan, dryRun, LiveCluster } from './plan/compare.ts'
import { type ManifestFile, type ManifestProblem, readManifest } from './plan/manifest.ts'
import { planManifest } from './plan/plan-manifest.ts'
import { changedPolicy, policyOfCluster, type StoredPolicy } from './policy.ts'
import type { Surroundings } from './surroundings.ts'
import { shown, tableOf } from './table.ts'

export const PLAN_FORMS = ['yaml', 'json', 'name'] as const
export type PlanForm = (typeof PLAN_FORMS)[number]

interface PlanOptions {
  /** Path of a file of manifests. `-` is standard input. */
  readonly filename: string
  /** Of objects that name none. */
  readonly namespace: string
  /** Values that the policy would have, as `KEY=VALUE`. */
  readonly changes: readonly string[]
  /** Images that are taken for Ready: `[NAMESPACE/]NAME[=SIZE]`. */
  readonly images: readonly string[]
  /** Undefined: as `yaml`, or for a comparison as a table. */
  readonly output: PlanForm | undefined
}

type Output = Pick<Surroundings, 'clock' | 'print' | 'readText' | 'tell'>

/** Prints the objects that would result from a file in a cluster that has nothing yet. Throws CommandError, and an Error if the file cannot be read. */
export async function showPlan(output: Output, options: PlanOptions): Promise<ExitCode> {
  const { manifest, file } = await manifestOf(output, options)
  if (!isUsable(output, manifest.problems, file)) return EXIT_CODES.failed
  const inFile = manifest.others.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata?.name === POLICY_NAME)
  const policy = changedPolicy(inFile as StoredPolicy | undefined, options.changes)
  const written = manifest.objects.map(({ object }) => object)
  const images = imagesOf(options.images, policy.imageNamespace)
  const { objects, remarks } = await planManifest(written, { policy, now: output.clock.now(), images })
  const from = inFile === undefined ? 'with the defaults of the policy' : 'with the policy of the file'
  tellRemarks(output, [`planned for a cluster that has nothing of it yet, ${from}`, ...remarks])
  output.print(textOf(objects, options.output ?? 'yaml'))
  return EXIT_CODES.done
}

/** Prints what would become of the objects of a cluster, and changes nothing. Throws CommandError, ApiError, and an Error if the file cannot be read. */
export async function showPlanDifference(
  output: Output,
  client: KubeClient,
  { operatorNamespace, ...options }: PlanOptions & { readonly operatorNamespace: string },
): Promise<ExitCode> {
  const { manifest, file } = await manifestOf(output, options)
  if (!isUsable(output, manifest.problems, file)) return EXIT_CODES.failed
  const written = manifest.objects.map(({ object }) => object)
  const { answers, problems } = await dryRun(client, written)
  if (!isUsable(output, problems, file)) return EXIT_CODES.failed
  const policy = await policyOfCluster(client, operatorNamespace, options.changes, output.tell)
  const images = imagesOf(options.images, policy.imageNamespace)
  const assumptions = { policy, now: output.clock.now(), images }
  const cluster = new LiveCluster(client)
  const planned = await planManifest(written, assumptions, cluster)
  const compared = await comparePlan(client, planned, cluster, answers)
  tellRemarks(output, planned.remarks)
  output.print(differenceText(compared, options.output))
  return EXIT_CODES.done
}

async function manifestOf(
  { readText }: Output,
  { filename, namespace }: PlanOptions,
): Promise<{ readonly manifest: ManifestFile; readonly file: string }> {
  const file = filename === '-' ? 'standard input' : filename
  const manifest = readManifest(await readText(filename), file, namespace)
  if (manifest.objects.length === 0 && manifest.problems.length === 0)
    throw new CommandError('notFound', `${file} has no object of Open Terrain: name a file with one`)
  return { manifest, file }
}

/** Tells every problem. Returns whether there is none. */
function isUsable({ tell }: Output, problems: readonly ManifestProblem[], file: string): boolean {
  for (const { object, field, message } of problems) tell(`ot: ${file}: ${object}: ${shown(`${field}: ${message}`)}\n`)
  return problems.length === 0
}

function tellRemarks({ tell }: Output, remarks: readonly string[]): void {
  for (const remark of remarks) tell(`${shown(remark)}\n`)
}

function imagesOf(words: readonly string[], namespace: string): ReadonlyMap<string, string | undefined> {
  return new Map(
    words.map((word) => {
      const [name = '', size] = word.split('=')
      const key = objectKeyOf(name)
      return [keyOf({ namespace: key.namespace || namespace, name: key.name }), size] as const
    }),
  )
}

function textOf(objects: readonly KubeObject[], form: PlanForm): string {
  if (form === 'name') return objects.map((object) => `${nameOf(object)}\n`).join('')
  if (form === 'json') return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }, undefined, 2)}\n`
  return objects.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n')
}

function nameOf({ apiVersion, kind, metadata: { namespace, name } }: KubeObject): string {
  const group = groupOf(apiVersion)
  const type = `${kind.toLowerCase()}${group === '' ? '' : `.${group}`}`
  return `${type}/${name}${namespace === undefined ? '' : ` -n ${namespace}`}`
}

function differenceText(compared: readonly Compared[], form: PlanForm | undefined): string {
  const apart = compared.filter(({ effect, unknown }) => effect !== 'none' || unknown !== undefined)
  if (form === 'name') return apart.map(({ object }) => `${nameOf(object)}\n`).join('')
  if (form !== undefined) {
    const data = apart.map(({ object, effect, fields, removed, unknown }) => ({
      ...{ apiVersion: object.apiVersion, kind: object.kind, ...keyPart(object) },
      ...(unknown === undefined
        ? { effect, fields, ...(removed && { removed }) }
        : { effect: 'unknown', message: unknown }),
    }))
    return form === 'json' ? `${JSON.stringify(data, undefined, 2)}\n` : stringify(data, { lineWidth: 0 })
  }
  if (apart.length === 0) return 'nothing would change\n'
  const rows = apart.map(({ object, effect, fields, removed = [], unknown }) => {
    const what = unknown === undefined ? EFFECTS[effect] : 'unknown'
    const named = fields.map((field) => (removed.includes(field) ? `${field} (not in the file)` : field))
    return [what, `${object.kind} ${keyOf(object.metadata)}`, unknown ?? named.join(', ')]
  })
  return tableOf(['EFFECT', 'OBJECT', 'FIELDS'], rows)
}

function keyPart({ metadata: { namespace, name } }: KubeObject) {
  return { ...(namespace !== undefined && { namespace }), name }
}

const EFFECTS = { create: 'created', change: 'changed', keep: 'kept as it is', none: '', delete: 'deleted' } as const
