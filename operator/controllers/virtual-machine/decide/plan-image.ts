import type { Artifact, VirtualMachineSpec, VirtualMachineStatus } from '@open-terrain/constructs/operator'
import { withoutUndefined } from '../../../base/equality.ts'
import { disputeText } from '../../../images/decide/dispute.ts'
import { type Ensured, ensureImage, isNewlyCorrected, isNobodyElses } from '../../../images/decide/ensure-image.ts'
import { mismatches } from '../../../images/decide/image-meaning.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { referenceOf } from '../../../images/references.ts'
import { isTerminating, keyOf } from '../../../kube/kube-object.ts'
import type { MachineWorld } from '../world.ts'
import { failed, isDeployed, type MachineDraft, type Step, waiting } from './machine-plan.ts'
import type { MachineStatusFacts, MachineSummary } from './status.ts'

/** No trigger reports changes of the objects that disks are cloned from. */
export const SOURCE_REQUEUE = { afterMs: 10_000, because: 'what the image names as its artifact may be there by then' }

interface Seen {
  readonly shown: VirtualMachineStatus['image']
  readonly condition: MachineStatusFacts['imageReady']
}

/** Whether a machine can use its image, and if not, what to do. */
export type ImageState =
  | (Seen & { readonly kind: 'ready'; readonly image: ImageView; readonly artifact: Artifact })
  | (Seen & { readonly kind: 'not yet'; readonly step: Step })

export function imageState(draft: MachineDraft): ImageState {
  const { world, spec } = draft
  const { image } = world
  const shown = shownImage(world, spec)
  const artifact = artifactOf(image)
  // A disk that exists already does not need the artifact any more.
  if (image !== undefined && artifact !== undefined && (world.hasCloneSource || isDeployed(world))) {
    const message = `${artifact.kind} ${artifact.name} can be cloned`
    return { kind: 'ready', image, artifact, shown, condition: { holds: true, reason: 'ImageReady', message } }
  }
  const step = image === undefined ? missing(draft) : present(draft, image)
  const { reason, message } = (isDeployed(world) && afterwards(draft)) || step.summary
  return { kind: 'not yet', step, shown, condition: { holds: false, reason, message } }
}

/** Returns what a disk can be cloned from; undefined if the image is being deleted. */
export function artifactOf(image: ImageView | undefined): Artifact | undefined {
  return isTerminating(image) ? undefined : image?.status.artifact
}

/** Returns the summary of an image that is being deleted or gone, for a machine that is deployed already. */
function afterwards({ world, spec }: MachineDraft): MachineSummary | undefined {
  const { vm, image, imageNamespace, clone, claim } = world
  if (image !== undefined && !isTerminating(image)) return undefined
  const key = imageKeyOf(world, spec)
  const which = `VMDiskImage ${keyOf(key)}`
  const { image: madeFrom = keyOf(key) } = vm.status.clone ?? {}
  const original = madeFrom === keyOf(key) ? 'it' : `VMDiskImage ${madeFrom}`
  const stays =
    clone?.phase === 'Succeeded' || (clone === undefined && claim !== undefined)
      ? `the disk is a copy of ${original}, and stays`
      : 'no disk can be cloned from it until it exists again'
  // A namespace is deleted with all its images, used or not.
  if (imageNamespace === 'terminating') {
    const message = `namespace ${key.namespace} is being deleted, and ${which} with it; ${stays}`
    return waiting('NamespaceTerminating', message)
  }
  if (image === undefined) return waiting('ImageMissing', `${which} is gone; ${stays}`)
  return waiting('ImageTerminating', `${which} is being deleted, and is removed when no disk of it is in use any more`)
}

export function imageKeyOf({ vm }: Pick<MachineWorld, 'vm'>, { vmDiskImageRef }: VirtualMachineSpec) {
  return { namespace: vmDiskImageRef.namespace ?? vm.metadata.namespace ?? '', name: vmDiskImageRef.name }
}

function shownImage(world: MachineWorld, spec: VirtualMachineSpec): NonNullable<VirtualMachineStatus['image']> {
  const { clone, claim } = world
  // A machine with a disk does not wait for a refresh of its image, and there may be thousands: their status gets only the new revision.
  const isWaiting = clone === undefined && claim === undefined
  const { phase, queuePosition, queuePositionTime, artifact } = world.image?.status ?? {}
  return withoutUndefined({
    ...imageKeyOf(world, spec),
    uid: world.image?.metadata.uid,
    ...(isWaiting && { phase, queuePosition, queuePositionTime }),
    revision: artifact?.revision,
  })
}

function missing(draft: MachineDraft): Step {
  const { world, spec } = draft
  const { namespace, name } = imageKeyOf(world, spec)
  const which = `VMDiskImage ${namespace}/${name}`
  const { vmDiskImageTemplate, vmDiskImageMode = 'CreateIfNotExist' } = spec
  const { imageWithHash } = world
  const other =
    imageWithHash === undefined
      ? ''
      : `; a DataSync has one under the name ${imageWithHash.replace(/^.*[/]/, '')}: name that one if it is meant`
  if (vmDiskImageMode === 'FailIfNotExist') {
    const message = `${which} does not exist, and vmDiskImageMode is FailIfNotExist: create it, or change the mode${other}`
    return { summary: failed('ImageNotFound', message) }
  }
  if (vmDiskImageTemplate === undefined) {
    const message = `${which} does not exist and there is no vmDiskImageTemplate: waiting until somebody creates it${other}`
    return { summary: waiting('ImageNotFound', message) }
  }
  if (world.imageNamespace !== 'there') {
    const isMissing = world.imageNamespace === 'missing'
    const message = `namespace ${namespace} ${isMissing ? 'does not exist' : 'is being deleted'}: ${which} cannot be created in it; create the namespace, or name another in vmDiskImageRef`
    return { summary: waiting(isMissing ? 'ImageMissing' : 'NamespaceTerminating', message) }
  }
  if (world.namespaceTerminating) {
    const message = `${which} does not exist, and is not created for a virtual machine whose namespace is being deleted`
    return { summary: waiting('NamespaceTerminating', message) }
  }
  const ensured = ensuredImage(draft)
  return {
    summary: waiting('ImageMissing', `${which} does not exist: it is created from the template`),
    apply: ensured.kind === 'created' ? [ensured.image] : [],
    events: [{ type: 'Normal', reason: 'ImageCreated', message: `${which} is created from the template` }],
  }
}

