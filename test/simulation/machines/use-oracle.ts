import { LABELS } from '@open-terrain/constructs'
import { vmChildNames } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import {
  DATA_VOLUME,
  KUBEVIRT_VIRTUAL_MACHINE,
  VIRTUAL_MACHINE_INSTANCE,
  VOLUME_SNAPSHOT,
} from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Instance } from '../../../sandbox/simulators/kubevirt-models.ts'
import type { DataVolume } from '../../harness/kinds.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { decidedWithinMs, mustKnow, type Trace } from '../traces.ts'
import { isGivenUp, type MachineWitness, nameOf } from './machine-traces.ts'

/**
 * Invariant 5, for disks: the source of a clone lasts until it is complete. A disk that has booted, and a guest that runs, last as long as their
 * machine. An image that is being deleted is no source for new disks. That an image lasts as long as machines name it, or have a disk of it, is
 * checked for all kinds alike.
 *
 * What is deleted with its namespace goes at once: nothing could keep it.
 *
 * Use is counted with live reads, so a stale cache is no excuse: only changes after the decision are.
 */
export class UseOracle extends WitnessOracle<MachineWitness> {
  /** Uids of the DataVolumes and claims that a guest has run from. */
  readonly #booted = new Set<string>()

  onCommit(commit: Commit): void {
    const { resource, type, object } = commit
    if (resource === VIRTUAL_MACHINE_INSTANCE && type !== 'DELETED') this.#noteBoot(object as Instance)
    if (!isOperator(commit.actor)) return
    if (resource === VOLUME_SNAPSHOT && isEnd(commit)) this.#checkArtifact('snapshot', object)
    if (resource === KUBEVIRT_VIRTUAL_MACHINE && isEnd(commit)) this.#checkGuest(object)
    if (resource !== DATA_VOLUME) return
    if (isEnd(commit)) this.#checkArtifact('pvc', object)
    if (isEnd(commit)) this.#checkDisk(object)
    if (type === 'ADDED') this.#checkSource(object as DataVolume)
  }

  #checkArtifact(kind: 'snapshot' | 'pvc', object: KubeObject): void {
    const { traces, disturbances } = this.witness
    if (traces.leavingNamespaces.has(object.metadata.namespace ?? '')) return
    for (const clone of traces.clonesFrom(kind, object))
      if (traces.nowMs - clone.createdAtMs > decidedWithinMs(disturbances))
        this.#report(`${nameOf(object)} is deleted, and ${nameOf(clone.object)} is being cloned from it`)
  }

  #checkDisk(object: KubeObject): void {
    const machine = this.witness.traces.machineOf(object)
    if (machine === undefined || isDeletion(machine.object)) return
    // Whether somebody has asked for another disk, and when this one may go, is checked where people ask.
    const { status } = machine.object
    if (isGivenUp(machine.object) || status?.oldDisk?.dataVolumeUID === object.metadata.uid) return
    if (this.#booted.has(object.metadata.uid ?? '') && this.#hasClaim(object))
      this.#report(`${nameOf(object)} is deleted, and the guest of ${nameOf(machine.object)} has run from it`)
  }

  /** Without the claim that the guest has run from, nothing is lost with a DataVolume: CDI would make another disk. */
  #hasClaim({ metadata }: KubeObject): boolean {
    const claims = [...this.witness.traces.claims.values()].map(({ object }) => object)
    const isIts = (one: KubeObject) => keyOf(one.metadata) === keyOf(metadata)
    return claims.some((one) => isIts(one) && !isDeletion(one) && this.#booted.has(one.metadata.uid ?? ''))
  }

  #checkGuest(object: KubeObject): void {
    const { traces } = this.witness
    const machine = traces.machineOf(object)
    if (machine === undefined || isDeletion(machine.object)) return
    const guests = traces.childrenOf(object, traces.instances)
    if (guests.some(({ object: guest }) => guest.status?.phase === 'Running') && !this.#isStrange(machine.object))
      this.#report(`the KubeVirt machine of ${nameOf(machine.object)} is deleted, and its guest runs`)
  }

  /** Reports whether the claim that KubeVirt starts the machine from belongs to somebody else. Then the guest is not one of the machine. */
  #isStrange({ metadata: { namespace, name, uid } }: KubeObject): boolean {
    const { clone } = vmChildNames(name)
    return [...this.witness.traces.claims.values()].some(({ object: { metadata } }) => {
      const isIts = metadata.namespace === namespace && metadata.name === clone
      return isIts && metadata.labels?.[LABELS.vmUid] !== uid
    })
  }

  #checkSource(disk: DataVolume): void {
    const { traces, disturbances } = this.witness
    if (traces.machineOf(disk) === undefined) return
    const { leavingAtMs, object: image } = traces.imageBehind(disk) ?? {}
    if (leavingAtMs === undefined || image === undefined) return
    if (mustKnow(disturbances, traces.nowMs - leavingAtMs))
      this.#report(`${nameOf(disk)} is cloned from ${nameOf(image)}, which is being deleted`)
  }

  #noteBoot({ status, spec, metadata }: Instance): void {
    if (status?.phase !== 'Running') return
    const { dataVolumes, claims } = this.witness.traces
    const names = (spec.volumes ?? []).flatMap(({ dataVolume }) => dataVolume?.name ?? [])
    const keys = names.map((name) => keyOf({ namespace: metadata.namespace ?? '', name }))
    for (const disks of [dataVolumes, claims] as ReadonlyMap<string, Trace<KubeObject>>[])
      for (const [uid, { object }] of disks) if (keys.includes(keyOf(object.metadata))) this.#booted.add(uid)
  }

  #report(message: string): void {
    this.witness.report(5, message)
  }
}
