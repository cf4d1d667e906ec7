import type { KubeObject } from '../kube/kube-object.ts'
import { fromTime } from '../runtime/conditions.ts'
import { bounded } from '../runtime/foreign.ts'
import { redactUrls } from '../runtime/redact.ts'

/** What Events tell of pods that do not start. Nothing here asks for them: `pod-warnings.ts` and controllers do. */

/** An Event about a pod, as kubelets and controllers write it; parts may be missing. */
export interface PodEvent extends KubeObject {
  readonly involvedObject?: { readonly uid?: string; readonly name?: string }
  readonly reason?: string
  readonly message?: string
  readonly firstTimestamp?: string | null
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
  readonly series?: { readonly lastObservedTime?: string } | null
}

/** As much of an Event as is looked at, and no more than anybody writes in good faith. */
export function viewPodEvent({ apiVersion, kind, metadata, ...event }: PodEvent): PodEvent {
  const { name, creationTimestamp } = metadata
  const { involvedObject, reason, message, firstTimestamp, lastTimestamp, eventTime, series } = event
  const about = { uid: involvedObject?.uid, name: involvedObject?.name }
  const times = { firstTimestamp, lastTimestamp, eventTime, series: { lastObservedTime: series?.lastObservedTime } }
  const view = {
    apiVersion,
    kind,
    metadata: { name, creationTimestamp },
    involvedObject: about,
    ...times,
    reason,
    message,
  }
  return bounded(view as PodEvent, EVENT_MAX)
}

/** Characters of an Event that are read. */
const EVENT_MAX = 4_000
/** What goes on failing is reported again at least so often, whatever the back-off and the limits on events. */
const RECENT_MS = 600_000

/** KubeVirt tells by itself what the scheduler says; while it says `Starting`, that is over. */
const TOLD_ELSEWHERE: ReadonlySet<string> = new Set(['FailedScheduling'])

/** One of the steps of a kubelet, which begins with the next one only when all before it went well. */
interface Step {
  readonly order: number
  /** What is reported within so long is about one and the same state of things. */
  readonly togetherMs: number
}

/** Each volume has a back-off of its own, of two minutes at most. */
const VOLUMES: Step = { order: 1, togetherMs: 150_000 }
const SANDBOX: Step = { order: 2, togetherMs: 20_000 }
const CONTAINER: Step = { order: 3, togetherMs: 20_000 }
const NONE: Step = { order: 0, togetherMs: 20_000 }

const STEPS: Readonly<Record<string, Step>> = {
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

/** Follows from what another Event says better. */
const CONSEQUENCE = /^Error: (ErrImagePull|ImagePullBackOff)$|^Unable to attach or mount volumes/

export interface PodWarning {
  readonly reason: string
  readonly text: string
  readonly first: number
  readonly last: number
}

/**
 * Of all Warning events about one pod the one that says why it does not start: of the last step that was reached, and there of what was
 * told last the one that came first. The same as long as the cause is, however often that is reported again.
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
    .toSorted((a, b) => a.first - b.first || b.text.length - a.text.length || (a.text < b.text ? -1 : 1))
  return found && `${found.reason}: ${found.text}`
}

function stepOf({ reason }: PodWarning): Step {
  return STEPS[reason] ?? NONE
}

/** One Event, without what is another in each try. */
export function warningFrom(event: PodEvent): PodWarning {
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

/** Each try of a kubelet may be an Event of its own. */
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
const LONG_HEX = /\b[0-9a-f]{32,}\b/gi
const TIMESTAMP = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*(Z|[+-]\d\d:?\d\d)?/g
const DURATION = /\b(\d+h)?(\d+m)?\d+(\.\d+)?(ms|µs|s)\b/g
/** Each try has a name of its own. */
const LAUNCHER = /(\bvirt-launcher-[a-z0-9.-]{1,240}-)[a-z0-9]{5}(?=")/g
const SOURCE_PORT = /:\d+(?=->)/g

/** A message without what is another in each try: names of pods, sandboxes and times. Without what is secret in URLs, and not too long. */
function lasting(message: string, podName: string, podUid: string): string {
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
