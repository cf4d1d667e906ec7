/** The importer's container in the words of its kubelet. CDI reads the same, keeps less of it, and may be away. */
export interface ImporterView {
  /** How often it has run, each time from the first byte; 0 while it waits for its image, its Secret or a node. */
  readonly starts: number
  readonly isRunning: boolean
  /** Its last end. */
  readonly ended: ContainerEnd | undefined
}

export interface ContainerEnd {
  readonly reason: string
  readonly exitCode: number
  readonly message: string
}

export const NOT_STARTED: ImporterView = { starts: 0, isRunning: false, ended: undefined }

const MESSAGE_LIMIT = 2_000

/** The status of a pod as the API server sends it; parts may be missing whatever the schema says. */
// biome-ignore lint/suspicious/noExplicitAny: this is the edge where JSON of others is read, field by field
type Raw = any

/** @param status of a pod that has one container, or one of the name that CDI gives to it */
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
 * A kubelet gives an end to containers that never ran, too: without a time where their pod was deleted before, with the
 * first second of 1970 where they could not be started.
 */
function hasStarted(terminated: Raw): boolean {
  const { startedAt } = terminated ?? {}
  return typeof startedAt === 'string' && !startedAt.startsWith('1970-')
}

/** Its message is the kubelet's own: it found no container, so nobody knows what the importer said. */
const UNKNOWN = 'ContainerStatusUnknown'

function endOf({ reason, exitCode, message }: Raw): ContainerEnd {
  return {
    reason: String(reason ?? ''),
    exitCode: Number(exitCode ?? 0),
    message: reason === UNKNOWN ? '' : String(message ?? '').slice(0, MESSAGE_LIMIT),
  }
}
