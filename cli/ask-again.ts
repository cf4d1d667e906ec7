import { ANNOTATIONS } from '@open-terrain/constructs'
import { toTime } from '../operator/base/time.ts'
import { statusOfPresent } from '../operator/images/decide/image-content.ts'
import { viewImage } from '../operator/images/image-view.ts'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { CommandError, type ExitCode } from './exit-codes.ts'
import { patchObject } from './labs.ts'
import { type ChosenObject, type ObjectChoice, type OwnResource, objectsOf } from './objects.ts'
import { type LabOutcome, outcomeOnceEnded, type ResultForm, tellOutcomes } from './outcomes.ts'
import type { Surroundings } from './surroundings.ts'

/** What people can ask for of an object that is there. */
export type AskVerb = 'retry' | 'refresh' | 'suspend' | 'resume'

interface AskOptions extends ObjectChoice {
  /** How long to wait until each object has settled, in milliseconds. Undefined: not at all. */
  readonly waitMs?: number
  readonly output: ResultForm
}

interface Ask {
  /** Set to the present time. */
  readonly annotation?: string
  readonly spec?: { readonly suspend: boolean }
  /** What is told when it is done. */
  readonly text: string
}

const RETRY = { annotation: ANNOTATIONS.retryRequestedAt, text: 'is asked to try again what has failed' }
const REFRESH = { annotation: ANNOTATIONS.syncRequestedAt, text: 'is asked to download its source again' }
const PLAY = { annotation: ANNOTATIONS.playRequestedAt, text: 'is asked to play again the roles that have failed' }
const SUSPEND = {
  spec: { suspend: true },
  text: 'is suspended: no download starts, a running one stops, and the artifact stays',
}
const RESUME = { spec: { suspend: false }, text: 'goes on: if it has to download, it goes to the end of the queue' }

/** By verb and kind. A kind that is absent has no such request. */
const ASKS: Readonly<Record<AskVerb, Readonly<Record<string, Ask>>>> = {
  retry: { VMDiskImage: RETRY, DataSync: RETRY, Workspace: PLAY },
  refresh: { VMDiskImage: REFRESH, DataSync: REFRESH },
  suspend: { VMDiskImage: SUSPEND },
  resume: { VMDiskImage: RESUME },
}

/** What to do instead, by verb and kind. */
const INSTEAD: Readonly<Partial<Record<AskVerb, Readonly<Record<string, string>>>>> = {
  retry: {
    VirtualMachine: 'the operator tries it again by itself; ot rebuild LAB --vm NAME gives it a new disk',
    WorkspaceSnapshot: 'a point in time is taken once; ot snapshot takes another one',
  },
  suspend: { DataSync: 'suspend its images' },
  resume: { DataSync: 'resume its images' },
}

/** Asks the operator for something, and waits until it has done that. Throws CommandError and ApiError. */
export async function askAgain(
  { client, clock, print }: Pick<Surroundings, 'clock' | 'print'> & { readonly client: KubeClient },
  verb: AskVerb,
  { waitMs, output, ...choice }: AskOptions,
): Promise<ExitCode> {
  const chosen = await objectsOf(client, choice)
  for (const { resource } of chosen) checkKind(verb, resource)
  const endsAt = clock.monotonic() + (waitMs ?? 0)
  return await tellOutcomes(chosen, output, print, async (one) => {
    const { resource, object } = one
    const { namespace, name } = object.metadata
    const head = { kind: resource.singular, name, ...(namespace !== undefined && { namespace }) }
    const written = { ...(await asked(client, verb, one, toTime(clock.now()))), ...head }
    if (waitMs === undefined || written.result !== 'changed') return written
    return { ...(await outcomeOnceEnded(clock, name, endsAt, () => standOf(client, one))), ...head }
  })
}

function checkKind(verb: AskVerb, { kind }: OwnResource): void {
  if (ASKS[verb][kind] !== undefined) return
  const instead = INSTEAD[verb]?.[kind]
  throw new CommandError(
    'usage',
    `ot ${verb} is not for a ${kind}, but for ${Object.keys(ASKS[verb]).join(' and ')}${instead === undefined ? '' : `: ${instead}`}`,
  )
}

