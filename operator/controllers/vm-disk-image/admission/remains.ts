import { memoized } from '@open-terrain/constructs/operator'
import { canBeFilled, claimOwning, type ImporterCaches, remainsOf } from '../../../cluster/importers.ts'
import { isChildOf } from '../../../cluster/ownership.ts'
import { isAlive, type PodView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import type { Remain, Remains } from './decide/slot.ts'

/** The caches in which what is left of a download is found. */
export interface RemainCaches extends ImporterCaches<PodView> {
  readonly pods: ImporterCaches<PodView>['pods'] & { get(key: string): PodView | undefined }
}

/**
 * Returns what CDI has created to download for a slot, with what the caches show now: claims, and the importer pods that fill them. The owner
 * references that identify these lead to the DataVolume only while all objects in between exist. So each is recorded as soon as it is observed, and
 * from then on leads to what CDI creates for it later. A recorded importer counts until it has ended, whatever happens to its claims and labels.
 * @param dataVolume of the slot; undefined if that is gone
 */
export function withFound(known: Remains, dataVolume: KubeObject | undefined, caches: RemainCaches): Remains {
  const target = dataVolume && caches.claims.get(keyOf(dataVolume.metadata))
  const isIts = dataVolume !== undefined && target !== undefined && isChildOf(target, dataVolume)
  const recorded = isIts ? withTaken(known.claims, [target], dataVolume.metadata.uid) : known.claims
  let found: Remains = recorded === known.claims ? known : { ...known, claims: recorded }
  for (const claim of recorded.values()) {
    const { claims, pods } = remainsOf([claim], caches)
    found = withAll(found, claims, pods.filter(isAlive), claim.dataVolume)
  }
  return found
}

/** Returns what is known with importers that live reads found. */
export function withImporters(known: Remains, importers: readonly KubeObject[]): Remains {
  return withAll(known, [], importers)
}

/**
 * Reports whether an importer is alive, according to the cache: the watch reports its end.
 * @param over uid of a DataVolume whose importers do not count: that it has finished may be known before their end is
 */
export function isAnyAlive({ pods }: Remains, caches: RemainCaches, over?: string): boolean {
  for (const one of pods.values()) if (one.dataVolume !== over && aliveAs(one, caches) !== undefined) return true
  return false
}

/**
 * Returns the importers that nobody ends though the claims that they fill are being deleted, or are gone. For any other claim, CDI would replace the
 * importer.
 */
export function unendedOf({ pods }: Remains, caches: RemainCaches): PodView[] {
  return [...pods.values()].flatMap((one) => {
    const pod = aliveAs(one, caches)
    if (pod === undefined || isTerminating(pod)) return []
    const { name = '', uid } = claimOwning(pod) ?? {}
    const claim = caches.claims.get(keyOf({ namespace: one.namespace, name }))
    return claim?.metadata.uid === uid && !isTerminating(claim) ? [] : [pod]
  })
}

/**
 * Returns the claims that CDI may still fill, of those recorded and of those that the recorded importers fill, which nobody deletes. Each is found by uid:
 * from an importer to the claim that it fills, and from a prime claim to its target.
 */
export function unfilledOf({ claims, pods }: Remains, caches: RemainCaches): KubeObject[] {
  const owned = (object: KubeObject | undefined) => {
    const { name, uid } = (object && claimOwning(object)) ?? {}
    return name === undefined ? undefined : existing({ namespace: object?.metadata.namespace, name, uid }, caches)
  }
  const recorded = [...claims.values()].map((one) => existing(one, caches))
  const filled = [...pods.values()].map((one) => owned(aliveAs(one, caches)))
  const found = [...recorded, ...filled, ...filled.map(owned)].filter((one) => one !== undefined && canBeFilled(one))
  return [...new Set(found)].filter((one) => one !== undefined)
}

const remainKeyOf = memoized(keyOf)

function existing(
  one: { readonly namespace: string | undefined; readonly name: string; readonly uid: string | undefined },
  { claims }: RemainCaches,
): KubeObject | undefined {
  const claim = claims.get(remainKeyOf(one))
  return claim?.metadata.uid === one.uid ? claim : undefined
}

function aliveAs(one: Remain, { pods }: RemainCaches): PodView | undefined {
  const pod = pods.get(remainKeyOf(one))
  return pod?.metadata.uid === one.uid && isAlive(pod) ? pod : undefined
}

function withAll(
  known: Remains,
  claims: readonly KubeObject[],
  pods: readonly KubeObject[],
  dataVolume?: string,
): Remains {
  const all = { claims: withTaken(known.claims, claims, dataVolume), pods: withTaken(known.pods, pods, dataVolume) }
  return all.claims === known.claims && all.pods === known.pods ? known : all
}

/** Returns the same map if all of these are known, as they mostly are. */
function withTaken(
  known: ReadonlyMap<string, Remain>,
  objects: readonly KubeObject[],
  dataVolume = '',
): ReadonlyMap<string, Remain> {
  const added = objects.filter(({ metadata: { uid = '' } }) => !known.has(uid))
  if (added.length === 0) return known
  const remains = added.map(({ metadata: { namespace, name, uid = '' } }) => ({ namespace, name, uid, dataVolume }))
  return new Map([...known, ...remains.map((one) => [one.uid, one] as const)])
}
