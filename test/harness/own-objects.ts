import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { isOperatorPod } from '../../sandbox/simulators/operator-pods/template.ts'
import type { Mirror } from './mirror.ts'

/** Returns the objects of a store that are in these namespaces. */
export function inNamespaces<T extends KubeObject>(
  store: { values(): IterableIterator<T> },
  namespaces: readonly string[],
): T[] {
  return [...store.values()].filter(({ metadata }) => namespaces.includes(metadata.namespace ?? ''))
}

/** Returns kind and name of the images, and of what was made for images, that are left in these namespaces. */
export function leftovers(
  { images, dataVolumes, claims, pods, snapshots, dataSources }: Mirror,
  namespaces: readonly string[],
): string[] {
  const stores: readonly { values(): IterableIterator<KubeObject> }[] = [
    images,
    dataVolumes,
    claims,
    pods,
    snapshots,
    dataSources,
  ]
  return stores
    .flatMap((store) => inNamespaces(store, namespaces))
    .filter((object) => !isOperatorPod(object))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
}
