import { isSame } from '../base/equality.ts'
import { type KubeObject, keyOf } from '../kube/kube-object.ts'
import { type Change, type Readable, type Store, whenContentChanged } from '../runtime/store.ts'

/**
 * Declares which objects of one of our kinds a change of another object concerns. Makes no decisions.
 * @param enqueue called with the key of each object that is to be reconciled
 */
export function triggersOf<P extends KubeObject>(objects: Pick<Store<P>, 'find'>, enqueue: (key: string) => void) {
  const all = (found: Iterable<P>): void => {
    for (const { metadata } of found) enqueue(keyOf(metadata))
  }
  return {
    /** Enqueues these objects. */
    all,
    /**
     * Enqueues those that refer to an object of another kind when it changes. Returns what stops that.
     * @param index files them under `<namespace>/<name>` of what they refer to
     * @param about returns what matters of it. Default: everything but its version
     */
    refersTo<T extends KubeObject>(
      others: Readable<T>,
      index: string,
      about?: (other: T | undefined) => unknown,
    ): () => void {
      const listener = ({ key }: Change<T>) => all(objects.find(index, key))
      if (about === undefined) return others.onChange(whenContentChanged(listener))
      return others.onChange((change) => {
        if (!isSame(about(change.before), about(change.after))) listener(change)
      })
    },
  }
}
