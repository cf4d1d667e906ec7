import type { HttpKubeClient } from '../../operator/kube/http-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../operator/kube/resource-types.ts'
import { HANGS_AFTER_MS } from '../harness/mirror.ts'
import { Waiting } from '../harness/waiting.ts'

/** One thing that was seen to change, in the order in which the API server wrote it. */
export interface Entry {
  /** Since the first entry. */
  readonly afterMs: number
  /** What it is in an import: names differ from import to import. */
  readonly object: string
  readonly change: (typeof CHANGES)[keyof typeof CHANGES]
  readonly seen: Readonly<Record<string, unknown>>
}

interface Seen extends KubeObject {
  readonly spec?: { readonly volumeName?: string; readonly dataSourceRef?: { readonly kind?: string } }
  readonly status?: {
    readonly phase?: string
    readonly progress?: string
    readonly conditions?: readonly Condition[]
    readonly containerStatuses?: readonly { readonly restartCount?: number; readonly state?: object }[]
  }
}

const CHANGES = { ADDED: 'made', MODIFIED: 'changed', DELETED: 'gone' } as const

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

/** The changes of the objects of an import, from watch events in any order. */
export class Recording {
  readonly #now: () => number
  readonly #last = new Map<string, string>()
  #startedAt: number | undefined
  readonly #versions: { readonly version: bigint; readonly entry: Entry }[] = []

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Returns the entries in the order of the API server's writes. */
  get entries(): readonly Entry[] {
    return this.#versions.toSorted((a, b) => Number(a.version - b.version)).map(({ entry }) => entry)
  }

