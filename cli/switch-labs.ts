import type { PowerState } from '@open-terrain/constructs/operator'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { ExitCode } from './exit-codes.ts'
import { findLab, type Lab, type LabChoice, labsOf, patchLab } from './labs.ts'
import { type LabOutcome, outcomeOnceEnded, type ResultForm, tellOutcomes } from './outcomes.ts'
import type { Surroundings } from './surroundings.ts'

interface SwitchOptions extends LabChoice {
  /** How long to wait until each lab is so, in milliseconds. Undefined: not at all. */
  readonly waitMs?: number
  readonly output: ResultForm
}

/** Switches labs on or off: writes `spec.powerState`, and waits until the operator says that each lab is so. Throws CommandError and ApiError. */
export async function switchLabs(
  { client, clock, print }: Pick<Surroundings, 'clock' | 'print'> & { readonly client: KubeClient },
  powerState: PowerState,
  { waitMs, output, ...choice }: SwitchOptions,
): Promise<ExitCode> {
  const labs = await labsOf(client, choice)
  const endsAt = clock.monotonic() + (waitMs ?? 0)
  return await tellOutcomes(labs, output, print, async (lab) => {
    const written = await write(client, lab, powerState)
    if (waitMs === undefined || written.result === 'refused') return written
    return await settled({ client, clock }, lab.metadata.name, powerState, endsAt)
  })
}

async function write(client: KubeClient, lab: Lab, powerState: PowerState): Promise<LabOutcome> {
  const { name } = lab.metadata
  const { expiresAt, expiry } = lab.status ?? {}
  if (powerState === 'Running' && expiry?.ended === true) {
    const message = `it ended at ${expiresAt}: ot extend ${name} --by 24h gives it a later end`
    return { name, result: 'refused', text: `was not changed: ${message}`, message }
  }
  if ((lab.spec?.powerState ?? 'Running') === powerState)
    return { name, result: 'unchanged', text: `powerState was ${powerState} already` }
  return await patchLab(client, name, { powerState }, `powerState is ${powerState} now`)
}

/** Waits until the operator says of the present spec that a lab is on, or off, or that it has failed. */
async function settled(
  { client, clock }: Pick<Surroundings, 'clock'> & { readonly client: KubeClient },
  name: string,
  powerState: PowerState,
  endsAt: number,
): Promise<LabOutcome> {
  return await outcomeOnceEnded(clock, name, endsAt, async () => {
    const lab = await findLab(client, name)
    return endOf(lab, powerState) ?? standOf(lab)
  })
}

/** Returns how the wait for a lab has ended; undefined: it goes on. */
function endOf(lab: Lab | undefined, powerState: PowerState): Omit<LabOutcome, 'name'> | undefined {
  const failed = (message: string) => ({ result: 'failed', text: `has failed: ${message}`, message }) as const
  if (lab === undefined) return failed('it was deleted')
  const { phase, reason, observedGeneration } = lab.status ?? {}
  if (observedGeneration !== lab.metadata.generation) return undefined
  if (phase === 'Failed') return failed(standOf(lab))
  // Where machines are off by their own word, a lab that is on is `Halted` too.
  const isSo = phase === 'Ready' && (powerState === 'Running' || reason === 'Halted' || reason === 'Expired')
  return isSo ? { result: 'done', text: powerState === 'Halted' ? 'is off' : 'is Ready' } : undefined
}

function standOf(lab: Lab | undefined): string {
  const { phase = 'not seen by the operator', reason = '', message = '' } = lab?.status ?? {}
  return `${phase}, ${reason}: ${message}`
}
