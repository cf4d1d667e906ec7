import { LABELS } from '@open-terrain/constructs'
import { dataSync, virtualMachine, vmDiskImage, workspace, workspaceSnapshot } from '@open-terrain/constructs/operator'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { structuredText } from '../structured-text.ts'
import type { ClusterChoice } from '../surroundings.ts'
import { causesOf, notesAlong } from './causes.ts'
import { explainDataSync } from './explain-data-sync.ts'
import { explainImage, explainImageNamed } from './explain-image.ts'
import { explainMachine } from './explain-machine.ts'
import { explainSnapshot } from './explain-snapshot.ts'
import { explainWorkspace } from './explain-workspace.ts'
import { warningsAbout } from './neighbour-events.ts'
import { Reader } from './reader.ts'
import type { OwnObject, StoryLink, Telling } from './story.ts'
import { findTarget, targetOf } from './target.ts'
import { type Explanation, whyText } from './why-text.ts'

export const WHY_FORMS = ['text', 'json', 'yaml'] as const
export type WhyForm = (typeof WHY_FORMS)[number]

export interface WhyOptions {
  /** `KIND/NAME`, `KIND NAME`, or the name of a lab. */
  readonly words: readonly string[]
  readonly namespace?: string | undefined
  readonly operatorNamespace: string
  readonly output: WhyForm
  readonly cluster?: ClusterChoice | undefined
}

/** Who explains, where, and when. */
interface Explaining {
  readonly operatorNamespace: string
  /** Milliseconds since the epoch. */
  readonly now: number
  /** What commands to paste name. */
  readonly cluster?: ClusterChoice | undefined
}

/** Returns why an object is as it is, as text for standard output. Throws CommandError and ApiError. */
export async function showWhy(client: KubeClient, options: WhyOptions, now: number): Promise<string> {
  const { words, namespace, operatorNamespace, cluster, output } = options
  const object = await findTarget(client, targetOf(words), namespace)
  const explanation = await explain(client, object, { operatorNamespace, now, cluster })
  return output === 'text' ? whyText(explanation, now) : structuredText(explanation, output)
}

/** Returns the chain from an object of ours to its causes. */
export async function explain(
  client: KubeClient,
  object: KubeObject,
  { operatorNamespace, now, cluster }: Explaining,
): Promise<Explanation> {
  const reader = new Reader(client)
  const told = new Set<string>()
  const telling: Telling = {
    ...{ reader, now, operatorNamespace },
    image: async (key) => {
      const { kind, group } = vmDiskImage
      if (told.has(keyOf(key))) return { about: { kind, group, ...key }, isWell: false, isRepeated: true, because: [] }
      told.add(keyOf(key))
      return await explainImageNamed(key, telling)
    },
  }
  if (object.kind === vmDiskImage.kind) told.add(keyOf(object.metadata))
  const chain = await (EXPLAINED[object.kind] ?? explainNothing)(object as OwnObject, telling)
  const place = { operatorNamespace, cluster, lab: object.metadata.labels?.[LABELS.workspace] }
  return {
    chain,
    causes: causesOf(chain, place),
    warnings: notesAlong(chain, place),
    ...(chain.isWell ? { events: [] } : await warningsAbout(chain, reader)),
  }
}

type Explain = (object: OwnObject, telling: Telling) => Promise<StoryLink>

const EXPLAINED: Readonly<Record<string, Explain>> = {
  [vmDiskImage.kind]: explainImage as Explain,
  [virtualMachine.kind]: explainMachine as Explain,
  [dataSync.kind]: explainDataSync as Explain,
  [workspace.kind]: explainWorkspace as Explain,
  [workspaceSnapshot.kind]: explainSnapshot as Explain,
}

function explainNothing({ kind }: OwnObject): never {
  throw new TypeError(`nothing explains ${kind}`)
}
