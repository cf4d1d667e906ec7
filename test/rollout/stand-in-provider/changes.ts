import { isDeepStrictEqual } from 'node:util'
import type { Manifest } from './api-server.ts'

export interface ProviderConfig {
  /** A change of the data of a ConfigMap that is not immutable is an update in place. */
  readonly enableConfigMapMutable: boolean
  readonly enableSecretMutable: boolean
  /** Takes over fields of other owners. Otherwise they are a conflict, which fails the command. */
  readonly enablePatchForce: boolean
  /** A new resource may be an object that exists already. Otherwise that fails. */
  readonly upsertExistingObjects: boolean
}

/** Fields that the API server does not allow to change, by kind. */
const FIXED: Readonly<Record<string, readonly string[]>> = {
  ClusterRoleBinding: ['roleRef'],
  RoleBinding: ['roleRef'],
  Deployment: ['spec.selector'],
  StorageClass: ['provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'],
  PersistentVolumeClaim: ['spec.storageClassName', 'spec.accessModes', 'spec.volumeName', 'spec.dataSource'],
  Job: ['spec.selector', 'spec.template'],
}

const DATA = ['data', 'binaryData', 'stringData', 'immutable', 'type']

/** The changed fields that require another object. */
export function replacedBy(before: Manifest, after: Manifest, config: ProviderConfig): string[] {
  const { kind } = after
  const isMutable =
    (kind === 'ConfigMap' && config.enableConfigMapMutable) || (kind === 'Secret' && config.enableSecretMutable)
  const keepsData = before['immutable'] === true || !isMutable
  const data = (kind === 'ConfigMap' || kind === 'Secret') && keepsData ? DATA : []
  const fields = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace', ...(FIXED[kind] ?? []), ...data]
  return fields.filter((field) => !isDeepStrictEqual(at(before, field), at(after, field)))
}

/** Reports whether two states of an object differ in a field that the program names, or named before. */
export function differs(before: Manifest, after: Manifest, named: readonly Manifest[]): boolean {
  return named.some((shape) => !isDeepStrictEqual(restrict(before, shape), restrict(after, shape)))
}

/** The part of `value` that has a place in `shape`. Lists are compared as a whole, because nobody else adds to one that we apply. */
export function restrict(value: unknown, shape: unknown): unknown {
  if (!isRecord(value) || !isRecord(shape)) return value
  const keys = Object.keys(shape).filter((key) => value[key] !== undefined)
  return Object.fromEntries(keys.sort().map((key) => [key, restrict(value[key], shape[key])]))
}

function at(manifest: Manifest, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), manifest)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
