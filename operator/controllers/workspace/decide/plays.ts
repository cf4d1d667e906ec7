import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  areMounted,
  freePlayAddress,
  isHalted,
  memoized,
  PLAY_MESSAGE_MAX,
  type Play,
  type PlayRecord,
  playImage,
  playJobName,
  playSecrets,
  playsOf,
  renderPlayJob,
  shortHash,
  unplayedWarnings,
  type WorkspaceSpec,
  type WorkspaceStatus,
  type WorkspaceVm,
  whyNotPlayable,
} from '@open-terrain/constructs/operator'
import { cutTo } from '../../../base/messages.ts'
import { withoutSecretsOf } from '../../../base/secrets-of.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { JOB } from '../../../kube/resource-types.ts'
import { type Removal, referTo, removalOf, type Touch } from '../../../runtime/plan.ts'
import { type ContainerPodView, hasPodEnded, type PlayJobView } from '../child-views.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import { componentWaiting, idOf, idOfObject } from './component.ts'
import { heldBack, type Judged } from './judge.ts'
import { playReportOf } from './play-report.ts'
import { type PodTrouble, silenceOf, troubleOfPods } from './pod-trouble.ts'
import { isLabHalted, switchedBy } from './power.ts'

/**
 * What the process knows of one play, and what it does about it.
 *
 * | record | fact | next |
 * |---|---|---|
 * | none | the machine is there, and its controller has not looked at it | none |
 * | none | the machine has no disk yet, and none is being made | Pending |
 * | none | it has one | NotPlayed |
 * | Pending | the machine is Ready, nothing else plays on it, and all is there | its Job is made, suspended |
 * | Pending | its Job is there | Running, with the uid of the Job |
 * | Pending | a disk that a restore made, and nobody asked for it | NotPlayed |
 * | Running | the status that is stored has that uid, and nobody has changed the Job | the Job is started |
 * | Running | the Job is complete | Succeeded |
 * | Running | the Job failed, is gone, or was suspended by somebody | Failed |
 * | Running | the machine is gone, or its disk is | Failed, and the Job is deleted |
 * | Pending, Running and not started | the workspace is off | Pending, and the Job is deleted; what has started is let end |
 * | Running | the machine runs from another disk | Failed, also for that disk: it may have been played there |
 * | Running (deploy) | another start | Pending, and the Job is deleted |
 * | ended | another disk of ours (build), another start (deploy) | Pending |
 * | ended | another disk of ours, while a pod or Job of before may still play | Failed, for that disk |
 * | NotPlayed | another disk of ours | Pending |
 * | ended, NotPlayed | asked for again; a build that succeeded is not | Pending |
 * | Pending, ended, or Running and not started | a disk, while no image is named | NotPlayed |
 *
 * A Job is started only while the stored status has its uid, and only if it was never changed since it was made. So whatever is lost, and whenever the process
 * ends, no Job is started twice, and none is started for a disk that has had one.
 */
export interface PlayStep {
  readonly record: PlayRecord
  readonly vm: WorkspaceVm
  /** What it waits for, in words for people. Absent where it waits for nothing, or its machine is off, or its roles cannot be played. */
  readonly waits?: string
  /** Whether people have to create a Secret. */
  readonly isSecretMissing?: true
  readonly trouble?: PodTrouble
  readonly apply?: KubeObject
  readonly touch?: Touch
  readonly remove?: readonly Removal[]
}

/** Machines of a workspace that are played at the same time: each takes a pod, and on Linux bridges all are on one node. */
const AT_ONCE_MAX = 4

/** Returns what to remember and to do about each play of a workspace. Empty where nobody plays, and nothing was played. */
export const stepPlays = memoized((world: WorkspaceWorld): readonly PlayStep[] => {
  const { spec, policy } = world
  if (!spec.ok) return []
  const image = playImage(spec.spec, policy)
  const known = new Map((world.workspace.status.plays ?? []).map((one) => [`${one.vm} ${one.play}`, one]))
  const taken = new Set(openJobsIn(world).flatMap(({ addresses }) => addresses))
  const running = new Map(
    [...known.values()].flatMap((one) => (one.phase === 'Running' ? [[one.vm, one.play] as const] : [])),
  )
  const steps: PlayStep[] = []
  const all = (spec.spec.vms ?? []).flatMap((vm) => playsOf(vm).map((play) => ({ vm, play })))
  for (const { vm, play } of all) {
    const record = known.get(`${vm.name} ${play}`) ?? begun(world, vm, play, image)
    if (record === undefined) continue
    const build = steps.find((one) => one.vm === vm && one.record.play === 'build')?.record
    const stepped = stepOf(
      { world, spec: spec.spec, vm, image, taken, running, build },
      asked(world, vm, record, image),
    )
    const step = withoutOldJob(world, stepped)
    if (step.apply !== undefined || step.record.phase === 'Running') running.set(vm.name, play)
    steps.push(step)
  }
  return steps
})

