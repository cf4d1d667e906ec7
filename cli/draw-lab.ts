import { parseWorkspaceSpec, problemsText, workspace } from '@open-terrain/constructs/operator'
import { parseAllDocuments } from 'yaml'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { CommandError } from './exit-codes.ts'
import { pictureOf } from './picture/lab-picture.ts'
import { mermaidOf } from './picture/mermaid-picture.ts'
import { svgOf } from './picture/svg-picture.ts'

export const DRAWINGS = ['mermaid', 'svg'] as const
export type Drawing = (typeof DRAWINGS)[number]

interface ManifestChoice {
  /** Path of a file of manifests, in YAML or JSON. `-` is standard input. */
  readonly filename: string
  /** Which Workspace of the file. Default: the only one. */
  readonly name: string | undefined
  readonly output: Drawing
}

/** Returns a picture of a lab of the cluster. Throws CommandError and ApiError. */
export async function drawLab(client: KubeClient, name: string, output: Drawing): Promise<string> {
  const lab = await find(client, workspace, { name })
  if (lab === undefined) throw new CommandError('notFound', `there is no Workspace ${name}: see kubectl get otws`)
  return drawn(name, lab, output)
}

/** Returns a picture of a lab in a file of manifests. Throws CommandError, and an Error if the file cannot be read. */
export async function drawManifest(
  readText: (path: string) => Promise<string>,
  { filename, name, output }: ManifestChoice,
): Promise<string> {
  const file = filename === '-' ? 'standard input' : filename
  const labs = labsIn(await textOf(readText, filename), file)
  const names = labs.map(({ metadata }) => metadata.name)
  if (labs.length === 0) throw new CommandError('notFound', `${file} has no Workspace: name a file with one`)
  if (name === undefined && labs.length > 1)
    throw new CommandError('usage', `${file} has more than one Workspace: name one of ${names.join(', ')}`)
  const lab = labs.find(({ metadata }) => name === undefined || metadata.name === name)
  if (lab === undefined)
    throw new CommandError('notFound', `${file} has no Workspace ${name}: name one of ${names.join(', ')}`)
  return drawn(lab.metadata.name, lab, output)
}

async function textOf(readText: (path: string) => Promise<string>, filename: string): Promise<string> {
  try {
    return await readText(filename)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error
    throw new CommandError('usage', `${filename} is a folder: name one of its files of manifests`)
  }
}

function drawn(name: string, lab: object, output: Drawing): string {
  const parsed = parseWorkspaceSpec((lab as { readonly spec?: unknown }).spec ?? {})
  if (!parsed.ok)
    throw new CommandError('failed', `the Workspace ${name} is not valid: ${problemsText(parsed.problems)}`)
  const picture = pictureOf(name, parsed.spec)
  return output === 'svg' ? svgOf(picture) : mermaidOf(picture)
}

/** Returns the Workspaces of a file, also those in a List as `kubectl get -o yaml` prints it. */
function labsIn(text: string, file: string): readonly KubeObject[] {
  const objects = parseAllDocuments(text).map((document): unknown => {
    const [error] = document.errors
    if (error !== undefined)
      throw new CommandError('failed', `${file} is no YAML: ${error.message.split('\n')[0]?.replace(/:$/, '')}`)
    return document.toJS()
  })
  return objects.flatMap((object) => itemsOf(object)).filter(isLab)
}

function itemsOf(object: unknown): readonly unknown[] {
  if (typeof object !== 'object' || object === null) return []
  const { kind, items } = object as { readonly kind?: unknown; readonly items?: unknown }
  return kind === 'List' && Array.isArray(items) ? items : [object]
}

function isLab(object: unknown): object is KubeObject {
  const { apiVersion, kind, metadata } = (object ?? {}) as Partial<KubeObject>
  return apiVersion === workspace.apiVersion && kind === workspace.kind && typeof metadata?.name === 'string'
}
