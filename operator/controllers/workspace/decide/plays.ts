import {
  ANNOTATIONS,
  areMounted,
  freePlayAddress,
  PLAY_MESSAGE_MAX,
  type Play,
  type PlayRecord,
  playImage,
  playJobName,
  playSecrets,
  playsOf,
  renderPlayJob,
  shortHash,
  type WorkspaceSpec,
  type WorkspaceVm,
  whyNotPlayable,
} from '@open-terrain/constructs'
import { hasPodEnded, type PlayJobView } from '../../../cluster/workspace-views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { JOB } from '../../../kube/resource-types.ts'
import { cutTo } from '../../../runtime/cut-to.ts'
import { memoized } from '../../../runtime/memoized.ts'
import { referTo, type Touch } from '../../../runtime/plan.ts'
import type { MachineFacts, WorkspaceWorld } from '../world.ts'
import { idOf } from './component.ts'
import { playReportOf } from './play-report.ts'
import { type PodTrouble, troubleOfPods } from './pod-trouble.ts'

/**
 * What the process knows of one play, and what it does about it.
 *
 * | record | fact | next |
 * |---|---|---|
 * | none | the machine has no disk yet | Pending |
 * | none | the machine has a disk, or runs | NotPlayed |
 * | Pending | the machine is Ready, and all is there | its Job is made, suspended |
 * | Pending | its Job is there | Running, with the uid of the Job |
 * | Running | the status that is stored has that uid, and nobody has changed the Job | the Job is started |
 * | Running | the Job is complete | Succeeded |
 * | Running | the Job failed, is gone, or was suspended by somebody | Failed |
 * | ended | another disk of ours (build), another start (deploy) | Pending |
 * | ended | asked for again; a build that succeeded is not | Pending |
 * | Pending, ended, or Running and not started | a disk, or a start, while no image is named | NotPlayed |
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
}

/** Returns what to remember and to do about each play of a workspace. Empty where nobody plays, and nothing was played. */
export const stepPlays = memoized((world: WorkspaceWorld): readonly PlayStep[] => {
  const { spec, policy } = world
  if (!spec.ok) return []
  const image = playImage(spec.spec, policy)
  const known = new Map((world.workspace.status.plays ?? []).map((one) => [`${one.vm} ${one.play}`, one]))
  const taken = new Set(jobsIn(world).flatMap(({ addresses }) => addresses))
  const steps: PlayStep[] = []
  for (const vm of spec.spec.vms ?? []) {
    for (const play of playsOf(vm)) {
      const before = steps.find((one) => one.vm === vm && one.record.play === 'build')
      const record = known.get(`${vm.name} ${play}`) ?? (image === undefined ? undefined : firstRecord(world, vm, play))
      if (record === undefined) continue
      const step = stepOf({ world, spec: spec.spec, vm, image, taken, build: before?.record }, asked(world, record))
      steps.push(step)
    }
  }
  return steps
})

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

interface Case {
  readonly world: WorkspaceWorld
  readonly spec: WorkspaceSpec
  readonly vm: WorkspaceVm
  readonly image: string | undefined
  /** Addresses of pods that play. Those of new ones are added. */
  readonly taken: Set<string>
  /** The build of the same machine. */
  readonly build: PlayRecord | undefined
}

function machineOf({ children }: WorkspaceWorld, { name }: WorkspaceVm): MachineFacts | undefined {
  return children.get(idOf('VirtualMachine', name)) as MachineFacts | undefined
}

