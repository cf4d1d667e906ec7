import type { DataSyncSpecInput } from '@open-terrain/constructs'
import {
  type DataSyncStatus,
  dataSyncImageName,
  parseDataSyncSpec,
  parseVMDiskImageSpec,
  revisionOf,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { wishesOf } from '../../../operator/controllers/data-sync/decide/wishes.ts'
import type { DataSyncView, DataSyncWorld } from '../../../operator/controllers/data-sync/world.ts'
import { budgetKeyOf } from '../../../operator/images/decide/image-content.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import type { KubeObject, ObjectMeta } from '../../../operator/kube/kube-object.ts'

export const NOW = Date.parse('2026-01-31T12:00:00Z')
export const NAMESPACE = 'farm'

export const SPEC = {
  workspaceId: '035',
  sourceType: 'http',
  vms: [
    { name: 'attacker', url: 'https://images.example/attacker.qcow2' },
    { name: 'router', url: 'https://images.example/router.qcow2', diskSize: '5Gi' },
  ],
} satisfies DataSyncSpecInput

export function dataSyncOf(spec: unknown = SPEC, metadata: Partial<ObjectMeta> = {}, status: DataSyncStatus = {}) {
  const { name = 'lab' } = metadata
  return {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'DataSync',
    metadata: { namespace: NAMESPACE, name, uid: `uid-${name}`, generation: 1, ...metadata },
    spec,
    status,
  } satisfies DataSyncView
}

/** Images of a namespace, by name. Writes act as in the API server, and `tell` sets the status as their controller would. */
export class Images {
  readonly stored = new Map<string, ImageView>()
  #version = 100

  put(image: KubeObject): ImageView {
    const stored = this.#next({ status: {}, ...image } as ImageView, { uid: `uid-${this.#version}`, generation: 1 })
    if (this.stored.has(stored.metadata.name)) throw new Error(`${stored.metadata.name} exists`)
    return this.#keep(stored)
  }

  /** Applies a merge patch, except that the spec is given in full. Throws if the image is not the version that was seen. */
  update({ metadata, spec }: KubeObject & { readonly spec?: unknown }): void {
    const before = this.stored.get(metadata.name)
    const isSeen =
      before?.metadata.uid === metadata.uid && before?.metadata.resourceVersion === metadata.resourceVersion
    if (before === undefined || !isSeen) throw new Error(`${metadata.name} is not what was seen`)
    const generation = (before.metadata.generation ?? 1) + 1
    const annotations = { ...before.metadata.annotations, ...metadata.annotations }
    this.#keep(this.#next({ ...before, spec }, { generation, annotations }))
  }

  annotate(
    name: string,
    seen: Pick<ObjectMeta, 'uid' | 'resourceVersion'>,
    added: Readonly<Record<string, string>>,
  ): void {
    const before = this.stored.get(name)
    const { uid, resourceVersion } = before?.metadata ?? {}
    if (before === undefined || uid !== seen.uid || resourceVersion !== seen.resourceVersion)
      throw new Error(`${name} is not what was seen`)
    this.#keep(this.#next(before, { annotations: { ...before.metadata.annotations, ...added } }))
  }

  /** Sets the status of an image that its controller has observed. */
  tell(name: string, status: VMDiskImageStatus): void {
    const image = this.stored.get(name)
    if (image === undefined) throw new Error(`there is no ${name}`)
    const { generation, annotations } = image.metadata
    const parsed = parseVMDiskImageSpec(image.spec)
    const revision = parsed.ok ? revisionOf(parsed.spec, annotations?.['pelotech.ot/sync-requested-at']) : ''
    const budget = { key: budgetKeyOf(revision, parsed.ok ? parsed.spec : {}, annotations), downloads: 0 }
    this.#keep({
      ...image,
      status: { observedGeneration: generation ?? 1, revision, budget, reason: 'Told', ...status },
    })
  }

  change(name: string, metadata: Partial<ObjectMeta>): void {
    const image = this.stored.get(name)
    if (image !== undefined) this.#keep(this.#next(image, metadata))
  }

  #next(image: ImageView, metadata: Partial<ObjectMeta>): ImageView {
    this.#version += 1
    return { ...image, metadata: { ...image.metadata, ...metadata, resourceVersion: String(this.#version) } }
  }

  #keep(image: ImageView): ImageView {
    this.stored.set(image.metadata.name, image)
    return image
  }
}

/** Returns all that is known about one of these DataSyncs. */
export function aDataSyncWorld(
  dataSync: DataSyncView,
  images = new Images(),
  all: readonly DataSyncView[] = [dataSync],
  more: Partial<DataSyncWorld> = {},
): DataSyncWorld {
  const wanted = (one: DataSyncView) => {
    const parsed = parseDataSyncSpec(one.spec)
    return parsed.ok && one.metadata.deletionTimestamp === undefined ? wishesOf(one, parsed.spec) : []
  }
  const others = all.filter(({ metadata }) => metadata.name !== dataSync.metadata.name).flatMap(wanted)
  return {
    dataSync,
    spec: parseDataSyncSpec(dataSync.spec),
    namespaceTerminating: false,
    images: wanted(dataSync).map((wish) => {
      const name = dataSyncImageName(wish.triple)
      const sharing = others.filter(({ triple }) => dataSyncImageName(triple) === name)
      return { wish, image: images.stored.get(name), others: sharing }
    }),
    refusal: undefined,
    policy: {},
    ...more,
  }
}
