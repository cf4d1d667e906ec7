import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash, virtualMachine, workspace } from '@open-terrain/constructs/operator'
import { toTime } from '../operator/base/time.ts'
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
import { findLab, type Lab, patchObject } from './labs.ts'
import { diskNeedOf, isReplacing, type Machine, machinesOf, replacedDisksOf } from './machines.ts'
import { type LabOutcome, type LabWork, type MachineWork, outcomeOnceEnded } from './outcomes.ts'

/** What each verb asks for: the annotation, and the field of a machine's status that has the fingerprint of the last value that was taken. */
const REQUESTS = {
  rebuild: { annotation: ANNOTATIONS.rebuildRequestedAt, taken: 'rebuildRequest' },
  reset: { annotation: ANNOTATIONS.resetRequestedAt, taken: 'resetRequest' },
} as const

export type RenewVerb = keyof typeof REQUESTS

interface Renewal extends LabChange {
  /** The request is for these machines, each by its own annotation, and not for the lab. */
  readonly isByMachine: boolean
}

/**
 * Asks the operator for new disks: sets an annotation of labs, or of machines in them, to the present time. A rebuild is about those machines that need a new
 * disk. Says before what is lost, and asks. Throws CommandError and ApiError.
 */
export async function renewLabs(connected: Connected, verb: RenewVerb, options: ChangeOptions): Promise<ExitCode> {
  const { client, clock } = connected
  return await changeLabs<Renewal>(connected, options, {
    find: (lab) => renewalOf(client, verb, lab, options.vms),
    nothing: 'has nothing that is to be made again',
    lossOf,
    questionOf: (renewals) => questionOf(verb, renewals),
    write: async (renewal) => {
      const value = toTime(clock.now())
      const outcome = await requested(client, verb, renewal, value)
      return { outcome, wait: (endsAt) => renewed(connected, verb, renewal, { value, endsAt }) }
    },
  })
}

async function renewalOf(client: KubeClient, verb: RenewVerb, lab: Lab, vms: readonly string[]): Promise<Renewal> {
  const all = await machinesOf(client, lab)
  const meant = namedMachines(lab, all, vms).filter((one) => verb === 'reset' || diskNeedOf(one) !== undefined)
  const known = new Set(all.map(({ metadata }) => `${virtualMachine.kind} ${metadata.name}`))
  // The request of a lab is also the word that its lost volumes wait for.
  const isForLost = verb === 'rebuild' && vms.length === 0
  const lost = isForLost ? (lab.status?.lost ?? []).map(({ component }) => component) : []
  const components = lost.filter((one) => !known.has(one))
  return { lab, isByMachine: vms.length > 0, machines: meant.map(workOfMachine), components }
}

function workOfMachine(machine: Machine): MachineWork {
  const need = diskNeedOf(machine)
  const disks = need === 'lost' ? [] : replacedDisksOf(machine)
  return { name: machine.metadata.name, ...(need !== undefined && { need }), disks }
}

/** Returns what is lost: `router (disks root, data), web (lost already); Volume zones is made again, empty`. */
function lossOf({ machines, components }: LabWork): string {
  const ofMachines = machines.map(({ name, need, disks }) => {
    const what = disks.length === 0 ? 'no disk' : `disk${disks.length === 1 ? '' : 's'} ${disks.join(', ')}`
    return `${name} (${need === 'lost' ? 'lost already' : what})`
  })
  const parts = [
    ...(ofMachines.length === 0 ? [] : [`what is on the disks is lost: ${ofMachines.join('; ')}`]),
    ...components.map((component) => `${component} is made again, without what was lost`),
  ]
  return parts.join('; ')
}

function questionOf(verb: RenewVerb, renewals: readonly Renewal[]): string {
  const machines = renewals.flatMap((one) => one.machines).length
  const disks = renewals.flatMap((one) => one.machines.flatMap((machine) => machine.disks)).length
  const counted = (count: number, one: string) => `${count} ${one}${count === 1 ? '' : 's'}`
  return `${verb} ${counted(machines, 'machine')} of ${counted(renewals.length, 'lab')}, and lose what is on ${counted(disks, 'disk')}?`
}

