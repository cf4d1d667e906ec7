import type { ContainerPodView } from '../../../cluster/workspace-views.ts'
import { isTerminating } from '../../../kube/kube-object.ts'
import { redactUrls } from '../../../runtime/redact.ts'
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
/** Reasons of a container that has run and ended. */
const ENDED: ReadonlySet<string> = new Set(['Error', 'OOMKilled', 'Completed'])
/** Reasons that do not change by waiting. */
const FINAL: ReadonlySet<string> = new Set(['InvalidImageName', 'ErrImageNeverPull'])

/** Pods looked at per cluster. A cluster has one pod, but anyone who can write in the namespace can create more with its label. */
const LOOKED_AT_MAX = 2

/** Reason of a pod that does not start, if only Events show why. */
const HANGING = 'PodNotStarting'

/** Returns the trouble of the first pod of a cluster that shows why it does not run. Contains no changing numbers, which would repeat the report. */
export function podTrouble(world: WorkspaceWorld, cluster: string): PodTrouble | undefined {
  for (const pod of world.pods.get(cluster) ?? []) {
    if (isTerminating(pod) || pod.isReady || isOver(pod)) continue
    const trouble = containerTrouble(pod) ?? schedulingTrouble(pod)
    if (trouble !== undefined) return { ...trouble, message: redactUrls(trouble.message) }
    const message = warningOf(world, cluster, pod)
    if (message !== undefined) return { reason: HANGING, message, isLasting: false }
  }
  return undefined
}

function warningOf(world: WorkspaceWorld, cluster: string, { metadata }: ContainerPodView): string | undefined {
  const { text, isLookedAt = true } = world.podWarnings.get(metadata.uid ?? '') ?? {}
  if (text !== undefined) return `the pod does not start: ${text}`
  // What the previous leader found counts until this process has looked itself.
  return isLookedAt ? undefined : knownHang(world, cluster)
}

function knownHang({ workspace }: Pick<WorkspaceWorld, 'workspace'>, cluster: string): string | undefined {
  const known = workspace.status.components?.find(({ name, reason }) => name === cluster && reason === HANGING)
  return known?.message
}

/** Returns pods that neither run nor show why. */
export function hangingPods({ workspace, pods }: Pick<WorkspaceWorld, 'workspace' | 'pods'>) {
  return [...pods].flatMap(([cluster, those]) => {
    const hasHung = knownHang({ workspace }, cluster) !== undefined
    const starting = those.filter(isStarting).slice(0, LOOKED_AT_MAX)
    return starting.map(({ metadata }) => ({ uid: metadata.uid ?? '', hasHung }))
  })
}

function schedulingTrouble({ unschedulable }: ContainerPodView): PodTrouble | undefined {
  if (unschedulable === '') return undefined
  return { reason: 'Unschedulable', message: `no node takes the pod: ${unschedulable}`, isLasting: false }
}

function containerTrouble({ trouble }: ContainerPodView): PodTrouble | undefined {
  if (trouble === undefined) return undefined
  const { container, reason, message, restarts } = trouble
  if (PULL.has(reason)) {
    const cause = message.replace(/^Back-off pulling image "[^"]*"(: )?/, '').replace(/^ErrImagePull: /, '')
    const why = cause === '' ? '' : `: ${cause}`
    return {
      reason: 'ImagePullBackOff',
      message: `the image of container ${container} cannot be pulled${why}`,
      isLasting: false,
    }
  }
  const isEnding = reason === 'CrashLoopBackOff' || restarts > 0
  const cause = message.replace(/back-off \S+ restarting failed container=\S+ pod=\S+?(: |$)/, '')
  const why = cause === '' ? '' : `: ${cause}`
  if (ENDED.has(reason) && !isEnding)
    return { reason, message: `container ${container} ended (${reason})${why}; see its log`, isLasting: false }
  if (!isEnding)
    return { reason, message: `container ${container} does not start (${reason})${why}`, isLasting: FINAL.has(reason) }
  return {
    reason: 'CrashLoopBackOff',
    message: `container ${container} ends again and again${why}; see its log`,
    isLasting: restarts >= RESTARTS_MAX,
  }
}

/** An evicted pod stays until somebody deletes it, and says nothing about its replacement. */
function isOver({ phase }: ContainerPodView): boolean {
  return phase === 'Failed' || phase === 'Succeeded'
}

function isStarting(pod: ContainerPodView): boolean {
  return pod.phase === 'Pending' && pod.trouble === undefined && pod.unschedulable === '' && !isTerminating(pod)
}
