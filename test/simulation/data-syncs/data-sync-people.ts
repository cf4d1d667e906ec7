import { ANNOTATIONS, type DataSyncSpecInput } from '@open-terrain/constructs'
import { dataSyncImageName, type ImageTriple } from '@open-terrain/constructs/operator'
import { apiVersionOf, type KubeObject, type ObjectKey } from '../../../operator/kube/kube-object.ts'
import { NAMESPACE } from '../../../operator/kube/resource-types.ts'
import { DATA_SYNC, type DataSync, IMAGE } from '../../harness/kinds.ts'
import { isDeletion } from '../chronicle.ts'
import type { People } from '../kind.ts'
import * as objects from '../objects.ts'
import { ASK_AGAIN_MS, find, leaveRefused } from '../people.ts'
import type { Action } from '../schedule.ts'
import { urlOf } from '../sources.ts'
import type { World } from '../world.ts'
import type { DataSyncAction } from './data-sync-schedule.ts'
import { isFor, pick, specOf, triplesOf, VERSIONS, VMS, vmOf } from './vms.ts'

/** A DataSync of the schedule. */
interface Subject {
  readonly key: Required<ObjectKey>
  /** As people currently want it, whether or not it exists. */
  spec: DataSyncSpecInput
  requests: Readonly<Record<string, string>>
  isWanted: boolean
}

/** What people and pipelines do to DataSyncs, and to the images of their vms. */
export class DataSyncPeople implements People {
  /**
   * `namespace/name` of images whose creator depends on timing: a person wanted the name for something else, or a DataSync that wanted it does so no
   * more, before or after the image was created.
   */
  readonly contested = new Set<string>()
  readonly #world: World
  readonly #subjects: readonly Subject[]
  #counter = 0

