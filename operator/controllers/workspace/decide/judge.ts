import type { WorkspaceReason } from '@open-terrain/constructs/operator'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { type ChildRefusal, childId } from '../../../runtime/child-refusals.ts'
import type { WorkspaceWorld } from '../world.ts'
import { isAsWanted } from './as-wanted.ts'
import {
  type Component,
  type ComponentRemark,
  type ComponentSummary,
  componentFailed,
  componentWaiting,
  idOf,
  idOfObject,
  LOSS_REASONS,
} from './component.ts'
import type { ComponentKind, Judgement } from './component-kind.ts'
import { isRemakeAsked } from './losses.ts'
import { switchedBy, switchOf } from './power.ts'

/** A component with what to report and do about it. */
export interface Judged extends Judgement {
  readonly component: Component
  readonly isThere: boolean
  /** Whether objects that are there are not yet as they are wanted. Default: false. */
  readonly isChanging?: boolean
}

/** A desired object of a component, and the object that has its name. */
interface Part {
  readonly wanted: KubeObject
  /** Child of the workspace. */
  readonly actual: KubeObject | undefined
  readonly namesake: KubeObject | undefined
  readonly refusal: ChildRefusal | undefined
}

/** What a component waits for. */
export interface Awaited {
  readonly component: Component
  readonly summary: ComponentSummary
}

/**
 * Judges a component and decides what to write for it, in the same way for every kind. Missing objects are created once everything that they need
 * exists, objects that differ are changed, and no other component is affected.
 * @param awaited what must exist before anything is created
 */
export function judge(...args: Parameters<typeof judgeNow>): Judged {
  const judged = judgeNow(...args)
  // A loss is told before what is lost is there again.
  return LOSS_REASONS.has(judged.summary.why) ? judged : withKnownRefusal(args[0], judged)
}

function judgeNow(
  world: WorkspaceWorld,
  kind: ComponentKind,
  component: Component,
  awaited: Awaited | undefined,
  now: number,
): Judged {
  const parts = component.objects.map((wanted) => partOf(world, wanted))
  const isThere = parts.every(({ actual }) => actual !== undefined && !isTerminating(actual))
  const { held } = component
  if (held !== undefined) {
    const isAny = parts.some(({ actual }) => actual !== undefined)
    const tended = isAny ? kind.tended?.(world, component, now) : undefined
    const summary = withLoss(lossOf(world, kind, component), isAny ? held.present : held.absent)
    return { component, summary, isThere, ...tended }
  }
  const stays = kind.unchangeable?.(world, component)
  const apply = stays === undefined ? parts.filter(isToBeChanged).map(({ wanted }) => wanted) : []
  const obstacle = hindrance(world, kind, component, parts)
  if (obstacle !== undefined) return { component, summary: obstacle, isThere, apply }
  if (!isThere && stays === undefined)
    return { component, isThere, ...judgeAbsent(world, kind, { component, parts, apply, awaited }, now) }
  const isStart = isThere && stays === undefined && parts.some((one) => switchedBy(one.wanted, one.actual) === 'on')
  if (isStart) return { component, isThere, ...judgeOff(world, kind, { component, parts, apply, awaited }, now) }
  // Objects that stay as they are can be used as they are.
  return judgeThere(world, kind, { component, parts, isThere: isThere || stays !== undefined, apply, stays }, now)
}

/** A component that is to be created, or switched on. */
interface Beginning extends Pick<Judged, 'component'> {
  readonly parts: readonly Part[]
  readonly apply: readonly KubeObject[]
  readonly awaited: Awaited | undefined
}

/** When to look again at what may be switched on although what it waits for does not come. */
const LOOK_AGAIN = { afterMs: 30_000, because: 'what is to be on first is on by then, or is not waited for any more' }

/** Judges a component that is off, and is to be on. It waits for what it would wait for if it were created. */
function judgeOff(
  world: WorkspaceWorld,
  kind: ComponentKind,
  { component, parts, apply, awaited }: Beginning,
  now: number,
): Pick<Judged, 'summary' | 'apply' | 'requeue'> {
  const loss = lossOf(world, kind, component)
  const obstacle = awaited === undefined ? kind.obstacle?.(world, component, now) : undefined
  const wait = awaited === undefined ? obstacle : waitingFor(awaited)
  if (wait !== undefined)
    return { summary: withLoss(loss, wait), apply: [], ...(obstacle !== undefined && { requeue: LOOK_AGAIN }) }
  const refused = refusedIn(parts)
  const titles = apply.map(idOfObject).join(', ')
  const summary = refused ?? componentWaiting('Provisioning', `being switched on: ${titles}`)
  return { summary: withLoss(loss, summary), apply }
}

