import { ANNOTATIONS } from '@open-terrain/constructs'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import type { SeenRequest } from '../harness/fault-proxy.ts'
import { type Image, isFinished, reasonOf } from '../harness/kinds.ts'
import type { Play } from './play.ts'
import { isWrite, nameOf, tally } from './writes.ts'

/** The final state of a play, without what differs from run to run: times, uids, its own names. */
export interface Outcome {
  readonly images: unknown
  readonly machines: unknown
  readonly dataSyncs: unknown
  readonly workspaces: unknown
  /** Other objects of a workspace, as the API server stores them. */
  readonly rendered: unknown
  /** The specs that KubeVirt runs. */
  readonly guests: unknown
  /** Their content, by name. */
  readonly secrets: unknown
  /** How often each image, each volume and each run of a machine was created. */
  readonly made: Readonly<Record<string, number>>
  readonly children: readonly string[]
  readonly holders: readonly unknown[]
  /** By image: downloads that started, downloads that completed, bytes transferred. */
  readonly egress: unknown
}

export function outcomeOf(play: Play): Outcome {
  const { mirror, simulators } = play.world
  const { images, machines, dataSyncs, workspaces, deployments, networks, kubevirtMachines, secrets } = mirror
  const { dataVolumes, claims, snapshots, dataSources, instances, pods } = mirror
  const stores = [dataVolumes, claims, snapshots, dataSources, kubevirtMachines, instances, secrets, pods] as {
    values(): IterableIterator<KubeObject>
  }[]
  const made = play.history.filter(({ type, kind }) => type === 'ADDED' && kind !== 'ConfigMap')
  const isOurs = ([url]: [string, unknown]) => url.includes(`/${play.namespace}/`)
  const egress = Object.entries(simulators.cdi.observed.images()).filter(isOurs)
  return normalised(play, {
    images: play.of(images).map(told),
    machines: play.of(machines).map(told),
    dataSyncs: play.of(dataSyncs).map(told),
    workspaces: play.of<KubeObject>(workspaces).map(told),
    rendered: [...play.of<KubeObject>(deployments), ...play.of<KubeObject>(networks)]
      .map(({ kind, metadata: { name, labels, ownerReferences }, ...rest }) => {
        const { spec } = rest as { readonly spec?: unknown }
        return { kind, name, labels, ownerReferences, spec }
      })
      .toSorted((one, other) => one.name.localeCompare(other.name)),
    guests: play.of(kubevirtMachines).map(({ metadata: { name, labels, ownerReferences }, spec }) => ({
      name,
      labels,
      ownerReferences,
      spec,
    })),
    secrets: play.of(secrets).map(({ metadata: { name, labels, annotations, ownerReferences }, data = {} }) => ({
      name,
      labels,
      ownerReferences,
      data: Object.entries(data).map(([key, text]) => {
        const value = Buffer.from(text, 'base64').toString()
        // Each play has its own random values.
        return [key, annotations?.[ANNOTATIONS.generatedKeys] === undefined ? value : value.length]
      }),
    })),
    made: tally(made.map(({ object }) => `${object.kind} ${object.metadata.name}`)),
    children: [
      ...stores.flatMap((store) => play.of(store).map(({ kind, metadata }) => `${kind} ${metadata.name}`)),
      ...play.dataVolumes.map((one) => `${one.metadata.name} is ${isFinished(one) ? 'finished' : 'unfinished'}`),
    ],
    holders: play.holders,
    egress: Object.fromEntries(egress),
  })
}

function told({ metadata, spec, status }: KubeObject & { readonly spec?: unknown; readonly status?: unknown }) {
  const { name, finalizers, labels, annotations } = metadata
  return { name, finalizers, labels, annotations, spec, status }
}

export interface WriteCounts {
  /** How often each kind of write succeeded. */
  readonly done: Readonly<Record<string, number>>
  /** With the status code of the API server. */
  readonly refused: readonly string[]
  /** Statuses that repeat the one before them. */
  readonly repeated: readonly string[]
  /** All writes in order, for people. */
  readonly log: string
}

/** That a download waits and does not run yet is reported if it lasts 2 s, which depends on the load of the machine. */
const STARTING = 'update vmdiskimages/status Starting'

/** @param since index of the first write that counts */
export function countWrites(all: readonly SeenRequest[], since: number): WriteCounts {
  const isDone = ({ status }: SeenRequest) => status >= 200 && status < 300
  const writes = all.slice(since)
  const done = writes.filter(isDone)
  const steps = stepsIn(all.filter(isDone))
  return {
    done: tally(done.filter((write) => !steps.has(write)).map(nameOf)),
    refused: writes
      .filter((write) => write.status > 0 && !isDone(write))
      .map((write) => `${nameOf(write)}: ${write.status}`),
    repeated: repeatedIn(done),
    log: writes.map(describe).join('\n'),
  }
}

