import { DataSync, VirtualMachine, VMDiskImage, Warnings, Workspace, WorkspaceSnapshot } from '@open-terrain/constructs'
import {
  addKindWords,
  dataSync,
  parseDataSyncSpec,
  parseVirtualMachineSpec,
  parseVMDiskImageSpec,
  parseWorkspaceSnapshotSpec,
  parseWorkspaceSpec,
  virtualMachine,
  vmDiskImage,
  workspace,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'
import { type ApiObject, App, Chart } from 'cdk8s'
import type { Connection } from '../../operator/kube/connection.ts'
import type { Manifest, ManifestKind } from './spec-manifests.ts'

const PARSERS = {
  VMDiskImage: parseVMDiskImageSpec,
  VirtualMachine: parseVirtualMachineSpec,
  DataSync: parseDataSyncSpec,
  Workspace: parseWorkspaceSpec,
  WorkspaceSnapshot: parseWorkspaceSnapshotSpec,
}

/** Authors are also told what the API server accepts, and cannot work. */
class JudgedWorkspace extends Workspace {
  constructor(...given: ConstructorParameters<typeof Workspace>) {
    super(...given)
    addKindWords(this, { specProblems: () => [] })
  }
}

const CONSTRUCTS = { VMDiskImage, VirtualMachine, DataSync, Workspace: JudgedWorkspace, WorkspaceSnapshot }
const RESOURCES = {
  VMDiskImage: vmDiskImage,
  VirtualMachine: virtualMachine,
  DataSync: dataSync,
  Workspace: workspace,
  WorkspaceSnapshot: workspaceSnapshot,
}
/** A server that is too busy, or in trouble, has not given a verdict. */
const NO_VERDICT = [429, 500, 502, 503, 504]
const TRIES = 20

export interface Problem {
  /** Such as `spec.url`. Empty if the whole manifest is refused. */
  readonly path: string
  readonly message: string
}

export type Verdict =
  /** The spec as it would be stored, or as the operator reads it. */
  | { readonly isAccepted: true; readonly spec: unknown }
  | { readonly isAccepted: false; readonly problems: readonly Problem[] }

type Parsed =
  | { readonly ok: true; readonly spec: object }
  | { readonly ok: false; readonly problems: readonly Problem[] }

interface Answer {
  readonly message?: string
  readonly spec?: unknown
  readonly details?: { readonly causes?: readonly { readonly field?: string; readonly message?: string }[] }
}

/** The verdict of the API server: a create request that is fully checked but not persisted. */
export async function judgeByServer(connection: Connection, { kind, body, isStrict }: Manifest): Promise<Verdict> {
  const { apiVersion, plural, namespaced } = RESOURCES[kind]
  const root = `/apis/${apiVersion}/${namespaced ? 'namespaces/default/' : ''}${plural}`
  const path = `${root}?dryRun=All&fieldValidation=${isStrict ? 'Strict' : 'Ignore'}`
  const { dispatcher, headers } = await connection.credentials()
  let last = ''
  for (let tries = 0; tries < TRIES; tries += 1) {
    const { statusCode, body: stream } = await dispatcher.request({
      origin: connection.server.origin,
      path,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    })
    const text = await stream.text()
    last = `${statusCode}: ${text.slice(0, 300)}`
    if (NO_VERDICT.includes(statusCode)) continue
    const answer = JSON.parse(text) as Answer
    if (statusCode === 201) return { isAccepted: true, spec: answer.spec }
    if (statusCode !== 422 && statusCode !== 400) throw new Error(`the API server answers ${last}`)
    return { isAccepted: false, problems: problemsIn(answer) }
  }
  throw new Error(`the API server gave no verdict in ${TRIES} tries, but ${last}\nto ${body}`)
}

function problemsIn({ message = '', details }: Answer): Problem[] {
  const causes = details?.causes ?? []
  if (causes.length === 0) return [{ path: '', message }]
  return causes.map(({ field = '', message: cause = '' }) => ({ path: field, message: cause }))
}

/**
 * Our own verdict, by the functions that are used in production: that of the operator on a spec that it watches, then that of the construct on what
 * authors write. The construct also checks the name, and refuses unknown fields as `kubectl apply` does.
 */
export function judgeBySchema({ kind, body, isStrict }: Manifest): Verdict {
  const { metadata, spec } = JSON.parse(body) as { metadata: { name: string }; spec?: unknown }
  const read = readSpec(kind, spec)
  if (!read.ok) return { isAccepted: false, problems: read.problems }
  const app = new App()
  Warnings.of(app).acknowledgeAll()
  try {
    // Without strict validation the API server drops unknown fields, so nothing sees them.
    const written = isStrict ? (spec as object) : read.spec
    const Construct = CONSTRUCTS[kind] as new (scope: Chart, id: string, props: object) => ApiObject
    new Construct(new Chart(app, 'authored'), 'one', { ...written, metadata }).toJson()
    return { isAccepted: true, spec: read.spec }
  } catch (error) {
    return { isAccepted: false, problems: [{ path: '', message: String(error) }] }
  }
}

/** Parses a spec as the operator does. */
export function readSpec(kind: ManifestKind, spec: unknown): Parsed {
  return PARSERS[kind](spec)
}
