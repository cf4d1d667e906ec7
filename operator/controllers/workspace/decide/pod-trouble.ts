import { ansibleName } from '@open-terrain/constructs/operator'
import { redactUrls } from '../../../base/messages.ts'
import { lasting } from '../../../cluster/pod-events.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { type ContainerPodView, type ContainerTrouble, hasPodEnded } from '../child-views.ts'
import type { WorkspaceWorld } from '../world.ts'

/** Why the containers of a cluster do not run, for people. */
export interface PodTrouble {
  /** One word, as Kubernetes uses it. */
  readonly reason: string
  readonly message: string
  /** Whether people have to look at it, because it has lasted or because waiting does not help. */
  readonly isLasting: boolean
}

/** A container with this many restarts has been failing for minutes. */
const RESTARTS_MAX = 5
/** Reasons that alternate while the image of a container cannot be pulled. */
const PULL: ReadonlySet<string> = new Set(['ErrImagePull', 'ImagePullBackOff'])
/** Reason of a container that has run and ended. */
const ENDED = 'Error'
/** Reason of a container that waits for its next start, which is later after each end. */
const AGAIN = 'CrashLoopBackOff'
/** Reasons that do not change by waiting. */
const FINAL: ReadonlySet<string> = new Set(['InvalidImageName', 'ErrImageNeverPull'])

/** Pods looked at per cluster. A cluster has one pod, but anyone who can write in the namespace can create more with its label. */
const LOOKED_AT_MAX = 2

/** What to say where no node offers a device. */
const WITHOUT_DEVICE =
  'nodes offer these devices where virt-handler of KubeVirt runs: see its pods, and kubectl describe node for what a node has, or remove the device from devices of the container'

/** Reason of a pod that does not start, if only Events show why. */
const HANGING = 'PodNotStarting'

/** Returns the trouble of the first pod of a cluster that shows why it does not run. Contains no changing numbers, which would repeat the report. */
export function podTrouble(world: WorkspaceWorld, cluster: string): PodTrouble | undefined {
  return troubleOfPods(world, cluster, world.pods.get(cluster) ?? [])
}

/** Does the same for other pods. @param component name of what they belong to */
export function troubleOfPods(
  world: WorkspaceWorld,
  component: string,
  pods: readonly ContainerPodView[],
): PodTrouble | undefined {
  for (const pod of pods) {
    if (isTerminating(pod) || pod.isReady || hasPodEnded(pod)) continue
    const trouble = silenceOf(pod) ?? containerTrouble(pod) ?? schedulingTrouble(pod)
    if (trouble !== undefined) return { ...trouble, message: redactUrls(trouble.message) }
    // Its node has done what an Event may have warned of.
    const message = pod.initializing === '' ? warningOf(world, component, pod) : undefined
    if (message !== undefined) return { reason: HANGING, message, isLasting: false }
  }
  return undefined
}

/** Tells by which command a person says that nothing runs on a node any more. */
export function outOfService(node: string): string {
  return `if its node is off: kubectl taint nodes ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`
}

/** Returns the trouble of a pod whose node has stopped reporting, also while it is being deleted. */
export function silenceOf({ metadata: { name }, node, isSilent }: ContainerPodView): PodTrouble | undefined {
  if (!isSilent) return undefined
  const message = `pod ${name} runs on node ${node}, which has stopped reporting: nobody knows whether it still runs, and it stays until somebody does; ${outOfService(node)}`
  return { reason: 'NodeNotReporting', message, isLasting: true }
}

function warningOf(world: WorkspaceWorld, cluster: string, { metadata }: ContainerPodView): string | undefined {
  const { text, isRead = true } = world.podWarnings.get(metadata.uid ?? '') ?? {}
  if (text !== undefined) return `the pod does not start: ${text}`
  // What the previous leader found counts until this process has looked itself.
  return isRead ? undefined : knownHang(world, cluster)
}

function knownHang({ workspace }: Pick<WorkspaceWorld, 'workspace'>, cluster: string): string | undefined {
  const known = workspace.status.components?.find(({ name, reason }) => name === cluster && reason === HANGING)
  return known?.message
}

