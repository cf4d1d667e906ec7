import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  claimName,
  type VolumeClaim,
  volumeClaimsIn,
  type WorkspaceSnapshotStatus,
} from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { WORKSPACE, WORKSPACE_SNAPSHOT, type Workspace, type WorkspaceSnapshot } from '../../harness/kinds.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { isPartOf } from '../workspaces/lab-parts.ts'
import type { World } from '../world.ts'
import { pointOf } from './point-oracle.ts'

interface ClaimOfVolume extends KubeObject {
  readonly spec?: { readonly dataSource?: { readonly kind?: string; readonly name?: string } }
  readonly status?: { readonly phase?: string }
}

/** Reports whether a write of the operator to a workspace says which claims its volumes have, and nothing else. */
export function isSwitchOfVolumes({ object, before }: Commit): boolean {
  if (before === undefined) return false
  const rest = ({ metadata, ...more }: KubeObject) => {
    const { [ANNOTATIONS.volumeClaims]: _, ...annotations } = metadata.annotations ?? {}
    return JSON.stringify([(more as { spec?: unknown }).spec, metadata.labels, annotations])
  }
  return rest(object) === rest(before)
}

/**
 * Invariant 5, for volumes of points in time. Volumes are switched while the workspace is off, all of a restore in one write, each to a claim that was made once, of its own
 * snapshot in that point in time. The claim of a volume is never deleted, also not the one from before a restore.
 */
export class VolumeRestoreOracle extends WitnessOracle<World> {
  /** `<uid of the point in time>/<name>` of all claims that were made. */
  readonly #made = new Set<string>()

  onCommit(commit: Commit): void {
    if (!isOperator(commit.actor)) return
    if (commit.resource.kind === WORKSPACE.kind && commit.type === 'MODIFIED') this.#checkSwitch(commit)
    if (commit.resource.kind !== PERSISTENT_VOLUME_CLAIM.kind) return
    if (commit.type === 'ADDED') this.#checkClaim(commit.object)
    if (isEnd(commit)) this.#checkEnd(commit.before ?? commit.object)
  }

  #checkClaim(claim: ClaimOfVolume): void {
    const uid = pointOf(claim)
    if (uid === undefined) return
    const { name } = claim.metadata
    const report = (text: string) => this.#report(claim, text)
    const id = `${uid}/${name}`
    if (this.#made.has(id)) report('is made again for the same restore')
    this.#made.add(id)
    const status = this.#pointWith(claim)
    const volume = status?.restore?.volumes?.find((one) => one.claim === name)
    if (volume === undefined) report('is of no volume that was written down')
    const snapshot = status?.members?.find((one) => one.kind === 'Volume' && one.name === volume?.name)?.snapshot
    if (claim.spec?.dataSource?.name !== snapshot)
      report(`is of ${claim.spec?.dataSource?.name}, and not of ${snapshot}`)
  }

  #checkSwitch({ object, before }: Commit): void {
    const workspace = object as Workspace
    const [has, had] = [object, before].map((one) =>
      volumeClaimsIn(one?.metadata.annotations?.[ANNOTATIONS.volumeClaims]),
    )
    const changed = [...(has ?? [])].filter(([first, { claim }]) => had?.get(first)?.claim !== claim)
    if (changed.length === 0) return
    if (workspace.spec.powerState !== 'Halted' && workspace.status?.expiry?.ended !== true)
      this.#report(object, 'has its volumes switched while it is on')
    for (const [first, { claim }] of changed) {
      const found = this.#claim(object.metadata.name, claim)
      if (found === undefined || isDeletion(found) || !isPartOf(found, object))
        this.#report(object, `has volume ${first} switched to ${claim}, which is not its own`)
    }
    const together = this.#restoreOf(object.metadata.name, changed[0]?.[1])?.volumes ?? []
    const left = together.filter(({ claim }) => ![...(has ?? [])].some(([, one]) => one.claim === claim))
    if (left.length > 0)
      this.#report(object, `has only some of its volumes switched: not ${left.map(({ name }) => name)}`)
  }

  /** What is on the claim of a volume is somebody's, also from before a restore. The operator deletes none but those of a restore that has failed. */
  #checkEnd(claim: ClaimOfVolume): void {
    const { namespace = '', name, labels } = claim.metadata
    const workspace = [...this.#traces<Workspace>(WORKSPACE).values()].find(
      (one) => one.object.metadata.name === namespace,
    )?.object
    if (workspace === undefined || isDeletion(workspace)) return
    const volumes = (workspace.spec.volumes ?? []).map((one) => claimName(one.name))
    const first = labels?.[LABELS.volume] ?? name
    if (!volumes.includes(first) || (labels?.[LABELS.volume] === undefined && !isPartOf(claim, workspace))) return
    if (pointOf(claim) !== undefined) return
    this.#report(claim, 'is deleted, and is, or was, what its volume has')
  }

  #pointWith(claim: KubeObject): WorkspaceSnapshotStatus | undefined {
    const uid = pointOf(claim)
    return [...this.#points()].find(({ metadata }) => metadata.uid === uid)?.status
  }

  #restoreOf(namespace: string, switched: VolumeClaim | undefined) {
    const restores = [...this.#points()]
      .filter((one) => one.metadata.namespace === namespace)
      .map((one) => one.status?.restore)
    return restores.find((one) => one?.volumes?.some(({ claim }) => claim === switched?.claim))
  }

  #points(): readonly WorkspaceSnapshot[] {
    return [...this.#traces<WorkspaceSnapshot>(WORKSPACE_SNAPSHOT).values()].map(({ object }) => object)
  }

  #claim(namespace: string, name: string): ClaimOfVolume | undefined {
    for (const { object } of this.#traces<ClaimOfVolume>(PERSISTENT_VOLUME_CLAIM).values())
      if (object.metadata.namespace === namespace && object.metadata.name === name) return object
    return undefined
  }

  #traces<T extends KubeObject>(type: Parameters<World['chronicle']['traces']['of']>[0]) {
    return this.witness.chronicle.traces.of<T>(type)
  }

  #report(object: KubeObject, text: string): void {
    this.witness.report(5, `${object.kind} ${keyOf(object.metadata)} ${text}`)
  }
}
