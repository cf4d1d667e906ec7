import { ANNOTATIONS, type WorkspaceSnapshotSpecInput } from '@open-terrain/constructs'
import { FINALIZERS, parseWorkspaceSnapshotSpec, volumeClaimsIn } from '@open-terrain/constructs/operator'
import {
  planWorkspaceSnapshot,
  type WorkspaceSnapshotPlan,
} from '../../../operator/controllers/workspace-snapshot/decide/plan.ts'
import { snapshotThrottleOf } from '../../../operator/controllers/workspace-snapshot/decide/status.ts'
import type {
  FoundClaim,
  FoundRestore,
  FoundSnapshot,
  MemberOfLab,
  RestoreLab,
  RestoreTarget,
  RestoreWorld,
  WorkspaceSnapshotView,
  WorkspaceSnapshotWorld,
} from '../../../operator/controllers/workspace-snapshot/world.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { FinalizerChange, Touch } from '../../../operator/runtime/plan.ts'
import { expectShown } from '../runtime/plan-laws.ts'

export const NOW = Date.parse('2026-01-31T12:00:00Z')

export const LAB: readonly MemberOfLab[] = [
  { kind: 'Machine', name: 'attacker', hasDisk: true },
  { kind: 'Machine', name: 'victim', hasDisk: true },
  { kind: 'Volume', name: 'loot', hasDisk: true },
]

const WORKSPACE: KubeObject = {
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'Workspace',
  metadata: { name: 'lab', uid: 'uid-lab', resourceVersion: '1', generation: 7 },
}

const TARGETS = Object.fromEntries(['attacker', 'victim'].map((name) => [name, targetNamed(name)]))

function targetNamed(name: string): RestoreTarget {
  const metadata = { name, namespace: 'lab', uid: `uid-${name}`, resourceVersion: '1' }
  const object = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', metadata }
  return {
    isReplaced: false,
    isResetAsked: false,
    kubevirt: {
      object,
      isOff: true,
      restoreInProgress: '',
      lastRestore: '',
      rootClaim: '',
      volumes: [],
      unbound: [],
      waitsForPod: false,
    },
  }
}

/** A WorkspaceSnapshot whose plans are carried out, one by one, in a world that the test changes. */
export class SnapshotWalk {
  /** By name. */
  readonly found: Record<string, FoundSnapshot> = {}
  readonly created: string[] = []
  /** VirtualMachineRestores that were created, and that were deleted. */
  readonly restores: string[] = []
  readonly removed: string[] = []
  /** What was done for the volumes of a restore. */
  readonly writes: string[] = []
  readonly events: string[] = []
  now = NOW
  world: Omit<WorkspaceSnapshotWorld, 'snapshot' | 'spec' | 'found'> = {
    namespaceTerminating: false,
    workspace: { name: 'lab', uid: 'uid-lab' },
    lab: LAB,
    notServed: [],
    ahead: 0,
    limit: 3,
    restore: {
      isServed: true,
      isLabOff: true,
      targets: TARGETS,
      found: {},
      lab: { object: WORKSPACE, claims: new Map(), isResetAsked: false, pods: [] },
      volumes: { loot: { claim: 'loot', storageClass: 'fast', sizes: ['1Gi'], others: [] } },
      claims: {},
      serverNow: NOW,
      other: undefined,
      earlier: undefined,
    },
    refusal: undefined,
  }
  snapshot: WorkspaceSnapshotView

  constructor(spec: WorkspaceSnapshotSpecInput = {}) {
    this.snapshot = {
      apiVersion: 'pelotech.ot/v1alpha1',
      kind: 'WorkspaceSnapshot',
      metadata: { name: 'before-exam', namespace: 'lab', uid: 'uid-point', generation: 1 },
      spec,
      status: {},
    }
  }

  get status() {
    return this.snapshot.status
  }

  get line(): string {
    const { phase, reason } = this.status
    return `${phase} ${reason}`
  }

  /** Phase and reason of each member. */
  get members(): string[] {
    return (this.status.members ?? []).map(({ name, phase, reason }) => `${name} ${phase} ${reason}`)
  }

  plan(): WorkspaceSnapshotPlan {
    const { snapshot, found } = this
    const spec = parseWorkspaceSnapshotSpec(snapshot.spec)
    return planWorkspaceSnapshot({ ...this.world, snapshot, spec, found }, this.now)
  }

