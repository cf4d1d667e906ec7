import type { KubeObject } from '../../../operator/kube/kube-object.ts'

/** Returns an object as the API server sends it. */
export function raw(more: object, metadata: object = {}): KubeObject {
  const named = { name: 'a', namespace: 'n', uid: 'u', ...metadata }
  return { apiVersion: 'v1', kind: 'Any', metadata: named, ...more } as KubeObject
}

const CONTROLLER = { apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller: true }

/** Metadata of a {@link raw} object. A view keeps only {@link KEPT} of it. */
export const CLUTTERED = {
  ownerReferences: [{ ...CONTROLLER, uid: 'y', controller: false }, CONTROLLER],
  managedFields: [{}],
}
export const KEPT = { name: 'a', namespace: 'n', uid: 'u', ownerReferences: [CONTROLLER] }
