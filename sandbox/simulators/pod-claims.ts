import { PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import { SELECTED_NODE } from './annotations.ts'
import { type Claim, isTerminating, type Pod } from './models.ts'
import { needsConsumer } from './storage.ts'
import type { World } from './world.ts'

/** Returns the claims of a pod that exist. */
export function claimsOf(world: World, { metadata, spec }: Pod): Claim[] {
  const names = (spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) => claim?.claimName ?? [])
  return names.flatMap((name) => world.claims.get(`${metadata.namespace}/${name}`) ?? [])
}

/** Returns the message of the scheduler about a missing or terminating claim, without which no node takes the pod. */
export function lostClaim(world: World, { metadata, spec }: Pod): string | undefined {
  for (const { persistentVolumeClaim } of spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined) continue
    const { claimName } = persistentVolumeClaim
    const claim = world.claims.get(`${metadata.namespace}/${claimName}`)
    if (claim === undefined) return `persistentvolumeclaim "${claimName}" not found.`
    if (isTerminating(claim)) return `persistentvolumeclaim "${claimName}" is being deleted.`
  }
  return undefined
}

/** Reports whether the volume of a claim is only selected when a pod uses it. */
export function bindsLate(world: World, { spec }: Claim): boolean {
  return world.storageClasses.get(spec.storageClassName ?? '')?.volumeBindingMode === 'WaitForFirstConsumer'
}

/** Sets the node that the scheduler selects, for provisioners that wait for the first consumer. */
export async function selectNode(world: World, claims: readonly Claim[], node: string): Promise<void> {
  for (const claim of claims) {
    const storageClass = world.storageClasses.get(claim.spec.storageClassName ?? '')
    if (storageClass === undefined || !needsConsumer(storageClass, claim)) continue
    const patch = { metadata: { annotations: { [SELECTED_NODE]: node } } }
    await world.patch(PERSISTENT_VOLUME_CLAIM, world.claims, claim, patch)
  }
}
