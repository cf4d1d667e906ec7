import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  SECRET,
  STORAGE_CLASS,
  VOLUME_SNAPSHOT,
  VOLUME_SNAPSHOT_CLASS,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { POD_PHASE } from '../../../sandbox/simulators/annotations.ts'
import type { Fault, Simulators } from '../../../sandbox/simulators/index.ts'
import { IMAGE } from '../../harness/kinds.ts'
import { imageOwner, isDeletion, isEnd, NODES } from '../chronicle.ts'
import { type Kind, type People as KindPeople, LONGEST_QUEUE_MS } from '../kind.ts'
import * as objects from '../objects.ts'
import { isPeoplesPartKept } from '../oracle/foreign.ts'
import { find, leaveRefused } from '../people.ts'
import type { Action, CdiAction } from '../schedule.ts'
import type { World } from '../world.ts'
import { ImageRest } from './image-rest.ts'
import { annotateImage, People, type Subject } from './people.ts'

/** Secrets and classes with this number, or a higher one, are missing at first. */
const PRESENT_AT_FIRST = 2

type CdiFaultAction = Extract<CdiAction, { do: 'cdiFault' }>
type SnapshotFaultAction = Extract<CdiAction, { do: 'snapshotFault' }>

/** VMDiskImages, whoever created them: those of the schedule, and those of other kinds. */
export class Images implements Kind, KindPeople {
  readonly people = this
  readonly rest: ImageRest
  readonly oracles = []
  readonly restsWithinMs: number
  readonly #world: World
  readonly #subjects: readonly Subject[]
  readonly #people: People