/** Judges a component of which an object is missing, and nothing that exists is in the way. */
function judgeAbsent(
  world: WorkspaceWorld,
  kind: ComponentKind,
  seen: Beginning,
  now: number,
): Pick<Judged, 'summary' | 'apply'> {
  const { component, parts, apply, awaited } = seen
  const wait = awaited === undefined ? kind.obstacle?.(world, component, now) : waitingFor(awaited)
  const loss = lossOf(world, kind, component)
  if (wait !== undefined) return { summary: withLoss(loss, wait), apply }
  const isWaiting = loss !== undefined && kind.isLost?.(world, component) === true
  return isWaiting ? { summary: loss, apply } : creation(parts, loss)
}

/** Returns what to say of data that is gone, or goes. Nothing once somebody has asked for the component to be made again without it. */
function lossOf(world: WorkspaceWorld, kind: ComponentKind, component: Component): ComponentSummary | undefined {
  const isAsked = kind.isLost?.(world, component) === true && isRemakeAsked(world, component)
  return isAsked ? undefined : kind.loss?.(world, component)
}

/** Returns what prevents the creation of a component. What goes with an object that is being deleted comes before the wait for its end. */
function hindrance(
  world: WorkspaceWorld,
  kind: ComponentKind,
  component: Component,
  parts: readonly Part[],
): ComponentSummary | undefined {
  const obstacle = obstacleIn(world, parts)
  if (obstacle === undefined) return undefined
  const loss = lossOf(world, kind, component)
  const isLeaving = parts.some(({ actual }) => isTerminating(actual))
  if (isLeaving) return loss ?? obstacle
  // What is made again by itself is told when it is.
  return kind.isLost?.(world, component) === true ? withLoss(loss, obstacle) : obstacle
}

/** Creates what is missing, and changes what differs. @param loss what to say of data that went with what was there */
function creation(parts: readonly Part[], loss: ComponentSummary | undefined): Pick<Judged, 'summary' | 'apply'> {
  const missing = parts.filter(({ actual }) => actual === undefined)
  const titles = missing.map(({ wanted }) => idOfObject(wanted)).join(', ')
  const refused = refusedIn(missing)
  const summary =
    refused === undefined
      ? (loss ?? componentWaiting('Provisioning', `being created: ${titles}`))
      : withLoss(loss, refused)
  const write = parts.filter((one) => one.actual === undefined || isToBeChanged(one))
  return { summary, apply: write.map(({ wanted }) => wanted) }
}

/** Reports whether an object of a component is there, or switched on, after this decision, and not before. @param object `idOf` it */
export function isToBegin({ apply = [] }: Judged, object: string, children: WorkspaceWorld['children']): boolean {
  const actual = children.get(object)
  const wanted = apply.find((one) => idOfObject(one) === object)
  return wanted !== undefined && (actual === undefined || switchedBy(wanted, actual) === 'on')
}

/** Returns what to do and say instead where a component is not to be created yet. */
export function heldBack(judged: Judged, summary: ComponentSummary): Judged {
  return { ...judged, summary: withLoss(lossIn(judged.summary), summary), apply: [] }
}

/** Returns the summary if it tells of a loss. */
function lossIn(summary: ComponentSummary): ComponentSummary | undefined {
  return LOSS_REASONS.has(summary.why) ? summary : undefined
}

/** Says what went before why it is not made again yet. */
function withLoss(loss: ComponentSummary | undefined, summary: ComponentSummary): ComponentSummary {
  if (loss === undefined) return summary
  const phase = summary.phase === 'Failed' ? 'Failed' : loss.phase
  return { ...loss, phase, message: `${loss.message}; ${summary.message}` }
}

/** Judges a component whose objects exist, or stay as they are. */
function judgeThere(
  world: WorkspaceWorld,
  kind: ComponentKind,
  seen: Pick<Judged, 'component' | 'isThere'> & {
    readonly parts: readonly Part[]
    readonly apply: readonly KubeObject[]
    readonly stays: string | undefined
  },
  now: number,
): Judged {
  const { component, parts, isThere, apply, stays } = seen
  const judgement = kind.summary(world, component, now)
  const besides = [...(judgement.apply ?? []), ...(judgement.applyIf ?? []).map((one) => one.wanted)]
  const beside = besides.map((wanted) => partOf(world, wanted))
  const lasting = new Map(
    parts.flatMap((part) => {
      const text = part.refusal && part.actual && kind.refusedForGood?.(part.wanted, part.actual, part.refusal.message)
      return text === undefined ? [] : [[part, text] as const]
    }),
  )
  const unchanged = stays === undefined ? [...lasting.values()] : [stays]
  const notChanged = unchanged.map((message): ComponentRemark => ({ why: 'NotChangeable', message }))
  // Beside trouble they would only be in the way.
  const asides = [...(judgement.remarks ?? []), ...(component.remarks ?? [])]
  const remarks = [...notChanged, ...(judgement.summary.phase === 'Ready' ? asides : [])]
  const refused = refusedIn([...parts.filter((part) => !lasting.has(part)), ...beside])
  const summary =
    refused === undefined ? remarks.reduce(withRemark, judgement.summary) : withLoss(lossIn(judgement.summary), refused)
  const more = judgement.apply ?? []
  const once = apply.filter((one) => !more.some((other) => idOfObject(other) === idOfObject(one)))
  // What cannot be changed is switched on and off all the same.
  const switches = stays === undefined ? [] : parts.flatMap(({ wanted, actual }) => switchOf(wanted, actual) ?? [])
  const touch = [...(judgement.touch ?? []), ...switches]
  const isChanging = apply.length > 0
  const work = { apply: [...once, ...more], ...(touch.length > 0 && { touch }) }
  return { isThere, ...judgement, summary, component, isChanging, ...work }
}

