import { isDeepStrictEqual } from 'node:util'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { DEPLOYMENT } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import { conditionOf, MACHINE, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { isOperator } from '../chronicle.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'
import type { World } from '../world.ts'
import { isType, partsOf, wantedParts } from './lab-parts.ts'

/** What is decided now may rest on what was so long ago. */
const MOMENT_MS = 5_000
const LATER_MS = 2 * MOMENT_MS
const MESSAGE_MAX = 256

/**
 * Invariant 7, for what a workspace says: its figures are those of its components, Settled is True exactly when it is Ready or Failed, no status says again
 * what the one before it said, and it is not Ready before all that it is made of is there.
 */
export class WorkspaceStatusOracle extends WitnessOracle<World> {
  onCommit({ resource, type, object, before, actor, revision }: Commit): void {
    if (!isType(resource, WORKSPACE) || type !== 'MODIFIED' || !isOperator(actor)) return
    const [now, then] = [object as Workspace, before as Workspace | undefined]
    if (isDeepStrictEqual(now.status, then?.status)) return
    const report = (text: string) =>
      this.witness.report(7, `revision ${revision}: Workspace ${keyOf(object.metadata)} ${text}`)
    if (isDeepStrictEqual(withoutTimes(now), withoutTimes(then))) report('says again what it said')
    for (const wrong of contradictionsIn(now)) report(wrong)
    if (!isReady(now)) return
    this.#checkReady(now, report)
    // What was excused as news is none any more.
    this.witness.time.schedule(LATER_MS, () => {
      const { object: later } = this.witness.chronicle.traces.of<Workspace>(WORKSPACE).get(now.metadata.uid ?? '') ?? {}
      if (later !== undefined && isReady(later)) this.#checkReady(later, report)
    })
  }

  #checkReady(workspace: Workspace, report: (text: string) => void): void {
    const { chronicle, disturbances, schedule } = this.witness
    // Somebody may have taken it a moment ago.
    if (!mustKnow(disturbances, MOMENT_MS + 1) || this.#isHarmed(workspace)) return
    const parts = partsOf(chronicle, workspace)
    const names = new Set(parts.map(({ object }) => titleOf(object)))
    const { must } = wantedParts(workspace, schedule.policy.more?.['localVolumeRoot'] !== undefined)
    const missing = must.filter((one) => !names.has(one))
    if (missing.length > 0) report(`is Ready, and has no ${missing.join(', ')}`)
    const idle = parts.filter(
      ({ object, changedAtMs }) =>
        must.includes(titleOf(object)) && chronicle.nowMs - changedAtMs > MOMENT_MS && !isWorking(object),
    )
    if (idle.length > 0) report(`is Ready, and ${idle.map(({ object }) => titleOf(object)).join(', ')} does not work`)
  }

  #isHarmed({ metadata }: Workspace): boolean {
    return this.witness.chronicle.nowMs - (this.#harmedAtMs.get(metadata.name) ?? Number.NEGATIVE_INFINITY) <= MOMENT_MS
  }

  readonly #harmedAtMs = new Map<string, number>()

  /** Somebody does something to a workspace or its namespace. */
  noteHarm(name: string): void {
    this.#harmedAtMs.set(name, this.witness.chronicle.nowMs)
  }
}

function titleOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.name}`
}

function isReady({ metadata, status }: Workspace): boolean {
  return status?.phase === 'Ready' && status.observedGeneration === metadata.generation
}

/** Of kinds that run something. */
function isWorking(object: KubeObject): boolean {
  const { phase, availableReplicas } = (object as Working).status ?? {}
  if (object.kind === MACHINE.kind) return phase === 'Ready'
  return object.kind !== DEPLOYMENT.kind || availableReplicas === 1
}

interface Working extends KubeObject {
  readonly status?: { readonly phase?: string; readonly availableReplicas?: number }
}

function contradictionsIn(one: Workspace): string[] {
  const { phase, reason, counts, ready, components = [] } = one.status ?? {}
  const wanted = { Settled: phase === 'Ready' || phase === 'Failed', Ready: phase === 'Ready' }
  const wrong = Object.entries(wanted).filter(
    ([type, holds]) => conditionOf(one, type)?.status !== (holds ? 'True' : 'False'),
  )
  const count = (which: string) => components.filter((component) => component.phase === which).length
  const figures = {
    total: components.length,
    ready: count('Ready'),
    provisioning: count('Provisioning'),
    failed: count('Failed'),
  }
  const isSaid = counts === undefined || isDeepStrictEqual(counts, figures)
  const isReadySaid = ready === undefined || ready === `${figures.ready}/${figures.total}`
  const worst = figures.failed > 0 ? 'Failed' : figures.provisioning > 0 ? 'Provisioning' : 'Ready'
  // Components that nobody asks for any more may still be going.
  const isFolded = counts === undefined || phase === worst || (phase === 'Provisioning' && worst === 'Ready')
  const long = components.filter(({ message = '' }) => message.length > MESSAGE_MAX)
  return [
    ...(isSaid && isReadySaid ? [] : [`says ${JSON.stringify([counts, ready])} of ${JSON.stringify(figures)}`]),
    ...(isFolded ? [] : [`is ${phase} (${reason}), and its components are ${worst}`]),
    ...wrong.map(([type, holds]) => `is ${phase}, and ${type} is not ${holds}`),
    ...long.map(({ kind, name }) => `says too much of ${kind} ${name}`),
  ]
}

function withoutTimes({ status }: Workspace | undefined = {} as Workspace): unknown {
  return { ...status, conditions: status?.conditions?.map((one) => ({ ...one, lastTransitionTime: '' })) }
}
