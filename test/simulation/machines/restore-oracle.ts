import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { claimNamesOf, type Machine as KubeVirtMachine } from '../../../sandbox/simulators/kubevirt-models.ts'
import { isToBeRestored, LAST_RESTORE } from '../../../sandbox/simulators/kubevirt-restores.ts'
import { isDeletion, isEnd, isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { type MachineWitness, nameOf } from './machine-traces.ts'

/**
 * Invariant 5, for restores of KubeVirt: the restored disk is that of the machine as long as nobody asks for another one, and KubeVirt's machine is not
 * deleted during or after a restore. Between its steps, the operator writes nothing to it.
 */
export class RestoreOracle extends WitnessOracle<MachineWitness> {
  onCommit(commit: Commit): void {
    const { resource, type, object, before } = commit
    if (resource !== KUBEVIRT_VIRTUAL_MACHINE || !isOperator(commit.actor)) return
    if (isEnd(commit)) this.#checkEnd(object)
    else if (type === 'MODIFIED' && before !== undefined) this.#checkWrite(before, object)
  }

  #checkWrite(before: KubeObject, object: KubeObject): void {
    const [was, is] = [before, object].map((one) => rootOf(one as KubeVirtMachine))
    const { replacement } = this.witness.traces.machineOf(object)?.object.status ?? {}
    const isAsked = replacement !== undefined && is === replacement.disk.name
    if (wasRestored(before) && was !== is && !isAsked)
      this.#report(`${nameOf(object)} was restored, and its root disk ${was} is ${is} again`)
    const { restoreInProgress } = (before as KubeVirtMachine).status ?? {}
    // A write that was sent before the operator could know is refused, because it has an older version.
    if (restoreInProgress !== undefined) this.#report(`${nameOf(object)} is being restored, and is written`)
  }

  #checkEnd(object: KubeObject): void {
    const machine = this.witness.traces.machineOf(object)
    if (machine === undefined || isDeletion(machine.object)) return
    if (isToBeRestored(object) || wasRestored(object))
      this.#report(`${nameOf(object)} is deleted, and KubeVirt restores or restored it`)
  }

  #report(message: string): void {
    this.witness.report(5, message)
  }
}

function wasRestored({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[LAST_RESTORE] !== undefined
}

function rootOf({ spec }: KubeVirtMachine): string | undefined {
  const [root] = claimNamesOf({
    ...spec.template.spec,
    volumes: spec.template.spec.volumes?.filter(({ name }) => name === 'rootdisk') ?? [],
  })
  return root
}
