import { parseWorkspaceSpec, workspace } from '@open-terrain/constructs'
import type { ClusterCaches } from '../../cluster/caches.ts'
import { keptMetadata } from '../../cluster/kept-metadata.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type KubeObject, keyOf, type ResourceType } from '../../kube/kube-object.ts'
import { memoized, withKnownSpec } from '../../runtime/memoized.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import type { MachineFacts, WorkspaceView } from './world.ts'

export const WORKSPACE: ResourceType = workspace

/** Index over workspaces: names of their machines' images. All of these images are in the namespace that the policy names. */
export const BY_IMAGE_NAME = 'image name'

/** Characters kept of a workspace. Its schema bounds its size, and no part of it may be lost. */
const OWN_MAX = 1_500_000

/** Cache of the machines, also indexed by namespace. */
export interface Machines extends Readable<MachineFacts> {
  find(index: 'namespace', namespace: string): readonly MachineFacts[]
}

/** The caches that decisions about workspaces use. */
export class WorkspaceCaches {
  readonly workspaces = new Store<WorkspaceView>().index(BY_IMAGE_NAME, imageNamesOf)
  readonly images: Readable<ImageView>
  readonly machines: Machines
  readonly cluster: ClusterCaches
  readonly reflectors: Reflectors

  constructor(reflectors: Reflectors, images: Readable<ImageView>, machines: Machines, cluster: ClusterCaches) {
    this.reflectors = reflectors
    this.images = images
    this.machines = machines
    this.cluster = cluster
    const view = (object: KubeObject) =>
      withKnownSpec(viewWorkspace(object), this.workspaces.get(keyOf(object.metadata)))
    reflectors.add(WORKSPACE, this.workspaces, view, { keptMax: OWN_MAX })
    this.workspaces.onChange(() => cluster.workspaces.need())
  }
}

export function viewWorkspace(object: KubeObject): WorkspaceView {
  const { apiVersion, kind, metadata, spec, status = {} } = object as WorkspaceView
  return { apiVersion, kind, metadata: keptMetadata(metadata), spec, status }
}

export const parsedWorkspaceSpec = memoized(parseWorkspaceSpec)

/** The spec before validation. */
interface LooseSpec {
  readonly vms?: readonly ({ readonly backingVMDiskImage?: unknown } | null)[] | null
}

/** Returns the names of the images that a workspace refers to. None while it is being deleted, because its machines count themselves. */
export function imageNamesOf({ spec, metadata: { deletionTimestamp } }: WorkspaceView): readonly string[] {
  const vms = (spec as LooseSpec | null | undefined)?.vms
  if (deletionTimestamp !== undefined || !Array.isArray(vms)) return []
  return [...new Set(vms.map((vm) => vm?.backingVMDiskImage).filter((name) => typeof name === 'string'))]
}
