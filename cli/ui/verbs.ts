import type { Clock } from '../../operator/base/clock.ts'
import { messageOf } from '../../operator/base/messages.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { CommandError } from '../exit-codes.ts'
import { extendLabs } from '../extend-labs.ts'
import type { LabOutcome } from '../outcomes.ts'
import { renewLabs } from '../renew-labs.ts'
import { switchLabs } from '../switch-labs.ts'
import { UI_VERBS, type VerbAnswer, type VerbRequest } from './rows.ts'

/** The longest time by which the page extends a lab at once: a year. */
const LONGEST_MS = 366 * 86_400_000

/** Does what a button of the page says: what `ot` does on the command line, with the same rights and refusals. */
export async function carryOut(
  { client, clock }: { readonly client: KubeClient; readonly clock: Clock },
  { verb, names, byMs, isConfirmed = false }: VerbRequest,
): Promise<VerbAnswer> {
  let printed = ''
  const print = (text: string) => {
    printed += text
  }
  const surroundings = { client, clock, print, tell: () => undefined, ask: undefined }
  const choice = { names, output: 'json' } as const
  try {
    if (verb === 'start' || verb === 'stop')
      await switchLabs(surroundings, verb === 'stop' ? 'Halted' : 'Running', choice)
    else if (verb === 'extend') await extendLabs(surroundings, { ...choice, byMs: byMs ?? 0 })
    // What is lost is shown first, and somebody has to say yes to that.
    else await renewLabs(surroundings, verb, { ...choice, vms: [], isDryRun: !isConfirmed, isConfirmed })
  } catch (error) {
    return { problem: error instanceof CommandError ? error.message : messageOf(error) }
  }
  return {
    outcomes: (JSON.parse(printed) as LabOutcome[]).map(({ name, result, ...rest }) => ({
      name,
      result,
      text: textOf(rest),
    })),
  }
}

function textOf({ message, work }: Omit<LabOutcome, 'name' | 'result' | 'text'>): string {
  if (message !== undefined) return message
  if (work === undefined) return ''
  const machines = work.machines.map(({ name, need, disks }) => {
    const what = disks.length === 0 ? 'no disk' : `disk ${disks.join(', ')}`
    return `${name} (${need === 'lost' ? 'lost already' : what})`
  })
  return [...machines, ...work.components].join(', ')
}

/** Returns a request that a page has sent, or what is wrong with it. */
export function verbRequestOf(json: unknown): VerbRequest | string {
  const { verb, names, byMs, isConfirmed } = (json ?? {}) as Partial<Record<keyof VerbRequest, unknown>>
  const known = UI_VERBS.find((one) => one === verb)
  if (known === undefined) return `verb must be one of ${UI_VERBS.join(', ')}`
  if (!Array.isArray(names) || names.length === 0 || !names.every((name) => typeof name === 'string'))
    return 'names must be a list of names of labs'
  const isDuration = typeof byMs === 'number' && byMs > 0 && byMs <= LONGEST_MS
  if (known === 'extend' && !isDuration) return `byMs must be a number of milliseconds from 1 to ${LONGEST_MS}`
  return { verb: known, names, isConfirmed: isConfirmed === true, ...(isDuration && { byMs }) }
}