  constructor(world: World) {
    this.#world = world
    this.#subjects = (world.schedule.dataSyncs ?? []).map((plan, number) => {
      const namespace = pick(world.namespaces, plan.namespace)
      const key = { namespace, name: `sync-${number}` }
      return { key, spec: specOf(plan, namespace), requests: {}, isWanted: true }
    })
  }

  plan(): number {
    const times = (this.#world.schedule.dataSyncs ?? []).map(({ createdAtMs }) => createdAtMs)
    for (const [number, atMs] of times.entries())
      this.#world.time.schedule(atMs, () => this.#ensure(this.#subject(number)))
    return Math.max(0, ...times)
  }

  carryOut(action: Action): boolean {
    if (!('dataSync' in action)) return false
    this.#act(action, this.#subject(action.dataSync))
    return true
  }

  /** Recreates what they had in a namespace that is created again. */
  furnishNamespace(namespace: string): void {
    for (const subject of this.#subjects)
      if (subject.key.namespace === namespace && this.#world.time.elapsedMs > 0) this.#ensure(subject)
  }

  retryAll(): void {
    for (const subject of this.#subjects) this.#ask(subject, ANNOTATIONS.retryRequestedAt)
  }

  /** A deleted image waits for the DataSyncs that want it, and they wait for it. So they are deleted, and recreated once it is gone. */
  clearAway(): void {
    for (const subject of this.#subjects)
      if (subject.isWanted && this.#isKeptFromGoing(subject)) this.#recreate(subject)
  }

  deleteAll(): void {
    for (const subject of this.#subjects) this.#delete(subject)
  }

  #act(action: DataSyncAction, subject: Subject): void {
    const { spec, key } = subject
    const { workspaceId, version } = spec
    switch (action.do) {
      case 'deleteDataSync':
        this.#delete(subject)
        return
      case 'recreateDataSync':
        this.#recreate(subject)
        return
      case 'askForSync':
        this.#ask(subject, ANNOTATIONS.syncRequestedAt)
        return
      case 'askForRetry':
        this.#ask(subject, ANNOTATIONS.retryRequestedAt)
        return
      case 'setVm': {
        const vm = vmOf({ workspaceId, version, vm: pick(VMS, action.vm) }, action.source, key.namespace)
        const others = spec.vms.filter(({ name }) => name !== vm.name)
        this.#edit(subject, { vms: [...others, vm] })
        return
      }
      case 'removeVm':
        // The schema requires at least one vm.
        if (spec.vms.length > 1) this.#edit(subject, { vms: spec.vms.toSpliced(action.vm % spec.vms.length, 1) })
        return
      case 'setVersion':
        this.#edit(subject, { version: pick(VERSIONS, action.version) })
        return
      case 'setDefault':
        this.#edit(subject, {
          snapshotClass: action.snapshotClass === undefined ? undefined : `snapshots-${action.snapshotClass}`,
        })
        return
      default:
        this.#actOnImage(action, subject)
    }
  }

  #actOnImage(
    action: Extract<DataSyncAction, { do: 'deleteVmImage' | 'editVmImage' | 'takeVmName' }>,
    { key: { namespace }, spec }: Subject,
  ): void {
    const triple = pick(triplesOf(spec), action.vm)
    const key = { namespace, name: dataSyncImageName(triple) }
    const { admin } = this.#world.cluster
    switch (action.do) {
      case 'deleteVmImage':
        leaveRefused(() => admin.delete(IMAGE, key))
        return
      case 'editVmImage':
        leaveRefused(() => {
          admin.mergePatch(IMAGE, key, { spec: { url: vmOf(triple, action.source, namespace).url } })
        })
        return
      case 'takeVmName': {
        this.contested.add(`${key.namespace}/${key.name}`)
        const source = { nature: 'good', downloadSeconds: 1 } as const
        const url = urlOf(`somebodys/${key.namespace}/${key.name}`, 0, source)
        const own = { url, sourceType: 'http', diskSize: '16Mi', storageClass: 'storage-0' }
        leaveRefused(() => admin.create(IMAGE, objects.image(key.namespace, key.name, own)))
        return
      }
    }
  }

  /** Creates it, unless it is there, as soon as its namespace is there and no image that it wants is on its way out. */
  #ensure(subject: Subject): void {
    const { key, spec, requests, isWanted } = subject
    const { cluster, time } = this.#world
    const found = find<DataSync>(this.#world, DATA_SYNC, key)
    if (!isWanted || found !== undefined) return
    const namespace = find(this.#world, NAMESPACE, { name: key.namespace })
    const isThere = namespace !== undefined && !isDeletion(namespace)
    if (!isThere || this.#isKeptFromGoing(subject)) {
      time.schedule(ASK_AGAIN_MS, () => this.#ensure(subject))
      return
    }
    const metadata = { ...key, annotations: requests }
    const object = { apiVersion: apiVersionOf(DATA_SYNC), kind: DATA_SYNC.kind, metadata, spec }
    leaveRefused(() => cluster.admin.create(DATA_SYNC, object as KubeObject))
  }

  #delete(subject: Subject): void {
    this.#contest(subject)
    subject.isWanted = false
    leaveRefused(() => this.#world.cluster.admin.delete(DATA_SYNC, subject.key))
  }

  #recreate(subject: Subject): void {
    this.#delete(subject)
    subject.isWanted = true
    this.#ensure(subject)
  }

  #edit(subject: Subject, change: Partial<DataSyncSpecInput>): void {
    const { namespace } = subject.key
    const spec = { ...subject.spec, ...change }
    const kept = new Set(triplesOf(spec).map(dataSyncImageName))
    this.#contest(
      subject,
      triplesOf(subject.spec).filter((triple) => !kept.has(dataSyncImageName(triple))),
    )
    // Another version has other images, with other URLs.
    const vms = spec.vms.map(({ name, url = '' }) => {
      const [, source = '0'] = /\/([0-9]+)\.qcow2/.exec(url) ?? []
      return vmOf({ workspaceId: spec.workspaceId, version: spec.version, vm: name }, Number(source), namespace)
    })
    subject.spec = withoutNothing({ ...spec, vms })
    leaveRefused(() => {
      const found = this.#world.cluster.admin.get<DataSync>(DATA_SYNC, subject.key)
      this.#world.cluster.admin.replace(DATA_SYNC, { ...found, spec: subject.spec } as KubeObject)
    })
  }

  /** Sets the annotation to a value that sorts after all earlier ones. */
  #ask(subject: Subject, annotation: string): void {
    this.#counter += 1
    const request = { [annotation]: String(this.#counter).padStart(6, '0') }
    subject.requests = { ...subject.requests, ...request }
    leaveRefused(() => {
      this.#world.cluster.admin.mergePatch(DATA_SYNC, subject.key, { metadata: { annotations: request } })
    })
  }

  #isKeptFromGoing({ key: { namespace }, spec }: Subject): boolean {
    // An image that is deleted with its namespace waits for nobody.
    if (this.#world.chronicle.traces.leavingNamespaces.has(namespace)) return false
    return triplesOf(spec).some((triple) => this.#isGoing(namespace, triple))
  }

  #isGoing(namespace: string, triple: ImageTriple): boolean {
    const image = find(this.#world, IMAGE, { namespace, name: dataSyncImageName(triple) })
    return image !== undefined && isDeletion(image) && isFor(triple, image)
  }

  #contest({ key: { namespace }, spec }: Subject, triples = triplesOf(spec)): void {
    for (const triple of triples) this.contested.add(`${namespace}/${dataSyncImageName(triple)}`)
  }

  #subject(number: number): Subject {
    return pick(this.#subjects, number)
  }
}

/** Drops fields without a value: an API server does not store them. */
function withoutNothing(spec: DataSyncSpecInput): DataSyncSpecInput {
  return JSON.parse(JSON.stringify(spec)) as DataSyncSpecInput
}
