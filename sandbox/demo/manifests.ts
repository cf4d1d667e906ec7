import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataSync, virtualMachine, workspace, workspaceSnapshot } from '@open-terrain/constructs/operator'
import { parseAllDocuments } from 'yaml'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { apiVersionOf, type KubeObject, type ResourceType } from '../../operator/kube/kube-object.ts'
import {
  CONFIG_MAP,
  RESOURCE_QUOTA,
  SECRET,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT_CLASS,
} from '../../operator/kube/resource-types.ts'

export const EXAMPLES = join(import.meta.dirname, '../../examples')

/** An object as users write it. */
export interface Manifest extends KubeObject {
  readonly spec?: unknown
  readonly data?: Readonly<Record<string, string>>
}

/** Resource type of a built-in kind that our code does not write. */
const clusterScoped = (group: string, kind: string, plural: string): ResourceType => {
  return { group, version: 'v1', kind, plural, namespaced: false }
}

const TYPES: readonly ResourceType[] = [
  IMAGE,
  virtualMachine,
  dataSync,
  workspace,
  workspaceSnapshot,
  CONFIG_MAP,
  SECRET,
  RESOURCE_QUOTA,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT_CLASS,
  clusterScoped('admissionregistration.k8s.io', 'ValidatingAdmissionPolicy', 'validatingadmissionpolicies'),
  clusterScoped(
    'admissionregistration.k8s.io',
    'ValidatingAdmissionPolicyBinding',
    'validatingadmissionpolicybindings',
  ),
  clusterScoped('rbac.authorization.k8s.io', 'ClusterRoleBinding', 'clusterrolebindings'),
]

/** Returns the resource type of an object. Throws for a kind that no example has. */
export function resourceTypeOf({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): ResourceType {
  const type = TYPES.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)
  if (type === undefined) throw new Error(`no example is a ${apiVersion} ${kind}`)
  return type
}

/** Returns all objects in one file of the examples. Throws on invalid YAML. */
export async function readManifests(file: string): Promise<Manifest[]> {
  const documents = parseAllDocuments(await readFile(join(EXAMPLES, file), 'utf8'))
  return documents.map((document) => {
    const [error] = document.errors
    if (error !== undefined) throw new Error(`${file}: ${error.message}`)
    return document.toJS() as Manifest
  })
}
