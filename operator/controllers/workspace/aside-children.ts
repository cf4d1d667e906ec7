import { virtualMachine } from '@open-terrain/constructs/operator'
import { find } from '../../kube/find.ts'
import type { KubeObject, ResourceType } from '../../kube/kube-object.ts'
import { DEPLOYMENT } from '../../kube/resource-types.ts'
import { childId } from '../../runtime/child-refusals.ts'
import { LiveReadLoop, type LiveReadLoopOptions } from '../../runtime/live-read-loop.ts'
import { isAsWanted, markOf } from './decide/as-wanted.ts'
import { type Component, idOfObject } from './decide/component.ts'

/** A child of which the cache may keep only a part. */
type Child = KubeObject & { readonly spec?: unknown; readonly isAside?: true }

/** A child to read, with the object that its mark says it is. */
interface Asked {
  readonly child: Child
  readonly wanted: KubeObject
  /** Of the workspace. */
  readonly key: string
}

/** The kinds of such children. */
const TYPES: ReadonlyMap<string, ResourceType> = new Map([DEPLOYMENT, virtualMachine].map((type) => [type.kind, type]))

/**
 * Reads the children of which the cache keeps only a part, and compares them with what is wanted: one at a time, and once for each version of a child.
 * Only the result is kept.
 */
export class AsideChildren extends LiveReadLoop {
  readonly #asked = new Map<string, Asked>()
  /** Whether a child is as its mark says. The key is the object in the cache, which is another one after each change. */
  readonly #isAsMarked = new WeakMap<KubeObject, boolean>()

  constructor(options: LiveReadLoopOptions) {
    super(options, 'workspace-children', async (id, signal) => {
      const asked = this.#asked.get(id)
      const type = TYPES.get(asked?.child.kind ?? '')
      if (asked === undefined || type === undefined) return undefined
      const { child, wanted, key } = asked
      const found = await find(options.client, type, child.metadata, { signal })
      if (this.#asked.get(id) === asked) this.#asked.delete(id)
      // A watch event reports that it is gone.
      if (found === undefined || found.metadata.uid !== child.metadata.uid) return undefined
      this.#isAsMarked.set(child, isAsWanted(wanted, found))
      options.onChange(key)
      return undefined
    })
  }

  /**
   * Returns the children of a workspace with what is known by now of those of which the cache keeps only a part: one that is as wanted has the spec
   * that was rendered. Until it was read, only its mark counts. What others have made besides is not read.
   */
  look(key: string, children: ReadonlyMap<string, KubeObject>, components: readonly Component[]) {
    const seen = new Map(children)
    for (const wanted of components.flatMap(({ objects }) => objects) as readonly Child[]) {
      const child = children.get(idOfObject(wanted)) as Child | undefined
      // One with another mark is changed in any case.
      if (child?.isAside !== true || markOf(child) !== markOf(wanted)) continue
      const isAsMarked = this.#isAsMarked.get(child)
      if (isAsMarked === undefined) this.#ask({ child, wanted, key })
      const { isAside: _mark, ...read } = child
      if (isAsMarked !== undefined) seen.set(idOfObject(child), isAsMarked ? { ...read, spec: wanted.spec } : read)
    }
    return seen
  }

  #ask(asked: Asked): void {
    const id = childId(asked.child)
    this.#asked.set(id, asked)
    this.readAfter(id, 0)
  }
}
