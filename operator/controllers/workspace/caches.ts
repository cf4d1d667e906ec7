import { ANNOTATIONS } from '@open-terrain/constructs'
import { parseWorkspaceSpec, type WorkspaceSpec, workspace } from '@open-terrain/constructs/operator'
import type { ClusterCaches } from '../../cluster/caches.ts'
import { nameIn, namesAmong, ownKind } from '../../cluster/own-view.ts'
import type { ImageView } from '../../images/image-view.ts'
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from '../../kube/kube-object.ts'
import type { Reflectors } from '../../runtime/reflectors.ts'
import { type Readable, Store } from '../../runtime/store.ts'
import { WorkspaceChildCaches } from './child-caches.ts'
import { Renderings } from './renderings.ts'
import type { MachineFacts, WorkspaceView } from './world.ts'

export const WORKSPACE: ResourceType = workspace

/** Index over workspaces: names of their machines' images. All of these images are in the namespace that the policy names. */
export const BY_IMAGE_NAME = 'image name'

/** Index over workspaces: `<namespace>/<name>` of the Secrets that they have copies of. */
export const BY_SECRET_SOURCE = 'secret source'

/** @param classLabel key of a label that is kept too, for metrics alone */
const ownWith = (classLabel?: string) =>
  ownKind<WorkspaceView, WorkspaceSpec>({
    type: WORKSPACE,
    parse: parseWorkspaceSpec,
    max: 1_500_000,
    matters: {
      annotations: [ANNOTATIONS.rebuildRequestedAt, ANNOTATIONS.resetRequestedAt, ANNOTATIONS.playRequestedAt],
      whole: [ANNOTATIONS.volumeClaims],
      ...(classLabel !== undefined && { labels: [classLabel] }),
    },
    references: referencesIn,
    withoutRoom: 'aside',
  })
const OWN = ownWith()

export const { view: viewWorkspace, parsed: parsedWorkspaceSpec } = OWN

/** Cache of the machines, also indexed by namespace. */
export interface Machines extends Readable<MachineFacts> {
  find(index: 'namespace', namespace: string): readonly MachineFacts[]
}

/** The caches that decisions about workspaces use. */
export class WorkspaceCaches {
  readonly workspaces = new Store<WorkspaceView>()
    .index(BY_IMAGE_NAME, imageNamesOf)
    .index(BY_SECRET_SOURCE, secretSourcesIn)
  readonly images: Readable<ImageView>
  readonly machines: Machines
  readonly cluster: ClusterCaches
  /** What only workspaces are made of. */
  readonly childCaches: WorkspaceChildCaches
  readonly reflectors: Reflectors
  readonly renderings: Renderings

  /** @param classLabel key of the label by whose values metrics count labs */
  constructor(
    reflectors: Reflectors,
    images: Readable<ImageView>,
    machines: Machines,
    cluster: ClusterCaches,
    classLabel?: string,
  ) {
    this.reflectors = reflectors
    this.images = images
    this.machines = machines
    this.cluster = cluster
    this.childCaches = new WorkspaceChildCaches(reflectors)
    this.renderings = new Renderings(reflectors.budget.max / 2)
    ownWith(classLabel).keepIn(this.workspaces, reflectors)
    this.workspaces.onChange(() => this.childCaches.need())
  }
}

/** Keeps only what makes a workspace a reference, because a list contains all workspaces. */
export function viewReferringWorkspace(object: KubeObject): WorkspaceView {
  const { apiVersion, kind, metadata, spec } = viewWorkspace(object)
  const { name, uid, deletionTimestamp } = metadata
  return { apiVersion, kind, metadata: { name, uid, deletionTimestamp }, spec: referencesIn(spec), status: {} }
}

/** The spec before validation. */
interface LooseSpec {
  readonly vms?: unknown
  readonly powerState?: unknown
  readonly secrets?: unknown
}

/** The images that a spec names: those of root disks, and those of other disks. */
function imagesIn(spec: unknown): string[] {
  const { vms } = (spec ?? {}) as LooseSpec
  const disks: unknown[] = Array.isArray(vms) ? vms.flatMap((vm) => vm?.disks ?? []) : []
  return [...new Set([vms, disks].flatMap((list) => namesAmong(list, (one) => one['backingVMDiskImage'])))]
}

/** What of a spec makes it a reference to images, and to Secrets of others, and whether it is switched off. */
function referencesIn(spec: unknown): LooseSpec {
  const sources = copiesIn(spec)
  const vms = imagesIn(spec).map((backingVMDiskImage) => ({ backingVMDiskImage }))
  const { powerState } = (spec ?? {}) as LooseSpec
  return {
    vms,
    ...(powerState !== undefined && { powerState: nameIn(powerState) }),
    ...(sources.length > 0 && { secrets: sources.map((from) => ({ from })) }),
  }
}

/** The Secrets that a spec has copies of. */
function copiesIn(spec: unknown): ObjectKey[] {
  const { secrets } = (spec ?? {}) as LooseSpec
  const sources: unknown[] = Array.isArray(secrets) ? secrets.map((one) => one?.from) : []
  return sources.flatMap((from) => {
    const { namespace, name } = (from ?? {}) as Partial<Record<keyof ObjectKey, unknown>>
    return typeof namespace === 'string' && typeof name === 'string' ? [{ namespace, name }] : []
  })
}

/** Returns `<namespace>/<name>` of the Secrets that a workspace has copies of. */
function secretSourcesIn({ spec }: WorkspaceView): readonly string[] {
  return copiesIn(spec).map(keyOf)
}

/** Returns the names of the images that a workspace refers to. None while it is being deleted, because its machines count themselves. */
export function imageNamesOf({ spec, metadata: { deletionTimestamp } }: WorkspaceView): readonly string[] {
  return deletionTimestamp === undefined ? imagesIn(spec) : []
}
