import { parseWorkspaceSpec } from '@open-terrain/constructs/operator'
import { isApiError } from '../../operator/kube/api-error.ts'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ObjectKey } from '../../operator/kube/kube-object.ts'
import { EVENT } from '../../operator/kube/resource-types.ts'
import { pictureOf } from '../picture/lab-picture.ts'
import type { LabPicture } from '../picture/picture.ts'
import type { ClusterChoice } from '../surroundings.ts'
import { explain } from '../why/show-why.ts'
import { toPaste } from '../why/to-paste.ts'
import { type AnyCondition, rowOf, type SeenObject, TYPES } from './row-of.ts'
import type { Story, StoryComponent, StoryMoment, UiKind } from './rows.ts'

/** An object may have hundreds of Events of neighbours. */
const MOST_EVENTS = 1_000
const EVENTS_OF_PAGE = 200

/** An Event of the core group, as any component writes it. Every field may be missing. */
interface AnyEvent extends KubeObject {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly note?: string
  readonly count?: number
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string }
  readonly firstTimestamp?: string | null
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
}

interface StoryOf {
  readonly kind: UiKind
  readonly key: ObjectKey
  readonly operatorNamespace: string
  readonly cluster?: ClusterChoice | undefined
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Reads what an object says of itself, and what Events say of it. Undefined: it does not exist. Throws ApiError. */
export async function storyOf(
  client: KubeClient,
  { kind, key, operatorNamespace, cluster, now }: StoryOf,
): Promise<Story | undefined> {
  const object = (await find(client, TYPES[kind], key)) as SeenObject | undefined
  if (object === undefined) return undefined
  const [events, explanation] = await Promise.all([
    eventsOf(client, object),
    explain(client, object, { operatorNamespace, now, cluster }),
  ])
  const conditions = object.status?.conditions ?? []
  const moments = [...conditions.flatMap(momentOfCondition), ...events.found.flatMap(momentOfEvent)]
  return {
    kind,
    row: rowOf(kind, object),
    conditions: conditions.map(({ type, status, reason = '', message = '', lastTransitionTime }) => ({
      type,
      status,
      reason,
      message,
      since: lastTransitionTime,
    })),
    timeline: moments.toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at)),
    noEvents: events.refusal,
    ...(events.hasMore && { hasMoreEvents: true }),
    explanation,
    picture: kind === 'labs' ? pictureOfLab(object) : undefined,
    commands: toPaste(commandsFor(kind, key), cluster),
    components: componentsOf(object),
  }
}

interface FoundEvents {
  readonly found: readonly AnyEvent[]
  readonly hasMore: boolean
  /** Why they cannot be read, or not all of them. */
  readonly refusal?: string
}

/** Returns the Events of an object, as far as the page shows them. */
async function eventsOf(client: KubeClient, { kind, metadata }: KubeObject): Promise<FoundEvents> {
  const { name, namespace, uid } = metadata
  const fieldSelector = `involvedObject.kind=${kind},involvedObject.name=${name},involvedObject.uid=${uid}`
  // Events of objects without a namespace are in `default`.
  const selection = { namespace: namespace ?? 'default', fieldSelector, limit: EVENTS_OF_PAGE }
  const found: AnyEvent[] = []
  let continueToken: string | undefined
  try {
    do {
      const page = await client.list(EVENT, { ...selection, ...(continueToken !== undefined && { continueToken }) })
      found.push(...(page.items as readonly AnyEvent[]))
      continueToken = page.continueToken
    } while (continueToken !== undefined && found.length < MOST_EVENTS)
    return { found, hasMore: continueToken !== undefined }
  } catch (error) {
    if (!isApiError(error)) throw error
    return { found, hasMore: false, refusal: error.message }
  }
}

function momentOfCondition({
  type,
  status,
  reason = '',
  message = '',
  lastTransitionTime,
}: AnyCondition): StoryMoment[] {
  if (lastTransitionTime === undefined) return []
  const title = `${type} became ${status}${reason === '' ? '' : `: ${reason}`}`
  return [{ at: lastTransitionTime, from: 'Condition', isWarning: false, title, text: message }]
}

function momentOfEvent(event: AnyEvent): StoryMoment[] {
  const { type, reason = '', message, note, series } = event
  const at =
    series?.lastObservedTime ??
    event.lastTimestamp ??
    event.eventTime ??
    event.firstTimestamp ??
    event.metadata.creationTimestamp
  if (at === undefined || at === null) return []
  const count = series?.count ?? event.count ?? 1
  return [
    {
      at,
      from: 'Event',
      isWarning: type === 'Warning',
      title: reason,
      text: message ?? note ?? '',
      ...(count > 1 && { count }),
    },
  ]
}

function componentsOf({ status }: SeenObject): readonly StoryComponent[] {
  const { components = [] } = (status ?? {}) as { readonly components?: readonly StoryComponent[] }
  return components.map(({ kind, name, phase, reason, message }) => ({ kind, name, phase, reason, message }))
}

function pictureOfLab(object: SeenObject): LabPicture | undefined {
  const parsed = parseWorkspaceSpec(object.spec ?? {})
  return parsed.ok ? pictureOf(object.metadata.name, parsed.spec) : undefined
}

function commandsFor(kind: UiKind, { namespace, name }: ObjectKey): string[] {
  const { shortNames = [], plural, group } = TYPES[kind]
  const where = namespace === undefined ? '' : `-n ${namespace} `
  const short = shortNames[0] ?? `${plural}.${group}`
  return [
    `ot why ${short}/${name}${namespace === undefined ? '' : ` -n ${namespace}`}`,
    `kubectl ${where}describe ${short} ${name}`,
  ]
}
