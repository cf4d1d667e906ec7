import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash, virtualMachine, workspace } from '@open-terrain/constructs/operator'
import { toTime } from '../operator/base/time.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import { confirm } from './confirm.ts'
import { CommandError, type ExitCode } from './exit-codes.ts'
import { findLab, type Lab, type LabChoice, labsOf, patchObject } from './labs.ts'
import { diskNeedOf, isReplacing, type Machine, machinesOf, namespaceOfLab, replacedDisksOf } from './machines.ts'
import {
  eachOf,
  type LabOutcome,
  type LabWork,
  type MachineWork,
  outcomeOnceEnded,
  type ResultForm,
  tellOutcomes,
} from './outcomes.ts'
import type { Surroundings } from './surroundings.ts'
import { shown } from './table.ts'

/** What each verb asks for: the annotation, and the field of a machine's status that has the fingerprint of the last value that was taken. */
const REQUESTS = {
  rebuild: { annotation: ANNOTATIONS.rebuildRequestedAt, taken: 'rebuildRequest' },
  reset: { annotation: ANNOTATIONS.resetRequestedAt, taken: 'resetRequest' },
} as const

export type RenewVerb = keyof typeof REQUESTS

export interface RenewOptions extends LabChoice {
  /** Names of machines. Empty: all. A rebuild is about those of them that need a new disk. */
  readonly vms: readonly string[]
  /** Shows alone what would be done. */
  readonly isDryRun: boolean
  /** Somebody has said yes already. */
  readonly isConfirmed: boolean
  /** How long to wait until each machine is Ready with its new disk, in milliseconds. Undefined: not at all. */
  readonly waitMs?: number
  readonly output: ResultForm
}

/** One lab, and what is to be made again of it. */
interface Renewal extends LabWork {
  readonly lab: Lab
  /** The request is for these machines, each by its own annotation, and not for the lab. */
  readonly isByMachine: boolean
}

type Connected = Pick<Surroundings, 'clock'> & { readonly client: KubeClient }

/**
 * Asks the operator for new disks: sets an annotation of labs, or of machines in them, to the present time. Says before what is lost, and asks. Throws
 * CommandError and ApiError.
 */
export async function renewLabs(
  { client, clock, print, tell, ask }: Pick<Surroundings, 'ask' | 'print' | 'tell'> & Connected,
  verb: RenewVerb,
  { vms, isDryRun, isConfirmed, waitMs, output, ...choice }: RenewOptions,
): Promise<ExitCode> {
  const renewals = await eachOf(await labsOf(client, choice), (lab) => renewalOf(client, verb, lab, vms))
  if (isDryRun) return await tellOutcomes(renewals, output, print, async (renewal) => planned(renewal))
  const needed = renewals.filter((one) => !isNothing(one))
  if (needed.length > 0 && !isConfirmed) {
    tell(needed.map((one) => `${one.lab.metadata.name}: ${shown(lossOf(one))}\n`).join(''))
    await confirm({ ask }, questionOf(verb, needed))
  }
  const endsAt = clock.monotonic() + (waitMs ?? 0)
  return await tellOutcomes(renewals, output, print, async (renewal) => {
    if (isNothing(renewal)) return planned(renewal)
    const value = toTime(clock.now())
    const written = await requested(client, verb, renewal, value)
    if (waitMs === undefined || written.result === 'refused') return written
    return await renewed({ client, clock }, verb, renewal, { value, endsAt })
  })
}

async function renewalOf(client: KubeClient, verb: RenewVerb, lab: Lab, vms: readonly string[]): Promise<Renewal> {
  const machines = await machinesOf(client, lab)
  const unknown = vms.filter((name) => !machines.some(({ metadata }) => metadata.name === name))
  if (unknown.length > 0)
    throw new CommandError(
      'notFound',
      `${lab.metadata.name} has no machine ${unknown.join(', ')}: see kubectl -n ${namespaceOfLab(lab)} get otvm`,
    )
  const isMeant = (machine: Machine) =>
    (vms.length === 0 || vms.includes(machine.metadata.name)) && (verb === 'reset' || diskNeedOf(machine) !== undefined)
  const meant = machines.filter(isMeant).map(workOf)
  const known = new Set(machines.map(({ metadata }) => `${virtualMachine.kind} ${metadata.name}`))
  // The request of a lab is also the word that its lost volumes wait for.
  const isForLost = verb === 'rebuild' && vms.length === 0
  const lost = isForLost ? (lab.status?.lost ?? []).map(({ component }) => component) : []
  return { lab, isByMachine: vms.length > 0, machines: meant, components: lost.filter((one) => !known.has(one)) }
}

function workOf(machine: Machine): MachineWork {
  const need = diskNeedOf(machine)
  const disks = need === 'lost' ? [] : replacedDisksOf(machine)
  return { name: machine.metadata.name, ...(need !== undefined && { need }), disks }
}

function isNothing({ machines, components }: LabWork): boolean {
  return machines.length + components.length === 0
}

function planned(renewal: Renewal): LabOutcome {
  const { name } = renewal.lab.metadata
  if (isNothing(renewal)) return { name, result: 'unchanged', text: 'has nothing that is to be made again' }
  return { name, result: 'planned', text: `would be changed: ${lossOf(renewal)}`, work: worksOf(renewal) }
}

function worksOf({ machines, components }: Renewal): LabWork {
  return { machines, components }
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
  const patch = { metadata: { annotations: { [REQUESTS[verb].annotation]: value } } }
  const namespace = namespaceOfLab(lab)
  const refusals = isByMachine
    ? await eachOf(machines, (machine) => patchObject(client, virtualMachine, { namespace, name: machine.name }, patch))
    : [await patchObject(client, workspace, { name }, patch)]
  const message = refusals.flatMap((one, at) => {
    if (one === undefined) return []
    return isByMachine ? `${machines[at]?.name}: ${one}` : one
  })
  if (message.length === 0)
    return { name, result: 'changed', text: `is asked to ${verb}: ${namesOf(renewal)}`, work: worksOf(renewal) }
  const text = message.join('; ')
  return { name, result: 'refused', text: `was not changed: ${text}`, message: text }
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
  { client, clock }: Connected,
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
    if (left.length === 0)
      return { result: 'done', text: `is Ready again: ${namesOf(renewal)}`, work: worksOf(renewal) }
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
