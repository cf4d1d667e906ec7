import { isSame } from '../base/equality.ts'
import { isTerminating, type KubeObject, keyOf, type OwnerReference } from '../kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM, POD } from '../kube/resource-types.ts'
import type { Change } from '../runtime/store.ts'
import { byOwnerOf, childrenOf, controllerOfKind, familyKey, isChildOf } from './ownership.ts'
import { isAlive, POD_PHASE } from './views.ts'

/**
 * Importer pods of a DataVolume. A pod is an importer only through the claim that it fills:
 *
 * ```
 * DataVolume x ◀── target claim x ◀── prime claim prime-<uid of the target> ◀── importer pod ◀── scratch claim
 *                        ▲─────────────────────────────── importer pod (classes without a CSI driver)
 * ```
 * Each arrow is a controller owner reference, matched by name and uid in one namespace.
 */

/** CDI fills the claim of this name and the uid of the target, instead of the target. */
const PRIME = 'prime-'

/** A claim for scratch space is called like the claim that the importer fills, with this at the end. */
const SCRATCH = '-scratch'

/** Index over pods: the claim that is their controller. */
export const BY_CLAIM = 'claim'

/** Values of {@link BY_CLAIM}. */
export const claimIndex = byOwnerOf(PERSISTENT_VOLUME_CLAIM)

/** The caches that show which pod fills which claim. */
export interface ImporterCaches<P extends KubeObject = KubeObject> {
  readonly claims: { get(key: string): KubeObject | undefined }
  readonly pods: { find(index: string, value: string): readonly P[] }
}

/** Returns the claims in the caches that importers of a DataVolume fill. */
export function claimsFilledFor(
  dataVolume: KubeObject,
  claims: { get(key: string): KubeObject | undefined },
): KubeObject[] {
  const target = claims.get(keyOf(dataVolume.metadata))
  if (target === undefined || !isChildOf(target, dataVolume)) return []
  const { namespace, uid = '' } = target.metadata
  const prime = claims.get(keyOf({ namespace, name: PRIME + uid }))
  return prime !== undefined && isChildOf(prime, target) ? [prime, target] : [target]
}

/** Returns all importers in the caches, including terminated pods and pods that are being deleted. */
export function importersOf<P extends KubeObject>(dataVolume: KubeObject, caches: ImporterCaches<P>): P[] {
  const { namespace } = dataVolume.metadata
  return claimsFilledFor(dataVolume, caches.claims).flatMap((claim) =>
    childrenOf(claim, caches.pods.find(BY_CLAIM, familyKey(namespace, claim.metadata.uid ?? ''))),
  )
}

/** What identifies a claim, which may be gone by now. */
export interface ClaimId {
  readonly namespace: string | undefined
  readonly name: string
  readonly uid: string
}

/** Returns what CDI has created to fill these claims, by names and uids alone: the claims themselves may be gone. */
export function remainsOf<P extends KubeObject>(filled: readonly ClaimId[], { claims, pods }: ImporterCaches<P>) {
  const found = { claims: [] as KubeObject[], pods: [] as P[] }
  const takeClaim = (namespace: string | undefined, name: string, isMeant: (claim: KubeObject) => boolean) => {
    const claim = claims.get(keyOf({ namespace, name }))
    if (claim === undefined || !isMeant(claim)) return []
    found.claims.push(claim)
    return [{ namespace, name, uid: claim.metadata.uid ?? '' }]
  }
  for (const target of filled) {
    const { namespace, uid } = target
    const primes = takeClaim(namespace, PRIME + uid, (prime) => claimOwning(prime)?.uid === uid)
    for (const { name, uid } of [target, ...primes]) {
      for (const pod of pods.find(BY_CLAIM, familyKey(namespace, uid))) {
        found.pods.push(pod)
        takeClaim(namespace, name + SCRATCH, (scratch) => controllerOfKind(scratch, POD)?.uid === pod.metadata.uid)
      }
    }
  }
  return found
}

/** Returns caches of what live lists found. */
export function cachesOf<P extends KubeObject>(claims: readonly KubeObject[], pods: readonly P[]): ImporterCaches<P> {
  const byKey = new Map(claims.map((claim) => [keyOf(claim.metadata), claim]))
  const byClaim = Map.groupBy(pods, (pod) => claimIndex(pod)[0])
  return { claims: byKey, pods: { find: (_index, value) => byClaim.get(value) ?? [] } }
}

/** Reports whether CDI may start an importer for the claim: it starts none for one that is being deleted, or is filled. */
export function canBeFilled(claim: KubeObject): boolean {
  return !isTerminating(claim) && !isFilled(claim)
}

function isFilled({ metadata }: KubeObject): boolean {
  return metadata.annotations?.[POD_PHASE] === 'Succeeded'
}

/**
 * Reports whether a pod is an importer of a claim that is filled. CDI makes one, and deletes it before its container starts, if it observes the end of an
 * importer before it observes what it has written to the claim.
 */
export function isNeedless(pod: KubeObject, claims: ImporterCaches['claims']): boolean {
  const { name = '', uid } = claimOwning(pod) ?? {}
  const claim = claims.get(keyOf({ namespace: pod.metadata.namespace, name }))
  return claim !== undefined && claim.metadata.uid === uid && isFilled(claim)
}

/** Returns the claim with the scratch space of an importer pod. */
export function scratchOf(pod: KubeObject, claims: ImporterCaches['claims']): KubeObject | undefined {
  const { namespace, uid } = pod.metadata
  const scratch = claims.get(keyOf({ namespace, name: `${claimOwning(pod)?.name}${SCRATCH}` }))
  return scratch !== undefined && controllerOfKind(scratch, POD)?.uid === uid ? scratch : undefined
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

/**
 * Reports whether CDI may still start an importer for a claim of this name whose DataVolume is gone, or for the prime claim of such a claim. Only the
 * label shows whose it is.
 */
export function mayBeFilled(
  claim: KubeObject,
  targetName: string,
  isLabelled: (claim: KubeObject) => boolean,
): boolean {
  if (!canBeFilled(claim)) return false
  if (claim.metadata.name === targetName) return isLabelled(claim)
  return claim.metadata.name.startsWith(PRIME) && claimOwning(claim)?.name === targetName
}

/**
 * Reports whether a change of a claim or a pod may change what is known of an import: who owns it, whether it is being deleted, has ended, or is filled.
 * The functions above read nothing else of it that changes.
 */
export function concernsImport({ before, after }: Change<KubeObject & { readonly phase: string }>): boolean {
  if (before === undefined || after === undefined) return true
  const [was, is] = [before.metadata, after.metadata]
  return (
    isTerminating(before) !== isTerminating(after) ||
    isAlive(before) !== isAlive(after) ||
    was.annotations?.[POD_PHASE] !== is.annotations?.[POD_PHASE] ||
    !isSame(was.ownerReferences, is.ownerReferences) ||
    !isSame(was.labels, is.labels)
  )
}

/** Returns the claim that a pod fills, or that a prime claim is filled for. */
export function claimOwning(object: KubeObject): OwnerReference | undefined {
  return controllerOfKind(object, PERSISTENT_VOLUME_CLAIM)
}
