import { ANNOTATIONS } from '@open-terrain/constructs'
import type { VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { MACHINE, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { isOperator, isPerson } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import type { World } from '../world.ts'
import { isType } from './lab-parts.ts'

const MARK = /rollout-[0-9a-f]{8}$/u
/** A decision may be based on a state this old. */
const MOMENT_MS = 5_000

/**
 * Invariant 7, for new versions of labs: the operator asks a machine for a new disk by itself only where updateStrategy is Recreate, only where the spec of
 * the disk has changed, and once for each generation of its spec, until somebody asks for another one.
 */
export class RolloutOracle extends WitnessOracle<World> {
  /** Uid and mark of each machine that was asked. */
  readonly #asked = new Set<string>()

  onCommit({ resource, type, object, before, actor, revision }: Commit): void {
    if (!isType(resource, MACHINE) || type !== 'MODIFIED') return
    const [mark, was] = [object, before].map(markIn)
    // The value of a person takes the place of what the rollout has given.
    if (isPerson(actor) && was !== mark) this.#asked.delete(`${object.metadata.uid} ${was}`)
    if (!isOperator(actor) || mark === undefined || mark === was) return
    const report = (text: string) =>
      this.witness.report(
        7,
        `revision ${revision}: VirtualMachine ${keyOf(object.metadata)} is asked for a disk ${text}`,
      )
    const id = `${object.metadata.uid} ${mark}`
    if (this.#asked.has(id)) report('again')
    this.#asked.add(id)
    if (!this.#isRecreated(object.metadata.namespace)) report('that nobody wants')
    const { status } = (before ?? object) as { readonly status?: VirtualMachineStatus }
    const told = status?.conditions?.find((one) => one.type === 'UpToDate')
    if (told?.reason !== 'SpecChanged') report(`although it is ${told?.reason}`)
  }

  #isRecreated(name: string | undefined): boolean {
    const { nowMs, traces } = this.witness.chronicle
    const found = [...traces.of<Workspace>(WORKSPACE).values()].find((one) => one.object.metadata.name === name)
    if (found === undefined || nowMs - found.changedAtMs <= MOMENT_MS) return true
    return found.object.spec.updateStrategy?.type === 'Recreate'
  }
}

function markIn(object: KubeObject | undefined): string | undefined {
  return MARK.exec(object?.metadata.annotations?.[ANNOTATIONS.rebuildRequestedAt] ?? '')?.[0]
}
