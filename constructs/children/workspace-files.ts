import type { Construct } from 'constructs'
import { LABELS } from '../api/labels.ts'
import { childName, shortHash } from '../api/names.ts'
import { containersOf, type WorkspaceContainerCluster } from '../api/workspace.ts'
import { freeVolumeName } from './pod-overrides.ts'
import { RenderedObject, renderOne } from './rendered-object.ts'
import { type WorkspaceChildMetadata, type WorkspaceRef, workspaceChildMetadata } from './workspace-child.ts'

export interface ClusterFilesProps {
  readonly workspace: WorkspaceRef
  readonly cluster: WorkspaceContainerCluster
}

export interface ClusterFilesObject {
  readonly apiVersion: 'v1'
  readonly kind: 'ConfigMap'
  readonly metadata: WorkspaceChildMetadata
  readonly data: Readonly<Record<string, string>>
}

/** An item of a projected volume. */
interface FileItem {
  readonly key: string
  /** Path in the volume. */
  readonly path: string
  readonly mode: number
}

export interface FilesVolume {
  readonly name: string
  readonly projected: {
    readonly sources: readonly (
      | { readonly configMap: { readonly name: string; readonly items: readonly FileItem[] } }
      | { readonly secret: { readonly name: string; readonly items: readonly FileItem[] } }
    )[]
  }
}

export interface FileMount {
  readonly name: string
  readonly mountPath: string
  readonly subPath: string
  readonly readOnly: true
}

/**
 * The content of all files of a container cluster. Its name is made from the content: with other content the cluster has another ConfigMap, and
 * Kubernetes replaces its pod.
 */
export class ContainerClusterFiles extends RenderedObject<ClusterFilesObject> {
  constructor(scope: Construct, id: string, props: ClusterFilesProps) {
    super(scope, id, configMapOf(props))
  }
}

/** Returns no object for a cluster whose files all come from Secrets. */
export function renderClusterFiles(props: ClusterFilesProps): ClusterFilesObject[] {
  if (Object.keys(contentsOf(props.cluster)).length === 0) return []
  return [renderOne((chart) => new ContainerClusterFiles(chart, 'Files', props))]
}

function configMapOf({ workspace, cluster }: ClusterFilesProps): ClusterFilesObject {
  const data = contentsOf(cluster)
  const labels = { [LABELS.containerCluster]: cluster.name }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: workspaceChildMetadata({ workspace, name: filesName(cluster, data), labels }),
    data,
  }
}

function filesName({ name }: WorkspaceContainerCluster, data: Readonly<Record<string, string>>): string {
  return childName(name, `files-${shortHash([name, JSON.stringify(data)])}`)
}

/** Every file of a cluster has a key of its own, which is its path in the volume, too. */
function filesOf(cluster: WorkspaceContainerCluster) {
  return containersOf(cluster).flatMap((container) =>
    (container.files ?? []).map((file, at) => ({ ...file, container: container.name, key: `${container.name}.${at}` })),
  )
}

function contentsOf(cluster: WorkspaceContainerCluster): Record<string, string> {
  return Object.fromEntries(
    filesOf(cluster).flatMap(({ key, content, secretKeyRef }) =>
      secretKeyRef === undefined ? [[key, content ?? '']] : [],
    ),
  )
}

/** Read by everybody, as in Kubernetes. */
const MODE = '0644'
/** Name of the volume, where nobody else has it. */
const FILES = 'files'

/** Returns the one volume that all files of a cluster are in. */
export function filesVolume(cluster: WorkspaceContainerCluster): FilesVolume | undefined {
  const files = filesOf(cluster)
  if (files.length === 0) return undefined
  const itemOf = ({ key, mode = MODE }: (typeof files)[number], of: string): FileItem => {
    return { key: of, path: key, mode: Number.parseInt(mode, 8) }
  }
  const written = files.filter(({ secretKeyRef }) => secretKeyRef === undefined)
  const configMap = { name: filesName(cluster, contentsOf(cluster)), items: written.map((one) => itemOf(one, one.key)) }
  const secrets = files.flatMap((one) => {
    const { secretKeyRef: ref } = one
    return ref === undefined ? [] : [{ secret: { name: ref.name, items: [itemOf(one, ref.key)] } }]
  })
  return {
    name: freeVolumeName(cluster, FILES),
    projected: { sources: [...(written.length > 0 ? [{ configMap }] : []), ...secrets] },
  }
}

/** Each file is mounted alone, so that what the image has beside it stays. Such a mount does not follow changes: the pod is replaced. */
export function fileMounts(cluster: WorkspaceContainerCluster, container: string): FileMount[] {
  const name = freeVolumeName(cluster, FILES)
  return filesOf(cluster).flatMap(({ container: of, path, key }) =>
    of === container ? [{ name, mountPath: path, subPath: key, readOnly: true }] : [],
  )
}
