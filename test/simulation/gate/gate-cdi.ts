import { LABELS } from '@open-terrain/constructs'
import { attemptOf } from '../../../operator/cluster/import-facts.ts'
import { isApiError } from '../../../operator/kube/api-error.ts'
import { apiVersionOf, type KubeObject, type ObjectKey, type ResourceType } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../../operator/kube/resource-types.ts'
import type { Commit, MemoryCluster, VirtualTime } from '../../../sandbox/memory-cluster/index.ts'
import { imageOwner } from '../chronicle.ts'
import type { GateImages } from './gate-images.ts'
import type { GateStory, Range } from './gate-story.ts'

const POD_AFTER_MS: Range = { least: 1, most: 30 }
const CLAIM_GOES_MS: Range = { least: 10, most: 100 }
/** A deleted pod keeps running this long at most. */
const LINGERS_MS: Range = { least: 0, most: 8_000 }
const HOLD = 'gate.example.com/linger'
/** Finalizer of a claim, until the controllers of the cluster have observed that no pod uses it. */
const PROTECTION = 'kubernetes.io/pvc-protection'

interface Phased extends KubeObject {
  readonly status?: { readonly phase?: string }
}

interface Download {
  readonly uid: string
  readonly imageUid: string
  readonly key: ObjectKey
  pod: ObjectKey | undefined
  isOver: boolean
}

export interface GateCdiOptions {
  readonly story: GateStory
  readonly time: VirtualTime
  readonly cluster: MemoryCluster
  readonly random: () => number
  readonly images: () => GateImages
}

/** The part of CDI that the gate observes: DataVolumes that succeed or are torn down, with importer pods that take a while to terminate. */
export class GateCdi {
  readonly #options: GateCdiOptions
  /** By uid, as long as they exist. */
  readonly #downloads = new Map<string, Download>()

  constructor(options: GateCdiOptions) {
    this.#options = options
  }

