import type { KubeObject } from '../kube/kube-object.ts'
import { isSame } from './owned-fields.ts'
import type { Change } from './store.ts'

/** Ignores changes of the resourceVersion alone: others often write fields that no decision uses and that the caches do not keep. */
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

/** Passes on only creations and deletions: other changes of Secrets and similar objects are not relevant. */
export function whenCreatedOrDeleted<T extends KubeObject>(listener: (change: Change<T>) => void) {
  return (change: Change<T>): void => {
    if ((change.before === undefined) !== (change.after === undefined)) listener(change)
  }
}
