import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { SeenRequest } from '../harness/fault-proxy.ts'
import { isFinished } from '../harness/kinds.ts'
import type { Play } from './play.ts'

/** What is left of a play when it is over, without what differs from run to run: times, uids, names of its own. */
export interface Outcome {
  readonly images: unknown
  readonly children: readonly string[]
  readonly holders: readonly unknown[]
  /** By image: downloads begun, downloads that got everything, bytes moved. */
  readonly egress: unknown
}

export function outcomeOf(play: Play): Outcome {
  const { mirror, simulators } = play.world
  const { images, dataVolumes, claims, snapshots, dataSources, pods } = mirror
  const stores = [dataVolumes, claims, snapshots, dataSources, pods] as { values(): IterableIterator<KubeObject> }[]
  const isOurs = ([url]: [string, unknown]) => url.includes(`/${play.namespace}/`)
  const egress = Object.entries(simulators.cdi.observed.images()).filter(isOurs)
  return normalised(play, {
    images: play.of(images).map(({ metadata, status }) => ({
      name: metadata.name,
      finalizers: metadata.finalizers,
      status,
    })),
    children: [
      ...stores.flatMap((store) => play.of(store).map(({ kind, metadata }) => `${kind} ${metadata.name}`)),
      ...play.dataVolumes.map((one) => `${one.metadata.name} is ${isFinished(one) ? 'finished' : 'unfinished'}`),
    ].toSorted(),
    holders: play.holders,
    egress: Object.fromEntries(egress),
  })
}

export interface WriteCounts {
  /** How often each kind was carried out. */
  readonly done: Readonly<Record<string, number>>
  /** With the API server's status. */
  readonly refused: readonly string[]
  /** All, in their order, for people. */
  readonly log: string
}

export function countWrites(writes: readonly SeenRequest[]): WriteCounts {
  const done: Record<string, number> = {}
  const refused: string[] = []
  for (const { verb, resource, status } of writes) {
    const write = `${verb} ${resource}`
    if (status >= 200 && status < 300) done[write] = (done[write] ?? 0) + 1
    else if (status > 0) refused.push(`${write}: ${status}`)
  }
  return { done, refused, log: writes.map(describe).join('\n') }
}

function describe({ verb, resource, name = '', status, body, at }: SeenRequest): string {
  const { phase, message } = (body as { status?: { phase?: string; message?: string } } | undefined)?.status ?? {}
  const time = new Date(at).toISOString().slice(14, 23)
  return [time, verb, resource, name, status, phase, message].filter((part) => part !== undefined).join(' ')
}

/** Whether the importer's pod was seen already, how long an attempt took, versions, and a hash over the namespace's names. */
const MOMENTARY = ['importerPodUID', 'durationSeconds', 'ticket', 'key']

function normalised<T>(play: Play, value: T): T {
  const created = play.history.filter(({ kind, type }) => kind === 'DataVolume' && type === 'ADDED')
  const revisions = new Set(created.flatMap(({ object }) => /-([0-9a-f]{8})$/.exec(object.metadata.name)?.[1] ?? []))
  let text = JSON.stringify(value, (key, member) => (MOMENTARY.includes(key) ? undefined : member))
  for (const [at, revision] of [...revisions].entries()) text = text.replaceAll(revision, `<revision ${at + 1}>`)
  const isTime = /\d{4}-\d\d-\d\dT[\d:.]+Z/g
  const isUid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
  text = text.replaceAll(play.namespace, '<namespace>').replaceAll(isTime, '<time>').replaceAll(isUid, '<uid>')
  return JSON.parse(text)
}
