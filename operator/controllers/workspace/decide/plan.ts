import { FINALIZERS, problemsText } from '@open-terrain/constructs/operator'
import { redactUrls } from '../../../base/messages.ts'
import { endingWaits } from '../../../cluster/dependents.ts'
import { unusableReason } from '../../../cluster/own-view.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { NOTHING_TO_DO, removalOf } from '../../../runtime/plan.ts'
import { type Requeue, sooner } from '../../../runtime/requeue.ts'
import type { WorkspacePlan, WorkspaceWorld } from '../world.ts'
import { withoutWrongAliases } from './aliases.ts'
import { type Component, idOfObject } from './component.ts'
import { IMAGE_KIND } from './components/image.ts'
import { withdrawnInternet } from './components/internet-access.ts'
import { VIRTUAL_MACHINE_KIND } from './components/virtual-machine.ts'
import { inTurn } from './dependencies.ts'
import { expiryRequeue, removalAtEnd } from './expiry.ts'
import { type Awaited, idOfComponent, type Judged, judge } from './judge.ts'
import { KINDS } from './kinds.ts'
import { lossesBeside } from './losses.ts'
import { planWorkspaceDeletion } from './plan-deletion.ts'
import { afterPlays, stepPlays } from './plays.ts'
import { isSwitchedOff } from './power.ts'
import { leavingIn, unusedIn, withdrawnIn } from './removal-order.ts'
import { workspaceEventsBetween, workspaceStatusOf } from './status.ts'
import { eventsOnLabRequests } from './uncounted-requests.ts'

/**
 * ```
 * namespace, isolation, quota ┐
 *             secrets, images ┴─▶ networks, volumes, ansible ─▶ container clusters, machines, services ─▶ Ready
 * ```
 * The only order is that of the kinds, and what each component needs. Once any object beyond those of the ground kinds exists, a component waits
 * only for the components that it needs. A member with `dependsOn` is created after those that it names are Ready.
 */
export function planWorkspace(world: WorkspaceWorld, now: number): WorkspacePlan {
  const { workspace, spec } = world
  if (isTerminating(workspace)) return planWorkspaceDeletion(world, now)
  const finalizer = workspace.metadata.finalizers?.includes(FINALIZERS.workspace) ? 'keep' : 'add'
  if (!spec.ok) {
    const problem = {
      phase: 'Failed',
      why: unusableReason(workspace),
      message: redactUrls(problemsText(spec.problems)) + lossesBeside(world),
    } as const
    const status = workspaceStatusOf(world, { judged: [], leaving: [], problem }, now)
    const events = workspaceEventsBetween(workspace.status, status, [])
    const tended = tendedIn(world, now)
    const withdrawn = withdrawnIn(world).flatMap((one) => removalOf(one))
    const remove = [...withdrawnInternet(world), ...withdrawn, ...(tended.remove ?? [])]
    return { ...NOTHING_TO_DO, status, finalizer, events, ...tended, remove }
  }
  const judged = judgeAll(world, now)
  const leaving = leavingIn(world)
  const status = workspaceStatusOf(world, { judged, leaving }, now)
  const closed = withdrawnInternet(world)
  const unused = unusedIn(world, leaving).filter(({ metadata }) => closed.every(({ uid }) => uid !== metadata.uid))
  const remove = [
    ...closed,
    ...unused.flatMap((one) => removalOf(one)),
    ...judged.flatMap((one) => one.remove ?? []),
    // Also while the component cannot be judged: what plays may reach another disk.
    ...stepPlays(world).flatMap((one) => one.remove ?? []),
    ...removalAtEnd(world),
  ]
  const applyIf = judged.flatMap((one) => one.applyIf ?? [])
  const touch = judged.flatMap((one) => one.touch ?? [])
  const wakes = [...judged.map((one) => one.requeue), expiryRequeue(world, status)].filter((one) => one !== undefined)
  const plan = {
    status,
    finalizer,
    apply: inOrder(judged.flatMap(({ apply = [] }) => apply)),
    remove,
    events: [
      ...workspaceEventsBetween(workspace.status, status, judged),
      ...rolloutEvents(world, judged),
      ...eventsOnLabRequests(world, status),
    ],
    ...(applyIf.length > 0 && { applyIf }),
    ...(touch.length > 0 && { touch }),
    requeue: wakes.reduce<Requeue | undefined>(sooner, undefined),
  } as const
  return { ...plan, ...endingWaits(plan, [...world.children.values()], now) }
}

