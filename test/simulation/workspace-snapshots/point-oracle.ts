import { isDeepStrictEqual } from 'node:util'
import { POLICY_DEFAULTS } from '@open-terrain/constructs/operator'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { VIRTUAL_MACHINE_SNAPSHOT, VOLUME_SNAPSHOT } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { WORKSPACE_SNAPSHOT, type WorkspaceSnapshot } from '../../harness/kinds.ts'
import { isOperator } from '../chronicle.ts'
import { wrongConditions } from '../conditions.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import type { World } from '../world.ts'

/** Returns the uid of the point in time that an object is a snapshot of. */
export function pointOf(object: KubeObject): string | undefined {
  const owner = controllerOf(object)
  return owner?.kind === WORKSPACE_SNAPSHOT.kind ? owner.uid : undefined
}

/**
 * Invariant 7, for points in time: a snapshot that a status tells of is never created again, and each only for a member that was written down before. Members never change. No
 * more are begun than the policy allows. A status says what its members say, and never the same twice.
 */
export class PointOracle extends WitnessOracle<World> {
  /** `<uid>/<name>` of all snapshots that were created. */
  readonly #created = new Set<string>()

  /** All points in time, by uid. Who does not know yet that one is gone may still create a snapshot for it, which goes too. */
  readonly #seen = new Map<string, WorkspaceSnapshot>()
  /** Those of them that were ready once. */
  readonly #ready = new Set<string>()

  onCommit(commit: Commit): void {
    const { status, metadata } = commit.object as KubeObject & { readonly status?: { readonly readyToUse?: boolean } }
    if (status?.readyToUse === true) this.#ready.add(`${pointOf(commit.object)}/${metadata.name}`)
    if (commit.resource.kind === WORKSPACE_SNAPSHOT.kind && metadata.uid !== undefined)
      this.#seen.set(metadata.uid, commit.object as WorkspaceSnapshot)
    if (!isOperator(commit.actor)) return
    const isSnapshot = POINT_CHILDREN.some(({ kind }) => kind === commit.resource.kind)
    if (commit.type === 'ADDED' && isSnapshot) this.#checkSnapshot(commit)
    if (commit.type === 'MODIFIED' && commit.resource.kind === WORKSPACE_SNAPSHOT.kind) this.#checkStatus(commit)
  }

  /** Returns the point in time with this uid, whether or not it is gone. */
  seen(uid: string | undefined): WorkspaceSnapshot | undefined {
    return this.#seen.get(uid ?? '')
  }

  #checkSnapshot({ object, revision }: Commit): void {
    const uid = pointOf(object)
    if (uid === undefined) return
    const { name, namespace } = object.metadata
    const report = (text: string) =>
      this.witness.report(7, `revision ${revision}: snapshot ${namespace}/${name} ${text}`)
    const members = this.#seen.get(uid)?.status?.members ?? []
    if (!members.some(({ snapshot }) => snapshot === name)) report('is of no member that was written down')
    const isWritten = members.some(
      (one) => one.snapshot === name && one.phase !== 'Pending' && one.reason !== 'NameConflict',
    )
    if (this.#created.has(`${uid}/${name}`) && isWritten) report('is created again, at another time than the rest')
    this.#created.add(`${uid}/${name}`)
  }

  #checkStatus({ object, before, revision }: Commit): void {
    const [now, then] = [object as WorkspaceSnapshot, before as WorkspaceSnapshot | undefined]
    const report = (text: string) =>
      this.witness.report(7, `revision ${revision}: WorkspaceSnapshot ${keyOf(object.metadata)} ${text}`)
    if (isDeepStrictEqual(withoutTimes(now), withoutTimes(then))) report('says again what it said')
    const [had, has] = [then, now].map((one) =>
      one?.status?.members?.map(({ kind, name, snapshot }) => [kind, name, snapshot]),
    )
    if (had !== undefined && !isDeepStrictEqual(had, has)) report('has other members than it had')
    if (had === undefined && has !== undefined) this.#checkLimit(now, report)
    for (const wrong of contradictionsOf(now)) report(wrong)
    if (now.status?.phase === 'Succeeded') this.#checkReady(now, report)
  }

  #checkLimit({ metadata: { namespace } }: WorkspaceSnapshot, report: (text: string) => void): void {
    const begun = [...this.#points.values()].filter(
      ({ object }) => object.metadata.namespace === namespace && object.status?.members !== undefined,
    )
    const limit = POLICY_DEFAULTS.workspaceSnapshotLimit
    if (begun.length > limit) report(`is the ${begun.length}th of its workspace, and the policy allows ${limit}`)
  }

  #checkReady({ status, metadata: { uid = '' } }: WorkspaceSnapshot, report: (text: string) => void): void {
    for (const { snapshot, name } of status?.members ?? [])
      if (snapshot !== undefined && !this.#ready.has(`${uid}/${snapshot}`))
        report(`is Succeeded, and the snapshot of ${name} was never ready`)
  }

  get #points() {
    return this.witness.chronicle.traces.of<WorkspaceSnapshot>(WORKSPACE_SNAPSHOT)
  }
}

/** Returns where the figures and conditions of a status are not those of its members. */
export function contradictionsOf(point: WorkspaceSnapshot): string[] {
  const { phase, ready, members } = point.status ?? {}
  const taken = (members ?? []).filter((member) => member.phase !== 'LeftOut')
  const share = `${taken.filter((member) => member.ready).length}/${taken.length}`
  const wanted = { Settled: phase === 'Succeeded' || phase === 'Failed', Ready: phase === 'Succeeded' }
  return [
    ...(members !== undefined && ready !== share ? [`says ${ready} of ${JSON.stringify(members)}`] : []),
    ...(phase === 'Succeeded' && taken.some((member) => !member.ready) ? ['is Succeeded, and not all are ready'] : []),
    ...wrongConditions(point, wanted).map((wrong) => `is ${phase}, and ${wrong}`),
  ]
}

/** Kinds of snapshots that points in time are made of. */
export const POINT_CHILDREN = [VIRTUAL_MACHINE_SNAPSHOT, VOLUME_SNAPSHOT] as const

function withoutTimes({ status, metadata }: WorkspaceSnapshot | undefined = {} as WorkspaceSnapshot): unknown {
  const conditions = status?.conditions?.map((one) => ({ ...one, lastTransitionTime: '' }))
  return [metadata?.generation, metadata?.finalizers, { ...status, conditions }]
}
