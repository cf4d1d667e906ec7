import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM, STORAGE_CLASS } from '../../operator/kube/resource-types.ts'
import type { ObjectStore } from './object-store.ts'

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

/** Gives a new claim that names no class, not even an empty one, the default class of the cluster. Of two of them it is the newer one. */
export function withDefaultClass(store: ObjectStore, type: ResourceType, object: KubeObject): KubeObject {
  if (type !== PERSISTENT_VOLUME_CLAIM || !store.isServed(STORAGE_CLASS)) return object
  const { spec } = object as KubeObject & { readonly spec?: { readonly storageClassName?: string } }
  if (spec?.storageClassName !== undefined) return object
  const defaults = [...store.table(STORAGE_CLASS).objects.values()].filter(
    ({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true',
  )
  const newest = defaults.toSorted((a, b) => createdAt(b) - createdAt(a))[0]
  if (newest === undefined) return object
  return { ...object, spec: { ...spec, storageClassName: newest.metadata.name } } as KubeObject
}

function createdAt({ metadata }: KubeObject): number {
  return Date.parse(metadata.creationTimestamp ?? '')
}