/** A refusal that the status reports from before this process led stays until this process has retried the write. */
function withKnownRefusal({ isUndecided, workspace }: WorkspaceWorld, judged: Judged): Judged {
  const { component, apply = [] } = judged
  if (!isUndecided || apply.length === 0) return judged
  const known = workspace.status.components?.find(
    ({ kind, name }) => kind === component.kind && name === component.name,
  )
  const isKnown = known?.reason === 'Refused' || known?.reason === 'NameConflict' || known?.reason === 'NotChangeable'
  if (!isKnown) return judged
  const { phase, reason, message = '' } = known
  return { ...judged, summary: { phase, why: reason as WorkspaceReason, message } }
}

function partOf({ children, namesakes, refusals }: WorkspaceWorld, wanted: KubeObject): Part {
  const id = idOfObject(wanted)
  return { wanted, actual: children.get(id), namesake: namesakes.get(id), refusal: refusals.get(childId(wanted)) }
}

/** Returns what prevents the creation of an object, however often it is tried. */
function obstacleIn({ missingKinds }: WorkspaceWorld, parts: readonly Part[]): ComponentSummary | undefined {
  for (const { wanted, actual, namesake } of parts) {
    const { kind } = wanted
    const title = idOfObject(wanted)
    if (missingKinds.has(kind))
      return componentWaiting(
        missingReason(kind),
        `the cluster does not serve ${kind}: ${title} cannot be created until that kind is installed`,
      )
    if (namesake !== undefined && actual === undefined)
      return isTerminating(namesake)
        ? componentWaiting(
            'Provisioning',
            `${title}, which is not of this workspace, is being deleted: its name is free when it is gone`,
          )
        : componentFailed(
            'NameConflict',
            `${title} exists and is not of this workspace: choose another name or, if nobody needs it, delete it`,
          )
    if (actual !== undefined && isTerminating(actual))
      return componentWaiting(goingReason(kind), `${title} is being deleted, and is created again once it is gone`)
  }
  return undefined
}

function missingReason(kind: string): WorkspaceReason {
  return kind === 'NetworkAttachmentDefinition' ? 'NetworkDriverMissing' : 'Refused'
}

function goingReason(kind: string): WorkspaceReason {
  return kind === 'Namespace' ? 'NamespaceTerminating' : 'Provisioning'
}

/** A refused write is retried again and again. Until it succeeds, the status shows why it fails. */
function refusedIn(parts: readonly Part[]): ComponentSummary | undefined {
  for (const { wanted, refusal } of parts) {
    if (refusal?.why === 'NameTaken') return componentFailed('NameConflict', refusal.message)
    if (refusal !== undefined)
      return componentWaiting('Refused', `the API server refuses ${idOfObject(wanted)}: ${refusal.message}`)
  }
  return undefined
}

/** Adds a remark, which is the reason only of what is Ready and has no other. The phase stays. */
function withRemark(summary: ComponentSummary, { why: reason, message }: ComponentRemark): ComponentSummary {
  const why = summary.phase === 'Ready' && summary.why === 'Ready' ? reason : summary.why
  return { ...summary, why, message: `${summary.message}; ${message}` }
}

/** Returns the summary of what is created after a component that is not ready. */
export function waitingFor({ component, summary }: Awaited): ComponentSummary {
  const { why } = summary
  const reason = component.kind === 'Image' ? 'WaitingForImages' : 'Provisioning'
  return componentWaiting(
    reason,
    `waits for ${idOfComponent(component)}, which is not ready (${summary.reason ?? why})`,
  )
}

function isToBeChanged({ wanted, actual }: Part): boolean {
  return actual !== undefined && !isTerminating(actual) && !isAsWanted(wanted, actual)
}

export function idOfComponent({ kind, name }: Component): string {
  return idOf(kind, name)
}