/** The Job of a play that is over does not play any more, and another one waits for its end. */
function withoutOldJob(world: WorkspaceWorld, step: PlayStep): PlayStep {
  const { record, apply, ...rest } = step
  const job = record.phase === 'Running' ? undefined : jobOf(world, record.job ?? '')
  if (job === undefined || !isOpen(job)) return step
  const waits = apply === undefined ? {} : { waits: `waits until Job ${job.metadata.name} is gone` }
  return { ...rest, record, ...waits, remove: removalOf(job) }
}

/** Returns the first play that has begun and not ended. */
function playUnderWay(world: WorkspaceWorld): PlayStep | undefined {
  return stepPlays(world).find(({ record }) => {
    const job = record.phase === 'Running' ? jobOf(world, record.job ?? '') : undefined
    return job !== undefined && isOpen(job) && !job.isSuspended
  })
}

/** Leaves members on until the roles that are being played have ended: what they have done on a machine by then, nobody would know. */
export function afterPlays(world: WorkspaceWorld, judged: Map<string, Judged>): void {
  const play = isLabHalted(world) ? playUnderWay(world) : undefined
  if (play === undefined) return
  const { record } = play
  const summary = componentWaiting(
    'Halting',
    `stays on until ${record.play} of ${record.vm} has ended (Job ${record.job}): deleting that Job ends it`,
  )
  for (const [id, one] of judged) {
    const isLeft = one.apply?.some((wanted) => switchedBy(wanted, world.children.get(idOfObject(wanted))) === 'off')
    if (isLeft === true) judged.set(id, heldBack(one, summary))
  }
}

/** Returns what the status is to remember, also while the spec cannot be read. */
export function playRecordsIn(world: WorkspaceWorld): readonly PlayRecord[] {
  return world.spec.ok ? stepPlays(world).map(({ record }) => record) : (world.workspace.status.plays ?? [])
}

/** Reports whether a Job is of a play that the status knows: its log is kept until there is another one. */
export function isPlayJobNeeded(world: WorkspaceWorld, job: KubeObject): boolean {
  return stepPlays(world).some(
    ({ record, apply }) => record.job === job.metadata.name || apply?.metadata.name === job.metadata.name,
  )
}

/** Reports whether a Job of the workspace has not ended: its pod needs the files that it mounts. */
export function isPlaying(world: WorkspaceWorld): boolean {
  return openJobsIn(world).length > 0
}

interface Case {
  readonly world: WorkspaceWorld
  readonly spec: WorkspaceSpec
  readonly vm: WorkspaceVm
  readonly image: string | undefined
  /** Addresses of pods that play. Those of new ones are added. */
  readonly taken: Set<string>
  /** By name of a machine: what is played on it, or is about to be. */
  readonly running: ReadonlyMap<string, Play>
  /** The build of the same machine. */
  readonly build: PlayRecord | undefined
}

/** One that is being deleted has no future. */
function machineOf({ children }: WorkspaceWorld, { name }: WorkspaceVm): MachineFacts | undefined {
  const machine = children.get(idOf('VirtualMachine', name)) as MachineFacts | undefined
  return isTerminating(machine) ? undefined : machine
}

/** Of a machine that is there, nothing is known before its controller has looked: it may have been restored from a backup, with its disk. */
function begun(world: WorkspaceWorld, vm: WorkspaceVm, play: Play, image: string | undefined): PlayRecord | undefined {
  const machine = machineOf(world, vm)
  const isUnseen = machine !== undefined && machine.status.phase === undefined
  return image === undefined || isUnseen ? undefined : firstRecord(world, vm, play)
}

/** A machine whose disk is there, or being made, is as somebody else has set it up. */
function firstRecord(world: WorkspaceWorld, vm: WorkspaceVm, play: Play): PlayRecord {
  const machine = machineOf(world, vm)
  const of = machine && knownDisk(machine)
  const request = requestIn(world)
  return {
    vm: vm.name,
    play,
    phase: of === undefined ? 'Pending' : 'NotPlayed',
    ...(of !== undefined && { of }),
    ...(request !== undefined && { request }),
  }
}

