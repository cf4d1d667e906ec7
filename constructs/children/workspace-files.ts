import type { Construct } from 'constructs'
import { LABELS } from '../api/labels.ts'
import { childName, shortHash } from '../api/names.ts'
import { containersOf, type WorkspaceContainer, type WorkspaceContainerCluster } from '../api/workspace.ts'
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

/** All keys of one object. The API server would add the mode. */
export type FolderVolume = { readonly name: string } & (
  | { readonly configMap: { readonly name: string; readonly defaultMode: number } }
  | { readonly secret: { readonly secretName: string; readonly defaultMode: number } }
)

export interface FileMount {
  readonly name: string
  readonly mountPath: string
  /** A folder has none. */
  readonly subPath?: string
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

/** Returns no object for a cluster whose files all come from Secrets and ConfigMaps of others. */
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
function entriesOf(cluster: WorkspaceContainerCluster) {
  return containersOf(cluster).flatMap((container) =>
    (container.files ?? []).map((file, at) => ({ ...file, container: container.name, key: `${container.name}.${at}` })),
  )
}

type Entry = ReturnType<typeof entriesOf>[number]

/** Reports whether all keys of an object are files of a folder. */
export function isFolder({
  secretRef,
  configMapRef,
}: Pick<NonNullable<WorkspaceContainer['files']>[number], 'secretRef' | 'configMapRef'>): boolean {
  return (secretRef ?? configMapRef) !== undefined
}

/** Returns the files that are one each. */
function filesOf(cluster: WorkspaceContainerCluster): Entry[] {
  return entriesOf(cluster).filter((one) => !isFolder(one))
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

function modeOf({ mode = MODE }: Entry): number {
  return Number.parseInt(mode, 8)
}

/** Returns the one volume that all single files of a cluster are in. */
export function filesVolume(cluster: WorkspaceContainerCluster): FilesVolume | undefined {
  const files = filesOf(cluster)
  if (files.length === 0) return undefined
  const itemOf = (file: Entry, of: string): FileItem => ({ key: of, path: file.key, mode: modeOf(file) })
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

/** Returns the volumes of folders. Containers that have the same of the same object share one. */
export function folderVolumes(cluster: WorkspaceContainerCluster): FolderVolume[] {
  const volumes = entriesOf(cluster)
    .filter(isFolder)
    .map((one) => folderOf(cluster, one))
  return [...new Map(volumes.map((volume) => [volume.name, volume])).values()]
}

function folderOf(cluster: WorkspaceContainerCluster, entry: Entry): FolderVolume {
  const defaultMode = modeOf(entry)
  const { secretRef: secret, configMapRef: configMap } = entry
  const of = [secret?.name, configMap?.name, String(defaultMode)]
  // No other volume of the operator has such a name.
  const name = freeVolumeName(cluster, `${FILES}-${shortHash(of)}`)
  return secret === undefined
    ? { name, configMap: { name: configMap?.name ?? '', defaultMode } }
    : { name, secret: { secretName: secret.name, defaultMode } }
}

/**
 * Each file is mounted alone, so that what the image has beside it stays. Such a mount does not follow changes: the pod is replaced. A folder is mounted
 * in place of the one of the image, and follows changes of its object.
 */
export function fileMounts(cluster: WorkspaceContainerCluster, container: string): FileMount[] {
  const own = entriesOf(cluster).filter((one) => one.container === container)
  const name = freeVolumeName(cluster, FILES)
  return own.map((one): FileMount => {
    const { path: mountPath, key: subPath } = one
    return isFolder(one)
      ? { name: folderOf(cluster, one).name, mountPath, readOnly: true }
      : { name, mountPath, subPath, readOnly: true }
  })
}
