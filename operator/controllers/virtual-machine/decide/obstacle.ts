import { type PodEvent, warningFrom } from '../../../cluster/pod-events.ts'

/** What keeps the pod of a machine from starting, as found by a live look. */
export interface Obstacle {
  /** NetworkAttachmentDefinitions that interfaces name but that do not exist. */
  readonly missingNetworks: readonly string[]
  /** Whether the cluster serves NetworkAttachmentDefinitions at all. */
  readonly hasMultus: boolean
  /** `<reason>: <message>` of the most relevant Warning event; undefined if there is none. */
  readonly warning: string | undefined
  /** The newest refusal, if the pod or its instance is refused. */
  readonly refusal?: CreateRefusal
}

/** An Event that reports why KubeVirt could not create something. */
export interface CreateRefusal {
  readonly text: string
  /** When it was last reported, in ms. */
  readonly at: number
}

/** Returns the newest Event about what could not be created for one object, in the words of KubeVirt's condition. */
export function refusalOf(events: readonly PodEvent[]): CreateRefusal | undefined {
  // The object's name is not replaced in the text, since it may be part of other words.
  const [newest] = events
    .map((event) => warningFrom({ ...event, involvedObject: {} }))
    .toSorted((a, b) => b.last - a.last)
  if (newest === undefined) return undefined
  const text = AS_CONDITION.reduce((reworded, [event, condition]) => reworded.replace(event, condition), newest.text)
  return { text, at: newest.last }
}

const AS_CONDITION = [
  [/^Error creating virtual machine instance: /, 'Failure while starting VMI: '],
  [/^Error creating pod: /, 'failed to create virtual machine pod: '],
] as const
