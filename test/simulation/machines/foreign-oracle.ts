import { LABELS } from '@open-terrain/constructs'
import { controllerOf } from '../../../operator/kube/controller-of.ts'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, SECRET } from '../../../operator/kube/resource-types.ts'
import { type Commit, IMAGE } from '../../../sandbox/memory-cluster/index.ts'
import { isLedger, isOperator } from '../chronicle.ts'
import { decidedWithinMs } from '../traces.ts'
import type { Image } from './machine-chronicle.ts'
import type { MachineOracle, MachineWitness } from './machine-oracle.ts'
import { MACHINE, type Machine, PASSWORD } from './machine-world.ts'
import { nameOf } from './use-oracle.ts'

/**
 * Invariants 6 and 9: the operator writes its own objects alone, and of those of people the status and its finalizer; and a
 * password is in Secrets, and nowhere else.
 */
export class MachineForeignOracle implements MachineOracle {
  readonly #witness: MachineWitness

  constructor(witness: MachineWitness) {
    this.#witness = witness
  }

  onCommit(commit: Commit): void {
    if (!isOperator(commit.actor)) return
    const { type, object, resource } = commit
    const { report } = this.#witness
    const wrong = this.#isCorrection(commit) ? undefined : whatIsWrong(commit, this.#isOwnInstance(object))
    if (wrong !== undefined) report(6, `${type} of ${nameOf(object)}: ${wrong}`)
    if (resource !== SECRET && JSON.stringify(withoutSpecOfPeople(commit)).includes(PASSWORD))
      report(9, `a password is in ${nameOf(object)}`)
  }

  /** Of an image that the operator made, that nothing came of, and that nobody but one machine has named for a while. */
  #isCorrection({ resource, object, before }: Commit): boolean {
    if (resource !== IMAGE || before === undefined) return false
    const { chronicle, disturbances } = this.#witness
    const { nowMs } = chronicle
    const others = chronicle
      .referencesTo(object)
      .filter(({ createdAtMs }) => nowMs - createdAtMs > decidedWithinMs(disturbances))
    const isMade = before.metadata.labels?.[LABELS.createdBy] === MACHINE.kind
    return isMade && others.length <= 1 && (before as Image).status?.artifact === undefined
  }

  #isOwnInstance(object: KubeObject): boolean {
    return this.#witness.chronicle.kubevirt.has(controllerOf(object)?.uid ?? '')
  }
}

function whatIsWrong(commit: Commit, isOwnInstance: boolean): string | undefined {
  const { resource, object, before, type } = commit
  switch (resource.kind) {
    case 'Event':
    case 'Lease':
      return undefined
    case 'ConfigMap':
      return isLedger(commit) ? undefined : 'not the ledger'
    case 'VMDiskImage':
      return changedByOthersRight(object, before)
    case 'VolumeSnapshot':
    case 'DataSource':
      return isOf(commit, ['VMDiskImage']) ? undefined : 'its controller is not an image'
    case 'VirtualMachineInstance':
      return type === 'MODIFIED' || type === 'DELETED' ? unless(isOwnInstance) : 'the operator makes no instances'
    default:
  }
  if (resource === MACHINE) return changedByOthersRight(object, before) ?? unless(type !== 'ADDED')
  if (resource === DATA_VOLUME) return unless(isOf(commit, ['VMDiskImage', MACHINE.kind]))
  if (resource === SECRET || resource === KUBEVIRT_VIRTUAL_MACHINE) return unless(isOf(commit, [MACHINE.kind]))
  return 'the operator has no business with this kind'
}

function unless(isOurs: boolean): string | undefined {
  return isOurs ? undefined : 'it is not ours'
}

function isOf({ object, before }: Commit, kinds: readonly string[]): boolean {
  const all = [object, before].filter((one) => one !== undefined)
  const uids = new Set(all.map((one) => controllerOf(one)?.uid))
  return uids.size === 1 && all.every((one) => kinds.includes(controllerOf(one)?.kind ?? ''))
}

/** Fields that belong to people. An image that the operator makes has none of those yet. */
function changedByOthersRight(object: KubeObject, before: KubeObject | undefined): string | undefined {
  if (before === undefined) return undefined
  const theirs = ({ metadata: { labels, annotations, ownerReferences }, ...rest }: KubeObject) =>
    JSON.stringify([(rest as { spec?: unknown }).spec, labels, annotations, ownerReferences])
  return theirs(object) === theirs(before) ? undefined : 'changed what people wrote'
}

function withoutSpecOfPeople({ resource, object }: Commit): unknown {
  return resource === MACHINE ? (object as Machine).status : object
}
