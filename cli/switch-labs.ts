import { workspace } from '@open-terrain/constructs'
import { sleep } from '../operator/base/clock.ts'
import { isApiError } from '../operator/kube/api-error.ts'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { EXIT_CODES, type ExitCode } from './exit-codes.ts'
import { type Lab, type LabChoice, labsOf } from './labs.ts'
import type { Surroundings } from './surroundings.ts'
import { shown } from './table.ts'

/** Requests at a time: a class of 40 labs is no load for an API server. */
const AT_ONCE = 8
/** How often a lab is looked at that is waited for. */
const POLL_MS = 2_000

type PowerState = 'Running' | 'Halted'

interface SwitchOptions extends LabChoice {
  /** How long to wait until each lab is so, in milliseconds. Undefined: not at all. */
  readonly waitMs?: number
  readonly output: 'text' | 'json' | 'name'
}

/** What became of one lab. `ot stop -o json` prints a list of them. */
interface Outcome {
  readonly name: string
  /** `unchanged`: the spec said so already. */
  readonly result: 'changed' | 'unchanged' | 'refused' | 'done' | 'failed' | 'timedOut'
  readonly message?: string
}

/** Switches labs on or off: writes `spec.powerState`, and waits until the operator says that each lab is so. Throws CommandError and ApiError. */
export async function switchLabs(
  { client, clock, print }: Pick<Surroundings, 'clock' | 'print'> & { readonly client: KubeClient },
  powerState: PowerState,
  { waitMs, output, ...choice }: SwitchOptions,
): Promise<ExitCode> {
  const labs = await labsOf(client, choice)
  const endsAt = clock.monotonic() + (waitMs ?? 0)
  const outcomes = await eachOf(labs, async (lab): Promise<Outcome> => {
    const written = await write(client, lab, powerState)
    const outcome =
      waitMs === undefined || written.result === 'refused'
        ? written
        : await settled(client, clock, lab, powerState, endsAt)
    if (output === 'text') print(lineOf(outcome, powerState))
    return outcome
  })
  if (output === 'json') print(`${JSON.stringify(outcomes, undefined, 2)}\n`)
  if (output === 'name') print(outcomes.map(({ name }) => `workspace.pelotech.ot/${name}\n`).join(''))
  const results = outcomes.map(({ result }) => result)
  if (results.some((one) => one === 'refused' || one === 'failed')) return EXIT_CODES.failed
  return results.includes('timedOut') ? EXIT_CODES.timedOut : EXIT_CODES.done
}

async function write(client: KubeClient, { metadata, spec }: Lab, powerState: PowerState): Promise<Outcome> {
  const { name } = metadata
  if ((spec?.powerState ?? 'Running') === powerState) return { name, result: 'unchanged' }
  try {
    // An API server with CRDs of an earlier version would drop the field without a word.
    await client.mergePatch(workspace, { name }, { spec: { powerState } }, { isStrict: true })
    return { name, result: 'changed' }
  } catch (error) {
    if (!isApiError(error)) throw error
    return { name, result: 'refused', message: error.message }
  }
}

/** Waits until the operator says of the present spec that a lab is on, or off, or that it has failed. */
async function settled(
  client: KubeClient,
  clock: Surroundings['clock'],
  { metadata: { name } }: Lab,
  powerState: PowerState,
  endsAt: number,
): Promise<Outcome> {
  for (;;) {
    const lab = await find<Lab>(client, workspace, { name })
    const end = endOf(lab, powerState)
    if (end !== undefined) return { name, ...end }
    if (clock.monotonic() + POLL_MS > endsAt) return { name, result: 'timedOut', message: standOf(lab) }
    await sleep(clock, POLL_MS)
  }
}

/** Returns how the wait for a lab has ended; undefined: it goes on. */
function endOf(lab: Lab | undefined, powerState: PowerState): Pick<Outcome, 'result' | 'message'> | undefined {
  if (lab === undefined) return { result: 'failed', message: 'it was deleted' }
  const { phase, reason, observedGeneration } = lab.status ?? {}
  if (observedGeneration !== lab.metadata.generation) return undefined
  if (phase === 'Failed') return { result: 'failed', message: standOf(lab) }
  // Where machines are off by their own word, a lab that is on is `Halted` too.
  const isSo = phase === 'Ready' && (powerState === 'Running' || reason === 'Halted')
  return isSo ? { result: 'done' } : undefined
}

function standOf(lab: Lab | undefined): string {
  const { phase = 'not seen by the operator', reason = '', message = '' } = lab?.status ?? {}
  return `${phase}, ${reason}: ${message}`
}

function lineOf({ name, result, message }: Outcome, powerState: PowerState): string {
  const texts: Readonly<Record<Outcome['result'], string>> = {
    changed: `powerState is ${powerState} now`,
    unchanged: `powerState was ${powerState} already`,
    done: powerState === 'Halted' ? 'is off' : 'is Ready',
    refused: `was not changed: ${message}`,
    failed: `has failed: ${message}`,
    timedOut: `is not so yet: ${message}`,
  }
  return `workspace.pelotech.ot/${name} ${shown(texts[result])}\n`
}

/** Carries out a task for each item, at most {@link AT_ONCE} at a time. Returns the results in the order of the items. */
async function eachOf<T, R>(items: readonly T[], task: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await task(items[at] as T)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return results
}