  /** Carries out one plan: the status, then children and removals, up to `writes` writes in total. Returns the number of writes. */
  step(writes = Number.POSITIVE_INFINITY): number {
    const { status, apply, applyIf = [], remove, touch = [], events, finalizer } = this.plan()
    if (finalizer !== 'release') expectShown(this.snapshot, status)
    const isDue = snapshotThrottleOf(this.snapshot.status, status).isStatusDue
    const work = [
      ...(finalizer === 'keep' ? [] : [() => this.#hold(finalizer)]),
      ...(isDue ? [() => this.#write(status, events)] : []),
      ...[...apply, ...applyIf.map(({ wanted }) => wanted)].map((child) => () => this.#create(child)),
      ...touch.map((one) => () => this.#touch(one)),
      ...remove.map(
        ({ name }) =>
          () =>
            this.#remove(name),
      ),
    ].slice(0, writes)
    for (const one of work) one()
    return work.length
  }

  #hold(finalizer: FinalizerChange): void {
    this.writes.push(`${finalizer} finalizer`)
    const { metadata } = this.snapshot
    const finalizers = finalizer === 'add' ? [FINALIZERS.workspaceSnapshot] : []
    this.snapshot = { ...this.snapshot, metadata: { ...metadata, finalizers } }
  }

  /** Somebody deletes the WorkspaceSnapshot. */
  delete(): void {
    const { metadata } = this.snapshot
    this.snapshot = { ...this.snapshot, metadata: { ...metadata, deletionTimestamp: '2026-01-31T13:00:00Z' } }
  }

  #write(status: WorkspaceSnapshotView['status'], events: WorkspaceSnapshotPlan['events']): void {
    this.snapshot = { ...this.snapshot, status }
    this.events.push(...events.map(({ type, reason }) => `${type} ${reason}`))
  }

  /** Somebody annotates the WorkspaceSnapshot. */
  annotate(annotations: Readonly<Record<string, string>>): void {
    const { metadata } = this.snapshot
    const all = { ...metadata.annotations, ...annotations }
    this.snapshot = { ...this.snapshot, metadata: { ...metadata, annotations: all } }
  }

  /** Somebody asks for a restore of the machines. */
  ask(value: string): void {
    this.annotate({ [ANNOTATIONS.restoreRequestedAt]: value, [ANNOTATIONS.restoreScope]: 'Machines' })
  }

  /** Changes what is seen of restores. */
  see(facts: Partial<RestoreWorld>): void {
    this.world = { ...this.world, restore: { ...this.world.restore, ...facts } }
  }

  /** Changes what is seen of the Workspace. */
  seeLab(facts: Partial<RestoreLab>): void {
    const { lab } = this.world.restore
    if (lab === undefined) throw new Error('there is no Workspace')
    this.see({ lab: { ...lab, ...facts } })
  }

  /** Somebody changes the spec of the Workspace. */
  changeLab(): void {
    const { object } = this.world.restore.lab ?? {}
    if (object === undefined) throw new Error('there is no Workspace')
    const { generation = 0, resourceVersion } = object.metadata
    const metadata = { ...object.metadata, generation: generation + 1, resourceVersion: `${resourceVersion}1` }
    this.seeLab({ object: { ...object, metadata } })
  }

  /** What the storage says of the claim of a volume. */
  sayOfClaim(volume: string, facts: Partial<FoundClaim>): void {
    const { claims } = this.world.restore
    const name = this.claimOf(volume)
    const before = claims[name]
    if (before === undefined) throw new Error(`${name} does not exist`)
    this.see({ claims: { ...claims, [name]: { ...before, ...facts } } })
  }

  claimOf(volume: string): string {
    return this.status.restore?.volumes?.find(({ name }) => name === volume)?.claim ?? ''
  }

  seeMachine(name: string, facts: Partial<NonNullable<RestoreTarget['kubevirt']>>): void {
    const { targets } = this.world.restore
    const before = targets[name]
    if (before?.kubevirt === undefined) throw new Error(`there is no machine ${name}`)
    this.see({ targets: { ...targets, [name]: { ...before, kubevirt: { ...before.kubevirt, ...facts } } } })
  }

  /** Changes what is seen of the root disk of a machine, or what KubeVirt has of it. */
  seeTarget(name: string, facts: Partial<RestoreTarget>): void {
    const { targets } = this.world.restore
    const before = targets[name]
    if (before === undefined) throw new Error(`there is no machine ${name}`)
    this.see({ targets: { ...targets, [name]: { ...before, ...facts } } })
  }

  /** What KubeVirt says of the restore of a machine. */
  sayOfRestore(machine: string, facts: Partial<FoundRestore>): void {
    const { found } = this.world.restore
    const name = this.status.restore?.members?.find((one) => one.name === machine)?.restore ?? ''
    const before = found[name]
    if (before === undefined) throw new Error(`VirtualMachineRestore ${name} does not exist`)
    this.see({ found: { ...found, [name]: { ...before, ...facts } } })
    if (facts.isComplete === true) this.#letGo(name)
  }

  /** Phase of the restore, and of each machine in it. */
  get restored(): string {
    const { phase, members = [], volumes = [] } = this.status.restore ?? {}
    return [phase, ...[...volumes, ...members].map((one) => `${one.name} ${one.phase}`)].join(', ')
  }

  /** Carries out plans until they change nothing. */
  settle(): void {
    for (let round = 0; round < 10; round += 1) {
      if (this.step() === 0) return
    }
    throw new Error('the plans do not come to an end')
  }

  /** What KubeVirt, or the driver, says of the snapshot of a member. */
  say(member: string, facts: Partial<FoundSnapshot>): void {
    const name = this.nameOf(member)
    const before = this.found[name]
    if (before === undefined) throw new Error(`${name} does not exist`)
    this.found[name] = { ...before, ...facts }
  }

  nameOf(member: string): string {
    const name = this.status.members?.find((one) => one.name === member)?.snapshot
    if (name === undefined) throw new Error(`${member} has no snapshot`)
    return name
  }

  #create(object: KubeObject): void {
    const { kind, metadata } = object
    const { name } = metadata
    if (kind === 'VirtualMachineRestore') {
      this.restores.push(name)
      const seen = { ...object, metadata: { ...metadata, uid: `uid-${name}`, resourceVersion: '1' } }
      const facts = { isOurs: true, isTerminating: false, isComplete: false, hasFailed: false, text: '', claim: '' }
      this.see({ found: { ...this.world.restore.found, [name]: { object: seen, ...facts } } })
      // A machine that is being restored is not off for as long.
      this.seeMachine(targetIn(object), { isOff: false, restoreInProgress: name })
      return
    }
    if (kind === 'PersistentVolumeClaim') {
      this.#createClaim(object)
      return
    }
    if (this.found[name] !== undefined) throw new Error(`${name} exists`)
    this.created.push(`${kind} ${name}`)
    const facts = { isOurs: true, isTerminating: false, isReady: false, hasFailed: false, text: '' }
    const of = kind === 'VirtualMachineSnapshot' && { sourceUid: `uid-${sourceIn(object)}` }
    this.found[name] = { ...facts, createdMs: this.now, workspaceUid: 'uid-lab', ...of }
  }

  /** Creates the claim of a volume, or gives one that is there to the workspace. */
  #createClaim(object: KubeObject): void {
    const { name, ownerReferences = [] } = object.metadata
    const { claims } = this.world.restore
    const before = claims[name]
    const isOurs = ownerReferences.some(({ kind }) => kind === 'WorkspaceSnapshot')
    this.writes.push(`${isOurs ? 'create' : 'adopt'} ${name}`)
    if (isOurs && before !== undefined) throw new Error(`${name} exists`)
    if (!isOurs && before?.isOurs !== true) throw new Error(`${name} is not ours`)
    const seen = { ...object, metadata: { ...object.metadata, uid: `uid-${name}`, resourceVersion: '1' } }
    const facts = { isTerminating: false, phase: 'Pending', waitsForPod: false, ...before }
    this.see({ claims: { ...claims, [name]: { ...facts, object: seen, isOurs, isAdopted: !isOurs } } })
  }

  #touch({ annotations, resourceVersion }: Touch): void {
    const { object } = this.world.restore.lab ?? {}
    if (object?.metadata.resourceVersion !== resourceVersion) throw new Error('the Workspace was changed')
    const text = annotations[ANNOTATIONS.volumeClaims]
    this.writes.push(`switch ${text}`)
    this.seeLab({ claims: volumeClaimsIn(text) })
  }

  #remove(name: string): void {
    this.removed.push(name)
    const { [name]: _left, ...claims } = this.world.restore.claims
    this.see({ claims })
    const { [name]: _gone, ...found } = this.world.restore.found
    this.see({ found })
    this.#letGo(name)
  }

  /** KubeVirt has ended a restore, or nobody asks for it any more. */
  #letGo(restore: string): void {
    for (const [name, { kubevirt }] of Object.entries(this.world.restore.targets))
      if (kubevirt?.restoreInProgress === restore) this.seeMachine(name, { isOff: true, restoreInProgress: '' })
  }
}

function sourceIn(object: KubeObject): string {
  return (object as KubeObject & { readonly spec: { readonly source: { readonly name: string } } }).spec.source.name
}

function targetIn(object: KubeObject): string {
  return (object as KubeObject & { readonly spec: { readonly target: { readonly name: string } } }).spec.target.name
}
