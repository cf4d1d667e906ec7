import { ANNOTATIONS } from '@open-terrain/constructs'
import { deletionWord, parseQuantity, virtualMachine } from '@open-terrain/constructs/operator'
import { isOrphaning } from '../../../cluster/dependents.ts'
import {
  type ClaimLack,
  type ClaimNeeds,
  hasRoomInstead,
  lackForClaim,
  lackText,
  type QuotaView,
  raiseCommand,
} from '../../../cluster/quotas.ts'
import { isTerminating, type KubeObject } from '../../../kube/kube-object.ts'
import type { MachineView, MachineWorld, NextDisk } from '../world.ts'
import type { MachineDraft } from './machine-plan.ts'
import { storageClassOf, wantedClone } from './plan-children.ts'
import type { ImageState } from './plan-image.ts'

type ReadyImage = ImageState & { readonly kind: 'ready' }

/** Reports whether a new root disk is recorded, and nothing of it is there. */
export function isUnmade({ vm, next }: Pick<MachineWorld, 'vm' | 'next'>): boolean {
  if (vm.status.replacement === undefined) return false
  return next?.clone === undefined && next?.claim === undefined && next?.foreign === undefined
}

/** Reports whether somebody has set the annotation to that word. */
export function isWordSaid({ metadata }: Pick<MachineView, 'metadata'>, word: string | undefined): boolean {
  return word !== undefined && metadata.annotations?.[ANNOTATIONS.deleteDiskFirst] === word
}

/** Returns the word that has the present root disk deleted first; undefined if no word has: it is not the disk that was to be replaced, or not the only one. */
export function wordOfDeletion(world: MachineWorld): string | undefined {
  const { vm, claim, isDiskElsewhere, restoredClaim, restoredAside, isRestoredClaimLost, otherRoots, old } = world
  const isOfRestore =
    isDiskElsewhere || isRestoredClaimLost || [restoredClaim, restoredAside].some((one) => one !== undefined)
  const isOnly = otherRoots.length === 0 && old === undefined
  const isIt = claim !== undefined && claim.metadata.uid === vm.status.replacement?.claimUID
  return isIt && isOnly && !isOfRestore ? deletionWord(vm) : undefined
}

/** Reports whether the operator has deleted the present root disk for the new one, or does: it has recorded that before. */
export function isGivenUp(world: MachineWorld): boolean {
  const { claim, clone, vm, isDiskElsewhere, restoredClaim, isRestoredClaimLost } = world
  const { givenUp, claimUID } = vm.status.replacement ?? {}
  if (givenUp === undefined || givenUp !== claimUID || !isUnmade(world)) return false
  if (isDiskElsewhere || isRestoredClaimLost || restoredClaim !== undefined) return false
  const isIt = claim === undefined || claim.metadata.uid === givenUp
  return isIt && (clone === undefined ? !claim || isTerminating(claim) : isLeaving(clone))
}

/** One that leaves its claim behind takes nothing away. */
function isLeaving(clone: KubeObject): boolean {
  return isTerminating(clone) && !isOrphaning(clone)
}

/** Reports whether somebody gives the present root disk up for the new one. */
export function isWordGiven(world: MachineWorld): boolean {
  return isWordSaid(world.vm, wordOfDeletion(world))
}

/**
 * Reports whether the present root disk is to be deleted before the new one is made: somebody has said so, the image can be cloned, and no quota but for what
 * others wait for has room for both. What has begun is carried on.
 */
export function isToBeDeletedFirst(draft: MachineDraft, image: ImageState, next: NextDisk): boolean {
  const { world } = draft
  const { clone, claim, room } = world
  if (isGivenUp(world)) return true
  if (!isUnmade(world) || !isWordGiven(world) || [clone, claim].some(isTerminating)) return false
  if (image.kind !== 'ready' || !next.hasCloneSource || room === undefined || isBeingCopied(world)) return false
  const needs = needsOf(draft, image, next.name)
  // What a neighbour waits for that has deleted its own disk first is not ours.
  return lackForClaim(room.quotas, needs, othersOf(world, needs)) !== undefined && makesRoom(world, image, needs)
}

