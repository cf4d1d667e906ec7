import { ANNOTATIONS } from '@open-terrain/constructs'
import { isApiError } from '../../../operator/kube/api-error.ts'
import type { KubeObject, ObjectKey, ResourceType } from '../../../operator/kube/kube-object.ts'
import * as types from '../../../operator/kube/resource-types.ts'
import { type DataVolume, IMAGE, type Image } from '../../harness/kinds.ts'
import type { Actor } from '../kind.ts'
import * as objects from '../objects.ts'
import { ASK_AGAIN_MS, find, leaveRefused } from '../people.ts'
import type { Action, CatalogAction, ChildKind, ImageAction, ImagePlan } from '../schedule.ts'
import { urlOf } from '../sources.ts'
import type { World } from '../world.ts'

/** Until the stalled imports of a deleted storage class have been stopped. */
const CLASSLESS_MS = 10 * 60_000
const CHILD_TYPES: Readonly<Record<ChildKind, ResourceType>> = {
  DataVolume: types.DATA_VOLUME,
  PersistentVolumeClaim: types.PERSISTENT_VOLUME_CLAIM,
  VolumeSnapshot: types.VOLUME_SNAPSHOT,
  Pod: types.POD,
  DataSource: types.DATA_SOURCE,
}
const CATALOG: Readonly<Record<CatalogAction['what'], ResourceType>> = {
  Secret: types.SECRET,
  StorageClass: types.STORAGE_CLASS,
  VolumeSnapshotClass: types.VOLUME_SNAPSHOT_CLASS,
}

/** An image of the schedule. */
export interface Subject {
  readonly plan: ImagePlan
  readonly key: Required<ObjectKey>
  isCreating: boolean
}

/** What people do to images, and to the things that images name. */
export class People implements Actor {
  /** When the last clone will be finished, in virtual milliseconds. */
  clonedUntilMs = 0
  readonly #world: World
  readonly #subjects: readonly Subject[]
  #wishes = 0
  #clones = 0

  constructor(world: World, subjects: readonly Subject[]) {
    this.#world = world
    this.#subjects = subjects
  }

  create(subject: Subject): void {
    const { plan, key } = subject
    const { admin } = this.#world.cluster
    try {
      const object = objects.image(key.namespace, key.name, objects.specOf(plan, `${key.namespace}-${key.name}`, 0))
      admin.create(IMAGE, object)
      subject.isCreating = false
    } catch (error) {
      // Its namespace does not exist, or the previous object of the name is not gone yet.
      if (!isApiError(error)) throw error
      subject.isCreating = true
      this.#world.time.schedule(ASK_AGAIN_MS, () => this.create(subject))
    }
  }

  carryOut(action: Action): boolean {
    switch (action.do) {
      case 'toggle':
        this.#toggle(action)
        return true
      case 'edit':
      case 'delete':
      case 'orphan':
      case 'recreate':
      case 'retryNow':
      case 'refresh':
      case 'spoil':
      case 'heal':
      case 'suspend':
      case 'deleteChild':
      case 'clone':
        this.#act(action)
        return true
      default:
        return false
    }
  }

  #act(action: ImageAction): void {
    const subject = this.#subjects[action.image % this.#subjects.length]
    if (subject === undefined) return
    const { key, plan } = subject
    // Images that delete themselves are left alone: the effect of an edit would depend on whether they still exist.
    if (plan.ttlSeconds !== undefined) return
    switch (action.do) {
      case 'edit':
        this.#edit(subject, action)
        return
      case 'delete':
        leaveRefused(() => this.#world.cluster.admin.delete(IMAGE, key))
        return
      case 'orphan':
        leaveRefused(() => this.#world.cluster.admin.delete(IMAGE, key, { propagationPolicy: 'Orphan' }))
        return
      case 'recreate':
        this.#recreate(subject)
        return
      case 'retryNow':
        this.#annotate(key, ANNOTATIONS.retryRequestedAt)
        return
      case 'refresh':
        this.#annotate(key, ANNOTATIONS.syncRequestedAt)
        return
      case 'spoil':
        this.#patchImage(key, { spec: { diskSize: 'huge' } })
        return
      case 'heal':
        this.#patchImage(key, { spec: { diskSize: '16Mi' } })
        return
      case 'suspend':
        this.#patchImage(key, { spec: { suspend: action.suspend } })
        return
      case 'deleteChild':
        this.#deleteChild(key, action.kind, action.foreground)
        return
      case 'clone':
        this.#clone(key, action.forMs)
        return
    }
  }

  #recreate(subject: Subject): void {
    const found = this.#image(subject.key)
    if (subject.isCreating || (found !== undefined && found.metadata.deletionTimestamp === undefined)) return
    this.create(subject)
  }