/** The disk that was made for the machine, by its claim, which is known once the machine has run, or by its DataVolume. */
function knownDisk({ status: { diskUID, clone, restoredClaim } }: MachineFacts): string | undefined {
  return restoredClaim === undefined ? (diskUID ?? clone?.uid) : (clone?.uid ?? diskUID)
}

/** The disk that was made for the machine: not one that KubeVirt restored, on which the roles are already. Or its instance, another one after each start. */
function subjectOf({ status }: MachineFacts, play: Play): string | undefined {
  if (play === 'deploy') return status.kubevirt?.instanceUID
  return status.restoredClaim === undefined ? status.diskUID : undefined
}

function requestIn({ workspace }: WorkspaceWorld): string | undefined {
  const value = workspace.metadata.annotations?.[ANNOTATIONS.playRequestedAt]
  return value === undefined ? undefined : shortHash([value])
}

/** Each value of the annotation counts once, for what has ended. What is being played is played again after that, as far as it has to be. */
function asked(world: WorkspaceWorld, vm: WorkspaceVm, record: PlayRecord, image: string | undefined): PlayRecord {
  const request = requestIn(world)
  const isOpen = record.phase === 'Running' || image === undefined
  if (request === undefined || record.request === request || isOpen) return record
  return record.play === 'build' ? askedBuild(machineOf(world, vm), record, request) : askedDeploy(record, request)
}

function askedDeploy(record: PlayRecord, request: string): PlayRecord {
  return record.phase === 'Pending' ? { ...record, request } : pending(record, request)
}

/** Asked for, it is played also on a disk that a restore has made. */
function askedBuild(machine: MachineFacts | undefined, record: PlayRecord, request: string): PlayRecord {
  const { phase, of } = record
  const { status } = machine ?? {}
  // Which disk it is asked for is known only once the machine runs from it.
  if (status?.phase !== 'Ready' || status.diskUID === undefined) return record
  const restored = status.restoredClaim === undefined ? undefined : status.diskUID
  const isAgain = phase === 'Failed' || phase === 'NotPlayed' || (phase === 'Pending' && restored !== undefined)
  if (!isAgain) return { ...record, request }
  return { ...pending(record, request), ...(of !== undefined && { of }), ...(restored !== undefined && { restored }) }
}

/** Its Job of before is named as long as there is no other one. */
function pending({ vm, play, job }: PlayRecord, request: string | undefined): PlayRecord {
  return {
    vm,
    play,
    phase: 'Pending',
    ...(job !== undefined && { job }),
    ...(request !== undefined && { request }),
  }
}

function stepOf(one: Case, record: PlayRecord): PlayStep {
  const { world, vm } = one
  if (record.phase === 'Pending') return stepPending(one, record)
  if (record.phase === 'Running') return stepRunning(one, record)
  const machine = machineOf(world, vm)
  if (machine === undefined) return { record, vm }
  if (record.phase === 'NotPlayed') return stepNotPlayed(one, record, machine)
  const of = subjectOf(machine, record.play)
  if (of === undefined) return { record, vm }
  if (record.play === 'deploy')
    return of === record.of ? { record, vm } : stepPending(one, pending(record, record.request))
  if (isDisk(machine, record.of)) return { record: record.restored === undefined ? record : notPlayed(record, of), vm }
  if (mayPlay(world, record)) return failed(vm, { ...record, of }, ON_WHICH)
  return stepPending(one, pending(record, record.request))
}

/** What was there before stays as it is, also through starts, until it has another disk. */
function stepNotPlayed(one: Case, record: PlayRecord, machine: MachineFacts): PlayStep {
  const { vm } = one
  const own = subjectOf(machine, 'build')
  if (own === undefined || own === record.of) return { record, vm }
  const isSame = record.of === undefined || isDisk(machine, record.of)
  return isSame ? { record: { ...record, of: own }, vm } : stepPending(one, pending(record, record.request))
}

/** Reports whether the own disk of a machine is the one of a record, which may know it by its DataVolume. */
function isDisk({ status: { diskUID, clone } }: MachineFacts, of: string | undefined): boolean {
  return of !== undefined && (of === diskUID || of === clone?.uid)
}

/** Reports whether something of a play that is over may still play. */
function mayPlay(world: WorkspaceWorld, { job: name = '' }: PlayRecord): boolean {
  const job = jobOf(world, name)
  return (job !== undefined && isOpen(job)) || (world.playPods.get(name) ?? []).some((pod) => !hasPodEnded(pod))
}

