import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { childName, FINALIZERS, type VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { toTime } from '../../../operator/base/time.ts'
import { NOTHING_SEEN } from '../../../operator/cluster/import-facts.ts'
import { type DataVolumeView, viewDataSource, viewSnapshot } from '../../../operator/cluster/views.ts'
import type { ImagePlan } from '../../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import { planImage } from '../../../operator/controllers/vm-disk-image/decide/plan.ts'
import { isImageStatusDue } from '../../../operator/controllers/vm-disk-image/decide/status-throttle.ts'
import { resolveSpec } from '../../../operator/controllers/vm-disk-image/decide/target.ts'
import type { Holder, ImageWorld } from '../../../operator/controllers/vm-disk-image/world.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { PlanWalk } from '../runtime/plan-walk.ts'
import { adoptedArtifactIn } from './adoption.ts'
import { aClaim, aDataVolume, CDI, childMeta, ownedBy } from './image-objects.ts'
import { anImageWorld, type ImageWorldOverrides } from './image-world.ts'

/**
 * A world to which its plans are applied, as the controller and the API server would do it. The test controls the other
 * actors (admission, CDI, snapshotter, people).
 */
export class ImageWalk extends PlanWalk<'image', ImageWorld, ImagePlan> {
  #serial = 0

  constructor(overrides: ImageWorldOverrides = {}) {
    super('image', FINALIZERS.vmDiskImage, anImageWorld(overrides))
  }

  condition(type: string): string | undefined {
    return this.status.conditions?.find((one) => one.type === type)?.status
  }

  /** The name of the DataVolume and the snapshot of the revision in the status. */
  get childName(): string {
    return childName('img', this.status.revision ?? '')
  }

  get lastAttempt() {
    return this.status.attempts?.at(-1)
  }

  /** Whether the image is to be deleted, because nobody needs it. */
  get isReclaimed(): boolean {
    return this.plan().remove.some(({ kind }) => kind === 'VMDiskImage')
  }

  /** What the image asks for follows from the rest, as in every observation. */
  override set(change: Partial<ImageWorld>): this {
    super.set(change)
    const { image, policy } = this.world
    return super.set({ spec: resolveSpec(image, policy), adoptedArtifact: adoptedArtifactIn(this.world) })
  }

  /** Somebody makes it larger than its cache keeps, or small again. */
  resize(isCut: boolean): this {
    const { isCut: _before, ...image } = this.subject
    return this.set({ image: isCut ? { ...image, isCut: true } : image }).edit({})
  }

  annotate(annotations: Readonly<Record<string, string>>): this {
    const { metadata } = this.world.image
    return this.change({ metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } } })
  }

  override plan(): ImagePlan {
    return planImage(this.world, this.now)
  }

  protected override carryOut(plan: ImagePlan): void {
    if (isImageStatusDue(this.status, plan.status, undefined, false)) {
      this.change({ status: JSON.parse(JSON.stringify(plan.status)) as VMDiskImageStatus })
      this.log.push(`status ${this.stand}`)
    }
    const metadata = this.finalized(this.world.image.metadata, plan.finalizer)
    if (metadata !== undefined) this.change({ metadata })
    for (const child of plan.apply) this.#applyChild(child)
    // Whether the image itself is deleted depends on a live read.
    for (const { kind, name, uid } of plan.remove) if (kind !== 'VMDiskImage') this.#remove(kind, name, uid)
  }

  after(ms: number): this {
    this.now += ms
    const { observation } = this.world
    this.set({ observation: { ...observation, seenMs: observation.seenMs + ms } })
    return this.settle()
  }

  /** Acts as the admission: takes a slot, and creates the DataVolume. */
  admit(): this {
    this.claim()
    this.settle()
    const { start } = this.plan()
    if (start === undefined) throw new Error(`no download is wanted: ${this.stand}`)
    this.#serial += 1
    const metadata = childMeta(start.target.volumeName, start.revision, {
      uid: `dv-${this.#serial}`,
      ownerReferences: [ownedBy(this.world.image)],
      creationTimestamp: new Date(this.now).toISOString(),
      annotations: { [ANNOTATIONS.attempt]: String(start.attempt) },
    })
    this.log.push(`create DataVolume attempt ${start.attempt}`)
    const observation = { ...NOTHING_SEEN, dataVolumeUid: metadata.uid }
    this.set({ dataVolumes: [...this.world.dataVolumes, aDataVolume({ ...CDI.new, metadata })], observation })
    return this.settle()
  }

  claim(): this {
    const { start } = this.plan()
    if (start?.admissible !== true) throw new Error(`not admissible: ${this.stand}`)
    const { uid, namespace, name, revision, attempt } = start
    const slot: Holder = { uid, namespace, name, revision, attempt, claimant: 'me' }
    this.log.push('claim')
    return this.set({ slot })
  }

  release(): this {
    this.log.push('release slot')
    return this.set({ slot: undefined }).settle()
  }

  /** CDI reports about the newest DataVolume. */
  report(change: Partial<DataVolumeView>): this {
    const { dataVolumes } = this.world
    const last = dataVolumes.at(-1)
    if (last === undefined) throw new Error('there is no DataVolume')
    return this.set({ dataVolumes: [...dataVolumes.slice(0, -1), { ...last, ...change }] }).settle()
  }

  /** Changes what is observed of its importers, and for how long. */
  observe(change: Partial<ImageWorld['observation']>): this {
    return this.set({ observation: { ...this.world.observation, ...change } }).settle()
  }

  /** The download succeeds, and the claim is bound. */
  succeed(): this {
    const last = this.world.dataVolumes.at(-1)
    const metadata = childMeta(last?.metadata.name ?? '', last?.metadata.labels?.[LABELS.revision] ?? '', {
      uid: `claim of ${last?.metadata.uid}`,
      ownerReferences: [
        {
          apiVersion: 'cdi.kubevirt.io/v1beta1',
          kind: 'DataVolume',
          name: last?.metadata.name ?? '',
          uid: last?.metadata.uid ?? '',
          controller: true,
        },
      ],
    })
    this.set({ claims: [...this.world.claims, aClaim(metadata)] })
    return this.report(CDI.succeeded).release()
  }

  /** Removes DataVolumes that are being deleted, with their claims. */
  importersGone(): this {
    const { dataVolumes, claims } = this.world
    const left = dataVolumes.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    const names = new Set(left.map(({ metadata }) => metadata.uid))
    const leftClaims = claims.filter((claim) => names.has(claim.metadata.ownerReferences?.[0]?.uid))
    return this.set({ dataVolumes: left, claims: leftClaims }).settle()
  }

  /** Somebody else deletes all DataVolumes, for good and at once. */
  dropDataVolumes(): this {
    return this.set({ dataVolumes: [], claims: [] })
  }

  snapshotReady(): this {
    const snapshots = this.world.snapshots.map((one) => ({ ...one, readyToUse: true, restoreSize: '10Gi' }))
    return this.set({ snapshots }).settle()
  }

  /** Goes from nothing to a published artifact. */
  publish(): this {
    this.settle().admit().report(CDI.running).succeed()
    return this.world.snapshots.length > 0 ? this.snapshotReady() : this
  }

  /** Runs one attempt that fails and is torn down. */
  fail(how: Partial<DataVolumeView> = CDI.failing): this {
    this.admit()
    if (how.phase === CDI.running.phase) this.report(CDI.running)
    return this.report(how).importersGone().release()
  }

  #applyChild(child: KubeObject): void {
    this.#serial += 1
    this.log.push(`apply ${child.kind} ${child.metadata.name}`)
    const more = { uid: `child-${this.#serial}`, creationTimestamp: toTime(this.now) }
    const object = { ...child, metadata: { ...child.metadata, ...more } }
    if (child.kind === 'DataSource') this.set({ dataSource: viewDataSource(object) })
    else this.set({ snapshots: [...this.world.snapshots, viewSnapshot(object)] })
  }

  #remove(kind: string, name: string, uid: string): void {
    const { dataVolumes, snapshots, dataSource, observation } = this.world
    const isIt = ({ metadata }: KubeObject) => metadata.uid === uid
    const alias = dataSource === undefined ? [] : [dataSource]
    const { adoptable } = this.world
    const adopted = [adoptable?.dataVolume, adoptable?.claim, adoptable?.snapshot].filter((one) => one !== undefined)
    const isAdopted = adopted.some(isIt)
    const all: readonly KubeObject[] = [...dataVolumes, ...snapshots, ...alias, ...observation.importers, ...adopted]
    if (!all.some((one) => isIt(one) && one.metadata.name === name)) throw new Error(`no ${kind} ${name} ${uid}`)
    this.log.push(`delete ${kind} ${name}`)
    const deletionTimestamp = new Date(this.now).toISOString()
    const going = <T extends KubeObject>(one: T): T =>
      isIt(one) ? { ...one, metadata: { ...one.metadata, deletionTimestamp } } : one
    if (kind === 'Pod') this.set({ observation: { ...observation, importers: observation.importers.map(going) } })
    else if (kind === 'DataSource') this.set({ dataSource: undefined })
    else if (isAdopted) this.set({ adoptable: undefined })
    else if (kind === 'VolumeSnapshot') this.set({ snapshots: snapshots.filter((one) => !isIt(one)) })
    else this.set({ dataVolumes: dataVolumes.map(going) })
  }
}
