import { compareTexts, redactUrls } from '../base/messages.ts'
import { fromTime } from '../base/time.ts'
import type { KubeObject } from '../kube/kube-object.ts'
import { bounded } from '../runtime/foreign.ts'

/** Evaluates Events about pods that do not start. It makes no requests: `event-looks.ts` and controllers list the Events. */

/** An Event about a pod, as written by kubelets and controllers. Any part may be missing. */
export interface PodEvent extends KubeObject {
  readonly involvedObject?: { readonly uid?: string; readonly name?: string }
  readonly reason?: string
  readonly message?: string
  readonly firstTimestamp?: string | null
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
  readonly series?: { readonly lastObservedTime?: string } | null
}

/** Maximum number of characters of an Event that are kept. No well-behaved writer exceeds it. */
const EVENT_MAX = 4_000

/** Keeps only the fields of an Event that are read. */
export function viewPodEvent({ apiVersion, kind, metadata, involvedObject, series, ...event }: PodEvent): PodEvent {
  const { reason, message, firstTimestamp, lastTimestamp, eventTime } = event
  const view = {
    apiVersion,
    kind,
    metadata: { name: metadata.name, creationTimestamp: metadata.creationTimestamp },
    involvedObject: { uid: involvedObject?.uid, name: involvedObject?.name },
    firstTimestamp,
    lastTimestamp,
    eventTime,
    series: { lastObservedTime: series?.lastObservedTime },
    reason,
    message,
  }
  return bounded(view as PodEvent, EVENT_MAX)
}

/** A persistent failure is reported again at least this often, regardless of back-off and limits on Events. */
const RECENT_MS = 600_000

/** KubeVirt itself reports the message of the scheduler. While it reports `Starting`, the pod is already scheduled. */
const TOLD_ELSEWHERE: ReadonlySet<string> = new Set(['FailedScheduling'])

/** One step of a kubelet. It starts a step only after all previous steps have succeeded. */
interface StartStep {
  readonly order: number
  /** Warnings within this time describe the same situation. */
  readonly togetherMs: number
}

/** Each volume has its own back-off of at most two minutes. */
const VOLUMES: StartStep = { order: 1, togetherMs: 150_000 }
const SANDBOX: StartStep = { order: 2, togetherMs: 20_000 }
const CONTAINER: StartStep = { order: 3, togetherMs: 20_000 }
const NONE: StartStep = { order: 0, togetherMs: 20_000 }

const STEPS: Readonly<Record<string, StartStep>> = {
  FailedAttachVolume: VOLUMES,
  FailedMount: VOLUMES,
  FailedMapVolume: VOLUMES,
  NetworkNotReady: SANDBOX,
  FailedCreatePodSandBox: SANDBOX,
  Failed: CONTAINER,
  InspectFailed: CONTAINER,
  ErrImageNeverPull: CONTAINER,
  BackOff: CONTAINER,
}

/** Messages that only follow from a cause that another Event reports better. */
const CONSEQUENCE = /^Error: (ErrImagePull|ImagePullBackOff)$|^Unable to attach or mount volumes/

type PodWarning = ReturnType<typeof warningFrom>

/**
 * Returns the text of the Warning Event that explains why a pod does not start. Of the last step reached, it takes the latest group of Events, and
 * of that group the Event that occurred first. The result stays the same as long as the cause does, however often it is reported again.
 */
export function warningOf(events: readonly PodEvent[], now: number): string | undefined {
  const all = merged(events.map(warningFrom).filter(({ reason }) => !TOLD_ELSEWHERE.has(reason)))
  const recent = all.filter(({ last }) => now - last <= RECENT_MS)
  const reached = Math.max(...recent.map((one) => stepOf(one).order))
  const ofStep = recent.filter((one) => stepOf(one).order === reached)
  const causes = ofStep.filter(({ text }) => !CONSEQUENCE.test(text))
  const candidates = causes.length === 0 ? ofStep : causes
  const newest = Math.max(...candidates.map(({ last }) => last))
  const [found] = candidates
    .filter((one) => newest - one.last <= stepOf(one).togetherMs)
    .toSorted((a, b) => a.first - b.first || b.text.length - a.text.length || compareTexts(a.text, b.text))
  return found && `${found.reason}: ${found.text}`
}

function stepOf({ reason }: PodWarning): StartStep {
  return STEPS[reason] ?? NONE
}

/** Returns the warning of one Event, without the parts that differ in each attempt. */
export function warningFrom(event: PodEvent) {
  const { involvedObject, reason = '', message = '', firstTimestamp, lastTimestamp, eventTime, series } = event
  const created = fromTime(event.metadata.creationTimestamp) ?? 0
  const time = (text: string | null | undefined) => fromTime(text ?? undefined)
  return {
    reason,
    text: lasting(message, involvedObject?.name ?? '', involvedObject?.uid ?? ''),
    first: time(firstTimestamp) ?? time(eventTime) ?? created,
    last: time(series?.lastObservedTime) ?? time(lastTimestamp) ?? time(eventTime) ?? created,
  }
}

/** Merges equal warnings, because each attempt of a kubelet may create its own Event. */
function merged(warnings: readonly PodWarning[]): PodWarning[] {
  const found = new Map<string, PodWarning>()
  for (const one of warnings) {
    const key = `${one.reason} ${one.text}`
    const { first, last } = found.get(key) ?? one
    found.set(key, { ...one, first: Math.min(first, one.first), last: Math.max(last, one.last) })
  }
  return [...found.values()]
}

const UUID = /(?<!pvc-)\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi
/** Not the digest of an image, which is the same each time. */
const LONG_HEX = /(?<!sha256:)\b[0-9a-f]{32,}\b/gi
const TIMESTAMP = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*(Z|[+-]\d\d:?\d\d)?/g
const DURATION = /\b(\d+h)?(\d+m)?\d+(\.\d+)?(ms|\u00b5s|s)\b/g
/** Each attempt has its own pod name. */
const LAUNCHER = /(\bvirt-launcher-[a-z0-9.-]{1,240}-)[a-z0-9]{5}(?=")/g
const SOURCE_PORT = /:\d+(?=->)/g

/** Removes what differs in each attempt (names of pods and sandboxes, times) and secrets in URLs from a message, and limits its length. */
export function lasting(message: string, podName = '', podUid = ''): string {
  const own = [podName, podUid].filter((text) => text !== '')
  const text = own.reduce((before, one) => before.replaceAll(one, '<pod>'), message)
  return redactUrls(
    text
      .replace(/^\(combined from similar events\): /, '')
      .replace(UUID, '…')
      .replace(LONG_HEX, '…')
      .replace(TIMESTAMP, '…')
      .replace(DURATION, '…')
      .replace(SOURCE_PORT, ':…')
      .replace(LAUNCHER, '$1…')
      .replace(/\s+/g, ' ')
      .trim(),
  )
}