const ON_WHICH = 'the machine got another disk meanwhile, and nobody knows on which one they were played'

function stepPending(one: Case, record: PlayRecord): PlayStep {
  const { world, vm, spec, image } = one
  const idle = { record, vm }
  if (image === undefined) {
    const { phase, of } = firstRecord(world, vm, record.play)
    return phase === 'Pending' ? idle : { ...idle, record: notPlayed(record, of) }
  }
  if (vm.ignoreOnDeploy === true || isHalted(spec) || whyNotPlayable(spec, vm) !== undefined) return idle
  const machine = machineOf(world, vm)
  if (machine?.status.phase !== 'Ready') return { record, vm, waits: `waits for VirtualMachine ${vm.name}` }
  const { kubevirt, reason } = machine.status
  return reason === 'Halted' || kubevirt?.instanceUID === undefined
    ? idle
    : stepReady({ ...one, image, machine }, record)
}

/** The machine runs. */
function stepReady(
  one: Case & { readonly image: string; readonly machine: MachineFacts },
  record: PlayRecord,
): PlayStep {
  const { vm, machine } = one
  const { diskUID, restoredClaim } = machine.status
  if (diskUID === undefined) return { record, vm, waits: `waits for the disk of VirtualMachine ${vm.name}` }
  const isRestored = record.play === 'build' && restoredClaim !== undefined
  // Nobody knows whether the disk of which a snapshot was restored had its roles.
  if (isRestored && record.restored !== diskUID) return { record: notPlayed(record, knownDisk(machine)), vm }
  const waits = whyLater(one, record, machine)
  if (waits !== undefined) return { record, vm, ...waits }
  if (isRestored) return withJob(one, record, diskUID)
  const { restored: _asked, ...plain } = record
  const of = subjectOf(machine, record.play) ?? diskUID
  return withJob(one, { ...plain, of }, of)
}

function whyLater(
  { world, spec, vm, build, running }: Case,
  { play }: PlayRecord,
  machine: MachineFacts,
): Pick<PlayStep, 'waits' | 'isSecretMissing' | 'trouble'> | undefined {
  if (play === 'deploy' && build !== undefined && !isBuilt(build, machine))
    return { waits: 'waits for the roles of build' }
  const missing = playSecrets(spec, vm).find((name) => !world.secrets.has(name))
  if (missing !== undefined) return { waits: `waits for Secret ${missing}`, isSecretMissing: true }
  const other = running.get(vm.name)
  if (other !== undefined) return { waits: `waits until ${other} has ended` }
  const stray = strayPod(world)
  if (stray !== undefined) {
    const { name, namespace } = stray.metadata
    const trouble = silenceOf(stray)
    const waits = `waits until pod ${name} has ended, whose Job is gone or was stopped; to end it: kubectl delete pod -n ${namespace} ${name}`
    return { waits, ...(trouble !== undefined && { trouble }) }
  }
  return running.size >= AT_ONCE_MAX
    ? { waits: `waits for its turn: ${AT_ONCE_MAX} machines are played at a time` }
    : undefined
}

/** A restored disk has what the disk had of which the snapshot was taken. */
function isBuilt({ phase, of, restored }: PlayRecord, machine: MachineFacts): boolean {
  const { restoredClaim, diskUID } = machine.status
  if (phase !== 'Succeeded' && phase !== 'NotPlayed') return false
  return restoredClaim === undefined ? isDisk(machine, of) : restored === undefined || restored === diskUID
}

function withJob(one: Case & { readonly image: string }, record: PlayRecord, of: string): PlayStep {
  const { world, vm, spec, taken, image } = one
  const { workspace, policy } = world
  const play = { vm: vm.name, play: record.play, of, request: record.request }
  const job = jobOf(world, playJobName(play))
  if (job !== undefined && isTerminating(job))
    return { record, vm, waits: `waits until Job ${job.metadata.name} is gone` }
  if (job !== undefined) {
    const { name, uid = '' } = job.metadata
    // A restored disk has a field of its own, so that the one of before is known when it comes back.
    return stepRunning(one, { ...record, phase: 'Running', of: record.of ?? of, job: name, jobUID: uid })
  }
  const address = freePlayAddress(spec, vm, taken)
  if (address === undefined) return { record, vm, waits: 'waits for a free address in the network of the machine' }
  taken.add(address)
  const { name, uid = '' } = workspace.metadata
  const { networkDriver: driver, workspaceQuota: quota } = policy
  const apply = renderPlayJob({ workspace: { name, uid }, spec, vm, play, image, driver, quota, address })
  return { record, vm, apply, waits: 'is about to begin' }
}