  note(event: keyof typeof CHANGES, object: KubeObject): void {
    const uid = object.metadata.uid ?? ''
    const seen = summaryOf(object)
    const text = JSON.stringify(seen)
    if (event === 'MODIFIED' && this.#last.get(uid) === text) return
    this.#last.set(uid, text)
    const now = this.#now()
    this.#startedAt ??= now
    const entry = { afterMs: Math.round(now - this.#startedAt), object: partOf(object), change: CHANGES[event], seen }
    this.#versions.push({ version: BigInt(object.metadata.resourceVersion ?? '0'), entry })
  }
}

/** Writes down in which order the objects of an import change, until it is stopped. */
export class Recorder {
  readonly #stopping = new AbortController()
  readonly #recording = new Recording()
  readonly #waiting = new Waiting()

  constructor(client: HttpKubeClient, namespace: string) {
    for (const type of [POD, PERSISTENT_VOLUME_CLAIM, DATA_VOLUME]) void this.#follow(client, type, namespace)
  }

  /** Returns the entries in the order of the API server's writes, once what CDI makes for an import alone is gone: on a busy node that is later than the success. */
  async whole(): Promise<readonly Entry[]> {
    const isOver = () => ['importer', 'scratch claim'].every((part) => this.#lastOf(part)?.change === 'gone')
    const late = () => new Error(`The import left something: ${JSON.stringify(this.#recording.entries)}`)
    await this.#waiting.until(isOver, HANGS_AFTER_MS, late)
    this.#stopping.abort()
    return this.#recording.entries
  }

  #lastOf(part: string): Entry | undefined {
    return this.#recording.entries.findLast(({ object }) => object === part)
  }

  async #follow(client: HttpKubeClient, type: ResourceType, namespace: string): Promise<void> {
    const { signal } = this.#stopping
    try {
      for await (const event of client.watch(type, { namespace, signal })) {
        if (event.type === 'ADDED' || event.type === 'MODIFIED' || event.type === 'DELETED') {
          this.#recording.note(event.type, event.object)
          this.#waiting.wake()
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error
    }
  }
}

function partOf({ kind, metadata }: KubeObject): string {
  const { name } = metadata
  if (kind === 'Pod') return name.startsWith('importer-') ? 'importer' : `pod ${name.replace(/[0-9a-f-]{36}.*/, '')}`
  if (kind !== 'PersistentVolumeClaim') return kind
  if (name.endsWith('-scratch')) return 'scratch claim'
  return name.startsWith('prime-') ? 'prime claim' : 'target claim'
}

function summaryOf({
  metadata,
  spec,
  status,
}: KubeObject & Pick<Seen, 'spec' | 'status'>): Readonly<Record<string, unknown>> {
  const [container] = status?.containerStatuses ?? []
  return {
    phase: status?.phase,
    ...(metadata.deletionTimestamp !== undefined && { deleting: true }),
    ...(container !== undefined && { container: stateOf(container.state), restarts: container.restartCount }),
    ...(spec?.volumeName !== undefined && { volume: true }),
    ...(metadata.finalizers !== undefined && { finalizers: metadata.finalizers }),
    ...(status?.conditions !== undefined && conditionsOf(status.conditions)),
  }
}

function stateOf(state: object | undefined): string {
  const [entry] = Object.entries(state ?? {})
  if (entry === undefined) return 'unknown'
  const [name, detail] = entry as [string, { exitCode?: number; reason?: string; message?: string }]
  if (name === 'terminated') return `terminated ${detail.exitCode} ${detail.reason}: ${detail.message ?? ''}`.trim()
  return name === 'waiting' ? `waiting ${detail.reason}` : name
}

function conditionsOf(conditions: readonly Condition[]): Readonly<Record<string, string>> {
  const wanted = conditions.filter(({ type }) => ['Running', 'Bound', 'Ready'].includes(type))
  return Object.fromEntries(wanted.map(({ type, status, reason }) => [type, `${status} ${reason ?? ''}`.trim()]))
}

/** What the operator relies on in the order of events of an import that needs scratch space. */
export interface ImportFacts {
  /** Phase of the pod and state of the container, of each importer once its container has started, without repetitions. */
  readonly lives: readonly string[]
  /** The same at the moment when each importer was deleted. */
  readonly deletedAs: readonly string[]
  /** The most restarts that an importer had. */
  readonly restarts: number
  /** Phase of the DataVolume when it first said that scratch space is required. */
  readonly askedIn: unknown
  /** The condition Bound of the DataVolume when it first said that it succeeded. */
  readonly boundAtSuccess: unknown
  /** Whether the claim for scratch space outlived each importer. */
  readonly doesScratchOutlive: boolean
}

export function factsOf(entries: readonly Entry[]): ImportFacts {
  const importers = entries.filter(({ object }) => object === 'importer')
  const present = importers.filter(({ change }) => change !== 'gone')
  const lives = present.map(stateIn).filter((state) => HAS_STARTED.test(state))
  const deleted = present.filter(({ seen }) => seen['deleting'] === true)
  const isFirst = (one: Entry) => importers[importers.indexOf(one) - 1]?.seen['deleting'] !== true
  const dataVolumes = entries.filter(({ object }) => object === 'DataVolume')
  const ends = (part: string) => entries.findLastIndex(({ object, change }) => object === part && change === 'gone')
  return {
    lives: lives.filter((state, at) => state !== lives[at - 1]),
    deletedAs: deleted.filter(isFirst).map(stateIn),
    restarts: Math.max(...present.map(({ seen }) => Number(seen['restarts'] ?? 0))),
    askedIn: dataVolumes.find(({ seen }) => String(seen['Running']).includes('Scratch space required'))?.seen['phase'],
    boundAtSuccess: dataVolumes.find(({ seen }) => seen['phase'] === 'Succeeded')?.seen['Bound'],
    doesScratchOutlive: ends('scratch claim') > ends('importer'),
  }
}

/**
 * The facts that hold however busy a node is: a kubelet may write two changes of a pod at once, and CDI may read both late. A CDI that reads the claim of a
 * finished import later than the end of its importer makes one more, and deletes that before its container starts.
 */
export function factsOnAnyNode(entries: readonly Entry[]): object {
  const { deletedAs, restarts, doesScratchOutlive } = factsOf(entries.filter(isOfNoUnstarted))
  const containers = deletedAs.map((state) => state.slice(state.indexOf(', ') + 2))
  return { deletedAs: containers, restarts, doesScratchOutlive }
}

/** Reports whether an entry is not that of an importer whose container never started. Importers of one import follow each other. */
function isOfNoUnstarted(entry: Entry, _at: number, all: readonly Entry[]): boolean {
  if (entry.object !== 'importer') return true
  const importers = all.filter(({ object }) => object === 'importer')
  const at = importers.indexOf(entry)
  const from = importers.findLastIndex(({ change }, index) => change === 'made' && index <= at)
  const next = importers.findIndex(({ change }, index) => change === 'made' && index > at)
  const life = importers.slice(from, next === -1 ? undefined : next)
  return life.some((one) => HAS_STARTED.test(stateIn(one)))
}

const HAS_STARTED = /running|terminated/

function stateIn({ seen }: Entry): string {
  const [state, detail] = String(seen['container'] ?? 'no container').split(' ')
  return [`${seen['phase']}, ${state}`, ...(detail === undefined ? [] : [detail])].join(' ')
}
