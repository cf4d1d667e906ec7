import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  type ClaimsOfVolumes,
  claimName,
  type DeploymentObject,
  type VirtualMachineSpec,
  type VolumeClaim,
  volumeClaimsIn,
  workspace as WORKSPACE,
  type WorkspaceSpec,
} from '@open-terrain/constructs/operator'
import { compareTexts } from '../../../base/messages.ts'
import { fromTime, toTime } from '../../../base/time.ts'
import type { ClaimView } from '../../../cluster/views.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import { DEPLOYMENT, PERSISTENT_VOLUME_CLAIM } from '../../../kube/resource-types.ts'
import { type Removal, removalOf, unchanged } from '../../../runtime/plan.ts'
import type { Requeue } from '../../../runtime/requeue.ts'
import type { WorkspaceView, WorkspaceWorld } from '../world.ts'
import { markOf } from './as-wanted.ts'
import { type ComponentRemark, idOf } from './component.ts'

type Seen = Pick<WorkspaceWorld, 'workspace' | 'children'>

/**
 * Returns the claims of the volumes that were restored. The annotation says which, and a restore writes it for all volumes at once. Somebody may take it away:
 * a restored claim that the workspace has had then stays in use, since its volume would otherwise be the old claim again, or none.
 */
export function claimsOfVolumes(
  { metadata }: Pick<WorkspaceView, 'metadata'>,
  children: Seen['children'],
): ClaimsOfVolumes {
  const had = [...children.values()].filter(
    (one) => one.kind === PERSISTENT_VOLUME_CLAIM.kind && firstNameIn(one) !== undefined && markOf(one) !== undefined,
  )
  const eldestFirst = had.toSorted((one, other) => compareTexts(ageOf(one), ageOf(other)))
  const kept = eldestFirst.map((one) => [firstNameIn(one) ?? '', one.metadata.name] as const)
  const said = [...switchesIn(metadata)].map(([first, { claim }]) => [first, claim] as const)
  return new Map([...new Map([...kept, ...said])].filter(([first, claim]) => claim !== first))
}

function switchesIn({ annotations }: WorkspaceView['metadata']) {
  return volumeClaimsIn(annotations?.[ANNOTATIONS.volumeClaims])
}

/** Name of the claim that a volume has if it was never restored, of a claim that it was restored to. */
function firstNameIn({ metadata: { labels } }: KubeObject): string | undefined {
  return labels?.[LABELS.volume]
}

function ageOf({ metadata }: KubeObject): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.name}`
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

/** What becomes of the claim that a volume had before its last restore. */
interface OldVolume {
  readonly remarks?: readonly ComponentRemark[]
  readonly remove?: readonly Removal[]
  readonly requeue?: Requeue
}

const LOOK_MS = 60_000

/**
 * Keeps the claim from before a restore for as long as the policy says, as the disks of machines, and then deletes it. It stays as long as the restored claim
 * has no data, or anything of the workspace names it. By the clock of the API server, and only if the workspace is as it was seen: the claim may be the present
 * one again.
 * @param present claim that the volume has now
 */
export function oldVolumeOf(world: WorkspaceWorld, volume: string, present: ClaimView): OldVolume {
  const { workspace, policy, expiry } = world
  const replaced = switchesIn(workspace.metadata).get(claimName(volume))
  const old = replaced && oldClaimIn(world, replaced, present)
  if (old === undefined) return {}
  const { name } = old.metadata
  const at = fromTime(replaced?.at) ?? 0
  const endMs = at + policy.resetGraceMs
  const kept = (until: string): ComponentRemark => ({
    why: 'OldVolumeKept',
    message: `PersistentVolumeClaim ${name}, from before a restore, is kept ${until}, and then deleted with what is on it: copy what is needed from it with a pod that mounts it`,
  })
  if (isNamed(world, name)) return { remarks: [kept('as long as something of the workspace names it')] }
  if (present.phase !== 'Bound') return { remarks: [kept(`until ${present.metadata.name} has its data`)] }
  const remarks = [kept(`until ${toTime(endMs)} (policy key resetGrace)`)]
  if (expiry.serverNow === undefined) return { remarks, requeue: again(LOOK_MS) }
  const leftMs = endMs - expiry.serverNow
  if (leftMs > 0) return { remarks, requeue: again(leftMs) }
  const message = `PersistentVolumeClaim ${name}, which volume ${volume} had before a restore, is deleted with what is on it`
  const event = { type: 'Normal', reason: 'OldVolumeDeleted', message } as const
  const removals = removalOf(old, unchanged(WORKSPACE, workspace))
  return { remarks, remove: removals.map((one) => ({ ...one, event })) }
}

function again(afterMs: number): Requeue {
  return { afterMs, because: 'the claim from before a restore may be deleted then' }
}

/** Returns the claim that was replaced, unless it is gone, goes, or is the present one again. */
function oldClaimIn({ children }: Seen, { claim, replaced }: VolumeClaim, present: ClaimView): KubeObject | undefined {
  const old = children.get(idOf(PERSISTENT_VOLUME_CLAIM.kind, replaced))
  const isPresent = present.metadata.name === claim && !isTerminating(present)
  return replaced === claim || !isPresent || old === undefined || isTerminating(old) ? undefined : old
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
