import { virtualMachine } from '@open-terrain/constructs/operator'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { confirm } from './confirm.ts'
import { CommandError, type ExitCode } from './exit-codes.ts'
import { type Lab, type LabChoice, labsOf, patchObject } from './labs.ts'
import { type Machine, namespaceOfLab } from './machines.ts'
import { eachOf, type LabOutcome, type LabWork, type ResultForm, tellOutcomes } from './outcomes.ts'
import type { Surroundings } from './surroundings.ts'
import { shown } from './table.ts'

/** What a command is asked to do to labs that costs data. */
export interface ChangeOptions extends LabChoice {
  /** Names of machines. Empty: all. */
  readonly vms: readonly string[]
  /** Shows alone what would be done. */
  readonly isDryRun: boolean
  /** Somebody has said yes already. */
  readonly isConfirmed: boolean
  /** How long to wait until it is done, in milliseconds. Undefined: not at all. */
  readonly waitMs?: number
  readonly output: ResultForm
}

export type Connected = Pick<Surroundings, 'ask' | 'clock' | 'print' | 'tell'> & { readonly client: KubeClient }

/** One lab, and what is to be made again of it. */
export interface LabChange extends LabWork {
  readonly lab: Lab
}

/** A command of this kind. */
export interface LossyChange<T extends LabChange> {
  /** Throws CommandError, for what is asked of a lab that it does not have. */
  readonly find: (lab: Lab) => Promise<T>
  /** Follows the name of a lab of which nothing is to be made again. */
  readonly nothing: string
  readonly lossOf: (change: T) => string
  readonly questionOf: (changes: readonly T[]) => string
  readonly write: (change: T) => Promise<Written>
}

interface Written {
  readonly outcome: LabOutcome
  /** @param endsAt when to give up, on the monotonic clock */
  readonly wait: (endsAt: number) => Promise<LabOutcome>
}

/**
 * Finds what is to be done to each lab, says what is lost, asks, writes, and waits if that is wanted. Throws CommandError, before anything is
 * written, and ApiError.
 */
export async function changeLabs<T extends LabChange>(
  { client, clock, print, tell, ask }: Connected,
  { isDryRun, isConfirmed, waitMs, output, vms: _, ...choice }: ChangeOptions,
  { find, nothing, lossOf, questionOf, write }: LossyChange<T>,
): Promise<ExitCode> {
  const changes = await eachOf(await labsOf(client, choice), find)
  const planned = async (change: T): Promise<LabOutcome> => {
    const { name } = change.lab.metadata
    if (isNothing(change)) return { name, result: 'unchanged', text: nothing }
    return { name, result: 'planned', text: `would be changed: ${lossOf(change)}`, work: workOf(change) }
  }
  if (isDryRun) return await tellOutcomes(changes, output, print, planned)
  const needed = changes.filter((one) => !isNothing(one))
  if (needed.length > 0 && !isConfirmed) {
    tell(needed.map((one) => `${one.lab.metadata.name}: ${shown(lossOf(one))}\n`).join(''))
    await confirm({ ask }, questionOf(needed))
  }
  const endsAt = clock.monotonic() + (waitMs ?? 0)
  return await tellOutcomes(changes, output, print, async (change) => {
    if (isNothing(change)) return await planned(change)
    const { outcome, wait } = await write(change)
    return waitMs === undefined || outcome.result === 'refused' ? outcome : await wait(endsAt)
  })
}

function isNothing({ machines, components }: LabWork): boolean {
  return machines.length + components.length === 0
}

/** What an outcome has of a change. */
export function workOf({ machines, components }: LabWork): LabWork {
  return { machines, components }
}

/** Returns those of a lab's machines that `vms` names, and all of them if it names none. Throws CommandError for a name that no machine has. */
export function namedMachines(lab: Lab, machines: readonly Machine[], vms: readonly string[]): Machine[] {
  const unknown = vms.filter((name) => !machines.some(({ metadata }) => metadata.name === name))
  if (unknown.length > 0)
    throw new CommandError(
      'notFound',
      `${lab.metadata.name} has no machine ${unknown.join(', ')}: see kubectl -n ${namespaceOfLab(lab)} get otvm`,
    )
  return machines.filter(({ metadata }) => vms.length === 0 || vms.includes(metadata.name))
}

/** Annotates machines of a lab, each by its name with a value of its own. Returns what is refused, with the names of the machines. */
export async function annotateMachines(
  client: KubeClient,
  lab: Lab,
  annotation: string,
  values: ReadonlyMap<string, string>,
): Promise<string[]> {
  const refusals = await eachOf([...values], async ([name, value]) => {
    const patch = { metadata: { annotations: { [annotation]: value } } }
    const refusal = await patchObject(client, virtualMachine, { namespace: namespaceOfLab(lab), name }, patch)
    return refusal === undefined ? [] : [`${name}: ${refusal}`]
  })
  return refusals.flat()
}

export function refusedOutcome(name: string, refusals: readonly string[]): LabOutcome {
  const message = refusals.join('; ')
  return { name, result: 'refused', text: `was not changed: ${message}`, message }
}
