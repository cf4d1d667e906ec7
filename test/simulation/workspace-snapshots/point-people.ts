import { apiVersionOf, type KubeObject, type ObjectKey } from '../../../operator/kube/kube-object.ts'
import { VIRTUAL_MACHINE_SNAPSHOT, VOLUME_SNAPSHOT } from '../../../operator/kube/resource-types.ts'
import { WORKSPACE_SNAPSHOT, type WorkspaceSnapshot } from '../../harness/kinds.ts'
import { pick } from '../data-syncs/vms.ts'
import type { People } from '../kind.ts'
import { find, leaveRefused } from '../people.ts'
import { labOf } from '../workspaces/labs.ts'
import type { World } from '../world.ts'
import type { PointPlan } from './point-schedule.ts'

const TYPES = { Machine: VIRTUAL_MACHINE_SNAPSHOT, Volume: VOLUME_SNAPSHOT } as const

/** People who take points in time, delete them, and delete snapshots that are in them. */
export class PointPeople implements People {
  readonly #world: World
  readonly #labs: readonly string[]

  constructor(world: World) {
    this.#world = world
    this.#labs = (world.schedule.workspaces ?? []).map((plan, number) => labOf(plan, number).name)
  }

  plan(): number {
    const { points = [] } = this.#world.schedule
    for (const [number, point] of points.entries()) this.#plan(this.#keyOf(point, number), point)
    return Math.max(0, ...points.map(({ createdAtMs, deletedAfterMs = 0 }) => createdAtMs + deletedAfterMs))
  }

  carryOut(): boolean {
    return false
  }

  deleteAll(): void {
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
