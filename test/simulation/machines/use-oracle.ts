import { LABELS, vmChildNames } from '@open-terrain/constructs'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, VOLUME_SNAPSHOT } from '../../../operator/kube/resource-types.ts'
import { type Commit, IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import type { DataVolume } from '../../harness/kinds.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import { decidedWithinMs, mustKnow } from '../traces.ts'
import type { MachineOracle, MachineWitness } from './machine-oracle.ts'

/**
 * Invariant 5: an image, and what disks are cloned from, last as long as they have users; a disk that has booted, and a guest
 * that runs, last as long as their machine. What nobody asked for any more is no base for new disks.
 *
 * An image whose namespace is being deleted goes at once: nothing could keep it.
 *
 * Use is counted live, so no stale cache is an excuse: only what came after the decision is.
 */
export class UseOracle implements MachineOracle {
  readonly #witness: MachineWitness

  constructor(witness: MachineWitness) {
    this.#witness = witness
  }

  onCommit(commit: Commit): void {
    if (!isOperator(commit.actor)) return
    const { resource, type, object } = commit
    if (resource === IMAGE) this.#checkImage(commit)
    if (resource === VOLUME_SNAPSHOT && isEnd(commit)) this.#checkArtifact('snapshot', object)
    if (resource === KUBEVIRT_VIRTUAL_MACHINE && isEnd(commit)) this.#checkGuest(object)
    if (resource !== DATA_VOLUME) return
    if (isEnd(commit)) this.#checkArtifact('pvc', object)
    if (isEnd(commit)) this.#checkDisk(object)
    if (type === 'ADDED') this.#checkSource(object as DataVolume)
  }

  #checkImage(commit: Commit): void {
    const { chronicle } = this.#witness
    const { object, type, actor } = commit
    if (this.#isDoomed(object)) return
    // Deleted by the operator itself: because nothing refers to it, it says.
    if (isEnd(commit) && isOperator(actor))
      for (const { object: machine, createdAtMs } of chronicle.referencesTo(object))
        if (this.#isKnown(createdAtMs))
          this.#report(`the operator deletes ${nameOf(object)}, which ${nameOf(machine)} names`)
    if (type === 'DELETED') this.#checkUsers(object, `${nameOf(object)} is gone`)
  }

  /** With an image that is being deleted, whoever has a disk of it is a user; else whoever reads from the artifact. */
  #checkArtifact(kind: 'snapshot' | 'pvc', object: KubeObject): void {
    const { chronicle } = this.#witness
    if (this.#isDoomed(object)) return
    for (const clone of chronicle.clonesFrom(kind, object))
      if (this.#isKnown(clone.createdAtMs))
        this.#report(`${nameOf(object)} is deleted, and ${nameOf(clone.object)} is being cloned from it`)
    const image = chronicle.images.get(controllerOf(object)?.uid ?? '')
    const isPublished = image?.object.status?.artifact?.name === object.metadata.name
    if (image?.leavingAtMs !== undefined && isPublished) this.#checkUsers(image.object, `${nameOf(object)} is deleted`)
  }

  #checkUsers(image: KubeObject, what: string): void {
    for (const { machine, disk } of this.#witness.chronicle.usersOf(image))
      if (this.#isKnown(disk.createdAtMs)) this.#report(`${what}, and ${nameOf(machine.object)} has a disk of it`)
  }

  #checkDisk(object: KubeObject): void {
    const { chronicle } = this.#witness
    const machine = chronicle.machineOf(object)
    if (machine === undefined || isDeletion(machine.object)) return
    if (chronicle.booted.has(object.metadata.uid ?? ''))
      this.#report(`${nameOf(object)} is deleted, and the guest of ${nameOf(machine.object)} has run from it`)
  }

  #checkGuest(object: KubeObject): void {
    const { chronicle } = this.#witness
    const machine = chronicle.machineOf(object)
    if (machine === undefined || isDeletion(machine.object)) return
    const guests = chronicle.childrenOf(object.metadata.uid ?? '', chronicle.instances)
    if (guests.some(({ object: guest }) => guest.status?.phase === 'Running') && !this.#isStrange(machine.object))
      this.#report(`the KubeVirt machine of ${nameOf(machine.object)} is deleted, and its guest runs`)
  }

  /** Whether the claim that KubeVirt starts the machine by is somebody else's: then the guest is no guest of the machine. */
  #isStrange({ metadata: { namespace, name, uid } }: KubeObject): boolean {
    const { clone } = vmChildNames(name)
    return [...this.#witness.chronicle.claims.values()].some(({ object: { metadata } }) => {
      const isIts = metadata.namespace === namespace && metadata.name === clone
      return isIts && metadata.labels?.[LABELS.vmUid] !== uid
    })
  }

  #checkSource(disk: DataVolume): void {
    const { chronicle, disturbances } = this.#witness
    if (chronicle.machineOf(disk) === undefined) return
    const { leavingAtMs, object: image } = chronicle.imageBehind(disk) ?? {}
    if (leavingAtMs === undefined || image === undefined) return
    if (mustKnow(disturbances, chronicle.nowMs - leavingAtMs))
      this.#report(`${nameOf(disk)} is cloned from ${nameOf(image)}, which is being deleted`)
  }

  #isDoomed({ metadata }: KubeObject): boolean {
    return this.#witness.chronicle.leavingNamespaces.has(metadata.namespace ?? '')
  }

  #isKnown(sinceMs: number): boolean {
    const { chronicle, disturbances } = this.#witness
    return chronicle.nowMs - sinceMs > decidedWithinMs(disturbances)
  }

  #report(message: string): void {
    this.#witness.report(5, message)
  }
}

export function nameOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${keyOf(metadata)}`
}
