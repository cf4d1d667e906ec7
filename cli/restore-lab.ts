import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  shortHash,
  type WorkspaceSnapshotRestore,
  type WorkspaceSnapshotStatus,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'
import { hasHash } from '../operator/base/hash-list.ts'
import { toTime } from '../operator/base/time.ts'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { confirm } from './confirm.ts'
import { CommandError, type ExitCode } from './exit-codes.ts'
import { type Lab, labsOf, patchObject } from './labs.ts'
import { namespaceOfLab } from './machines.ts'
import { type LabOutcome, outcomeOnceEnded, type ResultForm, tellOutcomes } from './outcomes.ts'
import type { Surroundings } from './surroundings.ts'
import { shown } from './table.ts'

interface RestoreOptions {
  /** Name of the WorkspaceSnapshot. */
  readonly point: string
  /** The volumes stay as they are. */
  readonly isOfMachinesOnly: boolean
  readonly isConfirmed: boolean
  /** How long to wait until the restore has ended, in milliseconds. Undefined: not at all. */
  readonly waitMs?: number
  readonly output: ResultForm
}

interface Point extends KubeObject {
  readonly status?: WorkspaceSnapshotStatus
}

type Connected = Pick<Surroundings, 'clock'> & { readonly client: KubeClient }

/**
 * Asks the operator to put the machines and volumes of a lab back to a point in time: sets an annotation of the WorkspaceSnapshot to the present time. Says before what is
 * replaced, and asks. Throws CommandError and ApiError.
 */
export async function restoreLab(
  { client, clock, print, tell, ask }: Pick<Surroundings, 'ask' | 'print' | 'tell'> & Connected,
  name: string,
  { point, isOfMachinesOnly, isConfirmed, waitMs, output }: RestoreOptions,
): Promise<ExitCode> {
  const labs = await labsOf(client, { names: [name] })
  const points = await Promise.all(labs.map(async (lab) => await pointOf(client, lab, point)))
  const lost = points.flatMap((one) => lossIn(one, isOfMachinesOnly))
  if (!isConfirmed) {
    tell(`${name}: ${shown(`what was written since ${point} to these is not used any more: ${lost.join('; ')}`)}\n`)
    await confirm({ ask }, `restore ${name} to ${point}?`)
  }
  const endsAt = clock.monotonic() + (waitMs ?? 0)
  return await tellOutcomes(labs, output, print, async (lab) => {
    const value = toTime(clock.now())
    const scope = isOfMachinesOnly ? 'Machines' : null
    const annotations = { [ANNOTATIONS.restoreRequestedAt]: value, [ANNOTATIONS.restoreScope]: scope }
    const key = { namespace: namespaceOfLab(lab), name: point }
    const refusal = await patchObject(client, workspaceSnapshot, key, { metadata: { annotations } })
    if (refusal !== undefined) return { name, result: 'refused', text: `was not changed: ${refusal}`, message: refusal }
    if (waitMs === undefined)
      return {
        name,
        result: 'changed',
        text: `is asked to restore ${point}: see kubectl -n ${key.namespace} get otwss ${point}`,
      }
    return await restored({ client, clock }, lab, point, { fingerprint: shortHash([value]), endsAt })
  })
}

async function pointOf(client: KubeClient, lab: Lab, name: string): Promise<Point> {
  const namespace = namespaceOfLab(lab)
  const found = await find(client, workspaceSnapshot, { namespace, name })
  if (found === undefined)
    throw new CommandError(
      'notFound',
      `${lab.metadata.name} has no WorkspaceSnapshot ${name}: see kubectl -n ${namespace} get otwss`,
    )
  return found as Point
}

/** Names what gets the content of then. */
function lossIn({ status }: Point, isOfMachinesOnly: boolean): string[] {
  const { members = [] } = status ?? {}
  const taken = members.filter(({ snapshot }) => snapshot !== undefined)
  const named = (kind: 'Machine' | 'Volume') => taken.filter((one) => one.kind === kind).map(({ name }) => name)
  const [machines, volumes] = [named('Machine'), isOfMachinesOnly ? [] : named('Volume')]
  return [
    ...(machines.length === 0 ? [] : [`the disks of machines ${machines.join(', ')}`]),
    ...(volumes.length === 0
      ? []
      : [`volumes ${volumes.join(', ')}, whose present claims stay until somebody deletes them`]),
  ]
}

/** Waits until the operator says that it has looked at the request, and that the restore has ended. */
async function restored(
  { client, clock }: Connected,
  lab: Lab,
  point: string,
  { fingerprint, endsAt }: { readonly fingerprint: string; readonly endsAt: number },
): Promise<LabOutcome> {
  return await outcomeOnceEnded(clock, lab.metadata.name, endsAt, async () => {
    const { status } = await pointOf(client, lab, point)
    const isTaken = hasHash(status?.restoreRequest, fingerprint)
    const restore = isTaken ? status?.restore : undefined
    if (isTaken && restore?.request !== fingerprint) {
      const message = `has no restore of this request: see kubectl -n ${namespaceOfLab(lab)} describe otwss ${point}`
      return { result: 'failed', text: message, message }
    }
    return endOf(restore) ?? restore?.message ?? 'the request is not taken yet'
  })
}

function endOf({ phase, message = '' }: Partial<WorkspaceSnapshotRestore> = {}): Omit<LabOutcome, 'name'> | undefined {
  if (phase === 'Succeeded') return { result: 'done', text: `is restored: ${message}`, message }
  if (phase === 'WaitForFirstConsumer')
    return { result: 'done', text: `is restored, and not whole yet: ${message}`, message }
  if (phase === 'Refused' || phase === 'Failed') return { result: 'failed', text: `has failed: ${message}`, message }
  return undefined
}
