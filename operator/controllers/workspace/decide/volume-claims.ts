import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  type ClaimsOfVolumes,
  claimName,
  type DeploymentObject,
  presentClaim,
  type VirtualMachineSpec,
  volumeClaimsIn,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import type { ClaimView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DEPLOYMENT, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import type { WorkspaceView, WorkspaceWorld } from '../world.ts'
import { markOf } from './as-wanted.ts'
import { type ComponentRemark, idOf } from './component.ts'

type Seen = Pick<WorkspaceWorld, 'workspace' | 'children'>

/**
 * Returns the claims of the volumes that were restored. The annotation says which, and a restore writes it for all volumes at once. Somebody may take it away:
 * a restored claim that the workspace has had then stays in use, since its volume would otherwise be the old claim again, or none. Or bring an older
 * annotation back, such as with a saved manifest, that says a claim which is gone.
 */
export function claimsOfVolumes(
  { metadata }: Pick<WorkspaceView, 'metadata'>,
  children: Seen['children'],
): ClaimsOfVolumes {
  const had = [...children.values()].filter(
    (one) => one.kind === PERSISTENT_VOLUME_CLAIM.kind && firstNameIn(one) !== undefined && markOf(one) !== undefined,
  )
  const byVolume = Map.groupBy(had, (one) => firstNameIn(one) ?? '')
  const said = switchesIn(metadata)
  const present = [...new Set([...byVolume.keys(), ...said.keys()])].map((first) => {
    const isThere = (name: string) => children.has(idOf(PERSISTENT_VOLUME_CLAIM.kind, name))
    return [first, presentClaim(said.get(first), byVolume.get(first) ?? [], isThere) ?? first] as const
  })
  return new Map(present.filter(([first, claim]) => claim !== first))
}

/** Returns what the claims of {@link claimsOfVolumes} that are there ask for, as quantities, by the same names. */
export function sizesOfClaims(claims: ClaimsOfVolumes, children: Seen['children']): ReadonlyMap<string, string> {
  const sizes = [...claims].flatMap(([first, name]) => {
    const { requested } = (children.get(idOf(PERSISTENT_VOLUME_CLAIM.kind, name)) ?? {}) as Partial<ClaimView>
    return requested === undefined ? [] : [[first, requested] as const]
  })
  return new Map(sizes)
}

function switchesIn({ annotations }: WorkspaceView['metadata']) {
  return volumeClaimsIn(annotations?.[ANNOTATIONS.volumeClaims])
}

/** Name of the claim that a volume has if it was never restored, of a claim that it was restored to. */
function firstNameIn({ metadata: { labels } }: KubeObject): string | undefined {
  return labels?.[LABELS.volume]
}

/** Returns the name of the claim that a volume has now, also while the spec cannot be used. */
export function claimNow({ workspace, children }: Seen, volume: string): string {
  const first = claimName(volume)
  return claimsOfVolumes(workspace, children).get(first) ?? first
}

/** Reports whether a claim is, was, or is about to be that of a volume in the spec. None goes because nothing asks for it. */
export function isOfVolume({ spec }: Pick<WorkspaceWorld, 'spec'>, claim: KubeObject): boolean {
  const { volumes = [] }: WorkspaceSpec = spec.ok ? spec.spec : {}
  const first = firstNameIn(claim) ?? claim.metadata.name
  return volumes.some(({ name }) => claimName(name) === first)
}

/**
 * Says which claim a volume had before its last restore. What is on it is somebody's work, so it is kept until a person deletes it.
 * @param present claim that the volume has now
 */
export function oldVolumeOf(world: WorkspaceWorld, volume: string, present: ClaimView): ComponentRemark[] {
  const name = claimFromBefore(world, volume, present.metadata.name)
  if (name === undefined || isTerminating(present)) return []
  const { name: namespace } = world.workspace.metadata
  const command = `kubectl -n ${namespace} delete pvc ${name}`
  const why = isNamed(world, name)
    ? 'something of the workspace still names it'
    : present.phase === 'Bound'
      ? `if nobody needs what is on it, run: ${command}`
      : `${present.metadata.name} has no data yet`
  const message = `PersistentVolumeClaim ${name}, from before a restore, is kept until somebody deletes it: ${why}`
  return [{ why: 'OldVolumeKept', message }]
}

/** Returns the name of the claim that a volume had before its last restore, if it stays. @param present name of the claim that the volume has now */
export function claimFromBefore({ workspace, children }: Seen, volume: string, present: string): string | undefined {
  const { claim, replaced = '' } = switchesIn(workspace.metadata).get(claimName(volume)) ?? {}
  const old = children.get(idOf(PERSISTENT_VOLUME_CLAIM.kind, replaced))
  const isStaying = claim === present && replaced !== claim && old !== undefined && !isTerminating(old)
  return isStaying ? replaced : undefined
}

/** A member that is not deployed any more, or whose change is refused, stays as it is and needs the claim when it starts. Of a large Deployment it is not known. */
function isNamed({ children }: Seen, claim: string): boolean {
  return [...children.values()].some((one) => {
    if (one.kind === VIRTUAL_MACHINE) return disksOf(one).some(({ volume }) => volume === claim)
    if (one.kind !== DEPLOYMENT.kind) return false
    const { spec, isAside } = one as Partial<DeploymentObject> & { readonly isAside?: true }
    const volumes = spec?.template?.spec?.volumes ?? []
    const isMounted = volumes.some(
      (of) => 'persistentVolumeClaim' in of && of.persistentVolumeClaim?.claimName === claim,
    )
    return isAside === true || isMounted
  })
}

const VIRTUAL_MACHINE = 'VirtualMachine'

function disksOf(machine: KubeObject): NonNullable<VirtualMachineSpec['disks']> {
  return (machine as { readonly spec?: VirtualMachineSpec }).spec?.disks ?? []
}