  get isIdle(): boolean {
    return [...this.#downloads.values()].every(({ isOver }) => isOver)
  }

  onCommit({ type, resource, object }: Commit): void {
    if (resource.kind === DATA_VOLUME.kind) this.#onDataVolume(type, object)
    else if (resource.kind === POD.kind && type !== 'DELETED' && isHeld(object))
      this.#later(LINGERS_MS, () => this.#releaseFinalizers(POD, object))
    else if (resource.kind === PERSISTENT_VOLUME_CLAIM.kind && type !== 'DELETED' && isProtected(object))
      this.#later(QUICKLY, () => this.#releaseFinalizers(PERSISTENT_VOLUME_CLAIM, object))
  }

  /** Deletes a DataVolume, whatever its state. */
  remove(uid: string): void {
    const { random, story, cluster } = this.#options
    this.#later(QUICKLY, () => {
      const download = this.#downloads.get(uid)
      if (download === undefined) return
      const propagationPolicy = random() < story.shares.background ? 'Background' : 'Foreground'
      unlessGone(() => cluster.admin.delete(DATA_VOLUME, download.key, { uid, propagationPolicy }))
    })
  }

  #onDataVolume(type: Commit['type'], object: KubeObject): void {
    const { uid = '', deletionTimestamp } = object.metadata
    const images = this.#options.images()
    if (type === 'ADDED') this.#add(object)
    const download = this.#downloads.get(uid)
    if (download === undefined) return
    const hasSucceeded = (object as Phased).status?.phase === 'Succeeded'
    download.isOver ||= type === 'DELETED' || deletionTimestamp !== undefined || hasSucceeded
    if (type === 'DELETED') {
      this.#downloads.delete(uid)
      images.gone(download.imageUid, uid)
    } else if (hasSucceeded) {
      images.succeeded(download.imageUid, uid)
    }
  }

  #add(object: KubeObject): void {
    const { uid = '', namespace = '', name, labels = {} } = object.metadata
    const imageUid = imageOwner(object)?.uid ?? ''
    const download: Download = { uid, imageUid, key: { namespace, name }, pod: undefined, isOver: false }
    this.#downloads.set(uid, download)
    this.#options.images().created(imageUid, uid, labels[LABELS.revision] ?? '', attemptOf(object))
    this.#begin(download, object)
  }

  #begin(download: Download, object: KubeObject): void {
    const { random, story, images } = this.#options
    const isTorn = random() < story.shares.torn && !images().isWindingUp
    const { least, most } = story.downloadMs
    const downloadMs = least + (most - least) * random()
    if (isTorn || random() < story.shares.pods) this.#later(POD_AFTER_MS, () => this.#import(download, object, isTorn))
    this.#options.time.schedule(isTorn ? downloadMs * random() : downloadMs, () => {
      if (download.isOver) return
      if (isTorn) this.#tear(download)
      else this.#succeed(download)
    })
  }

  #import(download: Download, object: KubeObject, isHeld: boolean): void {
    if (download.isOver) return
    const { labels = {} } = object.metadata
    const { namespace, name } = download.key
    download.pod = { namespace: namespace ?? '', name: `importer-${name}-${download.uid.slice(-6)}` }
    const claim = this.#claimOf(download)
    if (claim === undefined) {
      this.#later(CLAIM_GOES_MS, () => this.#import(download, object, isHeld))
      return
    }
    const pod: KubeObject = {
      apiVersion: apiVersionOf(POD),
      kind: POD.kind,
      metadata: {
        ...download.pod,
        labels: {
          [LABELS.imageUid]: download.imageUid,
          [LABELS.revision]: labels[LABELS.revision] ?? '',
          ...named(labels),
        },
        ...(isHeld && { finalizers: [HOLD] }),
        ownerReferences: controlledBy(PERSISTENT_VOLUME_CLAIM, name, claim.metadata.uid ?? ''),
      },
    }
    this.#options.cluster.admin.create(POD, pod)
  }

  /** Creates the claim. Returns undefined while the one of an earlier download still exists. */
  #claimOf({ key, uid }: Download): KubeObject | undefined {
    try {
      return this.#options.cluster.admin.create<KubeObject>(PERSISTENT_VOLUME_CLAIM, {
        apiVersion: apiVersionOf(PERSISTENT_VOLUME_CLAIM),
        kind: PERSISTENT_VOLUME_CLAIM.kind,
        metadata: { ...key, ownerReferences: controlledBy(DATA_VOLUME, key.name, uid) },
      })
    } catch (error) {
      if (isApiError(error, 'AlreadyExists')) return undefined
      throw error
    }
  }

  #tear(download: Download): void {
    this.#options.images().failed(download.imageUid, download.uid)
    this.remove(download.uid)
  }

  #succeed({ key, pod }: Download): void {
    const { admin } = this.#options.cluster
    if (pod !== undefined) unlessGone(() => admin.replaceStatus(POD, withPhase(admin.get(POD, pod))))
    unlessGone(() => admin.replaceStatus(DATA_VOLUME, withPhase(admin.get(DATA_VOLUME, key))))
  }

  #releaseFinalizers(type: ResourceType, { metadata: { namespace = '', name, uid } }: KubeObject): void {
    const { admin } = this.#options.cluster
    unlessGone(() => {
      const { metadata } = admin.get(type, { namespace, name })
      const finalizers = (metadata.finalizers ?? []).filter((one) => one !== HOLD && one !== PROTECTION)
      if (metadata.uid === uid) admin.mergePatch(type, { namespace, name }, { metadata: { finalizers } })
    })
  }

  #later({ least, most }: Range, work: () => void): void {
    const { time, random } = this.#options
    time.schedule(least + (most - least) * random(), work)
  }
}

/** Returns owner references as CDI sets them for a class without a CSI driver, where the pod fills the claim of the DataVolume itself. */
function controlledBy(
  type: ResourceType,
  name: string,
  uid: string,
): NonNullable<KubeObject['metadata']['ownerReferences']> {
  return [{ apiVersion: apiVersionOf(type), kind: type.kind, name, uid, controller: true, blockOwnerDeletion: true }]
}

const QUICKLY: Range = { least: 0, most: 50 }

function isProtected({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(PROTECTION) === true
}

function isHeld({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(HOLD) === true
}

function named(labels: Readonly<Record<string, string>>): Record<string, string> {
  const { [LABELS.imageName]: name } = labels
  return name === undefined ? {} : { [LABELS.imageName]: name }
}

function withPhase(object: KubeObject): KubeObject {
  return { ...object, status: { phase: 'Succeeded', progress: '100.0%' } } as KubeObject
}

export function unlessGone(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    if (!isApiError(error, 'NotFound', 'Conflict')) throw error
  }
}
