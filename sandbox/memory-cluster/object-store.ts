import { type KubeObject, keyOf, type ObjectMeta, type ResourceType } from '../../operator/kube/kube-object.ts'
import { expired, notServed } from './errors.ts'
import { frozenCopy } from './json.ts'
import { idOf, type Traits, traitsOf } from './served-types.ts'

/** One write, as etcd records it. Objects are deep-frozen. */
export interface Commit {
  readonly revision: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly resource: ResourceType
  /** The new state. For a deletion: the last state, with the resourceVersion of the deletion. */
  readonly object: KubeObject
  readonly before?: KubeObject
  /** Name of the process or controller that made the request. */
  readonly actor: string
}

/** At least this many commits of each kind are kept for watches and paging. */
const KEPT_COMMITS = 1_000

/** All objects of one kind, and the last changes to them. */
export class Table {
  readonly type: ResourceType
  readonly traits: Traits
  readonly objects = new Map<string, KubeObject>()
  readonly listeners = new Set<(commit: Commit) => void>()
  #history: Commit[] = []
  /** Commits up to this revision are forgotten. */
  #compacted: number

  constructor(type: ResourceType, revision: number) {
    this.type = type
    this.traits = traitsOf(type)
    this.#compacted = revision
  }

  record(commit: Commit): void {
    this.#history.push(commit)
    if (this.#history.length < 2 * KEPT_COMMITS) return
    this.#compacted = this.#history[KEPT_COMMITS - 1]?.revision ?? this.#compacted
    this.#history = this.#history.slice(KEPT_COMMITS)
  }

  compact(revision: number): void {
    this.#compacted = Math.max(this.#compacted, revision)
    this.#history = this.#history.filter((commit) => commit.revision > revision)
  }

  /** Returns the commits after a revision, oldest first. Throws Expired if some of them are forgotten. */
  since(revision: number): readonly Commit[] {
    if (revision < this.#compacted) throw expired(`too old resource version: ${revision} (${this.#compacted})`)
    let from = this.#history.length
    while (from > 0 && (this.#history[from - 1]?.revision ?? 0) > revision) from -= 1
    return this.#history.slice(from)
  }

  /** Returns all objects as of a revision, by key. Throws Expired if that revision is forgotten. */
  at(revision: number): ReadonlyMap<string, KubeObject> {
    const objects = new Map(this.objects)
    for (const { object, before } of this.since(revision).toReversed()) {
      const key = keyOf(object.metadata)
      if (before === undefined) objects.delete(key)
      else objects.set(key, before)
    }
    return objects
  }
}

/** The equivalent of etcd: objects of all kinds, with one revision counter. */
export class ObjectStore {
  readonly #tables = new Map<string, Table>()
  readonly #listeners: ((commit: Commit) => void)[] = []
  #revision = 1

  get revision(): number {
    return this.#revision
  }

  install(type: ResourceType): void {
    if (!this.#tables.has(idOf(type))) this.#tables.set(idOf(type), new Table(type, this.#revision))
  }

  uninstall(type: ResourceType): void {
    this.#tables.delete(idOf(type))
  }

  tables(): IterableIterator<Table> {
    return this.#tables.values()
  }

  isServed(type: ResourceType): boolean {
    return this.#tables.has(idOf(type))
  }

  /** Throws NotFound when the kind is not served. */
  table(type: ResourceType): Table {
    const table = this.#tables.get(idOf(type))
    if (table === undefined) throw notServed(type)
    return table
  }

  /** Calls `listener` synchronously, in revision order. The listener must not write during the call, only later. */
  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener)
  }

  /** Stores a new or changed object under the next revision. */
  put(actor: string, table: Table, object: KubeObject): KubeObject {
    const key = keyOf(object.metadata)
    const before = table.objects.get(key)
    const stored = this.#next(object)
    table.objects.set(key, stored)
    this.#commit(table, {
      ...this.#facts(actor, table),
      type: before === undefined ? 'ADDED' : 'MODIFIED',
      object: stored,
      ...(before && { before }),
    })
    return stored
  }

  remove(actor: string, table: Table, before: KubeObject): KubeObject {
    const last = this.#next(before)
    table.objects.delete(keyOf(before.metadata))
    this.#commit(table, { ...this.#facts(actor, table), type: 'DELETED', object: last, before })
    return last
  }

  /** Forgets all commits. Only the current state is kept. */
  compact(): void {
    for (const table of this.#tables.values()) table.compact(this.#revision)
  }

  #next(object: KubeObject): KubeObject {
    this.#revision += 1
    const metadata: ObjectMeta = { ...object.metadata, resourceVersion: String(this.#revision) }
    return frozenCopy({ ...object, metadata })
  }

  #facts(actor: string, { type }: Table): Pick<Commit, 'revision' | 'resource' | 'actor'> {
    return { revision: this.#revision, resource: type, actor }
  }

  #commit(table: Table, commit: Commit): void {
    table.record(commit)
    for (const listener of this.#listeners) listener(commit)
    for (const listener of table.listeners) listener(commit)
  }
}
