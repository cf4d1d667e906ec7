import { ANNOTATIONS } from '@open-terrain/constructs'
import { volumeClaimsIn } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import {
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  VIRTUAL_MACHINE_RESTORE,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { claimNamesOf, type Machine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { LAST_RESTORE } from '../../../sandbox/simulators/kubevirt-restores.ts'
import { WORKSPACE, WORKSPACE_SNAPSHOT, type Workspace, type WorkspaceSnapshot } from '../../harness/kinds.ts'
import { isDeletion, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow, type Trace } from '../traces.ts'
import type { World } from '../world.ts'
import { pointOf } from './point-oracle.ts'

interface Claim extends KubeObject {
  readonly status?: { readonly phase?: string }
}

/**
 * Invariant 5, for storage that waits for its first consumer: what a point in time was restored to has its data in the point alone, until something uses it. So the point in time
 * is not gone before, and says that it waits.
 */
export class UnfilledOracle extends WitnessOracle<World> {
  /** By the mark that KubeVirt leaves on its claims: the uid of the point in time that the operator restored a machine from. */
  readonly #restores = new Map<string, string>()
  /** By uid of a claim: the uid of the point in time that its data is in. */
  readonly #origins = new Map<string, string>()

  onCommit({ resource, type, object, actor, before }: Commit): void {
    const point = pointOf(object)
    if (resource.kind === VIRTUAL_MACHINE_RESTORE.kind && type === 'ADDED' && point !== undefined)
      this.#restores.set(`${object.metadata.name}-${object.metadata.uid}`, point)
    if (resource.kind === PERSISTENT_VOLUME_CLAIM.kind && type === 'ADDED') {
      const origin = point ?? this.#restores.get(object.metadata.annotations?.[LAST_RESTORE] ?? '')
      if (origin !== undefined) this.#origins.set(object.metadata.uid ?? '', origin)
    }
    if (resource.kind !== WORKSPACE_SNAPSHOT.kind) return
    if (type === 'DELETED') this.#checkEnd(object as WorkspaceSnapshot)
    else if (isOperator(actor)) this.#checkWords(object as WorkspaceSnapshot, before as WorkspaceSnapshot | undefined)
  }

  /** Returns what a point in time says at rest of claims that wait, and is not so. */
  restless(point: WorkspaceSnapshot): string[] {
    const { namespace = '' } = point.metadata
    const { phase, unfilled = [] } = point.status?.restore ?? {}
    const [waiting] = phase === 'Succeeded' ? this.#waitingFor(point) : []
    if (waiting !== undefined) return [`is Succeeded, and ${waiting.object.metadata.name} waits`]
    const isWaiting = (name: string) =>
      this.#claims(namespace).some(({ object }) => object.metadata.name === name && !isFilled(object))
    if (unfilled.some(isWaiting)) return []
    return phase === 'WaitForFirstConsumer' ? [`still waits for ${unfilled}, of which none waits`] : []
  }

  #checkEnd(point: WorkspaceSnapshot): void {
    for (const { object, changedAtMs } of this.#waitingFor(point))
      if (mustKnow(this.witness.disturbances, this.witness.chronicle.nowMs - changedAtMs))
        this.#report(point, `is gone, and the data of PersistentVolumeClaim ${object.metadata.name} was in it alone`)
  }

  #checkWords(now: WorkspaceSnapshot, then: WorkspaceSnapshot | undefined): void {
    const [is, was] = [now.status?.restore, then?.status?.restore]
    if (is?.phase === 'Succeeded' && is.unfilled !== undefined)
      this.#report(now, 'says that its restore is Succeeded, and of claims that wait')
    if (is?.phase !== 'Succeeded' || was?.phase === 'Succeeded') return
    for (const { object, changedAtMs } of this.#waitingFor(now))
      if (mustKnow(this.witness.disturbances, this.witness.chronicle.nowMs - changedAtMs))
        this.#report(
          now,
          `says that its restore is Succeeded, and ${object.metadata.name} waits for its first consumer`,
        )
  }

  /** Returns the claims whose data is in the point in time alone, and that something of the workspace names. */
  #waitingFor({ metadata: { uid, namespace = '' } }: WorkspaceSnapshot): Trace<Claim>[] {
    const workspace = [...this.#traces<Workspace>(WORKSPACE)].find(({ object }) => object.metadata.name === namespace)
    if (workspace === undefined || isDeletion(workspace.object)) return []
    const used = new Set([
      ...[...volumeClaimsIn(workspace.object.metadata.annotations?.[ANNOTATIONS.volumeClaims])].map(
        ([, { claim }]) => claim,
      ),
      ...[...this.#traces<Machine>(KUBEVIRT_VIRTUAL_MACHINE)].flatMap(({ object }) =>
        object.metadata.namespace === namespace && !isDeletion(object) ? claimNamesOf(object.spec.template.spec) : [],
      ),
    ])
    return this.#claims(namespace).filter(
      ({ object }) =>
        this.#origins.get(object.metadata.uid ?? '') === uid && used.has(object.metadata.name) && !isFilled(object),
    )
  }

  #claims(namespace: string): Trace<Claim>[] {
    return [...this.#traces<Claim>(PERSISTENT_VOLUME_CLAIM)].filter(
      ({ object }) => object.metadata.namespace === namespace && !isDeletion(object),
    )
  }

  #traces<T extends KubeObject>(type: Parameters<World['chronicle']['traces']['of']>[0]) {
    return this.witness.chronicle.traces.of<T>(type).values()
  }

  #report({ metadata }: WorkspaceSnapshot, text: string): void {
    this.witness.report(5, `WorkspaceSnapshot ${keyOf(metadata)} ${text}`)
  }
}

/** One that is `Lost` had a volume. */
function isFilled({ status }: Claim): boolean {
  return status?.phase === 'Bound' || status?.phase === 'Lost'
}