/** Returns pods that neither run nor show why. */
export function hangingPods({ workspace, pods, playPods }: Pick<WorkspaceWorld, 'workspace' | 'pods' | 'playPods'>) {
  const player = ansibleName(workspace.metadata.name)
  const ofPlays = [...playPods.values()].map((those) => [player, those] as const)
  return [...pods, ...ofPlays].flatMap(([component, those]) => {
    const hasHung = knownHang({ workspace }, component) !== undefined
    const starting = those.filter(isStarting).slice(0, LOOKED_AT_MAX)
    return starting.map(({ metadata }) => ({ uid: metadata.uid ?? '', hasHung }))
  })
}

function schedulingTrouble({ unschedulable }: ContainerPodView): PodTrouble | undefined {
  if (unschedulable === '') return undefined
  const hint = unschedulable.includes('Insufficient devices.kubevirt.io/') ? `; ${WITHOUT_DEVICE}` : ''
  return { reason: 'Unschedulable', message: `no node takes the pod: ${unschedulable}${hint}`, isLasting: false }
}

function containerTrouble({ trouble }: ContainerPodView): PodTrouble | undefined {
  if (trouble === undefined) return undefined
  const { reason, restarts } = trouble
  const container = called(trouble)
  // A kubelet names each try by an id of its own.
  const message = lasting(trouble.message)
  if (PULL.has(reason)) {
    const cause = message.replace(/^Back-off pulling image "[^"]*"(: )?/, '').replace(/^ErrImagePull: /, '')
    const why = cause === '' ? '' : `: ${cause}`
    return {
      reason: 'ImagePullBackOff',
      message: `the image of ${container} cannot be pulled${why}`,
      isLasting: false,
    }
  }
  const told = endTrouble(trouble)
  if (told !== undefined) return told
  const isEnding = reason === AGAIN || restarts > 0
  const cause = message.replace(/back-off \S+ restarting failed container=\S+ pod=\S+?(: |$)/, '')
  const why = cause === '' ? '' : `: ${cause}`
  if (reason === ENDED && !isEnding)
    return { reason, message: `${container} ended (${reason})${why}; see its log`, isLasting: false }
  if (!isEnding)
    return { reason, message: `${container} does not start (${reason})${why}`, isLasting: FINAL.has(reason) }
  return {
    reason: AGAIN,
    message: `${container} ends again and again${why}; see its log`,
    isLasting: restarts >= RESTARTS_MAX,
  }
}

function called({ container, isInit }: ContainerTrouble): string {
  return isInit ? `init container ${container}` : `container ${container}`
}

/** Returns the trouble of a container whose end has a known cause. It is the same while the container waits for its next start. */
function endTrouble(trouble: ContainerTrouble): PodTrouble | undefined {
  const { reason, restarts, exitCode, memoryLimit } = trouble
  const container = called(trouble)
  const isLasting = restarts >= RESTARTS_MAX
  if (memoryLimit !== undefined && (reason === AGAIN || reason === 'OOMKilled')) {
    const limit = memoryLimit === '' ? 'its node had no more' : `its limit is ${memoryLimit}`
    const help =
      'give it more with resources.memory, or resources.limits.memory, or find out in its log what needs so much'
    return { reason: 'OOMKilled', message: `${container} ran out of memory, ${limit}: ${help}`, isLasting }
  }
  if (exitCode !== 0 || !(reason === AGAIN || reason === 'Completed')) return undefined
  const help = 'the process that it starts has to keep running'
  const message = `${container} ends by itself with exit code 0, and is started again: ${help}`
  return { reason: 'Completed', message, isLasting }
}

/** Returns the first pod of a cluster that does its work, or tries to. */
export function livePod(world: WorkspaceWorld, cluster: string): ContainerPodView | undefined {
  const live = (world.pods.get(cluster) ?? []).filter((pod) => !isTerminating(pod) && !hasPodEnded(pod))
  return live.find(({ isReady }) => isReady) ?? live[0]
}

function isStarting(pod: ContainerPodView): boolean {
  const isTried = pod.phase === 'Pending' && pod.trouble === undefined && pod.unschedulable === ''
  return isTried && pod.initializing === '' && pod.gates.length === 0 && !isTerminating(pod)
}
