import { isDeepStrictEqual } from 'node:util'
import { COMPONENT_MESSAGE_MAX, type WorkspaceComponent, type WorkspaceStatus } from '@open-terrain/constructs/operator'
import { type KubeObject, keyOf } from '../../../operator/kube/kube-object.ts'
import { DEPLOYMENT, VIRTUAL_MACHINE_INSTANCE } from '../../../operator/kube/resource-types.ts'
import type { Commit } from '../../../sandbox/memory-cluster/index.ts'
import type { Instance } from '../../../sandbox/simulators/kubevirt-models.ts'
import { MACHINE, WORKSPACE, type Workspace } from '../../harness/kinds.ts'
import { isOperator } from '../chronicle.ts'
import { wrongConditions } from '../conditions.ts'
import { WitnessOracle } from '../oracle/oracle.ts'
import { mustKnow } from '../traces.ts'
import type { World } from '../world.ts'
import { isType, partsOf, wantedParts } from './lab-parts.ts'

/** A decision may be based on a state this old. */
const MOMENT_MS = 5_000
const LATER_MS = 2 * MOMENT_MS

/**
 * Invariant 7, for the status of a workspace: its counts match its components. Settled is True exactly when the phase is Ready or Failed. No write
 * repeats the status before it. It is not Ready before all its parts exist, and all guests that are asked whether they are ready say so.
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
    // By then, what was excused as recent is no longer recent.
    this.witness.time.schedule(LATER_MS, () => {
      const { object: later } = this.witness.chronicle.traces.of<Workspace>(WORKSPACE).get(now.metadata.uid ?? '') ?? {}
      if (later !== undefined && isReady(later)) this.#checkReady(later, report)
    })
  }

  #checkReady(workspace: Workspace, report: (text: string) => void): void {
    const { chronicle, disturbances, schedule } = this.witness
    // Somebody may have deleted a part a moment ago.
    if (!mustKnow(disturbances, MOMENT_MS + 1) || this.#isHarmed(workspace)) return
    const parts = partsOf(chronicle, workspace)
    const names = new Set(parts.map(({ object }) => titleOf(object)))
    const { must } = wantedParts(workspace, schedule.policy.more?.['localVolumeRoot'] !== undefined)
    const missing = must.filter((one) => !names.has(one))
    if (missing.length > 0) report(`is Ready, and has no ${missing.join(', ')}`)
    const idle = parts.filter(
      ({ object, changedAtMs }) =>
        must.includes(titleOf(object)) &&
        chronicle.nowMs - changedAtMs > MOMENT_MS &&
        !isWorking(object, workspace.spec.powerState === 'Halted' || workspace.status?.expiry?.ended === true),
    )
    if (idle.length > 0) report(`is Ready, and ${idle.map(({ object }) => titleOf(object)).join(', ')} does not work`)
    const silent = [...chronicle.traces.of<Instance>(VIRTUAL_MACHINE_INSTANCE).values()].filter(
      ({ object, changedAtMs }) =>
        object.metadata.namespace === workspace.metadata.name &&
        must.includes(`${MACHINE.kind} ${object.metadata.name}`) &&
        chronicle.nowMs - changedAtMs > MOMENT_MS &&
        isSilent(object),
    )
    if (silent.length > 0)
      report(`is Ready, and the guest of ${silent.map(({ object }) => object.metadata.name).join(', ')} is not`)
  }

  #isHarmed({ metadata }: Workspace): boolean {
    return this.witness.chronicle.nowMs - (this.#harmedAtMs.get(metadata.name) ?? Number.NEGATIVE_INFINITY) <= MOMENT_MS
  }

  readonly #harmedAtMs = new Map<string, number>()

  /** Records that somebody changed a workspace or something in its namespace. */
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

/** Reports whether the object works, or is off, if it is of a kind that runs something. */
function isWorking(object: KubeObject, isOff: boolean): boolean {
  const { phase, availableReplicas = 0 } = (object as Working).status ?? {}
  if (object.kind === MACHINE.kind) return phase === 'Ready'
  return object.kind !== DEPLOYMENT.kind || availableReplicas === (isOff ? 0 : 1)
}

/** Reports whether the guest has been asked whether it is ready, and does not say so. */
function isSilent({ spec, status, metadata }: Instance): boolean {
  const isAsked = spec.readinessProbe !== undefined && metadata.deletionTimestamp === undefined
  return isAsked && status?.conditions?.find(({ type }) => type === 'Ready')?.status !== 'True'
}

interface Working extends KubeObject {
  readonly status?: { readonly phase?: string; readonly availableReplicas?: number }
}

function contradictionsIn(one: Workspace): string[] {
  const { phase, reason, ready, components = [] } = one.status ?? {}
  const counts = one.status?.counts && { ...one.status.counts, outdated: undefined }
  const wanted = { Settled: phase === 'Ready' || phase === 'Failed', Ready: phase === 'Ready' }
  const deployed = components.filter(({ reason }) => reason !== 'IgnoredOnDeploy' && reason !== 'NotDeployedAnyMore')
  const count = (which: string) => deployed.filter((component) => component.phase === which).length
  const ignored = components.length - deployed.length
  const halted = deployed.filter((component) => component.phase === 'Ready' && component.reason === 'Halted').length
  const figures = {
    total: deployed.length,
    ready: count('Ready'),
    provisioning: count('Provisioning'),
    failed: count('Failed'),
    outdated: undefined,
    ...(halted > 0 && { halted }),
    ...(ignored > 0 && { ignored }),
  }
  // Its phase does not follow from its components then, and it has no figures.
  const isWhole = reason === 'InvalidSpec' || one.metadata.deletionTimestamp !== undefined
  const expected = isWhole ? [undefined, undefined] : [figures, `${figures.ready}/${figures.total}`]
  const isShown = isDeepStrictEqual([counts, ready], expected)
  const worst = figures.failed > 0 ? 'Failed' : figures.provisioning > 0 ? 'Provisioning' : 'Ready'
  // Components that the spec no longer has may still be terminating.
  const isFolded = isWhole || phase === worst || (phase === 'Provisioning' && worst === 'Ready')
  const long = components.filter(({ message = '' }) => message.length > COMPONENT_MESSAGE_MAX)
  return [
    ...(isShown ? [] : [`says ${JSON.stringify([counts, ready])} (${reason}), expected ${JSON.stringify(expected)}`]),
    ...miscounted(one.status, deployed),
    ...(isFolded ? [] : [`is ${phase} (${reason}), and its components are ${worst}`]),
    ...wrongConditions(one, wanted).map((wrong) => `is ${phase}, and ${wrong}`),
    ...long.map(({ kind, name }) => `says too much of ${kind} ${name}`),
  ]
}

/** Which machines are outdated, they say themselves. */
function miscounted(
  { outdated: share, counts }: Pick<WorkspaceStatus, 'outdated' | 'counts'> = {},
  deployed: readonly WorkspaceComponent[],
): string[] {
  const { outdated } = counts ?? {}
  const machines = deployed.filter(({ kind }) => kind === MACHINE.kind).length
  const expected = outdated === undefined ? undefined : `${outdated}/${machines}`
  const isWrong = share !== expected || outdated === 0 || (outdated ?? 0) > machines
  return isWrong ? [`says that ${share} machines are outdated, expected ${expected}`] : []
}

function withoutTimes({ status }: Workspace | undefined = {} as Workspace): unknown {
  return { ...status, conditions: status?.conditions?.map((one) => ({ ...one, lastTransitionTime: '' })) }
}
