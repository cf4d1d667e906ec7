import type { Construct } from 'constructs'
import { ANNOTATIONS } from '../api/labels.ts'
import { type CopiedType, GENERATED_LENGTH, type GeneratedWorkspaceSecret } from '../api/workspace-secrets.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { type WorkspaceChildMetadata, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'

export interface GeneratedSecretProps {
  readonly workspace: WorkspaceRef
  readonly secret: GeneratedWorkspaceSecret
}

/** A Secret without its values. They are made when it is written, and nothing that is rendered, compared or kept has them. */
export interface GeneratedSecretObject {
  readonly apiVersion: 'v1'
  readonly kind: 'Secret'
  readonly metadata: WorkspaceChildMetadata
  readonly type: 'Opaque'
}

/** A key of a Secret with the length of its random value in characters. */
export interface GeneratedKey {
  readonly key: string
  readonly length: number
}

/** A Secret of a workspace whose values are random. Its annotation says which keys are made. */
export class GeneratedSecret extends RenderedObject<GeneratedSecretObject> {
  constructor(scope: Construct, id: string, { workspace, secret: { name, generate } }: GeneratedSecretProps) {
    const keys = generate.map(({ key, length = GENERATED_LENGTH }) => `${key}=${length}`)
    const annotations = { [ANNOTATIONS.generatedKeys]: keys.join(',') }
    const metadata = workspaceChildMetadata({ workspace, name, annotations })
    super(scope, id, { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque' })
  }
}

export function renderGeneratedSecret(props: GeneratedSecretProps): GeneratedSecretObject {
  return renderOne((chart) => new GeneratedSecret(chart, 'Secret', props))
}

/** Returns the keys whose values are to be made, as the annotation of a rendered Secret says. */
export function generatedKeysOf(annotations: Readonly<Record<string, string>> = {}): GeneratedKey[] {
  const entries = (annotations[ANNOTATIONS.generatedKeys] ?? '').split(',').filter((one) => one !== '')
  return entries.map((entry) => {
    const at = entry.lastIndexOf('=')
    return { key: entry.slice(0, at), length: Number(entry.slice(at + 1)) }
  })
}

/** The Secret that another one is a copy of, in the version that was seen. */
export interface CopiedSecret {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly type: CopiedType
}

export interface SecretCopyProps {
  readonly workspace: WorkspaceRef
  /** Name of the copy. */
  readonly name: string
  readonly source: CopiedSecret
}

/** A copy without its values. They are read from the source when it is written. */
export interface SecretCopyObject {
  readonly apiVersion: 'v1'
  readonly kind: 'Secret'
  readonly metadata: WorkspaceChildMetadata
  readonly type: CopiedType
}

/** A Secret of a workspace that is a copy of another one. Its annotations say of which, and of which version: a new version of the source is a change of it. */
export class SecretCopy extends RenderedObject<SecretCopyObject> {
  constructor(scope: Construct, id: string, { workspace, name, source }: SecretCopyProps) {
    const annotations = {
      [ANNOTATIONS.copiedFrom]: `${source.namespace}/${source.name}`,
      [ANNOTATIONS.copiedVersion]: copiedVersionOf(source),
    }
    const metadata = workspaceChildMetadata({ workspace, name, annotations })
    super(scope, id, { apiVersion: 'v1', kind: 'Secret', metadata, type: source.type })
  }
}

export function renderSecretCopy(props: SecretCopyProps): SecretCopyObject {
  return renderOne((chart) => new SecretCopy(chart, 'Secret', props))
}

/** Returns the value of annotation `ANNOTATIONS.copiedVersion` of a copy of a Secret. */
export function copiedVersionOf({ uid, resourceVersion }: Pick<CopiedSecret, 'uid' | 'resourceVersion'>): string {
  return `${uid}/${resourceVersion}`
}

/** Returns the uid of the Secret that this one is a copy of, as its annotation says. Undefined: it is no copy, such as one with random values. */
export function copiedUidOf(annotations: Readonly<Record<string, string>> = {}): string | undefined {
  if (annotations[ANNOTATIONS.generatedKeys] !== undefined) return undefined
  return annotations[ANNOTATIONS.copiedVersion]?.split('/', 1)[0]
}