/** A machine whose disk is there, or being made, is as somebody else has set it up. */
function firstRecord(world: WorkspaceWorld, vm: WorkspaceVm, play: Play): PlayRecord {
  const machine = machineOf(world, vm)
  const of = machine && subjectOf(machine, play)
  const hasBegun = machine?.status.clone?.uid !== undefined || machine?.status.diskUID !== undefined
  const isOver = play === 'build' ? hasBegun : of !== undefined
  const request = requestIn(world)
  return {
    vm: vm.name,
    play,
    phase: isOver ? 'NotPlayed' : 'Pending',
    ...(isOver && of !== undefined && { of }),
    ...(request !== undefined && { request }),
  }
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

/** Each value of the annotation counts once, for what has ended by then. */
function asked(world: WorkspaceWorld, record: PlayRecord): PlayRecord {
  const request = requestIn(world)
  if (request === undefined || record.request === request) return record
  const { play, phase } = record
  const isAgain = phase === 'Failed' || phase === 'NotPlayed' || (phase === 'Succeeded' && play === 'deploy')
  return isAgain ? pending(record, request) : { ...record, request }
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
  if (record.phase === 'Pending') return stepPending(one, record)
  if (record.phase === 'Running') return stepRunning(one, record)
  const machine = machineOf(one.world, one.vm)
  const of = machine && subjectOf(machine, record.play)
  if (of === undefined || of === record.of) return { record, vm: one.vm }
  // A machine that was there before has its disk recorded only now.
  if (record.phase === 'NotPlayed' && record.of === undefined) return { record: { ...record, of }, vm: one.vm }
  return stepPending(one, pending(record, record.request))
}

function stepPending(one: Case, record: PlayRecord): PlayStep {
  const { world, vm, spec, image } = one
  const idle = { record, vm }
  const machine = machineOf(world, vm)
  if (image === undefined) {
    const { phase, of } = firstRecord(world, vm, record.play)
    return phase === 'Pending' ? idle : { ...idle, record: notPlayed(record, of) }
  }
  if (vm.ignoreOnDeploy === true || whyNotPlayable(spec, vm) !== undefined) return idle
  const of = machine && subjectOf(machine, record.play)
  const isReady = machine?.status.phase === 'Ready'
  const isOn = machine?.status.kubevirt?.instanceUID !== undefined
  if (isReady && !(isOn && of !== undefined)) return idle
  if (machine === undefined || !isReady || of === undefined)
    return { record, vm, waits: `waits for VirtualMachine ${vm.name}` }
  if (record.play === 'deploy' && one.build !== undefined && !isBuilt(one.build, machine))
    return { record, vm, waits: 'waits for the roles of build' }
  const missing = playSecrets(spec, vm).find((name) => !world.secrets.has(name))
  if (missing !== undefined) return { record, vm, waits: `waits for Secret ${missing}`, isSecretMissing: true }
  return withJob({ ...one, image }, record, of)
}

/** A restored disk has what the disk had of which the snapshot was taken. */
function isBuilt({ phase, of }: PlayRecord, machine: MachineFacts): boolean {
  const disk = subjectOf(machine, 'build')
  return (phase === 'Succeeded' || phase === 'NotPlayed') && (disk === undefined || disk === of)
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
    return stepRunning(one, { ...record, phase: 'Running', of, job: name, jobUID: uid })
  }
  const stray = strayPod(world)
  if (stray !== undefined)
    return { record, vm, waits: `waits until pod ${stray} has ended, whose Job is gone or was stopped` }
  const address = freePlayAddress(spec, vm, taken)
  if (address === undefined) return { record, vm, waits: 'waits for a free address in the network of the machine' }
  taken.add(address)
  const { name, uid = '' } = workspace.metadata
  const { networkDriver: driver, workspaceQuota: quota } = policy
  const apply = renderPlayJob({ workspace: { name, uid }, spec, vm, play, image, driver, quota, address })
  return { record, vm, apply, waits: 'is about to begin' }
}

/** Returns the name of a pod that may still play, although its play is over: it works on a machine, and has an address. */
function strayPod(world: WorkspaceWorld): string | undefined {
  const running = (world.workspace.status.plays ?? []).filter(({ phase, job = '', jobUID }) => {
    return phase === 'Running' && jobOf(world, job)?.metadata.uid === jobUID
  })
  const followed = new Set(running.map(({ job }) => job))
  const others = [...world.playPods].flatMap(([job, pods]) => (followed.has(job) ? [] : pods))
  return others.find((pod) => !hasPodEnded(pod))?.metadata.name
}

