import { LABELS } from '@open-terrain/constructs'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { POD, VIRTUAL_MACHINE_INSTANCE } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Pod } from '../../../sandbox/simulators/models.ts'
import { MACHINE, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { MINUTE } from '../../prepared/runtime/times.ts'
import { isOperator, isPerson } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'
import type { World } from '../world.ts'
import { isType } from './lab-parts.ts'
import { Permits } from './lab-permits.ts'

/** What somebody has done to a part of a lab is undone by then. */
const UNDONE_MS = 5 * MINUTE
/** When to look at what was said, so that everybody has seen what was true then. */
const MOMENT_MS = 5_000

/** Since when a workspace says that it is off. */
interface Off {
  readonly sinceMs: number
}

/**
 * Invariant 7, for labs that are off: one that says so runs nothing, and nothing of it starts before somebody switches it on. What people start by hand is excused,
 * and so is what is to be left as it is.
 */
export class PowerOracle extends WitnessOracle<World> {
  /** By name of a workspace that says that it is off. */
  readonly #off = new Map<string, Off>()
  readonly #harmedAtMs = new Map<string, number>()

  onCommit(commit: Commit): void {
    const { resource, type, object, actor } = commit
    const { name, namespace = name } = object.metadata
    if (isPerson(actor)) this.#harmedAtMs.set(namespace, this.witness.chronicle.nowMs)
    if (isType(resource, WORKSPACE)) {
      const isOff = type !== 'DELETED' && saysOff(object as Workspace)
      if (isOff && isOperator(actor) && !this.#off.has(name)) this.#begin(object as Workspace)
      else if (!isOff) this.#off.delete(name)
    }
    const isStart = type === 'ADDED' && isRunner(object)
    if (isStart && this.#off.has(namespace))
      this.#report(namespace, `${object.kind} ${keyOf(object.metadata)} starts`, object)
  }

  #begin({ metadata: { name } }: Workspace): void {
    this.#off.set(name, { sinceMs: this.witness.chronicle.nowMs })
    this.witness.time.schedule(MOMENT_MS, () => {
      const { nowMs, traces } = this.witness.chronicle
      const off = this.#off.get(name)
      if (off === undefined || nowMs - off.sinceMs < MOMENT_MS) return
      const all = [...traces.of(POD).values(), ...traces.of(VIRTUAL_MACHINE_INSTANCE).values()]
      for (const { object } of all)
        if (object.metadata.namespace === name && isRunner(object) && mayRun(object))
          this.#report(name, `${object.kind} ${keyOf(object.metadata)} runs`, object)
    })
  }

  #report(name: string, what: string, object: KubeObject): void {
    const { chronicle, disturbances, policy } = this.witness
    const harmedMs = chronicle.nowMs - (this.#harmedAtMs.get(name) ?? Number.NEGATIVE_INFINITY)
    const found = [...chronicle.traces.of<Workspace>(WORKSPACE).values()].find(
      (one) => one.object.metadata.name === name,
    )
    if (found === undefined || harmedMs < UNDONE_MS || !mustKnow(disturbances, MOMENT_MS + 1)) return
    if (!isLeft(found.object, new Permits(policy.data), memberOf(object)))
      this.witness.report(7, `Workspace ${name} is off, and ${what}`)
  }
}

function saysOff({ metadata, spec, status }: Workspace): boolean {
  const isOff = spec.powerState === 'Halted' ? status?.reason === 'Halted' : status?.reason === 'Expired'
  return isOff && status?.observedGeneration === metadata.generation
}

/** A pod of a container cluster, or the instance of a machine. */
function isRunner({ kind, metadata: { labels } }: KubeObject): boolean {
  return (
    kind === VIRTUAL_MACHINE_INSTANCE.kind || (kind === POD.kind && labels?.[LABELS.containerCluster] !== undefined)
  )
}

function mayRun(object: KubeObject): boolean {
  const { phase } = (object as Pod).status ?? {}
  return phase !== 'Succeeded' && phase !== 'Failed'
}

function memberOf({ kind, metadata: { name, labels } }: KubeObject): string {
  return kind === POD.kind ? (labels?.[LABELS.containerCluster] ?? '') : `${MACHINE.kind} ${name}`
}

/** Reports whether a member is to be left as it is, on or off: not deployed any more, not allowed any more, or of nobody. */
function isLeft({ spec }: Workspace, permits: Permits, member: string): boolean {
  const cluster = (spec.containerClusters ?? []).find(({ name }) => name === member)
  if (cluster !== undefined) return cluster.ignoreOnDeploy === true || permits.refusesCluster(cluster)
  const vm = (spec.vms ?? []).find(({ name }) => `${MACHINE.kind} ${name}` === member)
  return vm === undefined || vm.ignoreOnDeploy === true || permits.refusesVm(vm)
}
