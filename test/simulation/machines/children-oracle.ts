import type { KubeObject, ResourceType } from '../../../operator/kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, SECRET } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import type { Machine } from '../../harness/kinds.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'
import { isOfMachines, type MachineWitness, nameOf } from './machine-traces.ts'

const CHILDREN: readonly ResourceType[] = [SECRET, DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE]
/** This long after the last trouble, every request has been carried out, and every watch has reported it. */
const SETTLED_MS = 60_000

/**
 * Invariant 7, for the children of a machine: none is created for a machine that is not to be deployed. They are deleted in order, and the machine
 * last. A network keeps its MAC address, unless the spec says another one.
 */
export class ChildrenOracle extends WitnessOracle<MachineWitness> {
  readonly #addresses = new Map<string, string>()
  /** Addresses that a machine's spec has said at some time. */
  readonly #chosen = new Set<string>()

  onCommit(commit: Commit): void {
    const { resource, type, object, actor } = commit
    if (isOfMachines(resource)) this.#noteChosen(object as Machine)
    if (!isOperator(actor)) return
    if (isOfMachines(resource) && type === 'DELETED') this.#checkEnd(object)
    if (!CHILDREN.includes(resource)) return
    if (type === 'ADDED') this.#checkWanted(object)
    else if (isEnd(commit)) this.#checkOrder(commit)
    if (resource === KUBEVIRT_VIRTUAL_MACHINE && type !== 'DELETED') this.#checkAddresses(object as KubeVirtMachine)
  }

  #checkWanted(object: KubeObject): void {
    const { traces, disturbances, report } = this.witness
    const machine = traces.machineOf(object)
    if (machine?.object.spec.ignoreOnDeploy !== true) return
    if (mustKnow(disturbances, traces.nowMs - machine.specAtMs))
      report(7, `${nameOf(object)} is made for ${nameOf(machine.object)}, which is not to be deployed`)
  }

  #checkOrder({ resource, object }: Commit): void {
    const { traces, report } = this.witness
    const machine = traces.machineOf(object)
    const isChecked = machine !== undefined && isDeletion(machine.object) && this.#isSettled()
    if (!isChecked || resource === KUBEVIRT_VIRTUAL_MACHINE) return
    const before = [
      ...traces.childrenOf(machine.object, traces.kubevirt),
      ...traces.instancesOf(machine.object),
      ...(resource === SECRET ? traces.childrenOf(machine.object, traces.dataVolumes) : []),
    ]
    for (const { object: other } of before) report(7, `${nameOf(object)} is deleted before ${nameOf(other)} is gone`)
  }

  #checkEnd(machine: KubeObject): void {
    const { traces, report } = this.witness
    if (!this.#isSettled()) return
    const left = [traces.kubevirt, traces.dataVolumes, traces.secrets].flatMap((children) =>
      traces.childrenOf<KubeObject>(machine, children),
    )
    for (const { object } of left) report(7, `${nameOf(machine)} is released, and ${nameOf(object)} is still there`)
  }

  #noteChosen({ metadata: { uid }, spec }: Machine): void {
    for (const { macAddress } of spec.interfaces ?? [])
      if (macAddress !== undefined) this.#chosen.add(`${uid}/${macAddress.toLowerCase()}`)
  }

  #checkAddresses(object: KubeVirtMachine): void {
    const { traces, report } = this.witness
    const machine = traces.machineOf(object)
    if (machine === undefined) return
    for (const { name, macAddress = '' } of object.spec.template.spec.domain.devices?.interfaces ?? []) {
      const { uid } = machine.object.metadata
      if (this.#chosen.has(`${uid}/${macAddress.toLowerCase()}`)) continue
      const key = `${uid}/${name}`
      const known = this.#addresses.get(key) ?? macAddress
      this.#addresses.set(key, known)
      if (known !== macAddress) report(7, `${nameOf(object)}: network ${name} had ${known}, and has ${macAddress} now`)
    }
  }

  #isSettled(): boolean {
    return this.witness.disturbances.calmForMs('api', 'watch', 'freeze', 'crash') > SETTLED_MS
  }
}