/** The progress of a download is reported as it is observed: its start and its first progress by one write, or by two. */
function stepsIn(writes: readonly SeenRequest[]): ReadonlySet<SeenRequest> {
  const ofImages = writes.filter(({ resource }) => resource === 'vmdiskimages/status')
  const starting = ofImages.filter((write) => isWrite(write, STARTING))
  const others = ofImages.filter((write) => !starting.includes(write))
  const stand = (write: SeenRequest) => `${statusIn(write)?.phase} ${reasonOf(write.body as Image | undefined)}`
  return new Set([...starting, ...repeatedStatuses(others, stand)])
}

function repeatedIn(done: readonly SeenRequest[]): string[] {
  const withoutTimes = (key: string, member: unknown) => (/Time$/.test(key) ? undefined : member)
  const repeated = repeatedStatuses(done, (write) => JSON.stringify(statusIn(write), withoutTimes))
  return repeated.map((write) => `${nameOf(write)} ${write.name}`)
}

/** Statuses that repeat the one before them of the same object. */
function repeatedStatuses(writes: readonly SeenRequest[], statusOf: (write: SeenRequest) => string): SeenRequest[] {
  const last = new Map<string, string>()
  return writes
    .filter(({ resource }) => resource.endsWith('/status'))
    .filter((write) => {
      const object = `${nameOf(write)} ${write.name}`
      const status = statusOf(write)
      const isRepeated = last.get(object) === status
      last.set(object, status)
      return isRepeated
    })
}

function statusIn({ body }: SeenRequest) {
  return (body as { status?: { phase?: string; message?: string } } | undefined)?.status
}

function describe(write: SeenRequest): string {
  const { name = '', status, at } = write
  const { phase, message } = statusIn(write) ?? {}
  const time = new Date(at).toISOString().slice(14, 23)
  return [time, nameOf(write), name, status, phase, message].filter((part) => part !== undefined).join(' ')
}

/** Whether the importer's pod was already observed, how long an attempt took, versions, and a hash over the namespace's names. */
const MOMENTARY = ['importerPodUID', 'durationSeconds', 'ticket', 'key']

/** Names and addresses that depend on a machine's uid, or on chance. */
const MADE_OF_UIDS: readonly (readonly [RegExp, string])[] = [
  [/\b02(:[0-9a-f]{2}){5}\b/g, '<mac>'],
  [/(?<=virt-launcher-[a-z-]+-)[a-z0-9]{5}\b/g, '<suffix>'],
  // A hash of the template of a Deployment, which has the uid of its workspace; and the suffix of its pod.
  [/(?<=(demo-app|ansible)-)[0-9a-z]{6,10}-[0-9a-z]{5}\b/g, '<pod>'],
  // Jobs that play roles are named after a hash over the uid of the disk or of the start.
  [/(?<=-(?:build|deploy)-)[0-9a-f]{8}(?:-[0-9a-z]{5})?\b/g, '<play>'],
  // The snapshots and restores of a point in time.
  [/(?<=before-exam-[a-z0-9-]*-)[0-9a-f]{8}\b/g, '<point>'],
  // The claims that volumes are restored to.
  [/(?<=\b(?:dnsconfig|monitorconfigs)-)[0-9a-f]{8}\b/g, '<claim>'],
  // The names of bridges and networks are a hash over the uid of the workspace.
  [/\bot[0-9a-z]{13}\b/g, '<bridge>'],
  [/(?<=-pod-)[0-9a-f]{8}\b/g, '<hash>'],
  [/(?<=-)[0-9a-f]{16}\b/g, '<hash>'],
  [/(?<=rendered":")[0-9a-f]+/g, '<hash>'],
  [/(?<="(?:specHash|secretHash)":")[0-9a-f]+/g, '<hash>'],
]

function normalised(play: Play, value: Outcome): Outcome {
  const created = play.history.filter(({ kind, type }) => kind === 'DataVolume' && type === 'ADDED')
  const revisions = new Set(created.flatMap(({ object }) => /-([0-9a-f]{8})$/.exec(object.metadata.name)?.[1] ?? []))
  let text = JSON.stringify(value, (key, member) => (MOMENTARY.includes(key) ? undefined : member))
  for (const [at, revision] of [...revisions].entries()) text = text.replaceAll(revision, `<revision ${at + 1}>`)
  const isTime = /\d{4}-\d\d-\d\dT[\d:.]+Z/g
  const isUid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
  text = text.replaceAll(play.namespace, '<namespace>').replaceAll(isTime, '<time>').replaceAll(isUid, '<uid>')
  for (const [madeOfUids, name] of MADE_OF_UIDS) text = text.replaceAll(madeOfUids, name)
  const outcome: Outcome = JSON.parse(text)
  // Before this, their order depends on revisions.
  return { ...outcome, children: outcome.children.toSorted() }
}
