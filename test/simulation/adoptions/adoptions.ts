import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { ADOPTION_POLICY, ADOPTION_RULE } from '@open-terrain/constructs/operator'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import {
  ADMISSION_POLICY,
  ADMISSION_POLICY_BINDING,
  CONFIG_MAP,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { type DataVolume, IMAGE, type Image } from '../../harness/kinds.ts'
import { SECOND } from '../../prepared/runtime/times.ts'
import { imageOwner, isDeletion, isOperator } from '../chronicle.ts'
import type { Kind, People, Rest } from '../kind.ts'
import * as objects from '../objects.ts'
import type { Oracle } from '../oracle/oracle.ts'
import { ASK_AGAIN_MS, find, leaveRefused } from '../people.ts'
import type { World } from '../world.ts'
import type { AdoptionPlan } from './adoption-schedule.ts'

const NAME = /^adopted-[0-9]+$/
const RESTS_WITHIN_MS = 30 * 60 * SECOND
const SUSPENDED_MS = 20 * SECOND
/** Until images that people have deleted are gone. */
const GONE_MS = 40 * SECOND

interface Subject {
  readonly plan: AdoptionPlan
  readonly key: { readonly namespace: string; readonly name: string }
}

/** Disks that people, or another operator, have filled, and images that adopt them. Nothing here asks that one is deleted, or downloaded. */
export class Adoptions implements Kind, People, Rest, Oracle {
  readonly people = this
  readonly rest = this
  readonly oracles = [this]
  readonly restsWithinMs = RESTS_WITHIN_MS
  readonly #world: World
  readonly #subjects: readonly Subject[]
  #isOver = false

  constructor(world: World, plans: readonly AdoptionPlan[]) {
    this.#world = world
    this.#subjects = plans.map((plan, number) => {
      const namespace = objects.NAMESPACES[plan.namespace % objects.NAMESPACES.length] ?? ''
      return { plan, key: { namespace, name: `adopted-${number}` } }
    })
  }

  furnish(): void {
    const { admin } = this.#world.cluster
    const binding = { policyName: ADOPTION_RULE, validationActions: ['Deny'] }
    const named = { name: ADOPTION_RULE }
    admin.create(ADMISSION_POLICY, objects.make(ADMISSION_POLICY, named, { spec: ADOPTION_POLICY }))
    admin.create(ADMISSION_POLICY_BINDING, objects.make(ADMISSION_POLICY_BINDING, named, { spec: binding }))
    for (const subject of this.#subjects) this.#createDisk(subject)
  }

  plan(): number {
    const { time } = this.#world
    const ends = this.#subjects.map((subject) => {
      const { createdAtMs, releasedAtMs, deletedAtMs, suspendedAtMs } = subject.plan
      time.schedule(createdAtMs, () => this.#create(subject))
      time.schedule(releasedAtMs, () => this.#release(subject))
      if (deletedAtMs !== undefined) time.schedule(deletedAtMs, () => this.#replace(subject))
      if (suspendedAtMs !== undefined) {
        time.schedule(suspendedAtMs, () => this.#suspend(subject, true))
        time.schedule(suspendedAtMs + SUSPENDED_MS, () => this.#suspend(subject, false))
      }
      return Math.max(createdAtMs, releasedAtMs, deletedAtMs ?? 0, (suspendedAtMs ?? 0) + SUSPENDED_MS)
    })
    return Math.max(0, ...ends)
  }

  carryOut(): boolean {
    return false
  }

  /** Some were deleted while their namespace was busy with the one before, or suspended while they were being made. */
  clearAway(): void {
    for (const subject of this.#subjects) {
      if (find(this.#world, IMAGE, subject.key) === undefined) this.#create(subject)
      this.#suspend(subject, false)
    }
  }

  /** The disks stay when their images go. Then people delete them. */
  deleteAll(): void {
    this.#isOver = true
    const { admin } = this.#world.cluster
    for (const { key } of this.#subjects) leaveRefused(() => admin.delete(IMAGE, key))
    this.#world.time.schedule(GONE_MS, () => {
      for (const subject of this.#subjects) {
        if (find(this.#world, IMAGE, subject.key) === undefined) this.#checkKept(subject)
        this.#deleteDisk(subject)
      }
    })
  }

  restless(): readonly string[] {
    return this.#subjects.flatMap(({ key: { namespace, name } }) => {
      const image = find<Image>(this.#world, IMAGE, { namespace, name })
      const { phase, adoption, message } = image?.status ?? {}
      const isAdopted = phase === 'Succeeded' && adoption?.uid !== undefined
      return isAdopted ? [] : [`image ${namespace}/${name} has not adopted its disk: ${phase}, ${message}`]
    })
  }

  ends() {
    const ends = this.#subjects.map(({ key }) => [`adoption ${key.namespace}/${key.name}`, this.#diskOf(key)] as const)
    const all = Object.fromEntries(ends)
    return { whole: all, decided: all }
  }

  objects(): readonly (readonly [ResourceType, KubeObject])[] {
    return []
  }

  permits(): boolean {
    return false
  }

  /** Nothing is downloaded, nothing that is adopted is written or deleted, and it never has an owner beside the image that has adopted it. */
  onCommit(commit: Commit): void {
    const { resource, object, actor, type } = commit
    if (resource.kind === IMAGE.kind) this.#checkOwners(object as Image)
    if (resource.kind !== DATA_VOLUME.kind && resource.kind !== PERSISTENT_VOLUME_CLAIM.kind) return
    const { namespace, name } = object.metadata
    const owner = imageOwner(object)?.name ?? object.metadata.labels?.[LABELS.imageName]
    if (resource.kind === DATA_VOLUME.kind && type === 'ADDED' && isOperator(actor) && NAME.test(owner ?? ''))
      this.#world.report(4, `the operator downloads ${namespace}/${name}, which image ${owner} is to adopt`)
    if (!NAME.test(name)) return
    if (imageOwner(object) !== undefined) this.#world.report(6, `an image owns ${resource.kind} ${namespace}/${name}`)
    if (!this.#isOver && (type === 'DELETED' || isDeletion(object)))
      this.#world.report(
        6,
        `${resource.kind} ${namespace}/${name}, which an image is to adopt, was deleted by ${actor}`,
      )
  }

  /** CDI may have left an importer that it did not need, with what that was to fill. */
  #deleteDisk({ key }: Subject): void {
    const { admin } = this.#world.cluster
    const prime = `prime-${find(this.#world, PERSISTENT_VOLUME_CLAIM, key)?.metadata.uid}`
    leaveRefused(() => admin.delete(DATA_VOLUME, key))
    leaveRefused(() => admin.delete(POD, { ...key, name: `importer-${prime}` }))
    leaveRefused(() => admin.delete(PERSISTENT_VOLUME_CLAIM, { ...key, name: prime }))
  }

  #checkOwners({ metadata: { namespace = '', name }, status }: Image): void {
    if (status?.adoption?.uid === undefined) return
    const { ownerReferences = [] } = find<DataVolume>(this.#world, DATA_VOLUME, { namespace, name })?.metadata ?? {}
    if (ownerReferences.length > 0)
      this.#world.report(6, `image ${namespace}/${name} has adopted what ${ownerReferences[0]?.name} owns`)
  }

  #checkKept({ key }: Subject): void {
    const [volume, claim] = this.#diskOf(key)
    if (volume !== 'DataVolume' || claim !== 'PersistentVolumeClaim')
      this.#world.report(6, `the disk ${key.namespace}/${key.name} went with the image that had adopted it`)
  }

  #diskOf(key: Subject['key']): readonly (string | undefined)[] {
    return [DATA_VOLUME, PERSISTENT_VOLUME_CLAIM].map((type) => {
      const found = find(this.#world, type, key)
      return found === undefined || isDeletion(found) ? undefined : found.kind
    })
  }

  /** A blank one: CDI makes it without a transfer. */
  #createDisk({ key, plan: { owner } }: Subject): void {
    const { admin } = this.#world.cluster
    const holder = objects.make(CONFIG_MAP, { namespace: key.namespace, name: `owner-of-${key.name}` })
    const { metadata } = admin.create(CONFIG_MAP, holder)
    const reference = { apiVersion: 'v1', kind: CONFIG_MAP.kind, name: metadata.name, uid: metadata.uid ?? '' }
    const ownerReferences = owner === 'nobody' ? [] : [{ ...reference, controller: owner === 'controller' }]
    const storage = { resources: { requests: { storage: '16Mi' } }, storageClassName: 'storage-0' }
    const spec = { source: { blank: {} }, storage }
    admin.create(DATA_VOLUME, objects.make(DATA_VOLUME, { ...key, ownerReferences }, { spec }))
  }

  /** First the disk is released. Then its owner goes. */
  #release({ key }: Subject): void {
    const { admin } = this.#world.cluster
    leaveRefused(() => admin.mergePatch(DATA_VOLUME, key, { metadata: { ownerReferences: [] } }))
    leaveRefused(() => admin.delete(CONFIG_MAP, { ...key, name: `owner-of-${key.name}` }))
  }

  #create({ key, plan: { snapshotClass } }: Subject): void {
    const spec = {
      sourceType: 'blank',
      diskSize: '16Mi',
      storageClass: 'storage-0',
      ...(snapshotClass !== undefined && { snapshotClass: `snapshots-${snapshotClass}` }),
    }
    const annotations = { [ANNOTATIONS.adopt]: `datavolume/${key.name}` }
    leaveRefused(() => this.#world.cluster.admin.create(IMAGE, objects.make(IMAGE, { ...key, annotations }, { spec })))
  }

  #replace(subject: Subject): void {
    const { admin } = this.#world.cluster
    leaveRefused(() => admin.delete(IMAGE, subject.key))
    const again = () => {
      if (this.#isOver) return
      if (find(this.#world, IMAGE, subject.key) === undefined) this.#create(subject)
      else this.#world.time.schedule(ASK_AGAIN_MS, again)
    }
    this.#world.time.schedule(ASK_AGAIN_MS, again)
  }

  #suspend({ key }: Subject, suspend: boolean): void {
    const found = find<Image>(this.#world, IMAGE, key)
    if (found === undefined || isDeletion(found) || (found.spec.suspend ?? false) === suspend) return
    leaveRefused(() => this.#world.cluster.admin.mergePatch(IMAGE, key, { spec: { suspend } }))
  }
}
