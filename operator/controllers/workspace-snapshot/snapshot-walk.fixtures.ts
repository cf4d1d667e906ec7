import type { WorkspaceSnapshotSpecInput } from '@open-terrain/constructs'
import { parseWorkspaceSnapshotSpec } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../kube/kube-object.ts'
import { planWorkspaceSnapshot, type WorkspaceSnapshotPlan } from './decide/plan.ts'
import { snapshotThrottleOf } from './decide/status.ts'
import type { FoundSnapshot, MemberOfLab, WorkspaceSnapshotView, WorkspaceSnapshotWorld } from './world.ts'

export const NOW = Date.parse('2026-01-31T12:00:00Z')

export const LAB: readonly MemberOfLab[] = [
  { kind: 'Machine', name: 'attacker', hasDisk: true },
  { kind: 'Machine', name: 'victim', hasDisk: true },
  { kind: 'Volume', name: 'loot', hasDisk: true },
]

/** A WorkspaceSnapshot whose plans are carried out, one by one, in a world that the test changes. */
export class SnapshotWalk {
  /** By name. */
  readonly found: Record<string, FoundSnapshot> = {}
  readonly created: string[] = []
  now = NOW
  world: Omit<WorkspaceSnapshotWorld, 'snapshot' | 'spec' | 'found'> = {
    namespaceTerminating: false,
    workspace: { name: 'lab', uid: 'uid-lab' },
    lab: LAB,
    notServed: [],
    ahead: 0,
    limit: 3,
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

  /** Carries out one plan: the status, then children up to `writes` writes in total. Returns the number of writes. */
  step(writes = Number.POSITIVE_INFINITY): number {
    const { status, apply } = this.plan()
    let left = writes
    if (snapshotThrottleOf(this.snapshot.status, status).isStatusDue && left > 0) {
      this.snapshot = { ...this.snapshot, status }
      left -= 1
    }
    for (const child of apply.slice(0, left)) this.#create(child)
    return Number.isFinite(writes) ? writes - left + Math.min(apply.length, left) : apply.length
  }

  /** Carries out plans until they change nothing. */
  settle(): void {
    for (let round = 0; round < 10; round += 1) {
      const before = [this.snapshot.status, this.created.length]
      this.step()
      if (before[0] === this.snapshot.status && before[1] === this.created.length) return
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

  #create({ kind, metadata: { name } }: KubeObject): void {
    if (this.found[name] !== undefined) throw new Error(`${name} exists`)
    this.created.push(`${kind} ${name}`)
    const facts = { isOurs: true, isTerminating: false, isReady: false, hasFailed: false, text: '' }
    this.found[name] = { ...facts, createdMs: this.now }
  }
}