/** Returns a pod that may still play, although its play is over: it works on a machine, and has an address. */
function strayPod(world: WorkspaceWorld): ContainerPodView | undefined {
  const isFollowed = (name: string) => {
    const job = jobOf(world, name)
    return job !== undefined && isPlayRecorded(world.workspace.status, job)
  }
  const others = [...world.playPods].flatMap(([job, pods]) => (isFollowed(job) ? [] : pods))
  return others.find((pod) => !hasPodEnded(pod))
}

/** Reports whether a status says that this very Job plays. */
export function isPlayRecorded({ plays = [] }: WorkspaceStatus, { metadata: { uid } }: KubeObject): boolean {
  return plays.some(({ phase, jobUID }) => phase === 'Running' && jobUID === uid)
}

/** What comes while nobody plays is as somebody else has set it up. */
function notPlayed({ message: _cause, restored: _asked, ...record }: PlayRecord, of: string | undefined): PlayRecord {
  return { ...record, phase: 'NotPlayed', of }
}

function stepRunning(one: Case, record: PlayRecord): PlayStep {
  const { world, vm, image } = one
  // What plays there may reach another disk, as the address is the same.
  const away = strayed(one, record)
  if (away !== undefined) return away
  const job = jobOf(world, record.job ?? '')
  if (job === undefined || job.metadata.uid !== record.jobUID)
    return failed(vm, record, 'its Job is gone, and nobody saw how it ended')
  if (job.complete.status === 'True') {
    const { message: _trouble, ...plain } = record
    return { record: { ...plain, phase: 'Succeeded' }, vm }
  }
  if (job.failed.status === 'True') return stepFailed(world, vm, record, job)
  if (!job.isSuspended) return stepPlaying(world, vm, record, job)
  // It may have begun before somebody suspended it.
  if (job.metadata.generation !== 1) return failed(vm, record, 'its Job was suspended by somebody')
  const machine = machineOf(world, vm)
  if (image === undefined) return { record: notPlayed(record, machine && knownDisk(machine)), vm }
  if (vm.ignoreOnDeploy === true || isHalted(one.spec)) return { record: pending(record, record.request), vm }
  const isOn = machine?.status.phase === 'Ready' && machine.status.reason !== 'Halted'
  return isOn ? start(world, vm, record, job) : { record, vm, waits: `waits for VirtualMachine ${vm.name}` }
}

/** Resumes a Job whose uid is stored. */
function start(world: WorkspaceWorld, vm: WorkspaceVm, record: PlayRecord, job: PlayJobView): PlayStep {
  const { resourceVersion } = job.metadata
  const touch: Touch = {
    ...referTo(job),
    // Somebody may have changed it since.
    ...(resourceVersion !== undefined && { resourceVersion }),
    annotations: {},
    spec: { suspend: false },
  }
  return { record, vm, waits: 'is about to begin', ...(isPlayRecorded(world.workspace.status, job) && { touch }) }
}

/** Returns what becomes of a play whose machine is not the one any more that it began on. */
function strayed(one: Case, record: PlayRecord): PlayStep | undefined {
  const { world, vm } = one
  const machine = machineOf(world, vm)
  if (record.play === 'deploy') {
    const { reason, kubevirt } = machine?.status ?? {}
    const isUnknown = machine !== undefined && kubevirt?.instanceUID === undefined && reason !== 'Halted'
    const isSame = isUnknown || kubevirt?.instanceUID === record.of
    return isSame ? undefined : { record: pending(record, record.request), vm, waits: 'waits for the next start' }
  }
  const disk = machine?.status.diskUID
  if (disk === (record.restored ?? record.of)) return undefined
  if (machine === undefined || disk === undefined) return failed(vm, record, 'its machine is gone, or its disk is')
  // The disk of before may come back when a restored one is lost.
  const of = subjectOf(machine, 'build') ?? record.of
  const { restored: _other, ...plain } = record
  return failed(vm, { ...plain, of }, ON_WHICH)
}

