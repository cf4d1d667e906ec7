import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type CloneDataVolumeObject,
  deletionWord,
  FINALIZERS,
  parseVirtualMachineSpec,
  rootDiskGeneration,
  type VirtualMachineStatus,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { toTime } from '../../../operator/base/time.ts'
import { BY_CLONE_SOURCE } from '../../../operator/cluster/caches.ts'
import { CLONE_SOURCES, type CloneSource } from '../../../operator/cluster/clone-sources.ts'
import { hasDisk, type MachinePlan } from '../../../operator/controllers/virtual-machine/decide/machine-plan.ts'
import { planMachine } from '../../../operator/controllers/virtual-machine/decide/plan.ts'
import { machineThrottleOf } from '../../../operator/controllers/virtual-machine/decide/status.ts'
import { furtherDisksOf } from '../../../operator/controllers/virtual-machine/further-disks.ts'
import { type InstanceView, viewKubeVirt } from '../../../operator/controllers/virtual-machine/kubevirt-views.ts'
import { isAwaited } from '../../../operator/controllers/virtual-machine/room.ts'
import { otherRootsOf, rootNameOf } from '../../../operator/controllers/virtual-machine/root-disks.ts'
import type {
  ClaimFacts,
  CloneFacts,
  MachineWorld,
  RoomFacts,
} from '../../../operator/controllers/virtual-machine/world.ts'
import type { ImageView } from '../../../operator/images/image-view.ts'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import type { Removal, Touch } from '../../../operator/runtime/plan.ts'
import { PlanWalk } from '../runtime/plan-walk.ts'
import { aClaim, aDisk, DISK } from './machine-disks.ts'
import { anImage, anInstance, cloudInitOf, KUBEVIRT, type KubeVirtStatus, PUBLISHED } from './machine-objects.ts'
import { aMachineWorld, type MachineWorldOverrides } from './machine-world.ts'

/** KubeVirt's machine as the API server has it, with what KubeVirt itself has added. */
interface Stored extends KubeObject {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: { readonly domain: object } } }
  readonly status: KubeVirtStatus
}

/**
 * Applies plans to a world, as the controller and the API server would. The test plays the other actors (the image, CDI, KubeVirt, people).
 * `told` has every Event, in order.
 */
export class MachineWalk extends PlanWalk<'vm', MachineWorld, MachinePlan> {
  events: string[] = []
  /** Kinds that were removed, each with the world at that time. */
  removed: { readonly kind: string; readonly world: MachineWorld }[] = []
  /** The claims of the disks beside the root disk, by name. */
  readonly claims = new Map<string, ClaimFacts>()
  /** The DataVolumes of those that are cloned from images, by name. */
  readonly clones = new Map<string, CloneFacts>()
  /** DataVolumes that are being cloned from a root disk of the machine. */
  readonly rescues: object[] = []
  /** The root disks that the machine does not start from, by name. */
  readonly roots = new Map<
    string,
    { readonly clone?: CloneFacts | undefined; readonly claim?: ClaimFacts | undefined }
  >()
  /** How many more writes are made before the operator crashes. */
  writesLeft = Number.POSITIVE_INFINITY
  /** Their images, by `<namespace>/<name>`. */
  readonly images = new Map<string, ImageView>()
  /** Names of what cannot be cloned any more. */
  readonly gone = new Set<string>()
  /** How many claims of root disks a ResourceQuota allows; undefined: there is none. */
  claimsMax: number | undefined
  /** What that quota has beside them, if it has more. */
  limits:
    | { readonly hard: Readonly<Record<string, string>>; readonly used: Readonly<Record<string, string>> }
    | undefined
  /** How far the clock of the API server is ahead of the operator's; undefined: not known. */
  serverAheadMs: number | undefined = 0
  #version = 400
  #serial = 0
  #stored: Stored | undefined

  constructor(overrides: MachineWorldOverrides = {}) {
    super('vm', FINALIZERS.virtualMachine, aMachineWorld(overrides))
  }

  get message(): string {
    return this.status.message ?? ''
  }

  condition(type: string) {
    return this.status.conditions?.find((one) => one.type === type)
  }

  override edit(changes: Readonly<Record<string, unknown>>): this {
    super.edit(changes)
    return this.set({ spec: parseVirtualMachineSpec(this.subject.spec), cloudInit: cloudInitOf(this.world.vm) })
  }

