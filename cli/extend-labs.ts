import { fromTime, toShortTime } from '../operator/base/time.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { ExitCode } from './exit-codes.ts'
import { type Lab, type LabChoice, labsOf, patchLab } from './labs.ts'
import { type ResultForm, tellOutcomes } from './outcomes.ts'
import type { Surroundings } from './surroundings.ts'

interface ExtendOptions extends LabChoice {
  /** How much later each lab is to end, in milliseconds: after its end, or after now where it has none or that is over. */
  readonly byMs?: number
  /** When it is to end, in milliseconds since the epoch. */
  readonly untilMs?: number
  readonly output: ResultForm
}

/** Gives labs a later end: writes `spec.expiresAt`. One that has ended is switched on by that. Throws CommandError and ApiError. */
export async function extendLabs(
  { client, clock, print }: Pick<Surroundings, 'clock' | 'print'> & { readonly client: KubeClient },
  { byMs, untilMs, output, ...choice }: ExtendOptions,
): Promise<ExitCode> {
  const labs = await labsOf(client, choice)
  return await tellOutcomes(labs, output, print, async (lab) => {
    const { name } = lab.metadata
    const endMs = untilMs ?? laterEnd(lab, byMs ?? 0, clock.now())
    const expiresAt = toShortTime(Math.floor(endMs / 1_000) * 1_000)
    const isOff = lab.spec?.powerState === 'Halted'
    return await patchLab(
      client,
      name,
      { expiresAt },
      `ends at ${expiresAt} now${isOff ? '; it is off until ot start' : ''}`,
    )
  })
}

function laterEnd({ status }: Lab, byMs: number, now: number): number {
  return byMs + Math.max(fromTime(status?.expiresAt) ?? now, now)
}