/** The trouble of its pod is remembered, because Kubernetes deletes the pod when the time is over. */
function stepPlaying(world: WorkspaceWorld, vm: WorkspaceVm, record: PlayRecord, job: PlayJobView): PlayStep {
  const { name, uid = '' } = job.metadata
  const { message: before, ...plain } = record
  const all = world.playPods.get(name) ?? []
  // What has said its last words is about to be over.
  const pods = all.filter(({ lastWords }) => lastWords === undefined)
  const lost = all.map(silenceOf).find((one) => one !== undefined)
  const trouble = lost ?? (all.length === 0 ? refusalOfPod(world, uid) : troubleOfPods(world, '', pods))
  // What the previous leader found counts until this process has looked itself.
  const isUnread = pods.some(({ metadata }) => world.podWarnings.get(metadata.uid ?? '')?.isRead === false)
  const message = trouble === undefined ? (isUnread ? before : undefined) : cutTo(PLAY_MESSAGE_MAX, trouble.message)
  return {
    record: { ...plain, ...(message !== undefined && { message }) },
    vm,
    waits: `is being played (Job ${name})`,
    ...(trouble !== undefined && { trouble }),
  }
}

/** A pod that is refused, by a quota or an admission, is told only by an Event about its Job. */
function refusalOfPod({ podWarnings }: WorkspaceWorld, job: string): PodTrouble | undefined {
  const text = podWarnings.get(job)?.text
  return text === undefined ? undefined : { reason: 'Refused', message: `it has no pod: ${text}`, isLasting: false }
}

/** Returns the Jobs that should have a pod and have none. */
export function podlessPlays(world: Pick<WorkspaceWorld, 'children' | 'playPods'>) {
  return openJobsIn(world).flatMap((job) => {
    const { name, uid = '' } = job.metadata
    return job.isSuspended || isTerminating(job) || (world.playPods.get(name) ?? []).length > 0 ? [] : [{ uid }]
  })
}

function stepFailed(world: WorkspaceWorld, vm: WorkspaceVm, record: PlayRecord, job: PlayJobView): PlayStep {
  const { name } = job.metadata
  const waits = { record, vm, waits: `is being played (Job ${name})` }
  if (job.failed.reason === 'DeadlineExceeded') {
    const trouble = record.message === undefined ? '' : `: ${record.message}`
    return failed(vm, record, `it did not end in time${trouble}`)
  }
  const pods = world.playPods.get(name) ?? []
  const pod = pods.find(({ lastWords }) => lastWords !== undefined)
  // The cache of Jobs may be ahead of that of pods.
  if (pod === undefined && pods.some((one) => !(hasPodEnded(one) || isTerminating(one)))) return waits
  if (pod?.lastWords === undefined) return failed(vm, record, `its pod did not end by itself: ${job.failed.message}`)
  const text = world.playEnds.get(pod.metadata.uid ?? '')
  if (text === undefined) return { ...waits, waits: 'has failed, and its report is being read' }
  // Variables of roles, and passwords of the spec, may be in it as well.
  const safe = withoutSecretsOf(text, 'Workspace', world.workspace)
  return failed(vm, record, playReportOf(safe, pod.lastWords.exitCode))
}

function failed(vm: WorkspaceVm, record: PlayRecord, message: string): PlayStep {
  return { record: { ...record, phase: 'Failed', message: cutTo(PLAY_MESSAGE_MAX, message) }, vm }
}

function jobOf({ children }: WorkspaceWorld, name: string): PlayJobView | undefined {
  return children.get(idOf(JOB.kind, name)) as PlayJobView | undefined
}

function isOpen({ complete, failed: over }: PlayJobView): boolean {
  return complete.status !== 'True' && over.status !== 'True'
}

function openJobsIn({ children }: Pick<WorkspaceWorld, 'children'>): readonly PlayJobView[] {
  return [...children.values()].filter((one): one is PlayJobView => one.kind === JOB.kind && isOpen(one as PlayJobView))
}

/** Returns what is wrong with a spec of which the plays are, or are not, played. */
export function playWarnings(spec: WorkspaceSpec, policy: { readonly ansibleImage: string | undefined }): string[] {
  const vms = (spec.vms ?? []).filter((vm) => vm.ignoreOnDeploy !== true && playsOf(vm).length > 0)
  if (vms.length === 0) return []
  if (playImage(spec, policy) === undefined)
    return areMounted(spec)
      ? []
      : [
          'nobody plays the roles of the machines: name an image in spec.ansible.image or in the policy key ansibleImage, or mount the volume ansible into a container that plays them',
        ]
  return vms.flatMap((vm) => unplayedWarnings(spec, vm))
}