  override plan(): MachinePlan {
    const { serverAheadMs: ahead } = this
    return planMachine({ ...this.world, serverNow: ahead === undefined ? undefined : this.now + ahead }, this.now)
  }

  override step(): boolean {
    const { vm, spec, machine } = this.world
    const at = <T extends KubeObject>(map: ReadonlyMap<string, T>) => ({
      get: (key: string) => map.get(nameOf(key)),
      find: () => [...map.values()],
      onChange: () => () => undefined,
    })
    const { foreign: _foreign, ...further } = furtherDisksOf(vm, spec, machine, {
      claims: at(this.claims),
      dataVolumes: at(this.clones),
      images: { ...at(this.images), get: (key) => this.images.get(key) },
      hasSource: (source) => source === undefined || !this.gone.has(source.name),
    })
    this.set(further)
    this.#observeRoots()
    return super.step()
  }

  /** Steps with a crash after each write, until nothing is left to write. */
  settleByWrites(): this {
    for (let turn = 0; turn < 60; turn += 1) {
      this.writesLeft = 1
      const isAtRest = !this.step()
      this.writesLeft = Number.POSITIVE_INFINITY
      if (isAtRest) return this
    }
    throw new Error(`the plans never come to rest:\n${this.log.join('\n')}`)
  }

  /** Which root disk KubeVirt's machine starts from. */
  get startsFrom(): string | undefined {
    return this.world.machine?.rootDataVolume
  }

  /** Somebody asks for another root disk. */
  reset(value = '2026-01-02T12:00:00Z'): this {
    return this.annotate(ANNOTATIONS.resetRequestedAt, value)
  }

  annotate(annotation: string, value: string): this {
    const { metadata } = this.subject
    return this.change({ metadata: { ...metadata, annotations: { ...metadata.annotations, [annotation]: value } } })
  }

  /** CDI reports about a root disk that the machine does not start from. @param claim uid of the claim that it has made; undefined: none */
  root(name: string, change: Partial<CloneFacts>, claim?: string): this {
    const found = this.roots.get(name)
    if (found?.clone === undefined) throw new Error(`there is no DataVolume ${name}: ${this.stand}`)
    const owner = { ...OWNER, name, uid: found.clone.metadata.uid ?? '' }
    const made = claim === undefined ? found.claim : aClaim({ name, uid: claim, ownerReferences: [owner] })
    this.roots.set(name, { clone: { ...found.clone, ...change }, claim: made })
    return this
  }

  /** The guest shuts down when KubeVirt's machine is halted. */
  powerOff(): this {
    if (this.world.machine?.runStrategy !== 'Halted') throw new Error(`it is not to be off: ${this.stand}`)
    this.set({ instance: undefined })
    return this.kubevirtSays(KUBEVIRT.stopped)
  }

