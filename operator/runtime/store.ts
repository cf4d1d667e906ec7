import { isSame } from '../base/equality.ts'
import { compareResourceVersions, type KubeObject, keyOf, type ObjectMeta } from '../kube/kube-object.ts'

/** What a cache needs to know of an object. The projection determines everything else. */
export interface Stored {
  readonly metadata: ObjectMeta
}

/** One change of the cache. An object that was deleted and created again with the same name is two changes. */
export interface Change<T> {
  readonly key: string
  readonly before: T | undefined
  readonly after: T | undefined
}

/** The part of a store that readers need. */
export interface Readable<T extends Stored> {
  get(key: string): T | undefined
  onChange(listener: (change: Change<T>) => void): () => void
}

/**
 * A local copy of all objects of one kind, maintained by a {@link Reflector}, with indexes. It always has our own last write:
 * {@link observeWrite} adds the response to each write at once, and an older event that arrives later does not undo it. This requires that
 * resourceVersions of one kind are comparable (Kubernetes 1.35), and that a watch delivers events in order when it first delivers them.
 */
export class Store<T extends Stored> {
  readonly #items = new Map<string, T>()
  readonly #indexes = new Map<string, { keysOf: (item: T) => readonly string[]; entries: Entries }>()
  readonly #listeners = new Set<(change: Change<T>) => void>()
  /** All changes up to this version have been applied. */
  #version = '0'
  #revision = 0
  /** Called when an index or a listener throws. That is a bug, and the other indexes and listeners must still see the change. */
  onBug: (error: unknown) => void = (error) => {
    throw error
  }

  /** Another number after each change. What was made of the same revision is still right. */
  get revision(): number {
    return this.#revision
  }

  get size(): number {
    return this.#items.size
  }

  get(key: string): T | undefined {
    return this.#items.get(key)
  }

  keys(): IterableIterator<string> {
    return this.#items.keys()
  }

  entries(): IterableIterator<[string, T]> {
    return this.#items.entries()
  }

  values(): IterableIterator<T> {
    return this.#items.values()
  }

