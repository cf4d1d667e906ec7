import {
  type WorkspaceSnapshotSpec,
  type WorkspaceSnapshotStatus,
  workspaceSnapshot,
} from '@open-terrain/constructs/operator'
import { isApiError } from '../operator/kube/api-error.ts'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import type { ExitCode } from './exit-codes.ts'
import { type Lab, type LabChoice, labsOf } from './labs.ts'
import { namespaceOfLab } from './machines.ts'
import { type LabOutcome, outcomeOnceEnded, type ResultForm, tellOutcomes } from './outcomes.ts'
import type { Surroundings } from './surroundings.ts'

interface SnapshotOptions extends LabChoice {
  /** Name of the WorkspaceSnapshot in each lab. */
  readonly point: string
  readonly spec: WorkspaceSnapshotSpec
  /** How long to wait until all snapshots are ready, in milliseconds. Undefined: not at all. */
  readonly waitMs?: number
  readonly output: ResultForm
}

interface TakenPoint extends KubeObject {
  readonly spec: WorkspaceSnapshotSpec
  readonly status?: WorkspaceSnapshotStatus
}

type Connected = Pick<Surroundings, 'clock'> & { readonly client: KubeClient }

/** Creates a WorkspaceSnapshot of each lab, and waits until all its snapshots can be restored from. Throws CommandError and ApiError. */
export async function snapshotLabs(
  { client, clock, print }: Pick<Surroundings, 'print'> & Connected,
  { point, spec, waitMs, output, ...choice }: SnapshotOptions,
): Promise<ExitCode> {
  const labs = await labsOf(client, choice)
  const endsAt = clock.monotonic() + (waitMs ?? 0)
  return await tellOutcomes(labs, output, print, async (lab) => {
    const created = await create(client, lab, point, spec)
    if (waitMs === undefined || created.result === 'refused') return created
    return await outcomeOnceEnded(clock, lab.metadata.name, endsAt, () => standOf(client, lab, point))
  })
}

async function create(client: KubeClient, lab: Lab, point: string, spec: WorkspaceSnapshotSpec): Promise<LabOutcome> {
  const { name } = lab.metadata
  const namespace = namespaceOfLab(lab)
  const { apiVersion, kind } = workspaceSnapshot
  try {
    await client.create<TakenPoint>(
      workspaceSnapshot,
      { apiVersion, kind, metadata: { namespace, name: point }, spec },
      { isStrict: true },
    )
    return { name, result: 'changed', text: `is being snapshotted: see kubectl -n ${namespace} get otwss ${point}` }
  } catch (error) {
    if (!isApiError(error)) throw error
    const isTaken = error.reason === 'AlreadyExists'
    const message = isTaken
      ? `it has a WorkspaceSnapshot ${point} already, and each is taken once: choose another name`
      : error.message
    return { name, result: 'refused', text: `was not snapshotted: ${message}`, message }
  }
}

/** Returns how a snapshot has ended, or what to tell while it is taken. */
async function standOf(client: KubeClient, lab: Lab, point: string): Promise<Omit<LabOutcome, 'name'> | string> {
  const key = { namespace: namespaceOfLab(lab), name: point }
  const found = await find<TakenPoint>(client, workspaceSnapshot, key)
  if (found === undefined) return { result: 'failed', text: `has failed: ${point} was deleted`, message: 'deleted' }
  const { phase = 'not seen by the operator', reason = '', message = '' } = found.status ?? {}
  if (phase === 'Succeeded') return { result: 'done', text: `has the point in time ${point}: ${message}`, message }
  const told = `${phase}, ${reason}: ${message}`
  return phase === 'Failed' ? { result: 'failed', text: `has failed: ${told}`, message: told } : told
}