  #observeRoots(): void {
    const { vm, machine, rootName, clone, claim, image } = this.world
    const at = <T extends KubeObject>(part: 'clone' | 'claim', own: T | undefined) => {
      const all = [own, ...[...this.roots.values()].map((one) => one[part] as T | undefined)]
      const there = all.filter((one) => one !== undefined)
      const get = (key: string) => there.find(({ metadata }) => metadata.name === nameOf(key))
      const find = (index: string) => (index === BY_CLONE_SOURCE ? this.rescues : there)
      return { get, find, onChange: () => () => undefined }
    }
    const hasSource = (source: CloneSource | undefined) => source === undefined || !this.gone.has(source.name)
    const caches = { dataVolumes: at('clone', clone), claims: at('claim', claim), hasSource } as unknown as Parameters<
      typeof otherRootsOf
    >[3]
    const name = rootNameOf(vm, machine, caches.dataVolumes)
    if (name !== rootName) {
      const taken = this.roots.get(name)
      this.roots.delete(name)
      if (clone !== undefined || claim !== undefined) this.roots.set(rootName, { clone, claim })
      this.set({ rootName: name, clone: taken?.clone, claim: taken?.claim })
      this.#observeRoots()
      return
    }
    const { artifact } = image?.status ?? {}
    const source = artifact && { kind: artifact.kind, namespace: 'farm', name: artifact.name }
    this.set(otherRootsOf(vm, name, machine, caches, source))
    this.set({ room: isAwaited(this.world.next) ? this.#room() : undefined })
  }

  #room(): RoomFacts {
    const claims = [this.world.claim, ...[...this.roots.values()].map((one) => one.claim)]
    const count = String(claims.filter((one) => one !== undefined).length)
    const used = { persistentvolumeclaims: count, ...this.limits?.used }
    const hard = { persistentvolumeclaims: String(this.claimsMax), ...this.limits?.hard }
    const metadata = { namespace: 'team', name: 'small' }
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata, hard, used, spec: undefined }
    const quotas = this.claimsMax === undefined ? [] : [quota]
    return { quotas, awaited: [], isBeingCloned: this.rescues.length > 0 }
  }

  /** Somebody gives the present root disk up for the new one, as the status tells. */
  giveUp(): this {
    return this.annotate(ANNOTATIONS.deleteDiskFirst, deletionWord(this.world.vm) ?? 'none')
  }

  /** A claim of people, or of KubeVirt. */
  volume(name: string, more: Partial<ClaimFacts> = {}): this {
    const metadata = { name, namespace: 'team', uid: `uid of ${name}` }
    this.claims.set(name, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, phase: 'Bound', ...more })
    return this
  }

  /** CDI reports about the clone of a disk beside the root disk. @param claim uid of the claim that it has made; undefined: none */
  clone(name: string, change: Partial<CloneFacts>, claim?: string, phase = 'Bound'): this {
    const found = this.clones.get(name)
    if (found === undefined) throw new Error(`there is no DataVolume ${name}: ${this.stand}`)
    this.clones.set(name, { ...found, ...change })
    if (claim !== undefined) {
      const owner = { ...OWNER, name, uid: found.metadata.uid ?? '' }
      this.volume(name, { phase, metadata: { name, namespace: 'team', uid: claim, ownerReferences: [owner] } })
    }
    return this.settle()
  }

  /** An image of a disk beside the root disk. Undefined: it is gone. */
  further(key: string, status: VMDiskImageStatus | undefined): this {
    const [namespace, name = ''] = key.split('/')
    if (status === undefined) this.images.delete(key)
    else {
      const image = anImage(status)
      this.images.set(key, { ...image, metadata: { ...image.metadata, namespace, name } })
    }
    return this.settle()
  }

  protected override carryOut(plan: MachinePlan): void {
    this.#tell(plan)
    const metadata = this.finalized(this.world.vm.metadata, plan.finalizer)
    if (metadata !== undefined) this.change({ metadata })
    const children = [...plan.apply, ...(plan.applyIf ?? []).map(({ wanted }) => wanted)]
    for (const child of children) if (this.#mayWrite()) this.#apply(child)
    const isDiskless = plan.onlyIf?.some((one) => 'absent' in one && one.whose === 'ours')
    if (isDiskless && hasDisk(this.world)) throw new Error('it has a disk')
    const touches = (plan.touch ?? []).filter(({ kind, spec }) => kind === 'VirtualMachine' && spec !== undefined)
    for (const one of touches) if (this.#mayWrite()) this.#touch(one)
    for (const removal of plan.remove) if (this.#mayWrite()) this.#remove(removal)
  }

  #tell({ status, remove, events }: MachinePlan): void {
    const { isStatusDue: isDue } = machineThrottleOf(this.status, status)
    if (isDue && this.#mayWrite()) {
      this.change({ status: JSON.parse(JSON.stringify(status)) as VirtualMachineStatus })
      this.log.push(`status ${this.stand}`)
    }
    if (isDue || remove.length > 0) this.events.push(...events.map(({ type, reason }) => `${type} ${reason}`))
  }

  #mayWrite(): boolean {
    this.writesLeft -= 1
    return this.writesLeft >= 0
  }

  /** By a merge patch: objects are merged, lists are replaced. */
  #touch({ kind, name, ...patch }: Touch): void {
    this.log.push(`change ${kind} ${name}`)
    const { template, ...spec } = patch.spec as MergePatch
    const { volumes, domain } = template?.spec ?? {}
    if (volumes === undefined || domain === undefined) {
      this.tamper({ spec })
      return
    }
    if (this.world.instance !== undefined) throw new Error('the disk of a guest that runs is taken away')
    const before = this.#stored?.spec.template.spec.domain as { readonly firmware?: object }
    const merged = { ...before, firmware: { ...before.firmware, ...domain.firmware } }
    this.tamper({ spec, template: { volumes, domain: merged } })
  }

  after(ms: number): this {
    this.now += ms
    return this.settle()
  }

  /** Sets the status of the image; undefined removes the image. */
  image(status: VMDiskImageStatus | undefined): this {
    return this.set({ image: status && anImage(status) }).settle()
  }

  /** CDI reports about the disk. A claim that exists stays. */
  disk(change: Partial<CloneFacts>, hasClaim = true): this {
    const { clone, claim } = this.world
    if (clone === undefined) throw new Error(`there is no DataVolume: ${this.stand}`)
    const made = aClaim({ ownerReferences: [{ ...OWNER, uid: clone.metadata.uid ?? '' }] })
    return this.set({ clone: { ...clone, ...change }, claim: claim ?? (hasClaim ? made : undefined) }).settle()
  }

  /** KubeVirt reports about the machine. */
  kubevirt(status: KubeVirtStatus): this {
    return this.kubevirtSays(status).settle()
  }

  /** The same, before the operator has seen it. */
  kubevirtSays(status: KubeVirtStatus): this {
    if (this.#stored === undefined) throw new Error(`there is no machine: ${this.stand}`)
    this.#store({ ...this.#stored, status })
    return this
  }

  /** Somebody writes into KubeVirt's machine: its metadata, its spec, or the spec of its template. */
  tamper({ metadata, spec, template }: { metadata?: object; spec?: object; template?: object }): this {
    const stored = this.#stored
    if (stored === undefined) throw new Error(`there is no machine: ${this.stand}`)
    const before = stored.spec.template
    const changed = { ...before, spec: { ...before.spec, ...template } }
    this.#store({
      ...stored,
      metadata: { ...stored.metadata, ...metadata },
      spec: { ...stored.spec, ...spec, template: changed },
    })
    return this
  }

  /** KubeVirt starts another instance. */
  instance(more: Partial<InstanceView> = {}): this {
    this.#serial += 1
    return this.set({ instance: anInstance(more, { uid: `instance-${this.#serial}` }) }).settle()
  }

  /** From nothing to a machine that runs. */
  deploy(): this {
    return this.image(PUBLISHED).disk(DISK.succeeded).start()
  }

  start(): this {
    return this.instance().kubevirt(KUBEVIRT.running)
  }

  /** Removes what is being deleted; the disk only if no guest runs from it. */
  reap(): this {
    const isGoing = (object: KubeObject | undefined) => object?.metadata.deletionTimestamp !== undefined
    if (isGoing(this.world.machine)) this.machineGone()
    if (isGoing(this.world.clone) && this.world.instance === undefined) this.diskGone()
    if (isGoing(this.world.image)) this.set({ image: undefined })
    return this.settle()
  }

  /** The disk is gone, and its claim. */
  diskGone(): this {
    return this.set({ clone: undefined, claim: undefined })
  }

  /** Somebody asks for a new disk. */
  rebuild(value = '2026-01-01T12:00:00Z'): this {
    return this.annotate(ANNOTATIONS.rebuildRequestedAt, value).settle()
  }

  /** KubeVirt's machine is gone, and its instance. */
  machineGone(): this {
    this.#stored = undefined
    return this.set({ machine: undefined, instance: undefined })
  }

  #apply(child: KubeObject): void {
    this.#serial += 1
    this.log.push(`apply ${child.kind} ${child.metadata.name}`)
    const made = { uid: `child-${this.#serial}`, creationTimestamp: toTime(this.now), resourceVersion: '500' }
    if (child.kind === 'VMDiskImage') this.set({ image: { ...anImage({}), metadata: { ...child.metadata, ...made } } })
    else if (child.kind === 'DataVolume') this.#clone(child as CloneDataVolumeObject, made)
    else if (child.kind === 'Secret') {
      const { uid, creationTimestamp, annotations } = { ...made, ...this.world.secret?.metadata }
      // A patch leaves what it does not name.
      const merged = { ...annotations, ...child.metadata.annotations }
      const metadata = { ...child.metadata, ...made, uid, creationTimestamp, annotations: merged }
      this.set({ secret: { apiVersion: 'v1', kind: 'Secret', metadata } })
    } else if (child.kind === 'PersistentVolumeClaim') {
      if (this.claims.has(child.metadata.name)) throw new Error('a disk is written over')
      this.claims.set(child.metadata.name, { ...child, phase: 'Bound', metadata: { ...child.metadata, ...made } })
    } else
      this.#store({ ...withDefaults(child as Stored), status: KUBEVIRT.new, metadata: { ...child.metadata, ...made } })
  }

  #clone({ metadata, spec }: CloneDataVolumeObject, made: object): void {
    const isRoot = metadata.name === this.world.rootName
    const isOtherRoot = !isRoot && rootDiskGeneration('vm', metadata.name) !== undefined
    if (
      isOtherRoot
        ? this.roots.has(metadata.name)
        : isRoot
          ? this.world.clone !== undefined
          : this.clones.has(metadata.name)
    )
      throw new Error('a disk is written over')
    const source = 'snapshot' in spec.source ? spec.source.snapshot : spec.source.pvc
    const kind = 'snapshot' in spec.source ? 'VolumeSnapshot' : 'PersistentVolumeClaim'
    const clone = aDisk({ ...DISK.new, cloneOf: { kind, ...source } }, { ...metadata, ...made })
    if (isRoot) this.set({ clone })
    else if (isOtherRoot) this.roots.set(metadata.name, { clone })
    else this.clones.set(metadata.name, { ...clone, spec } as CloneFacts)
  }

  /** Stores KubeVirt's machine. When one that exists is applied, it keeps its uid and its status. */
  #store(object: Stored): void {
    const { metadata: old, status } = this.#stored ?? object
    const isNew = this.#stored === undefined || object.metadata.uid === old.uid
    this.#version += 1
    const metadata = { ...object.metadata, uid: old.uid, resourceVersion: String(this.#version) }
    this.#stored = { ...object, metadata, status: isNew ? object.status : status }
    this.set({ machine: viewKubeVirt(this.#stored) })
  }

  #remove({ kind, name, uid, onlyIf = [] }: Removal): void {
    const { machine, instance, clone, secret, hasCloneSource } = this.world
    const roots = [...this.roots.values()].flatMap((one) => [one.clone, one.claim])
    const found = [machine, instance, clone, ...roots, ...this.clones.values(), ...this.claims.values(), secret].find(
      (one) => one?.kind === kind && one.metadata.uid === uid,
    )
    if (found === undefined || found.metadata.name !== name) throw new Error(`no ${kind} ${name} ${uid}`)
    if (this.roots.has(name)) {
      this.log.push(`delete ${kind} ${name}`)
      this.roots.delete(name)
      return
    }
    if (kind === 'DataVolume' && name !== this.world.rootName) {
      this.log.push(`delete ${kind} ${name}`)
      this.clones.delete(name)
      this.claims.delete(name)
      return
    }
    const sources = onlyIf
      .flatMap((one) => ('absent' in one ? one.absent : []))
      .filter(({ type }) => isCloneSource(type))
    if (sources.length > 0 && hasCloneSource) throw new Error('what is cloned from is there')
    this.log.push(`delete ${kind} ${name}`)
    this.removed.push({ kind, world: this.world })
    const going = <T extends KubeObject>(object: T): T => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: toTime(this.now) },
    })
    if (found === machine) this.set({ machine: going(machine) })
    else if (found === instance) this.set({ instance: undefined })
    else if (found === clone) this.set({ clone: going(clone) })
    else if (kind === 'PersistentVolumeClaim') this.claims.delete(name)
    else this.set({ secret: undefined })
  }
}

/** The part of a patch that the operator makes. */
interface MergePatch {
  readonly template?: {
    readonly spec: { readonly volumes?: readonly object[]; readonly domain?: { readonly firmware: object } }
  }
}

const isCloneSource = (type: ResourceType) => Object.values(CLONE_SOURCES).some((one) => one === type)

const nameOf = (key: string) => key.slice(key.indexOf('/') + 1)

const OWNER = { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', name: 'vm-root', controller: true }

/** What KubeVirt's webhooks write into a machine. */
function withDefaults(machine: Stored): Stored {
  const { template } = machine.spec
  const annotations = { 'kubevirt.io/pci-topology-version': 'v3' }
  const domain = { machine: { type: 'q35' }, ...template.spec.domain }
  const changed = {
    ...template,
    metadata: { ...template.metadata, annotations },
    spec: { architecture: 'amd64', ...template.spec, domain },
  }
  return { ...machine, spec: { ...machine.spec, template: changed } }
}
