import { ANNOTATIONS } from '@open-terrain/constructs'
import { deletionWord, virtualMachine } from '@open-terrain/constructs/operator'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { confirm } from './confirm.ts'
import type { ExitCode } from './exit-codes.ts'
import { type Lab, labsOf, patchObject } from './labs.ts'
import { isReplacing, type Machine, machinesOf, namespaceOfLab, waitsForRoom } from './machines.ts'
import { eachOf, type LabOutcome, type LabWork, outcomeOnceEnded, tellOutcomes } from './outcomes.ts'
import type { RenewOptions, RenewVerb } from './renew-labs.ts'
import type { Surroundings } from './surroundings.ts'
import { shown } from './table.ts'

/** The machines of a lab that wait for room for a second root disk. */
interface GivenUp {
  readonly lab: Lab
  readonly machines: readonly Machine[]
}

const ASKED = { rebuild: 'Rebuild', reset: 'Reset' } as const satisfies Readonly<Record<RenewVerb, string>>

/**
 * Has the operator delete the root disks of machines that were asked for new ones, and have no room for two. It makes no new request. Says before what is lost,
 * and asks. Throws CommandError and ApiError.
 */
export async function giveUpDisks(
  {
    client,
    clock,
    print,
    tell,
    ask,
  }: Pick<Surroundings, 'ask' | 'clock' | 'print' | 'tell'> & {
    readonly client: KubeClient
  },
  verb: RenewVerb,
  { vms, isDryRun, isConfirmed, waitMs, output, ...choice }: RenewOptions,
): Promise<ExitCode> {
  const all = await eachOf(await labsOf(client, choice), async (lab): Promise<GivenUp> => {
    const isMeant = ({ metadata: { name }, status }: Machine) =>
      (vms.length === 0 || vms.includes(name)) && status?.replacement?.asked === ASKED[verb]
    const machines = (await machinesOf(client, lab)).filter((one) => isMeant(one) && waitsForRoom(one))
    return { lab, machines }
  })
  if (isDryRun) return await tellOutcomes(all, output, print, async (one) => planned(one))
  const needed = all.filter(({ machines }) => machines.length > 0)
  if (needed.length > 0 && !isConfirmed) {
    tell(needed.map((one) => `${one.lab.metadata.name}: ${shown(lossOf(one))}\n`).join(''))
    await confirm({ ask }, questionOf(needed))
  }
  const endsAt = clock.monotonic() + (waitMs ?? 0)
  return await tellOutcomes(all, output, print, async (one) => {
    if (one.machines.length === 0) return planned(one)
    const written = await given(client, one)
    if (waitMs === undefined || written.result === 'refused') return written
    return await outcomeOnceEnded(clock, one.lab.metadata.name, endsAt, async () => await standOf(client, one))
  })
}

function planned(one: GivenUp): LabOutcome {
  const { name } = one.lab.metadata
  if (one.machines.length === 0)
    return { name, result: 'unchanged', text: 'has no machine that waits for room for a second root disk' }
  return { name, result: 'planned', text: `would be changed: ${lossOf(one)}`, work: workOf(one) }
}

function lossOf({ machines }: GivenUp): string {
  const names = machines.map(({ metadata }) => metadata.name).join(', ')
  return `what is on the root disks is lost at once, before the new ones are there, and is not kept for resetGrace: ${names}`
}

function workOf({ machines }: GivenUp): LabWork {
  return { machines: machines.map(({ metadata }) => ({ name: metadata.name, disks: ['root'] })), components: [] }
}

function questionOf(all: readonly GivenUp[]): string {
  const count = all.flatMap(({ machines }) => machines).length
  return `delete ${count} root disk${count === 1 ? '' : 's'} of ${all.length} lab${all.length === 1 ? '' : 's'} before the new ones are made?`
}

/** A word is of the disk and the request that were seen: it does nothing to a machine that goes on meanwhile. */
async function given(client: KubeClient, one: GivenUp): Promise<LabOutcome> {
  const { lab, machines } = one
  const namespace = namespaceOfLab(lab)
  const refusals = await eachOf(machines, async (machine) => {
    const { name } = machine.metadata
    const patch = { metadata: { annotations: { [ANNOTATIONS.deleteDiskFirst]: deletionWord(machine) } } }
    const refusal = await patchObject(client, virtualMachine, { namespace, name }, patch)
    return refusal === undefined ? [] : [`${name}: ${refusal}`]
  })
  const { name } = lab.metadata
  const message = refusals.flat().join('; ')
  if (message !== '') return { name, result: 'refused', text: `was not changed: ${message}`, message }
  const names = machines.map(({ metadata }) => metadata.name).join(', ')
  return { name, result: 'changed', text: `is asked to delete the root disks first: ${names}`, work: workOf(one) }
}

async function standOf(client: KubeClient, one: GivenUp): Promise<Omit<LabOutcome, 'name'> | string> {
  const present = await machinesOf(client, one.lab)
  const left = one.machines.flatMap(({ metadata: { name } }) => {
    const machine = present.find(({ metadata }) => metadata.name === name)
    if (machine === undefined) return [`${name}: it was deleted`]
    const { phase, reason, message, replacement } = machine.status ?? {}
    const isDone = phase === 'Ready' && replacement === undefined && !isReplacing(machine)
    return isDone ? [] : [`${name}: ${phase}, ${reason}: ${message}`]
  })
  if (left.length > 0) return left.join('; ')
  const names = one.machines.map(({ metadata }) => metadata.name).join(', ')
  return { result: 'done', text: `is Ready again: ${names}`, work: workOf(one) }
}
