import type { Raw } from '../kube/kube-object.ts'

/** Status of the importer container as reported by the kubelet. CDI reads the same status, but keeps less of it and may be down. */
export interface ImporterView {
  /** Number of runs, each from the first byte; 0 while it waits for its image, its Secret or a node. */
  readonly starts: number
  readonly isRunning: boolean
  /** Its last termination. */
  readonly ended: ContainerEnd | undefined
}

export interface ContainerEnd {
  readonly reason: string
  readonly exitCode: number
  readonly message: string
}

export const NOT_STARTED: ImporterView = { starts: 0, isRunning: false, ended: undefined }

const MESSAGE_LIMIT = 2_000

/** @param status of a pod with a single container, or with a container of the name that CDI uses */
export function viewImporter(status: Raw): ImporterView {
  const containers: Raw[] = status?.containerStatuses ?? []
  const container = containers.find(({ name }) => name === 'importer') ?? containers[0]
  if (container === undefined) return NOT_STARTED
  const { running, terminated } = container.state ?? {}
  const isRunning = running !== undefined && running !== null
  const last = terminated ?? container.lastState?.terminated ?? undefined
  const starts = isRunning || hasStarted(last) ? 1 + Number(container.restartCount ?? 0) : 0
  return { starts, isRunning, ended: last && endOf(last) }
}

/**
 * Reports whether the importer did its work: it downloaded, or found out that it needs scratch space. It is never started again. A kubelet shows
 * the pod as Running for some two seconds more, until it has cleaned up, and CDI may delete the pod during that time.
 */
export function hasCompleted({ starts, isRunning, ended }: ImporterView): boolean {
  return starts > 0 && !isRunning && ended?.exitCode === 0
}

/**
 * Reports whether a terminated container ran. A kubelet also reports `terminated` for containers that never ran: without startedAt if the pod was
 * deleted before, with the first second of 1970 if the container could not be started.
 */
function hasStarted(terminated: Raw): boolean {
  const { startedAt } = terminated ?? {}
  return typeof startedAt === 'string' && !startedAt.startsWith('1970-')
}

function endOf({ reason, exitCode, message }: Raw): ContainerEnd {
  // If it is unknown, the message is from the kubelet, which found no container. The message of the importer is lost.
  const text = reason === 'ContainerStatusUnknown' ? '' : String(message ?? '').slice(0, MESSAGE_LIMIT)
  return { reason: String(reason ?? ''), exitCode: Number(exitCode ?? 0), message: text }
}