function ensuredImage({ world, spec }: MachineDraft): Ensured {
  const { vm, image, imageClaims, isImageShared, policy } = world
  const { vmDiskImageTemplate: template, vmDiskImageMode: mode } = spec
  const referrers = { claims: imageClaims, hasOthers: isImageShared }
  return ensureImage({ ref: imageKeyOf(world, spec), template, mode, createdBy: vm }, image, referrers, policy)
}

/** Returns what to correct, and how: the template as long as the image follows it, otherwise the image itself. */
function mending({ world: { policy }, spec }: MachineDraft, image: ImageView, ensured: Ensured): string {
  const { namespace, name } = image.metadata
  const which = `VMDiskImage ${namespace}/${name}`
  const edit = `kubectl -n ${namespace} edit vmdi ${name}`
  if (ensured.kind === 'follows')
    return `correct spec.vmDiskImageTemplate, and the image is corrected with it${togetherIn(image)}; or correct the image alone: ${edit}`
  const correct = `correct that image, not the virtual machine: ${edit}`
  const { vmDiskImageTemplate: template, vmDiskImageMode: mode } = spec
  if (ensured.kind === 'disputed' && template !== undefined)
    return `${disputeText(which, template, ensured, policy)}; or correct the image alone: ${edit}`
  const differing = template === undefined ? [] : mismatches(template, image, policy)
  if (differing.length === 0 || mode === 'FailIfNotExist') return correct
  return `${correct}; or delete it, and it is created from vmDiskImageTemplate, which differs in ${differing.join(', ')}: kubectl -n ${namespace} delete vmdi ${name}`
}

/** Templates of others count, too. */
function togetherIn({ status }: ImageView): string {
  return (status.references?.count ?? 0) > 1 ? ' as soon as all that refer to it want the same' : ''
}

/** Corrects the image that a template made, when the template is corrected; undefined if there is nothing to correct. */
function correction({ world: { vm }, spec }: MachineDraft, image: ImageView, ensured: Ensured): Step | undefined {
  const ref = imageKeyOf({ vm }, spec)
  const message = `VMDiskImage ${keyOf(ref)} has no artifact yet, and is corrected from vmDiskImageTemplate`
  if (ensured.kind === 'corrected')
    return {
      summary: waiting('ImageCorrected', `${message} in ${ensured.fields.join(', ')}`),
      apply: [ensured.image],
      onlyIf: [isNobodyElses(ref, [referenceOf(vm), ...ensured.agreeing])],
    }
  return isNewlyCorrected(image) ? { summary: waiting('ImageCorrected', message) } : undefined
}

function present(draft: MachineDraft, image: ImageView): Step {
  const { metadata, status } = image
  const { namespace, name } = metadata
  const which = `VMDiskImage ${namespace}/${name}`
  const detail = status.message === undefined ? '' : `: ${status.message}`
  if (metadata.deletionTimestamp !== undefined) {
    const { spec } = draft
    const next =
      spec.vmDiskImageTemplate === undefined || spec.vmDiskImageMode === 'FailIfNotExist'
        ? 'create it again, or name another in vmDiskImageRef'
        : 'it is created again from the template once it is gone'
    return {
      summary: waiting(
        'ImageTerminating',
        `${which} is being deleted: ${next}${status.message === undefined ? '' : `; ${status.message}`}`,
      ),
    }
  }
  const { artifact } = status
  if (artifact !== undefined) {
    const message = `${artifact.kind} ${namespace}/${artifact.name}, the artifact in the status of ${which}, does not exist: the root disk is cloned when the image has an artifact that exists; if this lasts, see its conditions${detail}`
    return { summary: waiting('CloneSourceGone', message), requeue: SOURCE_REQUEUE }
  }
  const ensured = ensuredImage(draft)
  const corrected = correction(draft, image, ensured)
  if (corrected !== undefined) return corrected
  if (status.phase === 'Failed')
    return { summary: failed('ImageFailed', `${which} is Failed${detail}; ${mending(draft, image, ensured)}`) }
  return { summary: summaryOfSync(image) }
}

/** Returns the summary of an image that has no artifact yet, and has not failed. */
export function summaryOfSync({ metadata: { namespace, name }, status }: ImageView): MachineSummary {
  const which = `VMDiskImage ${namespace}/${name}`
  const detail = status.message === undefined ? '' : `: ${status.message}`
  if (status.phase === 'Syncing' || status.phase === 'Snapshotting') {
    const syncing = (moving: string) => `${which} is ${status.phase}${moving}${detail}`
    const progress = status.progress === undefined ? '' : ` (${status.progress})`
    return waiting('ImageSyncing', syncing(progress), syncing(''))
  }
  return waiting('WaitingForImage', `${which} is ${status.phase ?? 'new'}${detail}`)
}
