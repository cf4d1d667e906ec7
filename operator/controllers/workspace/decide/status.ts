import {
  COMPONENT_MESSAGE_MAX,
  isHalted,
  WORKSPACE_CONDITION_RULES,
  WORKSPACE_REASON_HELP,
  type WorkspaceComponent,
  type WorkspacePhase,
  type WorkspaceReason,
  type WorkspaceStatus,
} from '@open-terrain/constructs/operator'
import { cutTo, firstFew } from '../../../base/messages.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { conditionsOf, type Saying, type Sayings, saying } from '../../../runtime/conditions.ts'
import type { EventNote } from '../../../runtime/event-recorder.ts'
import { countsOf, listed, type Member, shareIn } from '../../../runtime/members.ts'
import { type StatusThrottle, throttleBetween } from '../../../runtime/requeue.ts'
import { courseConditions, type Summary, withRefusal } from '../../../runtime/summary.ts'
import type { WorkspaceWorld } from '../world.ts'
import { type ComponentSummary, DATA_LOST, hadData, idOfObject, LOSS_REASONS } from './component.ts'
import { announcementIn, endedText, expiryEvents, expiryRecordOf } from './expiry.ts'
import { generatedKeysIn, secretsLosingMore } from './generated-keys.ts'
import { isolationCondition } from './isolation.ts'
import { idOfComponent, type Judged } from './judge.ts'
import { KINDS } from './kinds.ts'
import { lossRecordFor } from './losses.ts'
import { passedRequests } from './machine-requests.ts'
import { missingSecretsOf, secretMemberOf, type WorkspaceSecrets } from './missing-secrets.ts'
import { labUpToDate, outdatedIn, outdatedText } from './outdated.ts'
import { playRecordsIn } from './plays.ts'
import { isLabHalted } from './power.ts'
import { uncountedReset } from './resets.ts'
import { specWarningsOf } from './spec-warnings.ts'

/** The facts that a status is built from. */
export interface WorkspaceStatusFacts {
  readonly judged: readonly Judged[]
  /** Children that are being removed. */
  readonly leaving: readonly KubeObject[]
  /** Summary of the workspace as a whole, if it does not follow from its components. */
  readonly problem?: ComponentSummary
}

/** Objects that a message names. More are only counted. */
const SHOWN_MAX = 3
/** Warning Events of one plan. The status shows all troubles. */
const EVENTS_MAX = 5
const WAITING_FOR_MAX = 256
/** Characters of the whole message. Texts of others are already redacted here, and a command must stay as it was rendered. */
const MESSAGE_MAX = 4_000

/** Returns the whole status. Of the one before, only the transition times of its conditions are kept, and what had data. */
export function workspaceStatusOf(world: WorkspaceWorld, facts: WorkspaceStatusFacts, now: number): WorkspaceStatus {
  const { workspace, children } = world
  const { generation, name } = workspace.metadata
  const { judged, problem } = facts
  const summary = withRefusal(summaryOf(world, facts), world.refusal, {
    phase: 'Provisioning',
    reason: 'Refused',
  })
  const { phase, reason } = summary
  const message = cutTo(MESSAGE_MAX, summary.message)
  const isBusy = phase === 'Provisioning'
  const warnings = specWarningsOf(world, judged)
  const said: Sayings<typeof WORKSPACE_CONDITION_RULES, WorkspaceReason> = {
    Ready: saying(phase === 'Ready', { reason, message }),
    ...courseConditions({ reason, message }, { isBusy, isStalled: phase === 'Failed', isSettled: !isBusy }),
    UpToDate: inShortened(labUpToDate(world, judged, { phase, reason, message })),
    NetworksIsolated: isolationCondition(world),
    SpecWarning: warnings?.condition,
    VolumeLost: lossOf('VolumeLost', judged),
    SecretLost: lossOf('SecretLost', judged),
  }
  const waitingFor = phase === 'Ready' ? undefined : awaitedIn(facts)
  const hasNamespace = children.has(`Namespace ${name}`)
  const irreplaceable = irreplaceableIn(world)
  const lost = lostIn(world)
  const generatedKeys = generatedKeysIn(world)
  const plays = playRecordsIn(world)
  const status: WorkspaceStatus = {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    reason,
    message,
    conditions: conditionsOf(WORKSPACE_CONDITION_RULES, said, workspace.status.conditions, { generation, now }),
    ...expiryRecordOf(world),
    ...(hasNamespace && { namespace: name }),
    ...(waitingFor !== undefined && { waitingFor: cutTo(WAITING_FOR_MAX, waitingFor) }),
    ...(problem === undefined && figuresOf(judged)),
    ...(warnings !== undefined && { warnings: warnings.count }),
    ...(judged.length > 0 && { components: judged.map((one) => shown(one, mostOf(judged.length))) }),
    ...(irreplaceable.length > 0 && { irreplaceable }),
    ...(lost.length > 0 && { lost: [...lost] }),
    ...(generatedKeys.length > 0 && { generatedKeys: [...generatedKeys] }),
    ...(plays.length > 0 && { plays: [...plays] }),
    uncountedReset: uncountedReset(workspace),
    ...passedRequests(world),
  }
  return status
}

