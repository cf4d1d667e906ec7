import {
  parseDataSyncSpec,
  parseVirtualMachineSpec,
  parseVMDiskImageSpec,
  parseWorkspaceSnapshotSpec,
  parseWorkspaceSpec,
  RESOURCES,
  type SpecProblem,
} from '@open-terrain/constructs/operator'
import { parseAllDocuments } from 'yaml'
import { messageOf } from '../../operator/base/messages.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { CommandError } from '../exit-codes.ts'
import type { OwnResource } from '../objects.ts'

/** An object of ours as somebody has written it. */
export interface Written extends KubeObject {
  readonly spec: unknown
}

/** What is wrong with an object of a manifest. */
export interface ManifestProblem {
  /** `<kind>/<name>`, or where in the file it is. */
  readonly object: string
  /** Such as `spec.url`. */
  readonly field: string
  readonly message: string
}

/** What a file of manifests has. */
export interface ManifestFile {
  readonly objects: readonly { readonly resource: OwnResource; readonly object: Written }[]
  /** Objects of others, in the order of the file. */
  readonly others: readonly KubeObject[]
  /** All that is wrong with the objects of ours. */
  readonly problems: readonly ManifestProblem[]
}

type Parsed =
  | { readonly ok: true; readonly spec: unknown }
  | { readonly ok: false; readonly problems: readonly SpecProblem[] }

const PARSERS: Readonly<Record<string, (raw: unknown) => Parsed>> = {
  VMDiskImage: parseVMDiskImageSpec,
  VirtualMachine: parseVirtualMachineSpec,
  DataSync: parseDataSyncSpec,
  Workspace: parseWorkspaceSpec,
  WorkspaceSnapshot: parseWorkspaceSnapshotSpec,
}

/**
 * Reads a file of manifests, in YAML or JSON, also Lists. Throws a CommandError if it is none.
 * @param file its name, for messages
 * @param namespace of objects that name none
 */
export function readManifest(text: string, file: string, namespace: string): ManifestFile {
  const all = documentsIn(text, file).flatMap(itemsOf)
  const own = all.flatMap((raw, at) => {
    const resource = RESOURCES.find(({ apiVersion, kind }) => apiVersion === raw.apiVersion && kind === raw.kind)
    return resource === undefined ? [] : [{ resource, raw, at }]
  })
  const problems: ManifestProblem[] = []
  const objects = own.flatMap(({ resource, raw, at }) => {
    const name = raw.metadata?.name
    const title = `${resource.kind}/${typeof name === 'string' ? name : `number ${at + 1} of the file`}`
    problems.push(...problemsOf(resource, raw).map((problem) => ({ object: title, ...problem })))
    if (typeof name !== 'string') return []
    const { namespace: _own, ...metadata } = raw.metadata as KubeObject['metadata']
    const where = resource.namespaced ? { namespace: raw.metadata?.namespace ?? namespace } : {}
    const { apiVersion, kind } = resource
    return [{ resource, object: { apiVersion, kind, metadata: { ...metadata, ...where }, spec: raw.spec ?? {} } }]
  })
  const others = all.filter((raw) => own.every((one) => one.raw !== raw)) as unknown as KubeObject[]
  return { objects, others, problems }
}

interface Raw {
  readonly apiVersion?: unknown
  readonly kind?: unknown
  readonly metadata?: Partial<KubeObject['metadata']> | null
  readonly spec?: unknown
}

function problemsOf(resource: OwnResource, raw: Raw): Omit<ManifestProblem, 'object'>[] {
  const name = raw.metadata?.name
  const ofName = nameProblem(resource, name)
  const parsed = PARSERS[resource.kind]?.(raw.spec ?? {})
  const ofSpec =
    parsed === undefined || parsed.ok ? [] : parsed.problems.map(({ path, message }) => ({ field: path, message }))
  const unknown = parsed?.ok === true ? unknownFields(raw.spec ?? {}, parsed.spec, 'spec') : []
  return [
    ...(ofName === undefined ? [] : [{ field: 'metadata.name', message: ofName }]),
    ...ofSpec,
    ...unknown.map((field) => ({ field, message: 'is no field of this kind: the API server would drop it' })),
  ]
}

function nameProblem(resource: OwnResource, name: unknown): string | undefined {
  if (typeof name !== 'string' || name === '') return 'is required'
  const rule = resource.name
  return rule === undefined || new RegExp(rule.pattern).test(name) ? undefined : rule.message
}

/** Returns the fields that a parser has dropped because the schema does not have them. */
function unknownFields(raw: unknown, parsed: unknown, path: string): string[] {
  if (typeof raw !== 'object' || raw === null || typeof parsed !== 'object' || parsed === null) return []
  return Object.entries(raw).flatMap(([key, value]) => {
    const at = Array.isArray(raw) ? `${path}[${key}]` : `${path}.${key}`
    // Somebody who writes null has left the field out.
    if (value === null || value === undefined) return []
    if (!Object.hasOwn(parsed, key)) return [at]
    return unknownFields(value, (parsed as Readonly<Record<string, unknown>>)[key], at)
  })
}

function documentsIn(text: string, file: string): unknown[] {
  return parseAllDocuments(text).map((document): unknown => {
    const [error] = document.errors
    if (error === undefined) return document.toJS()
    throw new CommandError('failed', `${file} is no YAML: ${messageOf(error).split('\n')[0]?.replace(/:$/, '')}`)
  })
}

function itemsOf(document: unknown): Raw[] {
  if (typeof document !== 'object' || document === null) return []
  const { kind, items } = document as { readonly kind?: unknown; readonly items?: unknown }
  return kind === 'List' && Array.isArray(items) ? items.flatMap(itemsOf) : [document as Raw]
}
