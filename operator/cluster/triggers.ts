import { isSame } from '../base/equality.ts'
import { type KubeObject, keyOf, type ResourceType } from '../kube/kube-object.ts'
import { type Change, type Readable, type Store, whenContentChanged } from '../runtime/store.ts'
import { controllerOfKind } from './ownership.ts'

/** How the children of an object lead to it. */
interface Children<P> {
  /** Kind of their controller. */
  readonly of: Pick<ResourceType, 'group' | 'kind'>
  /** Label with its uid, which a child also has where its controller reference is gone. */
  readonly label: string
  /** Returns the objects with this uid in a namespace, at most one. */
  readonly byUid: (uid: string, namespace: string | undefined) => Iterable<P>
  /** Index that files objects under `<namespace>/<name>` of the children that they make. */
  readonly byChild: string
}

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
     * Enqueues the owner of an object that changes: by its controller reference or its label, and always by its name. A name that is taken or freed concerns
     * each object that needs it. Returns what stops that.
     * @param also called with each such change
     */
    owns<T extends KubeObject>(
      others: Readable<T>,
      { of, label, byUid, byChild }: Children<P>,
      also?: (change: Change<T>) => void,
    ): () => void {
      const uidsIn = (child: T | undefined) =>
        child === undefined ? [] : [controllerOfKind(child, of)?.uid, child.metadata.labels?.[label]]
      return others.onChange(
        whenContentChanged((change) => {
          const { key, before, after } = change
          all(objects.find(byChild, key))
          const { namespace } = (after ?? before)?.metadata ?? {}
          for (const uid of new Set([...uidsIn(before), ...uidsIn(after)]))
            if (uid !== undefined) all(byUid(uid, namespace))
          also?.(change)
        }),
      )
    },
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