/** Returns which components have data that cannot be made again, or had it when they were last seen, also while the spec cannot be read. */
function irreplaceableIn(world: WorkspaceWorld): string[] {
  const { workspace, spec, components } = world
  if (!spec.ok) return workspace.status.irreplaceable ?? []
  const kept = components.filter((one) => {
    const hasData = KINDS.find(({ kind }) => kind === one.kind)?.hasData
    return hasData !== undefined && (hasData(world, one) ?? hadData(workspace, one))
  })
  return kept.map(idOfComponent)
}

/** Returns the components whose data is gone and that are not there again. What has been told stays, also while the spec cannot be read. */
function lostIn(world: WorkspaceWorld): NonNullable<WorkspaceStatus['lost']> {
  const { workspace, spec, components } = world
  if (!spec.ok || isTerminating(workspace)) return workspace.status.lost ?? []
  const lost = components.filter((one) => KINDS.find(({ kind }) => kind === one.kind)?.isLost?.(world, one))
  return lost.map((one) => lossRecordFor(workspace, one))
}

function secretsOf(world: WorkspaceWorld, judged: readonly Judged[]): WorkspaceSecrets | undefined {
  const pending = judged.filter(({ component, summary: { phase, why }, isThere }) => {
    // A machine that has been given its passwords needs them no more.
    const isGiven = component.kind === 'VirtualMachine' && isThere && why !== 'SecretMissing'
    return component.held === undefined && phase !== 'Ready' && !isGiven
  })
  return missingSecretsOf(world, new Set(pending.map(({ component }) => secretMemberOf(component))))
}

/** Reasons of what waits for objects that somebody has to create. */
const MISSING: ReadonlySet<string> = new Set<WorkspaceReason>(['SecretMissing', 'ConfigMapMissing'])

/** Says what comes first of a workspace, and of all Secrets and ConfigMaps that somebody has to create: people create them while the workspace waits for something else. */
function causes(first: Judged | undefined, secrets: WorkspaceSecrets | undefined): string[] {
  if (first === undefined) return []
  const { component, summary } = first
  const id = idOfComponent(component)
  const own = `${id}: ${summary.message}`
  const isFirst = MISSING.has(summary.why) && secrets?.members.has(secretMemberOf(component)) === true
  if (secrets === undefined || (isFirst && secrets.only === secretMemberOf(component))) return [own]
  return isFirst ? [secrets.message] : [own, secrets.message]
}

function summaryOf(world: WorkspaceWorld, facts: WorkspaceStatusFacts): Summary<WorkspacePhase, WorkspaceReason> {
  const { problem } = facts
  if (problem !== undefined) return { phase: problem.phase, reason: problem.why, message: problem.message }
  const summary = summaryOfAll(world, facts)
  return summary.phase === 'Ready' ? (turnIn(world) ?? summary) : summary
}