/** Returns the quota that has no room for both disks. */
export function lackingQuota(draft: MachineDraft, image: ImageState, { name }: NextDisk): QuotaView | undefined {
  const { quotas = [] } = draft.world.room ?? {}
  if (image.kind !== 'ready') return undefined
  const needs = needsOf(draft, image, name)
  return lackForClaim(quotas, needs, othersOf(draft.world, needs))?.quota
}

/** Machines of a lab are often alike, so a size that is not known is taken to be the same. */
function othersOf({ room }: MachineWorld, needs: ClaimNeeds): readonly ClaimNeeds[] {
  return (room?.awaited ?? []).map(({ size = needs.size }) => ({ ...needs, size }))
}

/** Reports whether the new disk has room once the present one is gone. */
function makesRoom({ room, claim, vm }: MachineWorld, { image, artifact }: ReadyImage, needs: ClaimNeeds): boolean {
  if (claim === undefined || room === undefined) return false
  const before = parseQuantity(vm.status.clone?.diskSize ?? artifact.restoreSize ?? '')
  // CDI has a claim of its own beside, in the namespace of the image, while it clones.
  const claims = image.metadata.namespace === vm.metadata.namespace ? 2n : 1n
  const gone = { size: claim.requested, storageClass: claim.storageClass }
  const isAsLarge = before !== undefined && before === parseQuantity(needs.size ?? '')
  return hasRoomInstead(room.quotas, needs, gone, { isAsLarge, claims })
}

/** Reports whether somebody saves what is on the present disk. */
function isBeingCopied({ room, machine }: MachineWorld): boolean {
  return room?.isBeingCloned === true || (machine !== undefined && machine.snapshotInProgress !== '')
}

/** Returns why there is no room for a second root disk, and the ways on; undefined if there is room. */
export function whyNoRoom(draft: MachineDraft, image: ReadyImage, name: string): string | undefined {
  const { world } = draft
  const { quotas = [] } = world.room ?? {}
  const needs = needsOf(draft, image, name)
  const lack = lackForClaim(quotas, needs, othersOf(world, needs))
  if (lack === undefined) return undefined
  const { name: quota, namespace } = lack.quota.metadata
  const room = `ResourceQuota ${quota} of namespace ${namespace} has no room for a second root disk, and lacks ${lackText(lack)}`
  return `${room}; ${raised(lack)}; the new disk is then made by itself${wayWithOne(world, image, needs)}`
}

/** The operator itself makes the quota of a workspace, and puts it back. */
function raised(lack: ClaimLack): string {
  if (lack.quota.spec !== undefined) return 'to make room, raise the policy key workspaceQuota'
  return `to make room: ${raiseCommand(lack)}`
}

function wayWithOne(world: MachineWorld, image: ReadyImage, needs: ClaimNeeds): string {
  const word = wordOfDeletion(world)
  // What others have asked for becomes a claim, or is refused.
  if (word === undefined || lackForClaim(world.room?.quotas ?? [], needs) === undefined) return ''
  if (!makesRoom(world, image, needs)) return '; it is not certain that giving up the present one would make room'
  const { namespace, name } = world.vm.metadata
  const command = `kubectl -n ${namespace} annotate --overwrite ${virtualMachine.crdName} ${name} ${ANNOTATIONS.deleteDiskFirst}=${word}`
  const when = isBeingCopied(world) ? ', as soon as its clone or snapshot that is under way is complete' : ''
  return `; where there is room for one disk alone, this has the present one deleted before the new one is made${when}, with all that the guest has written to it, at once and not after resetGrace: ${command}`
}

function needsOf(draft: MachineDraft, image: ReadyImage, name: string): ClaimNeeds {
  const { resources } = wantedClone(draft, image, name).spec.storage
  return { size: resources?.requests.storage ?? image.artifact.restoreSize, storageClass: storageClassOf(image.image) }
}
