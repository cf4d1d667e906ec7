import { LABELS } from '@open-terrain/constructs'
import { type KubeObject, keyOf, type ResourceType } from '../../../operator/kube/kube-object.ts'
import { NAMESPACE, PERSISTENT_VOLUME_CLAIM } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { IMAGE, type Image, MACHINE, type Machine, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { decidedWithinMs, mustKnow, type Trace } from '../traces.ts'
import type { World } from '../world.ts'
import { isPartOf, isType, partsOf, STAGES, wantedParts } from './lab-parts.ts'

/** How long a deleted claim may be kept before its namespace is deleted with it. */
const KEPT_MS = 60_000

function stageOf(type: ResourceType): number {
  return STAGES.findIndex((types) => types.some((one) => isType(type, one)))
}

/**
 * Invariant 7, for creation and deletion order: nothing is created in a namespace of somebody else (6). A machine is created once its image can be
 * cloned. When a workspace is deleted, nothing goes before all that may use it, and its namespace goes last. In the end nothing of it is left.
 */
export class WorkspaceOrderOracle extends WitnessOracle<World> {
  /** When the last image of a name was gone, by `namespace/name`. */
  readonly #goneAtMs = new Map<string, number>()

  onCommit(commit: Commit): void {
    const { resource, type, object, actor } = commit
    if (isType(resource, IMAGE) && type === 'DELETED')
      this.#goneAtMs.set(keyOf(object.metadata), this.witness.chronicle.nowMs)
    if (isType(resource, WORKSPACE)) {
      if (type === 'DELETED' && isOperator(actor)) this.#checkGone(object)
      return
    }
    if (!isOperator(actor)) return
    const stage = stageOf(resource)
    if (stage === -1) return
    const workspace = this.#workspaceOf(object)
    if (workspace === undefined) return
    if (isEnd(commit) && isDeletion(workspace.object)) this.#checkOrder(commit, workspace, stage)
    if (type === 'ADDED') this.#checkHome(object, workspace.object)
    if (isType(resource, MACHINE) && type === 'ADDED') this.#checkImage(object as Machine)
  }

  #workspaceOf(object: KubeObject): Trace<Workspace> | undefined {
    return [...this.witness.chronicle.traces.of<Workspace>(WORKSPACE).values()].find((one) =>
      isPartOf(object, one.object),
    )
  }

  /** Does not report what the operator may not have observed yet. */
  #checkOrder({ object, resource, revision }: Commit, trace: Trace<Workspace>, stage: number): void {
    const { chronicle, disturbances } = this.witness
    const { object: workspace, leavingAtMs = chronicle.nowMs } = trace
    if (chronicle.traces.leavingNamespaces.has(workspace.metadata.name) && !isType(resource, NAMESPACE)) return
    // A part that an edit removes waits for less. That may have been decided just before the deletion.
    const isWanted = wantedParts(workspace, true).may.has(`${object.kind} ${object.metadata.name}`)
    if (!isWanted && !mustKnow(disturbances, chronicle.nowMs - leavingAtMs)) return
    const parts = partsOf(chronicle, workspace)
    // Something that is no part of the workspace mounts it. Both go with the namespace, before what comes after the claims.
    const isKept = parts.some(
      ({ object: { kind }, leavingAtMs: since = chronicle.nowMs }) =>
        kind === PERSISTENT_VOLUME_CLAIM.kind && chronicle.nowMs - since >= KEPT_MS,
    )
    const until = isKept && isType(resource, NAMESPACE) ? stageOf(PERSISTENT_VOLUME_CLAIM) : stage
    const users = STAGES.flat().filter((type) => stageOf(type) < until)
    const left = parts.filter(({ object: one, createdAtMs }) => {
      const isUser = users.some(({ kind }) => kind === one.kind)
      // A part whose label somebody removed is not observed until it is to be written again.
      const isSeen = one.kind === MACHINE.kind || one.metadata.labels?.[LABELS.workspaceUid] !== undefined
      return isUser && isSeen && mustKnow(disturbances, chronicle.nowMs - createdAtMs)
    })
    const [first] = left
    if (first !== undefined)
      this.#report(
        `revision ${revision}: ${object.kind} ${object.metadata.name} is deleted before ${first.object.kind} ${first.object.metadata.name} is gone`,
      )
  }

  /** The garbage collector deletes parts that may have been created after the live read. */
  #checkGone(workspace: KubeObject): void {
    const { chronicle, disturbances } = this.witness
    const left = partsOf(chronicle, workspace).filter(
      ({ createdAtMs }) => chronicle.nowMs - createdAtMs > decidedWithinMs(disturbances),
    )
    const [first] = left.filter(
      ({ object, createdAtMs }) => object.kind === 'Namespace' || mustKnow(disturbances, chronicle.nowMs - createdAtMs),
    )
    if (first !== undefined)
      this.#report(
        `Workspace ${workspace.metadata.name} is gone, and ${first.object.kind} ${first.object.metadata.name} is not`,
      )
  }

  /** A namespace of that name that belongs to somebody else is left alone: nothing is created in it. */
  #checkHome({ kind, metadata: { namespace, name } }: KubeObject, workspace: KubeObject): void {
    const { chronicle, disturbances } = this.witness
    const home = [...chronicle.traces.of(NAMESPACE).values()].find(({ object }) => object.metadata.name === namespace)
    if (home === undefined || isPartOf(home.object, workspace)) return
    if (mustKnow(disturbances, chronicle.nowMs - home.createdAtMs))
      this.witness.report(
        6,
        `${kind} ${name} is put into namespace ${namespace}, which is not of Workspace ${workspace.metadata.name}`,
      )
  }

  #checkImage({ spec, metadata }: Machine): void {
    const { chronicle, disturbances } = this.witness
    const { name, namespace = metadata.namespace ?? '' } = spec.vmDiskImageRef
    const image = [...chronicle.traces.of<Image>(IMAGE).values()].find(
      ({ object }) => object.metadata.name === name && object.metadata.namespace === namespace,
    )
    const changedAtMs = image?.changedAtMs ?? this.#goneAtMs.get(keyOf({ namespace, name })) ?? 0
    const isNews = chronicle.nowMs - changedAtMs <= decidedWithinMs(disturbances)
    if (!isNews && image?.object.status?.artifact === undefined && mustKnow(disturbances, 2_000))
      this.#report(`machine ${metadata.namespace}/${metadata.name} is made, and image ${name} has no artifact`)
  }

  #report(message: string): void {
    this.witness.report(7, message)
  }
}