/** What comes while nobody plays is as somebody else has set it up. */
function notPlayed({ message: _cause, ...record }: PlayRecord, of: string | undefined): PlayRecord {
  return { ...record, phase: 'NotPlayed', of }
}

function stepRunning({ world, vm, spec, image }: Case, record: PlayRecord): PlayStep {
  const job = jobOf(world, record.job ?? '')
  if (job === undefined || job.metadata.uid !== record.jobUID)
    return failed(vm, record, 'its Job is gone, and nobody saw how it ended')
  if (job.complete.status === 'True') {
    const { message: _trouble, ...plain } = record
    return { record: { ...plain, phase: 'Succeeded' }, vm }
  }
  if (job.failed.status === 'True') return stepFailed(world, vm, record, job)
  if (!job.isSuspended) return stepPlaying({ world, vm, spec }, record)
  const isRecorded = (world.workspace.status.plays ?? []).some(
    (known) => known.phase === 'Running' && known.jobUID === record.jobUID,
  )
  // It may have begun before somebody suspended it.
  if (job.metadata.generation !== 1) return failed(vm, record, 'its Job was suspended by somebody')
  if (image === undefined) return { record: notPlayed(record, record.of), vm }
  const { resourceVersion } = job.metadata
  const touch: Touch = {
    ...referTo(job),
    // Somebody may have changed it since.
    ...(resourceVersion !== undefined && { resourceVersion }),
    annotations: {},
    spec: { suspend: false },
  }
  return { record, vm, waits: 'is about to begin', ...(isRecorded && { touch }) }
}

/** The trouble of its pod is remembered, because Kubernetes deletes the pod when the time is over. */
function stepPlaying({ world, vm }: Pick<Case, 'world' | 'vm' | 'spec'>, record: PlayRecord): PlayStep {
  const name = record.job ?? ''
  const { message: _before, ...plain } = record
  const trouble = troubleOfPods(world, name, world.playPods.get(name) ?? [])
  const message = trouble && cutTo(PLAY_MESSAGE_MAX, trouble.message)
  return {
    record: { ...plain, ...(message !== undefined && { message }) },
    vm,
    waits: `is being played (Job ${name})`,
    ...(trouble !== undefined && { trouble }),
  }
}

function stepFailed(world: WorkspaceWorld, vm: WorkspaceVm, record: PlayRecord, job: PlayJobView): PlayStep {
  const { name } = job.metadata
  const pod = (world.playPods.get(name) ?? []).find(({ lastWords }) => lastWords !== undefined)
  if (job.failed.reason === 'DeadlineExceeded') {
    const trouble = record.message === undefined ? '' : `: ${record.message}`
    return failed(vm, record, `it did not end in time${trouble}`)
  }
  if (pod?.lastWords === undefined) return failed(vm, record, `its pod did not end by itself: ${job.failed.message}`)
  const text = world.playEnds.get(pod.metadata.uid ?? '')
  if (text === undefined) return { record, vm, waits: `is being played (Job ${name})` }
  return failed(vm, record, playReportOf(text, pod.lastWords.exitCode))
}

function failed(vm: WorkspaceVm, record: PlayRecord, message: string): PlayStep {
  return { record: { ...record, phase: 'Failed', message: cutTo(PLAY_MESSAGE_MAX, message) }, vm }
}

function jobOf({ children }: WorkspaceWorld, name: string): PlayJobView | undefined {
  return children.get(idOf(JOB.kind, name)) as PlayJobView | undefined
}

function jobsIn({ children }: WorkspaceWorld): readonly PlayJobView[] {
  return [...children.values()].filter((one): one is PlayJobView => {
    if (one.kind !== JOB.kind) return false
    const { complete, failed: over } = one as PlayJobView
    return complete.status !== 'True' && over.status !== 'True'
  })
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
  return vms.flatMap((vm) => {
    const why = whyNotPlayable(spec, vm)
    return why === undefined ? [] : [`the roles of ${vm.name} are not played, because ${why}`]
  })
}
