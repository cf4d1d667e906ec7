import { redactUrls } from '../../operator/base/messages.ts'
import { toShortTime } from '../../operator/base/time.ts'
import { type PodEvent, viewPodEvent, warningFrom } from '../../operator/cluster/pod-events.ts'
import { EVENT } from '../../operator/kube/resource-types.ts'
import { linksOf } from './causes.ts'
import { isUnseen, type Reader, type Unseen } from './reader.ts'
import type { StoryLink, Subject } from './story.ts'

/** A Warning that somebody wrote about a link. */
interface ToldEvent {
  readonly about: Subject
  readonly reason: string
  readonly message: string
  /** When it was last seen, in RFC 3339. */
  readonly last: string
}

/** What was found. */
export interface ToldEvents {
  readonly events: readonly ToldEvent[] | Unseen
  /** Why those of some links are missing, where those of others were found. */
  readonly eventsUnseen?: string | undefined
}

interface Told extends ToldEvent {
  /** The message without what differs each time that it is said. */
  readonly lasting: string
}

interface WarningEvent extends PodEvent {
  readonly involvedObject?: { readonly uid?: string; readonly name?: string; readonly kind?: string }
}

const SHOWN_MAX = 5
/** Objects of one namespace whose Events are asked for one by one. Of more, all Warnings of the namespace are listed. */
const ONE_BY_ONE_MAX = 4
/** Events about objects that are in no namespace are here. */
const CLUSTER_NAMESPACE = 'default'

/** Returns the last Warnings about the links of a chain that say more than the links themselves, the newest first. */
export async function warningsAbout(first: StoryLink, reader: Reader): Promise<ToldEvents> {
  const links = linksOf(first).filter(({ uid, isWell }) => uid !== undefined && !isWell)
  const byUid = new Map(links.map((link) => [link.uid ?? '', link]))
  const known = linksOf(first).flatMap(({ message }) => message ?? [])
  const namespaces = Map.groupBy(byUid.values(), ({ about }) => about.namespace ?? CLUSTER_NAMESPACE)
  const lists = await Promise.all(
    [...namespaces].flatMap(([namespace, those]) =>
      those.length > ONE_BY_ONE_MAX
        ? [reader.list<WarningEvent>(EVENT, { namespace, fieldSelector: 'type=Warning' })]
        : those.map(({ uid }) =>
            reader.list<WarningEvent>(EVENT, { namespace, fieldSelector: `involvedObject.uid=${uid},type=Warning` }),
          ),
    ),
  )
  const found = lists.flatMap((list) => (isUnseen(list) ? [] : list)).flatMap((event) => toldOf(event, byUid))
  const unseen = lists.find(isUnseen)
  if (found.length === 0 && unseen !== undefined) return { events: unseen }
  const fresh = found.filter(({ message }) => !known.some((one) => one.includes(message)))
  return { events: newest(fresh), ...(unseen !== undefined && { eventsUnseen: unseen.unseen }) }
}

function toldOf(event: WarningEvent, byUid: ReadonlyMap<string, StoryLink>): readonly Told[] {
  const link = byUid.get(event.involvedObject?.uid ?? '')
  if (link === undefined) return []
  const view = viewPodEvent(event)
  // Names of pods alone are made up. Another object's name may be a part of any word.
  const { reason, text, last } = warningFrom(
    event.involvedObject?.kind === 'Pod' ? view : { ...view, involvedObject: {} },
  )
  return [
    { about: link.about, reason, message: redactUrls(view.message ?? ''), lasting: text, last: toShortTime(last) },
  ]
}

function newest(events: readonly Told[]): readonly ToldEvent[] {
  const once = new Map<string, ToldEvent>()
  for (const { lasting, ...event } of events.toSorted((one, other) => (one.last < other.last ? -1 : 1)))
    once.set(JSON.stringify([event.about, event.reason, lasting]), event)
  return [...once.values()].toSorted((one, other) => (one.last > other.last ? -1 : 1)).slice(0, SHOWN_MAX)
}