  constructor(world: World) {
    this.#world = world
    this.#subjects = world.schedule.images.map((plan, number) => ({
      plan,
      key: { namespace: objects.NAMESPACES[plan.namespace % objects.NAMESPACES.length] ?? '', name: `image-${number}` },
      isCreating: false,
    }))
    // Other kinds wait for the images that they have created.
    this.restsWithinMs = this.#subjects.length > 0 ? LONGEST_QUEUE_MS : 0
    this.#people = new People(world, this.#subjects)
    this.rest = new ImageRest(world)
  }

  get busyUntilMs(): number {
    return this.#people.clonedUntilMs
  }

  furnish(): void {
    const { admin } = this.#world.cluster
    for (let number = 0; number < PRESENT_AT_FIRST; number += 1) {
      admin.create(STORAGE_CLASS, objects.storageClass(number))
      admin.create(VOLUME_SNAPSHOT_CLASS, objects.snapshotClass(number))
    }
  }

  furnishNamespace(name: string): void {
    const { admin } = this.#world.cluster
    for (let number = 0; number < PRESENT_AT_FIRST; number += 1) admin.create(SECRET, objects.secret(name, number))
    for (const [type, object] of objects.lookalikes(name)) admin.create(type, object)
    // Marked as ready: otherwise the snapshot controller would try to take it once a second for hours.
    const snapshot = admin.get(VOLUME_SNAPSHOT, { namespace: name, name: objects.FOREIGN_SNAPSHOT })
    admin.replaceStatus(VOLUME_SNAPSHOT, { ...snapshot, status: { readyToUse: true } } as KubeObject)
  }

  plan(): number {
    const { time } = this.#world
    for (const subject of this.#subjects) time.schedule(subject.plan.createdAtMs, () => this.#people.create(subject))
    for (const [image, { plan }] of this.#subjects.entries())
      if (plan.failures > 0) this.#troubleCdi({ do: 'cdiFault', image, fault: 'error', times: plan.failures, forMs: 0 })
    return Math.max(0, ...this.#subjects.map(({ plan }) => plan.createdAtMs))
  }

  carryOut(action: Action): boolean {
    switch (action.do) {
      case 'cdiFault':
        this.#troubleCdi(action)
        return true
      case 'snapshotFault':
        this.#troubleSnapshots(action)
        return true
      case 'drain':
        this.#drain(action.image)
        return true
      default:
        return this.#people.carryOut(action)
    }
  }

  retryAll(): void {
    for (const [, { metadata }] of this.objects())
      annotateImage(this.#world, metadata, { [ANNOTATIONS.retryRequestedAt]: 'in the end' })
  }

  /**
   * Permits writes to the status and finalizer of an image, and to all its children; deletions of importers whose DataVolume or claim is deleted; and that the
   * claim for scratch space of a pod that waits for it in the foreground no longer blocks the pod.
   */
  permits(commit: Commit): boolean {
    const { resource, object, before = object } = commit
    switch (resource.kind) {
      case IMAGE.kind:
        return isPeoplesPartKept(commit)
      case DATA_VOLUME.kind:
      case VOLUME_SNAPSHOT.kind:
      case DATA_SOURCE.kind:
        return [object, before].every((one) => imageOwner(one) !== undefined)
      case POD.kind:
        return isEnd(commit) && this.#isLeft(object)
      case PERSISTENT_VOLUME_CLAIM.kind:
        return isUnblocked(commit)
      default:
        return false
    }
  }

  /** An importer of a download whose DataVolume is gone, or being deleted, or whose claim is; or one that waits to fill a claim that is filled. */
  #isLeft(pod: KubeObject & { readonly status?: { readonly phase?: string } }): boolean {
    const { chronicle, cluster } = this.#world
    const download = chronicle.downloadBy(pod)
    if (download === undefined) return false
    const { namespace, ownerReferences = [] } = pod.metadata
    const claim = cluster.admin
      .list<KubeObject>(PERSISTENT_VOLUME_CLAIM, { namespace })
      .items.find(({ metadata }) => ownerReferences.some(({ uid }) => uid === metadata.uid))
    const isNeedless = claim?.metadata.annotations?.[POD_PHASE] === 'Succeeded' && pod.status?.phase === 'Pending'
    return isNeedless || [download.object, claim].some((one) => one === undefined || isDeletion(one))
  }

  /** Called only in schedules with other kinds. In schedules of images alone people have clones, which they keep. */
  deleteAll(): void {
    for (const [, { metadata }] of this.objects()) leaveRefused(() => this.#world.cluster.admin.delete(IMAGE, metadata))
  }

  objects(): readonly (readonly [ResourceType, KubeObject])[] {
    return [...this.#world.chronicle.images.values()].map((image) => [IMAGE, image])
  }

  #keyOf(image: number | undefined) {
    return image === undefined ? undefined : this.#subjects[image % this.#subjects.length]?.key
  }

  #troubleCdi({ image, fault, times, forMs }: CdiFaultAction): void {
    const key = this.#keyOf(image)
    const isMeant = ({ metadata }: KubeObject) =>
      key === undefined ||
      (metadata.namespace === key.namespace && metadata.ownerReferences?.some(({ name }) => name === key.name) === true)
    this.#world.scripts.add(({ cdi }: Simulators) => cdi.script(isMeant, faultOf(fault), { times }), forMs)
  }

  #troubleSnapshots({ image, fault, forMs }: SnapshotFaultAction): void {
    const { namespaces } = this.#world
    const namespace = this.#keyOf(image)?.namespace ?? namespaces[image % namespaces.length] ?? ''
    const how = {
      error: { type: 'error', message: 'the driver is busy' },
      neverReady: { type: 'neverReady' },
      slow: { type: 'slow', readyMs: forMs },
    } as const
    this.#world.scripts.add(({ snapshotter }: Simulators) => snapshotter.script({ namespace }, how[fault]), forMs)
  }

  #drain(image: number): void {
    const key = this.#keyOf(image)
    const uid = key && find(this.#world, IMAGE, key)?.metadata.uid
    if (key === undefined || uid === undefined) return
    const door = this.#world.cluster.doorOf(NODES)
    const { namespace } = key
    for (const { metadata } of door.list(POD, { namespace, labelSelector: `${LABELS.imageUid}=${uid}` }).items)
      leaveRefused(() => door.delete(POD, metadata))
  }
}

function faultOf(type: CdiFaultAction['fault']): Fault {
  switch (type) {
    case 'hiddenError':
      return { type: 'error', hidden: true, after: 1 }
    case 'error':
      return { type: 'error', after: 1 }
    case 'quota':
      return { type: 'quota', of: 'target' }
    case 'slowEnd':
      return { type: 'slowEnd', delayMs: 40_000, downloading: true }
    default:
      return { type }
  }
}

/** The only owner is a pod, and all that has changed is that it does not wait for this object any more. */
function isUnblocked({ object, before }: Commit): boolean {
  const blocking = ({ metadata }: KubeObject) =>
    metadata.ownerReferences?.map(({ blockOwnerDeletion, ...owner }) => ({
      ...owner,
      isBlocking: blockOwnerDeletion === true,
    }))
  const [owner, ...others] = before === undefined ? [] : (blocking(before) ?? [])
  const rest = ({ metadata: { resourceVersion: _, ownerReferences: __, ...metadata }, ...more }: KubeObject) =>
    JSON.stringify({ ...more, metadata })
  return (
    before !== undefined &&
    owner?.kind === POD.kind &&
    others.length === 0 &&
    JSON.stringify(blocking(object)) === JSON.stringify([{ ...owner, isBlocking: false }]) &&
    rest(object) === rest(before)
  )
}
