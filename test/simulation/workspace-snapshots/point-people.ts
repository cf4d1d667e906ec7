import { ANNOTATIONS } from '@open-terrain/constructs'
import { vmChildNames } from '@open-terrain/constructs/operator'
import { apiVersionOf, type KubeObject, type ObjectKey } from '../../../operator/kube/kube-object.ts'
import {
  VIRTUAL_MACHINE_RESTORE,
  VIRTUAL_MACHINE_SNAPSHOT,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import type { MachineRestore } from '../../../sandbox/simulators/kubevirt-models.ts'
import { SNAPSHOT_CONTENT } from '../../../sandbox/simulators/kubevirt-snapshots.ts'
import { WORKSPACE_SNAPSHOT, type WorkspaceSnapshot } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { pick } from '../data-syncs/vms.ts'
import type { People } from '../kind.ts'
import { find, leaveRefused } from '../people.ts'
import type { Action } from '../schedule.ts'
import { labOf } from '../workspaces/labs.ts'
import type { World } from '../world.ts'
import { type PointAction, type PointPlan, RESTORE_POLICIES, RESTORE_VALUES } from './point-schedule.ts'

/** A restore that has not ended by then ends only when somebody deletes it. */
const PATIENCE_MS = 10 * MINUTE

const TYPES = { Machine: VIRTUAL_MACHINE_SNAPSHOT, Volume: VOLUME_SNAPSHOT } as const

/** People who take points in time, restore them, delete them, and delete snapshots that are in them. */
export class PointPeople implements People {
  readonly #world: World
  readonly #labs: readonly string[]
  #byHand = 0

  constructor(world: World) {
    this.#world = world
    this.#labs = (world.schedule.workspaces ?? []).map((plan, number) => labOf(plan, number).name)
  }

  plan(): number {
    const { points = [] } = this.#world.schedule
    for (const [number, point] of points.entries()) this.#plan(this.#keyOf(point, number), point)
    return Math.max(0, ...points.map(({ createdAtMs, deletedAfterMs = 0 }) => createdAtMs + deletedAfterMs))
  }

  carryOut(action: Action): boolean {
    if (!('point' in action)) return false
    const { points = [] } = this.#world.schedule
    if (points.length > 0) this.#act(action, this.#keyOf(pick(points, action.point), action.point % points.length))
    return true
  }

  /** Deletes restores that cannot end any more. */
  clearAway(): void {
    const { epochMs, elapsedMs } = this.#world.time
    for (const { metadata, status } of this.#restores())
      if (status?.complete !== true && Date.parse(metadata.creationTimestamp ?? '') + PATIENCE_MS < epochMs + elapsedMs)
        this.#deleteRestore(metadata)
  }

  deleteAll(): void {
    for (const { metadata } of this.#restores()) this.#deleteRestore(metadata)
    for (const [number, point] of (this.#world.schedule.points ?? []).entries())
      this.#delete(this.#keyOf(point, number))
  }

  #plan(key: ObjectKey, { createdAtMs, deletedAfterMs, harmedAfterMs }: PointPlan): void {
    const { time, cluster } = this.#world
    time.schedule(createdAtMs, () => {
      const { kind } = WORKSPACE_SNAPSHOT
      const point = { apiVersion: apiVersionOf(WORKSPACE_SNAPSHOT), kind, metadata: key, spec: {} }
      leaveRefused(() => cluster.admin.create(WORKSPACE_SNAPSHOT, point as KubeObject))
    })
    if (harmedAfterMs !== undefined) time.schedule(createdAtMs + harmedAfterMs, () => this.#harm(key))
    if (deletedAfterMs !== undefined) time.schedule(createdAtMs + deletedAfterMs, () => this.#delete(key))
  }

  #act(action: PointAction, key: ObjectKey): void {
    switch (action.do) {
      case 'restorePoint':
        this.#ask(key, pick(RESTORE_VALUES, action.value), action.scope)
        return
      case 'deletePoint':
        this.#delete(key)
        return
      case 'loseContent': {
        const { snapshot: name = '' } = this.#machineIn(key, action.number) ?? {}
        const patch = { metadata: { annotations: { [SNAPSHOT_CONTENT]: null } } }
        leaveRefused(() => this.#world.cluster.admin.mergePatch(VIRTUAL_MACHINE_SNAPSHOT, { ...key, name }, patch))
        return
      }
      case 'stopRestore': {
        const open = this.#restores(key.namespace).filter(({ status }) => status?.complete !== true)
        if (open.length > 0) this.#deleteRestore(pick(open, action.number).metadata)
        return
      }
      default:
        this.#restoreByHand(key, action)
    }
  }

  #ask(key: ObjectKey, value: string, scope: string | undefined): void {
    const annotations = { [ANNOTATIONS.restoreRequestedAt]: value, [ANNOTATIONS.restoreScope]: scope ?? null }
    leaveRefused(() => this.#world.cluster.admin.mergePatch(WORKSPACE_SNAPSHOT, key, { metadata: { annotations } }))
  }

  #restoreByHand(key: ObjectKey, { number, policy }: PointAction & { readonly do: 'restoreByHand' }): void {
    const { name: machine, snapshot } = this.#machineIn(key, number) ?? {}
    if (machine === undefined) return
    this.#byHand += 1
    const targetReadinessPolicy = pick(RESTORE_POLICIES, policy)
    const { kind } = VIRTUAL_MACHINE_RESTORE
    const restore = {
      apiVersion: apiVersionOf(VIRTUAL_MACHINE_RESTORE),
      kind,
      metadata: { ...key, name: `by-hand-${this.#byHand}` },
      spec: {
        target: { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: vmChildNames(machine).machine },
        virtualMachineSnapshotName: snapshot,
        ...(targetReadinessPolicy !== undefined && { targetReadinessPolicy }),
      },
    }
    leaveRefused(() => this.#world.cluster.admin.create(VIRTUAL_MACHINE_RESTORE, restore as KubeObject))
  }

  /** Returns a machine that the point in time has a snapshot of. */
  #machineIn(key: ObjectKey, number: number) {
    const { members = [] } = find<WorkspaceSnapshot>(this.#world, WORKSPACE_SNAPSHOT, key)?.status ?? {}
    const machines = members.filter(({ kind, snapshot }) => kind === 'Machine' && snapshot !== undefined)
    return machines.length === 0 ? undefined : pick(machines, number)
  }

  #restores(namespace?: string): MachineRestore[] {
    const all = [...this.#world.chronicle.traces.of<MachineRestore>(VIRTUAL_MACHINE_RESTORE).values()]
    return all
      .map(({ object }) => object)
      .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
  }

  #deleteRestore({ namespace, name }: KubeObject['metadata']): void {
    leaveRefused(() =>
      this.#world.cluster.admin.delete(VIRTUAL_MACHINE_RESTORE, {
        name,
        ...(namespace !== undefined && { namespace }),
      }),
    )
  }

  #harm(key: ObjectKey): void {
    const point = find<WorkspaceSnapshot>(this.#world, WORKSPACE_SNAPSHOT, key)
    const member = point?.status?.members?.find(({ snapshot }) => snapshot !== undefined)
    if (member?.snapshot === undefined) return
    const snapshot = { ...key, name: member.snapshot }
    leaveRefused(() => this.#world.cluster.admin.delete(TYPES[member.kind], snapshot))
  }

  #delete(key: ObjectKey): void {
    leaveRefused(() => this.#world.cluster.admin.delete(WORKSPACE_SNAPSHOT, key))
  }

  #keyOf({ workspace }: PointPlan, number: number) {
    return { namespace: pick(this.#labs, workspace), name: `point-${number}` }
  }
}
