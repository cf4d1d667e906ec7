import { type KubeObject, keyOf, type OwnerReference } from '../kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../kube/resource-types.ts'
import { byOwnerOf, childrenOf, controllerOfKind, familyKey, isChildOf } from './ownership.ts'

/**
 * Importer pods of a DataVolume. A pod is an importer only through the claim that it fills:
 *
 * ```
 * DataVolume x ◀── target claim x ◀── prime claim prime-<uid of the target> ◀── importer pod
 *                        ▲─────────────────────────────── importer pod (classes without a CSI driver)
 * ```
 * Each arrow is a controller owner reference, matched by name and uid in one namespace.
 */

/** CDI fills the claim of this name and the uid of the target, instead of the target. */
const PRIME = 'prime-'

/** Index over pods: the claim that is their controller. */
export const BY_CLAIM = 'claim'

/** Values of {@link BY_CLAIM}. */
export const claimIndex = byOwnerOf(PERSISTENT_VOLUME_CLAIM)

/** The caches that show which pod fills which claim. */
export interface ImporterCaches<P extends KubeObject = KubeObject> {
  readonly claims: { get(key: string): KubeObject | undefined }
  readonly pods: { find(index: string, value: string): readonly P[] }
}

/** Returns all importers in the caches, including terminated pods and pods that are being deleted. */
export function importersOf<P extends KubeObject>(dataVolume: KubeObject, caches: ImporterCaches<P>): P[] {
  const target = caches.claims.get(keyOf(dataVolume.metadata))
  if (target === undefined || !isChildOf(target, dataVolume)) return []
  const { namespace, uid = '' } = target.metadata
  const prime = caches.claims.get(keyOf({ namespace, name: PRIME + uid }))
  const claims = prime !== undefined && isChildOf(prime, target) ? [prime, target] : [target]
  return claims.flatMap((claim) =>
    childrenOf(claim, caches.pods.find(BY_CLAIM, familyKey(namespace, claim.metadata.uid ?? ''))),
  )
}

/**
 * Reports whether a pod may be an importer of a DataVolume that is gone: the claim that it fills has the name of the target, is a known prime claim
 * of a target with that name, or is a prime claim that is gone as well.
 */
export function mayFill(pod: KubeObject, targetName: string, claims: ImporterCaches['claims']): boolean {
  const claim = claimOwning(pod)
  if (claim === undefined) return false
  if (claim.name === targetName) return true
  if (!claim.name.startsWith(PRIME)) return false
  const prime = claims.get(keyOf({ namespace: pod.metadata.namespace, name: claim.name }))
  if (prime?.metadata.uid !== claim.uid) return true
  return claimOwning(prime)?.name === targetName
}

function claimOwning(object: KubeObject): OwnerReference | undefined {
  return controllerOfKind(object, PERSISTENT_VOLUME_CLAIM)
}
