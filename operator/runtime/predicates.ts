import type { KubeObject } from '../kube/kube-object.ts'
import { isSame } from './owned-fields.ts'
import type { Change } from './store.ts'

/** Others write into objects much that no decision rests on: their caches have it only as another version. */
export function whenContentChanged<T extends KubeObject>(listener: (change: Change<T>) => void) {
  return (change: Change<T>): void => {
    const { before, after } = change
    if (before === undefined || after === undefined || !isSame(unversioned(before), unversioned(after)))
      listener(change)
  }
}

function unversioned({ metadata, ...content }: KubeObject): object {
  return { ...content, metadata: { ...metadata, resourceVersion: undefined } }
}

/** Most changes of Secrets and the like concern nobody here: only that one came or went. */
export function whenCreatedOrDeleted<T extends KubeObject>(listener: (change: Change<T>) => void) {
  return (change: Change<T>): void => {
    if ((change.before === undefined) !== (change.after === undefined)) listener(change)
  }
}