/** Tells of each disk that is about to be replaced, when its machine is asked. */
function rolloutEvents({ rollout }: WorkspaceWorld, judged: readonly Judged[]): EventNote[] {
  const asked = judged.filter(({ component: { kind, name }, apply = [] }) => {
    return kind === VIRTUAL_MACHINE_KIND.kind && rollout.asked.has(name) && apply.length > 0
  })
  return asked.map(({ component, age }) => {
    const message = `${idOfComponent(component)} gets a new disk, and what is on the old one is lost, because updateStrategy is Recreate: ${age?.message}`
    return { type: 'Normal', reason: 'Recreating', message }
  })
}

/** Sorts objects by the order of the kinds: a component may have objects of an earlier kind, such as a container cluster its networks. */
function inOrder(objects: readonly KubeObject[]): readonly KubeObject[] {
  const placeOf = ({ kind }: KubeObject) => PLACES.get(kind) ?? 0
  return objects.toSorted((one, other) => placeOf(one) - placeOf(other))
}

/** What runs goes on although the spec is not valid: a pod that is created again needs its gate removed. */
function tendedIn(world: WorkspaceWorld, now: number): Pick<WorkspacePlan, 'touch' | 'remove' | 'requeue'> {
  const tended = KINDS.flatMap(({ types, tended: tend }) => {
    const own = [...world.children.values()].filter(({ kind }) => types.some(({ type }) => type.kind === kind))
    return tend === undefined ? [] : own.map(({ metadata }) => tend(world, metadata, now))
  })
  return {
    touch: tended.flatMap(({ touch = [] }) => touch),
    remove: tended.flatMap(({ remove = [] }) => remove),
    requeue: tended.flatMap(({ requeue }) => requeue ?? []).reduce<Requeue | undefined>(sooner, undefined),
  }
}

/** Judges all components from the first kind to the last, so that the components that one needs are judged before it. */
function judgeAll(world: WorkspaceWorld, now: number): Judged[] {
  const judged = new Map<string, Judged>()
  const isBegun = [...world.children.values()].some(({ kind }) => !GROUND_TYPES.has(kind))
  for (const kind of KINDS) {
    const done = [...judged.values()]
    for (const component of world.components) {
      if (component.kind !== kind.kind) continue
      const needs = needsOf(world, component, judged)
      const awaited = kind.isGround === true ? undefined : awaitedBy(needs, judged, isBegun ? [] : done)
      judged.set(idOfComponent(component), judge(world, kind, component, awaited, now))
    }
  }
  withoutWrongAliases(world, judged)
  inTurn(world, judged)
  afterPlays(world, judged)
  return [...judged.values()]
}

/** Returns what has to be there first. One that is off, and has its disk, needs its image no more; one that has none yet waits for it by itself. */
function needsOf(
  { children }: WorkspaceWorld,
  { needs, objects }: Component,
  judged: ReadonlyMap<string, Judged>,
): readonly string[] {
  const isOff = objects.some((one) => {
    const actual = children.get(idOfObject(one))
    return actual !== undefined && isSwitchedOff(actual)
  })
  return isOff ? needs.filter((id) => judged.get(id)?.component.kind !== IMAGE_KIND.kind) : needs
}

/** Returns the first component that is needed and does not exist. @param ground components of which those of ground kinds are needed too */
function awaitedBy(
  needs: readonly string[],
  judged: ReadonlyMap<string, Judged>,
  ground: readonly Judged[],
): Awaited | undefined {
  const needed = needs.map((id) => judged.get(id)).filter((one) => one !== undefined)
  const grounds = ground.filter(({ component }) => GROUND.has(component.kind))
  return [...grounds, ...needed].find(({ isThere }) => !isThere)
}

const PLACES: ReadonlyMap<string, number> = new Map(
  KINDS.flatMap(({ types }, place) => types.map(({ type }) => [type.kind, place] as const)),
)
const GROUNDS = KINDS.filter(({ isGround }) => isGround === true)
const GROUND: ReadonlySet<string> = new Set(GROUNDS.map(({ kind }) => kind))
/** Of the ground kinds, and of what is created before the last of them: Secrets that are there do not mean that the images are. */
const GROUND_TYPES: ReadonlySet<string> = new Set(
  KINDS.slice(0, KINDS.findLastIndex(({ isGround }) => isGround === true) + 1).flatMap(({ types }) =>
    types.map(({ type }) => type.kind),
  ),
)