async function requested(client: KubeClient, verb: RenewVerb, renewal: Renewal, value: string): Promise<LabOutcome> {
  const { lab, isByMachine, machines } = renewal
  const { name } = lab.metadata
  const { annotation } = REQUESTS[verb]
  const refusals = isByMachine
    ? await annotateMachines(client, lab, annotation, new Map(machines.map((machine) => [machine.name, value])))
    : [await patchObject(client, workspace, { name }, { metadata: { annotations: { [annotation]: value } } })]
  const message = refusals.filter((one) => one !== undefined)
  if (message.length > 0) return refusedOutcome(name, message)
  return { name, result: 'changed', text: `is asked to ${verb}: ${namesOf(renewal)}`, work: workOf(renewal) }
}

function namesOf({ machines, components }: LabWork): string {
  return [...machines.map(({ name }) => name), ...components].join(', ')
}

/** What is waited for, and until when on the monotonic clock. */
interface Awaited {
  readonly value: string
  readonly endsAt: number
}

/** Waits until each machine says that it has taken the request, and is Ready. */
async function renewed(
  { client, clock }: Pick<Connected, 'client' | 'clock'>,
  verb: RenewVerb,
  renewal: Renewal,
  { value, endsAt }: Awaited,
): Promise<LabOutcome> {
  const { name } = renewal.lab.metadata
  return await outcomeOnceEnded(clock, name, endsAt, async () => {
    const machines = await machinesOf(client, renewal.lab)
    const lab = renewal.components.length > 0 ? await findLab(client, name) : undefined
    const stands = [
      ...renewal.machines.map((machine) => standOfMachine(verb, machine.name, machines, shortHash([value]))),
      ...(renewal.components.length > 0 ? [standOfComponents(renewal, lab)] : []),
    ]
    const failed = stands.filter(({ end }) => end === 'failed').map(({ text }) => text)
    const left = stands.filter(({ end }) => end === undefined).map(({ text }) => text)
    if (failed.length > 0)
      return { result: 'failed', text: `has failed: ${failed.join('; ')}`, message: failed.join('; ') }
    if (left.length === 0) return { result: 'done', text: `is Ready again: ${namesOf(renewal)}`, work: workOf(renewal) }
    return left.join('; ')
  })
}

/** How far one thing is that is waited for. Without an end it goes on. */
interface Stand {
  readonly end?: 'done' | 'failed'
  readonly text: string
}

function standOfMachine(verb: RenewVerb, name: string, machines: readonly Machine[], fingerprint: string): Stand {
  const machine = machines.find(({ metadata }) => metadata.name === name)
  if (machine === undefined) return { end: 'failed', text: `${name} was deleted` }
  const { phase = 'not seen by the operator', reason = '', message = '', observedGeneration } = machine.status ?? {}
  const isTaken = machine.status?.[REQUESTS[verb].taken] === fingerprint
  const text = `${name}: ${isTaken ? '' : 'the request is not taken yet: '}${phase}, ${reason}: ${message}`
  if (!isTaken || observedGeneration !== machine.metadata.generation) return { text }
  if (phase === 'Failed') return { end: 'failed', text }
  // A machine that has taken a request which was not for it needs a new disk as before.
  const isSo = phase === 'Ready' && !isReplacing(machine) && (verb === 'reset' || diskNeedOf(machine) === undefined)
  return isSo ? { end: 'done', text } : { text }
}

function standOfComponents({ components }: LabWork, lab: Lab | undefined): Stand {
  if (lab === undefined) return { end: 'failed', text: 'it was deleted' }
  const { phase = 'not seen by the operator', reason = '', message = '', lost = [] } = lab.status ?? {}
  const isLost = lost.some(({ component }) => components.includes(component))
  const text = `${phase}, ${reason}: ${message}`
  return phase === 'Ready' && !isLost ? { end: 'done', text } : { text }
}
