import { ANNOTATIONS } from '@open-terrain/constructs'
import { deletionWord } from '@open-terrain/constructs/operator'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import {
  annotateMachines,
  type ChangeOptions,
  type Connected,
  changeLabs,
  type LabChange,
  namedMachines,
  refusedOutcome,
  workOf,
} from './change-labs.ts'
import type { ExitCode } from './exit-codes.ts'
import { isReplacing, type Machine, machinesOf, waitsForRoom } from './machines.ts'
import { type LabOutcome, outcomeOnceEnded } from './outcomes.ts'
import type { RenewVerb } from './renew-labs.ts'

/** The machines of a lab that wait for room for a second root disk, as they were seen. */
interface GivenUp extends LabChange {
  readonly seen: readonly Machine[]
}

const ASKED = { rebuild: 'Rebuild', reset: 'Reset' } as const satisfies Readonly<Record<RenewVerb, string>>

/**
 * Has the operator delete the root disks of machines that were asked for new ones, and have no room for two. It makes no new request. Says before what is lost,
 * and asks. Throws CommandError and ApiError.
 */
export async function giveUpDisks(connected: Connected, verb: RenewVerb, options: ChangeOptions): Promise<ExitCode> {
  const { client, clock } = connected
  return await changeLabs<GivenUp>(connected, options, {
    find: async (lab) => {
      const machines = namedMachines(lab, await machinesOf(client, lab), options.vms)
      const seen = machines.filter((one) => one.status?.replacement?.asked === ASKED[verb] && waitsForRoom(one))
      const work = seen.map(({ metadata }) => ({ name: metadata.name, disks: ['root'] }))
      return { lab, seen, machines: work, components: [] }
    },
    nothing: 'has no machine that waits for room for a second root disk',
    lossOf: (one) =>
      `what is on the root disks is lost at once, before the new ones are there, and is not kept for resetGrace: ${namesOf(one)}`,
    questionOf,
    write: async (one) => ({
      outcome: await give(client, one),
      wait: (endsAt) => outcomeOnceEnded(clock, one.lab.metadata.name, endsAt, () => standOf(client, one)),
    }),
  })
}

function namesOf({ machines }: GivenUp): string {
  return machines.map(({ name }) => name).join(', ')
}

function questionOf(all: readonly GivenUp[]): string {
  const count = all.flatMap(({ machines }) => machines).length
  return `delete ${count} root disk${count === 1 ? '' : 's'} of ${all.length} lab${all.length === 1 ? '' : 's'} before the new ones are made?`
}

/** A word is of the disk and the request that were seen: it does nothing to a machine that goes on meanwhile. */
async function give(client: KubeClient, one: GivenUp): Promise<LabOutcome> {
  const { name } = one.lab.metadata
  const words = one.seen.map((machine) => [machine.metadata.name, deletionWord(machine) ?? ''] as const)
  const refusals = await annotateMachines(client, one.lab, ANNOTATIONS.deleteDiskFirst, new Map(words))
  if (refusals.length > 0) return refusedOutcome(name, refusals)
  return {
    name,
    result: 'changed',
    text: `is asked to delete the root disks first: ${namesOf(one)}`,
    work: workOf(one),
  }
}

async function standOf(client: KubeClient, one: GivenUp): Promise<Omit<LabOutcome, 'name'> | string> {
  const present = await machinesOf(client, one.lab)
  const named = one.machines.map(({ name }) => [name, present.find(({ metadata }) => metadata.name === name)] as const)
  const gone = named.flatMap(([name, machine]) => (machine === undefined ? [`${name} was deleted`] : []))
  if (gone.length > 0) return { result: 'failed', text: `has failed: ${gone.join('; ')}`, message: gone.join('; ') }
  const left = named.flatMap(([name, machine]) => {
    const { phase = 'not seen by the operator', reason = '', message = '', replacement } = machine?.status ?? {}
    const isDone = phase === 'Ready' && replacement === undefined && machine !== undefined && !isReplacing(machine)
    return isDone ? [] : [`${name}: ${phase}, ${reason}: ${message}`]
  })
  if (left.length > 0) return left.join('; ')
  return { result: 'done', text: `is Ready again: ${namesOf(one)}`, work: workOf(one) }
}