  /** Adds an index. `keysOf` returns the values under which an item is found. */
  index(name: string, keysOf: (item: T) => readonly string[]): this {
    const entries: Entries = new Map()
    this.#indexes.set(name, { keysOf, entries })
    for (const [key, item] of this.#items) for (const value of keysOf(item)) addTo(entries, value, key)
    return this
  }

  /** Returns all items that the index `name` has under `value`. */
  find(name: string, value: string): T[] {
    const keys = this.#entriesOf(name).get(value)
    const found: T[] = []
    const take = (key: string) => {
      const item = this.#items.get(key)
      if (item !== undefined) found.push(item)
    }
    if (typeof keys === 'string') take(keys)
    else keys?.forEach(take)
    return found
  }

  /** Reports whether the index `name` has no item under any value. */
  isEmpty(name: string): boolean {
    return this.#entriesOf(name).size === 0
  }

  count(name: string, value: string): number {
    const keys = this.#entriesOf(name).get(value)
    return typeof keys === 'object' ? keys.size : keys === undefined ? 0 : 1
  }

  /** Calls `listener` for each later change, until the returned function is called. It only maps a change to keys, and must not throw. */
  onChange(listener: (change: Change<T>) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Applies a list. An object that is not on the list is removed, unless this process wrote it after the list was made. An object on the list is left out
   * if the watch has already reported its deletion.
   */
  replaceAll(items: readonly T[], version: string): void {
    const listed = new Set<string>()
    for (const item of items.toSorted((a, b) => compareResourceVersions(versionOf(a), versionOf(b)))) {
      listed.add(keyOf(item.metadata))
      if (!this.#isKnownGone(item)) this.#put(item)
    }
    for (const [key, item] of this.#items) {
      if (!listed.has(key) && compareResourceVersions(versionOf(item), version) <= 0) this.#change(key, item, undefined)
    }
    this.advance(version)
  }

  /** Applies an ADDED or MODIFIED event. A repeated event does not revive an object that is gone since. */
  put(item: T): void {
    if (!this.#isKnownGone(item)) this.#put(item)
    this.advance(versionOf(item))
  }

  /** Applies a DELETED event. `item` is the last state, with the version of the deletion. */
  remove(item: T): void {
    const key = keyOf(item.metadata)
    const current = this.#items.get(key)
    const isNewer = current !== undefined && compareResourceVersions(versionOf(current), versionOf(item)) > 0
    if (current !== undefined && !isNewer) this.#change(key, current, undefined)
    this.advance(versionOf(item))
  }

  /** Records a bookmark: all changes up to this version have been applied. */
  advance(version: string): void {
    if (compareResourceVersions(version, this.#version) > 0) this.#version = version
  }

  /** Removes everything: the kind is no longer served, so no objects of it exist. */
  clear(): void {
    for (const [key, item] of this.#items) this.#change(key, item, undefined)
    this.#version = '0'
  }

  /** Adds the response to a write of this process. Ignored if the watch is already past it, because the object may be gone by now. */
  observeWrite(item: T): void {
    if (compareResourceVersions(versionOf(item), this.#version) > 0) this.#put(item)
  }

  #isKnownGone(item: T): boolean {
    return compareResourceVersions(versionOf(item), this.#version) < 0 && !this.#items.has(keyOf(item.metadata))
  }

  #entriesOf(name: string): Entries {
    const index = this.#indexes.get(name)
    if (index === undefined) throw new TypeError(`the store has no index ${name}`)
    return index.entries
  }

  #put(item: T): void {
    const key = keyOf(item.metadata)
    const before = this.#items.get(key)
    if (before !== undefined && compareResourceVersions(versionOf(before), versionOf(item)) >= 0) return
    const isAnother = before !== undefined && before.metadata.uid !== item.metadata.uid
    if (isAnother) this.#change(key, before, undefined)
    this.#change(key, isAnother ? undefined : before, item)
  }

  #change(key: string, before: T | undefined, after: T | undefined): void {
    this.#revision += 1
    if (after === undefined) this.#items.delete(key)
    else this.#items.set(key, after)
    this.#reindex(key, before, after)
    const change = { key, before, after }
    for (const listener of this.#listeners) this.#guarded(listener, change)
  }

  #reindex(key: string, before: T | undefined, after: T | undefined): void {
    for (const { keysOf, entries } of this.#indexes.values()) {
      const was = before === undefined ? NOWHERE : (this.#guarded(keysOf, before) ?? NOWHERE)
      const is = after === undefined ? NOWHERE : (this.#guarded(keysOf, after) ?? NOWHERE)
      // Most changes move nothing in an index.
      if (isSame(was, is)) continue
      for (const value of was) removeFrom(entries, value, key)
      for (const value of is) addTo(entries, value, key)
    }
  }

  #guarded<A, R>(work: (given: A) => R, given: A): R | undefined {
    try {
      return work(given)
    } catch (error) {
      this.onBug(error)
      return undefined
    }
  }
}

/** The values of what is not there, in any index. */
const NOWHERE: readonly string[] = []

function versionOf(item: Stored): string {
  return item.metadata.resourceVersion ?? '0'
}

/** Keys by value. Most values have one key, and a Set for each would cost more than the key. */
type Entries = Map<string, string | Set<string>>

function addTo(entries: Entries, value: string, key: string): void {
  const keys = entries.get(value)
  if (keys === undefined || keys === key) entries.set(value, key)
  else if (typeof keys === 'string') entries.set(value, new Set([keys, key]))
  else keys.add(key)
}

function removeFrom(entries: Entries, value: string, key: string): void {
  const keys = entries.get(value)
  if (keys === key) entries.delete(value)
  else if (typeof keys === 'object') {
    keys.delete(key)
    if (keys.size === 0) entries.delete(value)
  }
}

/** Ignores changes of the resourceVersion alone: others often write fields that no decision uses and that the caches do not keep. */
export function whenContentChanged<T extends KubeObject>(listener: (change: Change<T>) => void) {
  return (change: Change<T>): void => {
    const { before, after } = change
    if (before === undefined || after === undefined || !hasSameContent(before, after)) listener(change)
  }
}

/** Without copies: every change of every object passes here, often more than once. */
function hasSameContent(before: KubeObject, after: KubeObject): boolean {
  return areSameBut('metadata', before, after) && areSameBut('resourceVersion', before.metadata, after.metadata)
}

function areSameBut<T extends object>(but: keyof T, before: T, after: T): boolean {
  for (const key in before) if (key !== but && !isSame(before[key], after[key])) return false
  for (const key in after) if (key !== but && before[key] === undefined && after[key] !== undefined) return false
  return true
}
