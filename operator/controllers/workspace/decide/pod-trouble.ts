import type { HangingPod } from '../../../cluster/pod-warnings.ts'
import type { ContainerPodView } from '../../../cluster/workspace-views.ts'
import { redactUrls } from '../../../runtime/redact.ts'
import type { WorkspaceWorld } from '../world.ts'
import { isGoing } from './component.ts'

/** Why the containers of a cluster do not run, in words for people. */
export interface PodTrouble {
  /** One word of Kubernetes. */
  readonly reason: string
  readonly message: string
  /** Whether it has lasted long enough for people to look at it. */
  readonly isLasting: boolean
}

/** With so many restarts it has taken minutes. */
const RESTARTS_MAX = 5
/** What a container does when its image cannot be pulled, in turns. */
const PULL: ReadonlySet<string> = new Set(['ErrImagePull', 'ImagePullBackOff'])
/** What does not change by waiting. */
const FINAL: ReadonlySet<string> = new Set(['InvalidImageName', 'ErrImageNeverPull'])

/** Of the pods with the label of a cluster, which has one: anybody in the namespace can make others. */
const LOOKED_AT_MAX = 2

/** Why a pod does not start, where only Events tell. */
const HANGING = 'PodNotStarting'

/** Of the pods of a cluster, the first that tells why it does not run. It says no number that moves, so that it is not told again and again. */
export function podTrouble(world: WorkspaceWorld, cluster: string): PodTrouble | undefined {
  for (const pod of world.pods.get(cluster) ?? []) {
    if (isGoing(pod) || pod.isReady || isOver(pod)) continue
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
  // What was found by who led before counts until this process has looked itself.
  return isLookedAt ? undefined : knownHang(world, cluster)
}

function knownHang({ workspace }: Pick<WorkspaceWorld, 'workspace'>, cluster: string): string | undefined {
  const known = workspace.status.components?.find(({ name, reason }) => name === cluster && reason === HANGING)
  return known?.message
}

/** Pods that neither run nor say why. */
export function hangingPods({ workspace, pods }: Pick<WorkspaceWorld, 'workspace' | 'pods'>): HangingPod[] {
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

function containerTrouble({ trouble, restarts }: ContainerPodView): PodTrouble | undefined {
  if (trouble === undefined) return undefined
  const { container, reason, message } = trouble
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
  if (!isEnding)
    return { reason, message: `container ${container} does not start (${reason})${why}`, isLasting: FINAL.has(reason) }
  return {
    reason: 'CrashLoopBackOff',
    message: `container ${container} ends again and again${why}; see its log`,
    isLasting: restarts >= RESTARTS_MAX,
  }
}

/** An evicted pod stays until somebody deletes it, and says nothing about the one in its place. */
function isOver({ phase }: ContainerPodView): boolean {
  return phase === 'Failed' || phase === 'Succeeded'
}

function isStarting(pod: ContainerPodView): boolean {
  return pod.phase === 'Pending' && pod.trouble === undefined && pod.unschedulable === '' && !isGoing(pod)
}