/** Returns the summary that follows from those of all components. */
function summaryOfAll(
  world: WorkspaceWorld,
  { judged, leaving }: WorkspaceStatusFacts,
): Summary<WorkspacePhase, WorkspaceReason> {
  const secrets = secretsOf(world, judged)
  const worst = worstOf(judged)
  const first = worst ?? (leaving.length > 0 ? undefined : remarkableIn(judged))
  const isOffAsWanted = isLabHalted(world) && worst === undefined && leaving.length === 0
  const message = [
    isOffAsWanted ? offText(world) : '',
    ...causes(first, secrets),
    ...figuresTold(world, judged),
    leaving.length === 0 ? '' : `being removed: ${firstFew(leaving.map(idOfObject), SHOWN_MAX)}`,
    announcementIn(expiryRecordOf(world)) ?? '',
  ].filter((text) => text !== '')
  // A loss comes first in words. It does not hide that something else cannot go on.
  const isFailed = judged.some(({ summary }) => summary.phase === 'Failed')
  const phase = isFailed ? 'Failed' : (worst?.summary.phase ?? (leaving.length > 0 ? 'Provisioning' : 'Ready'))
  const offReason = isHaltedByItself(world) ? 'Halted' : 'Expired'
  const own = isOffAsWanted ? offReason : (first?.summary.why ?? refreshedReason(judged))
  const reason = own ?? (phase === 'Ready' ? 'Ready' : 'Provisioning')
  return { phase, reason, message: message.join('; ') }
}

/** Reports whether its own spec says that it is off, and not only its end. */
function isHaltedByItself({ workspace }: WorkspaceWorld): boolean {
  return isHalted((workspace.spec ?? {}) as { readonly powerState?: 'Halted' })
}

/** Returns what to say while the workspace is on and has just ended, or is off and has just got a later end: nothing of it has been switched yet. */
function turnIn(world: WorkspaceWorld): Summary<WorkspacePhase, WorkspaceReason> | undefined {
  const [was, is] = [world.workspace.status, expiryRecordOf(world)].map(({ expiry }) => expiry?.ended === true)
  if (was === is || isHaltedByItself(world)) return undefined
  return is === true
    ? { phase: 'Provisioning', reason: 'Halting', message: 'it has ended, and is being switched off' }
    : { phase: 'Provisioning', reason: 'Provisioning', message: 'it has not ended any more, and is being switched on' }
}

function offText(world: WorkspaceWorld): string {
  const { status } = world.workspace
  const own = isHaltedByItself(world) ? ['switched off: spec.powerState is Halted'] : []
  return [...own, ...(status.expiry?.ended === true ? [endedText(status)] : [])].join('; ')
}

/** Returns the reason of a workspace that is Ready, and has nothing to say but that images were refreshed. */
function refreshedReason(judged: readonly Judged[]): WorkspaceReason | undefined {
  const { those } = outdatedIn(judged.filter((one) => !isIgnored(one)))
  return those.some(({ reason }) => reason === 'ImageRefreshed') ? 'ImageRefreshed' : undefined
}

function figuresTold(world: WorkspaceWorld, judged: readonly Judged[]): string[] {
  const members = membersOf(judged)
  const ignored = judged.filter(isIgnored).map(({ component }) => idOfComponent(component))
  const off = members.filter(isOff).length
  return [
    `${shareIn('Ready', members)} components are ready`,
    off === 0 ? '' : `${off} of them ${off === 1 ? 'is' : 'are'} off`,
    outdatedText(outdatedIn(judged.filter((one) => !isIgnored(one))), world),
    listed('Failed', members),
    listed('Provisioning', members),
    ignored.length === 0 ? '' : `not deployed: ${firstFew(ignored, SHOWN_MAX)}`,
  ]
}

/** Returns what to say of data that is lost. Nothing else says after a minute that the volume, or the Secret, which is there is not the one that was there. */
function lossOf<Lost extends (typeof DATA_LOST)[number]>(
  reason: Lost,
  judged: readonly Judged[],
): Saying<Lost> | undefined {
  const lost = judged.find(({ summary }) => summary.why === reason)
  if (lost === undefined) return undefined
  return saying(true, {
    reason,
    message: cutTo(MESSAGE_MAX, `${idOfComponent(lost.component)}: ${lost.summary.message}`),
  })
}

/** Returns the component that people should look at first, of those that are not ready. */
function worstOf(judged: readonly Judged[]): Judged | undefined {
  const open = judged.filter(({ summary }) => summary.phase !== 'Ready')
  const lost = open.filter(({ summary }) => LOSS_REASONS.has(summary.why))
  // One that waits for a person comes before one that is made again by itself.
  const first = lost.find(({ summary }) => summary.phase === 'Failed') ?? lost[0]
  return first ?? open.find(({ summary }) => summary.phase === 'Failed') ?? open.find(isTrouble) ?? open[0]
}