  #edit({ key, plan }: Subject, { field, value }: Extract<ImageAction, { do: 'edit' }>): void {
    const isBlank = plan.nature === 'blank'
    if (isBlank && (field === 'url' || field === 'secretRef')) return
    switch (field) {
      case 'url': {
        const nature = value === 3 ? 'missing' : plan.nature
        this.#patchImage(key, {
          spec: { url: urlOf(`${key.namespace}-${key.name}`, value, { ...plan, nature }) },
        })
        return
      }
      case 'diskSize':
        this.#patchImage(key, { spec: { diskSize: `${16 * (value + 1)}Mi` } })
        return
      case 'snapshotClass':
        this.#patchImage(key, { spec: { snapshotClass: value === 3 ? null : `snapshots-${value}` } })
        return
      case 'secretRef':
        this.#patchImage(key, { spec: { secretRef: value === 3 ? null : `secret-${value}` } })
        return
      case 'storageClass':
        this.#patchImage(key, { spec: { storageClass: `storage-${value % 3}` } })
        return
      case 'name':
        this.#patchImage(key, { spec: { name: `name-${value}` } })
        return
      case 'labels':
        this.#patchImage(key, { metadata: { labels: { label: `value-${value}` } } })
        return
    }
  }

  #annotate(key: Required<ObjectKey>, annotation: string): void {
    this.#wishes += 1
    annotateImage(this.#world, key, { [annotation]: String(this.#wishes) })
  }

  #patchImage(key: Required<ObjectKey>, patch: object): void {
    patchImage(this.#world, key, patch)
  }

  #image(key: Required<ObjectKey>): Image | undefined {
    return find<Image>(this.#world, IMAGE, key)
  }

  #deleteChild(key: Required<ObjectKey>, kind: ChildKind, foreground: boolean): void {
    const { admin } = this.#world.cluster
    const image = this.#image(key)
    const uid = image?.metadata.uid
    if (uid === undefined) return
    const type = CHILD_TYPES[kind]
    leaveRefused(() => {
      const { items } = admin.list(type, { namespace: key.namespace, labelSelector: `pelotech.ot/image-uid=${uid}` })
      for (const { metadata } of items)
        admin.delete(type, metadata, { propagationPolicy: foreground ? 'Foreground' : 'Background' })
    })
  }

  #clone(key: Required<ObjectKey>, forMs: number): void {
    const { admin } = this.#world.cluster
    const artifact = this.#image(key)?.status?.artifact
    if (artifact === undefined) return
    this.#clones += 1
    const clone = objects.clone(key.namespace, `clone-${this.#clones}`, artifact)
    leaveRefused(() => {
      admin.create(types.DATA_VOLUME, clone)
      // A clone is never cut short.
      this.clonedUntilMs = Math.max(this.clonedUntilMs, this.#world.time.elapsedMs + forMs)
      this.#world.time.schedule(forMs, () => {
        const found = find<DataVolume>(this.#world, types.DATA_VOLUME, clone.metadata)
        if (found !== undefined)
          admin.replaceStatus(types.DATA_VOLUME, { ...found, status: { phase: 'Succeeded' } } as KubeObject)
      })
    })
  }

  #toggle({ what, number }: CatalogAction): void {
    const type = CATALOG[what]
    const each = what === 'Secret' ? objects.NAMESPACES : [undefined]
    for (const namespace of each) this.#toggleOne(type, this.#catalogObject(what, number, namespace))
  }

  #catalogObject(what: CatalogAction['what'], number: number, namespace: string | undefined): KubeObject {
    if (what === 'Secret') return objects.secret(namespace ?? '', number)
    return what === 'StorageClass' ? objects.storageClass(number) : objects.snapshotClass(number)
  }

  #toggleOne(type: ResourceType, object: KubeObject): void {
    const { admin } = this.#world.cluster
    const exists = find(this.#world, type, object.metadata) !== undefined
    // Without the class, CDI reports nothing about imports in progress.
    if (exists && type === types.STORAGE_CLASS) this.#world.disturbances.mark('cdi', CLASSLESS_MS)
    leaveRefused(() => {
      if (exists) admin.delete(type, object.metadata)
      else admin.create(type, object)
    })
  }
}

/** Annotates an image on behalf of people, who leave an image that does not exist or is being deleted. */
export function annotateImage(
  world: World,
  { namespace, name }: ObjectKey,
  annotations: Readonly<Record<string, string>>,
): void {
  patchImage(world, { namespace: namespace ?? '', name }, { metadata: { annotations } })
}

function patchImage(world: World, key: Required<ObjectKey>, patch: object): void {
  const found = find<Image>(world, IMAGE, key)
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return
  world.cluster.admin.mergePatch(IMAGE, key, patch)
}
