import { type WorkspaceSpec, type WorkspaceStatus, workspace } from '@open-terrain/constructs/operator'
import { compareTexts } from '../operator/base/messages.ts'
import { isApiError } from '../operator/kube/api-error.ts'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../operator/kube/kube-object.ts'
import { listAll } from '../operator/kube/list-all.ts'
import { CommandError } from './exit-codes.ts'
import type { LabOutcome } from './outcomes.ts'

/** A Workspace as the API server has it. A lab of an earlier version may lack anything. */
export interface Lab extends KubeObject {
  readonly spec?: Pick<WorkspaceSpec, 'powerState'>
  readonly status?: WorkspaceStatus
}

/** Which labs a command is about: those that are named, or those that a selector selects. */
export interface LabChoice {
  readonly names: readonly string[]
  /** A label selector, as `kubectl get -l` takes it. */
  readonly selector?: string
  readonly all?: boolean
}

/** Returns the labs, by name. Throws a CommandError if one that is named does not exist, or none is selected. */
export async function labsOf(client: KubeClient, choice: LabChoice): Promise<readonly Lab[]> {
  const { names, selector } = choice
  checkChoice(choice)
  if (names.length === 0) {
    const labs: Lab[] = []
    const listing = { project: leanLab, ...(selector !== undefined && { labelSelector: selector }) }
    for await (const lab of listAll(client, workspace, listing)) labs.push(lab)
    if (labs.length === 0) throw new CommandError('notFound', nothingFor(selector))
    return labs.toSorted((a, b) => compareTexts(a.metadata.name, b.metadata.name))
  }
  const found = await Promise.all([...new Set(names)].map(async (name) => ({ name, lab: await findLab(client, name) })))
  const missing = found.filter(({ lab }) => lab === undefined).map(({ name }) => name)
  if (missing.length > 0)
    throw new CommandError('notFound', `there is no Workspace ${missing.join(', ')}: see kubectl get otws`)
  return found.flatMap(({ lab }) => lab ?? [])
}

/** Returns one lab as it is now. */
export async function findLab(client: KubeClient, name: string): Promise<Lab | undefined> {
  const lab = await find(client, workspace, { name })
  return lab === undefined ? undefined : leanLab(lab)
}

/** Changes fields of the spec of a lab. @param text what to tell people if that is done */
export async function patchLab(client: KubeClient, name: string, spec: object, text: string): Promise<LabOutcome> {
  const refusal = await patchObject(client, workspace, { name }, { spec })
  if (refusal === undefined) return { name, result: 'changed', text }
  return { name, result: 'refused', text: `was not changed: ${refusal}`, message: refusal }
}

/** Changes an object. Returns why the API server has refused that; undefined: it has not. */
export async function patchObject(
  client: KubeClient,
  type: ResourceType,
  key: ObjectKey,
  patch: object,
): Promise<string | undefined> {
  try {
    // An API server with CRDs of an earlier version would drop a field without a word.
    await client.mergePatch(type, key, patch, { isStrict: true })
    return undefined
  } catch (error) {
    if (!isApiError(error)) throw error
    return error.message
  }
}

/** Throws a CommandError unless labs are named, selected, or all of them taken: one of the three. */
export function checkChoice({ names, selector, all }: LabChoice): void {
  const given = [names.length > 0, selector !== undefined, all === true].filter(Boolean).length
  if (given === 1) return
  throw new CommandError('usage', 'name labs, or select them with -l, or take --all of them: one of the three')
}

function nothingFor(selector: string | undefined): string {
  return selector === undefined
    ? 'there is no Workspace'
    : `no Workspace has the labels ${selector}: see kubectl get otws --show-labels`
}

/** Returns what commands need of a lab, which may say a megabyte. */
export function leanLab(object: KubeObject): Lab {
  const { apiVersion, kind, metadata, spec, status } = object as Lab
  const { components: _all, ...rest } = status ?? {}
  const { powerState } = spec ?? {}
  return { apiVersion, kind, metadata, spec: { ...(powerState && { powerState }) }, status: rest }
}