async function asked(
  client: KubeClient,
  verb: AskVerb,
  { resource, object }: ChosenObject,
  now: string,
): Promise<Omit<LabOutcome, 'name'>> {
  const idle = idleText(verb, object)
  if (idle !== undefined) return { result: 'unchanged', text: idle }
  const { annotation, spec, text } = ASKS[verb][resource.kind] as Ask
  const patch = { ...(annotation && { metadata: { annotations: { [annotation]: now } } }), ...(spec && { spec }) }
  const refusal = await patchObject(client, resource, object.metadata, patch)
  if (refusal === undefined) return { result: 'changed', text }
  return { result: 'refused', text: `was not changed: ${refusal}`, message: refusal }
}

/** Returns why there is nothing to ask for; undefined if there is something. */
function idleText(verb: AskVerb, object: KubeObject): string | undefined {
  if (verb === 'retry' && object.kind !== 'VMDiskImage') return unfailedText(object)
  if (object.kind !== 'VMDiskImage') return undefined
  const { suspend = false } = (object as { readonly spec?: { readonly suspend?: boolean } }).spec ?? {}
  if (verb === 'suspend' && suspend) return 'was suspended already'
  if (verb === 'resume' && !suspend) return 'was not suspended'
  const isDone = statusOfPresent(viewImage(object)).phase === 'Succeeded'
  return verb === 'retry' && isDone ? 'has not failed: ot refresh downloads its source again' : undefined
}

/**
 * Returns that a lab or a DataSync names nothing that a request would try again; undefined if it does, or if its status is not about its present spec: nothing
 * would ever answer such a request.
 */
function unfailedText({ kind, metadata, status }: Told): string | undefined {
  if (status === undefined || status.observedGeneration !== metadata.generation) return undefined
  const { phase, plays = [], images = [] } = status
  if (kind === 'Workspace') {
    // Those of each start are played again in any case.
    const isAsked = plays.some((one) => one.play === 'deploy' || !['Succeeded', 'Running'].includes(one.phase))
    return isAsked ? undefined : 'has no play that has failed: nothing would be played again'
  }
  const isFailed = phase === 'Failed' || images.some((one) => one.phase === 'Failed')
  return isFailed ? undefined : 'has no image that has failed: ot refresh downloads its sources again'
}

/** What all kinds that can be asked say of themselves. */
interface Told extends KubeObject {
  readonly status?: {
    readonly observedGeneration?: number
    readonly plays?: readonly { readonly play: string; readonly phase: string }[]
    readonly images?: readonly { readonly phase?: string }[]
    readonly phase?: string
    readonly reason?: string
    readonly message?: string
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly observedGeneration?: number
    }[]
  }
}

/** Returns how the request has ended, or what to tell while it goes on. What the status said before the request does not count. */
async function standOf(
  client: KubeClient,
  { resource, object }: ChosenObject,
): Promise<Omit<LabOutcome, 'name'> | string> {
  const now = await find<Told>(client, resource, object.metadata)
  if (now === undefined) return { result: 'failed', text: 'has failed: it was deleted', message: 'it was deleted' }
  const isAnswered =
    resource.kind === 'VMDiskImage'
      ? statusOfPresent(viewImage(now)).phase !== undefined
      : JSON.stringify(now.status) !== JSON.stringify((object as Told).status)
  const { phase = 'not seen by the operator', reason = '', message = '', conditions = [] } = now.status ?? {}
  const settled = conditions.find(({ type }) => type === 'Settled')
  const told = `${phase}, ${reason}: ${message}`
  if (!isAnswered) return `the request is not taken yet: ${told}`
  if (settled?.status !== 'True' || settled.observedGeneration !== now.metadata.generation) return told
  if (phase === 'Failed') return { result: 'failed', text: `has failed: ${told}`, message: told }
  return { result: 'done', text: `is ${phase}` }
}
