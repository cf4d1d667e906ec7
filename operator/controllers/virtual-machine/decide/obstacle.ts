import { type PodEvent, warningFrom } from '../../../cluster/pod-events.ts'

/** What keeps the pod of a machine from starting, as far as a live look has found it. */
export interface Obstacle {
  /** NetworkAttachmentDefinitions that interfaces name, and that are not there. */
  readonly missingNetworks: readonly string[]
  /** Whether the cluster serves NetworkAttachmentDefinitions at all. */
  readonly hasMultus: boolean
  /** `<reason>: <message>` of the Warning event that tells most; undefined where none does. */
  readonly warning: string | undefined
  /** What was said last, where the pod or its instance is refused. */
  readonly refusal?: CreateRefusal
}

/** An Event that tells why KubeVirt could not create something. */
export interface CreateRefusal {
  readonly text: string
  /** When it was last reported, in ms. */
  readonly at: number
}

/** Of the Events about one object that could not be created the newest, in the words that KubeVirt's condition would have. */
export function refusalOf(events: readonly PodEvent[]): CreateRefusal | undefined {
  // Its name may be part of other words.
  const [newest] = events
    .map((event) => warningFrom({ ...event, involvedObject: {} }))
    .toSorted((a, b) => b.last - a.last)
  if (newest === undefined) return undefined
  const text = AS_CONDITION.reduce((said, [event, condition]) => said.replace(event, condition), newest.text)
  return { text, at: newest.last }
}

const AS_CONDITION = [
  [/^Error creating virtual machine instance: /, 'Failure while starting VMI: '],
  [/^Error creating pod: /, 'failed to create virtual machine pod: '],
] as const