/** Reasons of what is Ready and not as the spec says, the costliest to mend first. Each is the reason of a workspace that is Ready. */
const NOT_AS_WANTED = ['ImageMismatch', 'RebuildRequired', 'RestartRequired', 'NotChangeable'] as const

/** Returns the component of a Ready workspace that people should know about. */
function remarkableIn(judged: readonly Judged[]): Judged | undefined {
  const whys: readonly WorkspaceReason[] = ['Replacing', ...NOT_AS_WANTED, 'ImageNotNeeded']
  return whys.map((why) => judged.find(({ summary }) => summary.why === why)).find((one) => one !== undefined)
}

function inShortened(condition: Saying<WorkspaceReason>): Saying<WorkspaceReason> {
  return { ...condition, message: cutTo(MESSAGE_MAX, condition.message) }
}

/** Reports whether people may have to act on it. */
function isTrouble({ summary: { why } }: Pick<Judged, 'summary'>): boolean {
  return WORKSPACE_REASON_HELP[why].severity === 'warning'
}

/** Returns what is waited for, in a few words for a printer column. */
function awaitedIn({ judged, leaving, problem }: WorkspaceStatusFacts): string | undefined {
  const worst = problem === undefined ? worstOf(judged) : undefined
  if (worst !== undefined) {
    const { reason, why } = worst.summary
    const more = judged.filter(({ summary }) => summary.phase !== 'Ready').length - 1
    return `${idOfComponent(worst.component)} (${reason ?? why})${more > 0 ? ` and ${more} more` : ''}`
  }
  const [going] = leaving
  return going === undefined ? undefined : `deletion of ${idOfObject(going)}`
}

function figuresOf(judged: readonly Judged[]): Partial<WorkspaceStatus> {
  const members = membersOf(judged)
  const ignored = judged.length - members.length
  const halted = members.filter(isOff).length
  const { machines, those } = outdatedIn(judged.filter((one) => !isIgnored(one)))
  const outdated = those.length
  const counts = {
    ...countsOf(['Ready', 'Provisioning', 'Failed'], members),
    ...(halted > 0 && { halted }),
    ...(outdated > 0 && { outdated }),
    ...(ignored > 0 && { ignored }),
  }
  return { ready: shareIn('Ready', members), ...(outdated > 0 && { outdated: `${outdated}/${machines}` }), counts }
}

/** Nobody deployed it, or looks whether it works any more: it is neither ready nor not. */
function isIgnored({ summary: { phase, why, reason = why } }: Judged): boolean {
  return phase === 'Ready' && (reason === 'IgnoredOnDeploy' || reason === 'NotDeployedAnyMore')
}

/** Reports whether a member is off because that is wanted. */
function isOff({ phase, reason }: Member<WorkspacePhase>): boolean {
  return phase === 'Ready' && reason === 'Halted'
}

function membersOf(judged: readonly Judged[]) {
  return judged
    .filter((one) => !isIgnored(one))
    .map(({ component, summary: { phase, why, reason = why } }) => {
      return { title: idOfComponent(component), phase, reason }
    })
}

function shown({ component: { kind, name }, summary }: Judged, most: number): WorkspaceComponent {
  const { phase, why, reason = why, message } = summary
  return { kind, name, phase, reason, message: inShort(most, message) }
}

/** Characters of all messages of components together, so that the status fits into one object. */
const COMPONENTS_MAX = 131_072

/** Returns how long the message of a component may be, so that the cause is told whole wherever there is room. */
function mostOf(components: number): number {
  return Math.min(COMPONENT_MESSAGE_MAX, Math.floor(COMPONENTS_MAX / components))
}

/** A message of the API server begins with what it refuses and ends with why. Both parts are kept. */
function inShort(length: number, text: string): string {
  if (text.length <= length) return text
  const half = Math.floor((length - 3) / 2)
  return `${text.slice(0, half)} … ${text.slice(-half)}`.toWellFormed()
}

