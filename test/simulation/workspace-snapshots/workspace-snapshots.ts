import { LABELS } from '@open-terrain/constructs'
import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM, VIRTUAL_MACHINE_RESTORE } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { WORKSPACE, WORKSPACE_SNAPSHOT, type Workspace, type WorkspaceSnapshot } from '../../harness/kinds.ts'
import { HOUR } from '../../prepared/runtime/times.ts'
import type { Kind } from '../kind.ts'
import { isPeoplesPartKept } from '../oracle/foreign.ts'
import { isPartOf } from '../workspaces/lab-parts.ts'
import type { World } from '../world.ts'
import { POINT_CHILDREN, PointOracle, pointOf } from './point-oracle.ts'
import { PointPeople } from './point-people.ts'
import { PointRest } from './point-rest.ts'
import { PointRestoreOracle } from './restore-oracle.ts'
import { UnfilledOracle } from './unfilled-oracle.ts'
import { isSwitchOfVolumes, VolumeRestoreOracle } from './volume-restore-oracle.ts'

/** Points in time of workspaces, and the snapshots that are in them. */
export class WorkspaceSnapshots implements Kind {
  readonly people: PointPeople
  readonly rest: PointRest
  readonly oracles: readonly [PointOracle, PointRestoreOracle, VolumeRestoreOracle, UnfilledOracle]
  readonly restsWithinMs = HOUR
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    this.people = new PointPeople(world)
    const points = new PointOracle(world)
    const restores = new PointRestoreOracle(world, points)
    const unfilled = new UnfilledOracle(world)
    this.rest = new PointRest(world, restores, unfilled)
    this.oracles = [points, restores, new VolumeRestoreOracle(world), unfilled]
  }

  /**
   * Permits writes of their status, the creation of their snapshots and restores, and the deletion of the latter. A restore of volumes makes claims of the point in
   * time, gives them to the workspace, and says so in an annotation of that.
   */
  permits(commit: Commit): boolean {
    const { resource, object, type } = commit
    if (resource.kind === WORKSPACE.kind) return isSwitchOfVolumes(commit)
    if (resource.kind === PERSISTENT_VOLUME_CLAIM.kind) return this.#permitsClaim(commit)
    if (resource.kind === WORKSPACE_SNAPSHOT.kind) return isPeoplesPartKept(commit)
    if (resource.kind === VIRTUAL_MACHINE_RESTORE.kind) return this.oracles[0].seen(pointOf(object)) !== undefined
    if (!POINT_CHILDREN.some(({ kind }) => kind === resource.kind) || type !== 'ADDED') return false
    const point = this.oracles[0].seen(pointOf(object))
    return point?.metadata.namespace === object.metadata.namespace
  }

  #permitsClaim({ object, before = object }: Commit): boolean {
    const { namespace, labels } = object.metadata
    const workspace = [...this.#world.chronicle.traces.of<Workspace>(WORKSPACE).values()].find(
      (one) => one.object.metadata.name === namespace,
    )?.object
    const isOfPoint = (claim: KubeObject) => this.oracles[0].seen(pointOf(claim))?.metadata.namespace === namespace
    const isOurs = (claim: KubeObject) => isOfPoint(claim) || (workspace !== undefined && isPartOf(claim, workspace))
    return labels?.[LABELS.volume] !== undefined && isOurs(object) && isOurs(before)
  }

  objects(): readonly (readonly [ResourceType, KubeObject])[] {
    return [...this.#points.values()].map(({ object }) => [WORKSPACE_SNAPSHOT, object])
  }

  get #points() {
    return this.#world.chronicle.traces.of<WorkspaceSnapshot>(WORKSPACE_SNAPSHOT)
  }
}