/** Returns Events for its start, its end, and each trouble with the component that has it, for people who read `kubectl describe`. */
export function workspaceEventsBetween(
  before: WorkspaceStatus,
  after: WorkspaceStatus,
  judged: readonly Judged[],
): EventNote[] {
  const known = new Map((before.components ?? []).map((one) => [`${one.kind} ${one.name}`, one]))
  const losing = secretsLosingMore(before, after)
  const changed = judged.filter((one) => {
    const was = known.get(idOfComponent(one.component))
    const { phase, why, reason = why } = one.summary
    const isMore = why === 'SecretLost' && losing.has(one.component.name)
    return (phase === 'Failed' || isTrouble(one)) && (was?.phase !== phase || was.reason !== reason || isMore)
  })
  const troubles = changed.slice(0, EVENTS_MAX).map(({ component, summary }): EventNote => {
    return { type: 'Warning', reason: summary.why, message: `${idOfComponent(component)}: ${summary.message}` }
  })
  return [
    ...expiryEvents(before, after),
    ...wholeEvents(
      before,
      after,
      changed.some(({ summary }) => summary.phase !== 'Ready'),
    ),
    ...troubles,
  ]
}

/** Trouble that no component has. */
const OF_WHOLE: ReadonlySet<string> = new Set<WorkspaceReason>(['InvalidSpec', 'TooLarge', 'Refused'])

function wholeEvents(before: WorkspaceStatus, after: WorkspaceStatus, isReported: boolean): EventNote[] {
  const { reason = '', message = '', phase } = after
  if (before.phase === undefined && phase === 'Provisioning')
    return [{ type: 'Normal', reason: 'Provisioning', message }]
  if (before.reason === reason || isReported) return []
  const { severity } = WORKSPACE_REASON_HELP[reason as WorkspaceReason] ?? { severity: 'silent' }
  if (severity === 'normal') return [{ type: 'Normal', reason, message }]
  // Trouble of no single component. That of a component is reported with its name.
  const isOfWhole = severity === 'warning' && OF_WHOLE.has(reason)
  return isOfWhole ? [{ type: 'Warning', reason, message }] : []
}

/** Components become ready one after the other. Their workspace reports them at a steady rate. */
const COMPONENTS_EVERY_MS = 2_000
/** Messages of others about what a component waits for may change all the time. */
const WORDS_EVERY_MS = 10_000

/** Decides when a status is written: the state of the workspace, which data there is or is lost, and which requests all machines have got, at once, the states of its components every 2 s, and their messages every 10 s. */
export function workspaceThrottleOf(
  before: WorkspaceStatus,
  after: WorkspaceStatus,
  sinceWriteMs?: number,
): StatusThrottle {
  const aspects = [[summaryIn, 0] as const, [componentsIn, COMPONENTS_EVERY_MS] as const]
  return throttleBetween(
    [before, after],
    aspects,
    WORDS_EVERY_MS,
    sinceWriteMs,
    'where the components are is written then',
  )
}

const MADE_AGAIN: ReadonlySet<string> = new Set(DATA_LOST)

/**
 * What is lost may be made again at once, and nothing shows the loss then. Nor does anything show it once the namespace is there again. The status alone knows
 * that a claim which is gone was bound: if it is written a moment later, whoever deletes the claim in that moment loses it without a word.
 */
function summaryIn({
  phase,
  observedGeneration,
  conditions = [],
  lost: records = [],
  ...rest
}: WorkspaceStatus): unknown {
  const { components = [], generatedKeys = [], plays = [], irreplaceable = [], expiresAt, expiry } = rest
  // A machine that is deployed from then on is given none of them.
  const passed = [rest.passedRebuild, rest.passedReset, rest.uncountedRebuild, rest.uncountedReset]
  const keys = generatedKeys.flatMap(({ name, lost }) => (lost === undefined ? [] : [[name, lost]]))
  const lost = components.filter(({ reason }) => MADE_AGAIN.has(reason)).map(({ kind, name }) => [kind, name])
  // A Job starts only once its uid is stored.
  const played = plays.map((one) => [one.vm, one.play, one.phase, one.jobUID])
  const told = conditions.map(({ type, status }) => [type, status])
  return [phase, observedGeneration, told, lost, keys, played, records, irreplaceable, expiresAt, expiry, passed]
}

function componentsIn({ reason, namespace, generatedKeys, plays, ...rest }: WorkspaceStatus): unknown {
  const all = rest.components ?? []
  return [
    reason,
    namespace,
    generatedKeys,
    plays,
    all.map(({ kind, name, phase, reason: why }) => [kind, name, phase, why]),
  ]
}
