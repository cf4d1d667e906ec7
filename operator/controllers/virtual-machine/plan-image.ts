import {
  LABELS,
  render,
  type VirtualMachineReason,
  type VirtualMachineSpec,
  type VirtualMachineStatus,
  VMDiskImage,
  type VMDiskImageStatus,
} from '@open-terrain/constructs'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { type Draft, failed, isDeployed, isSameSize, type Step, waiting } from './machine-plan.ts'
import type { Standing } from './status.ts'
import type { ImageFacts } from './views.ts'
import type { World } from './world.ts'

/** Nobody tells of the objects that are cloned from. */
const SOURCE_LOOK = { afterMs: 10_000, because: 'what the image names as its artifact may be there by then' }

interface Seen {
  readonly shown: VirtualMachineStatus['image']
  readonly condition: { readonly holds: boolean; readonly reason: VirtualMachineReason; readonly message: string }
}

/** What a machine can expect of its image. */
export type ImageState =
  | (Seen & { readonly kind: 'ready'; readonly image: ImageFacts })
  | (Seen & { readonly kind: 'not yet'; readonly step: Step })

export function imageState(draft: Draft): ImageState {
  const { world, spec } = draft
  const { image } = world
  const shown = shownImage(world, spec)
  // A disk that is there already has no use for the artifact any more.
  if (isReady(image) && (world.hasCloneSource || isDeployed(world))) {
    const { artifact } = image.status
    return {
      kind: 'ready',
      image,
      shown,
      condition: { holds: true, reason: 'ImageReady', message: `${artifact?.kind} ${artifact?.name} can be cloned` },
    }
  }
  const step = image === undefined ? missing(draft) : present(image, spec, world)
  const { reason, message } = (isDeployed(world) && afterwards(draft)) || step.standing
  return { kind: 'not yet', step, shown, condition: { holds: false, reason, message } }
}

/** Whether a disk can be cloned from it: not from one that goes. */
export function isReady(image: ImageFacts | undefined): image is ImageFacts {
  return image?.status.artifact !== undefined && image.metadata.deletionTimestamp === undefined
}

/** What becomes of an image that goes, or is gone, when the disk is there already. */
function afterwards({ world, spec }: Draft): Standing | undefined {
  const { vm, image, imageNamespace } = world
  if (image !== undefined && image.metadata.deletionTimestamp === undefined) return undefined
  const key = imageKeyOf(world, spec)
  const which = `VMDiskImage ${keyOf(key)}`
  const { image: madeFrom = keyOf(key) } = vm.status.clone ?? {}
  const original = madeFrom === keyOf(key) ? 'it' : `VMDiskImage ${madeFrom}`
  const stays = `the disk is a copy of ${original}, and stays`
  // It takes all of its images along, whoever uses them.
  if (imageNamespace === 'terminating')
    return waiting(
      'NamespaceTerminating',
      `namespace ${key.namespace} is being deleted, and ${which} with it; ${stays}`,
    )
  if (image === undefined) return waiting('ImageMissing', `${which} is gone; ${stays}`)
  return waiting('ImageTerminating', `${which} is to be deleted, and goes when no disk of it is in use any more`)
}

/** Fields of the template that the image has otherwise. */
export function mismatches({ vmDiskImageTemplate }: VirtualMachineSpec, image: ImageFacts | undefined): string[] {
  if (vmDiskImageTemplate === undefined || image === undefined) return []
  const actual = (image.spec ?? {}) as Readonly<Record<string, unknown>>
  return Object.entries(vmDiskImageTemplate).flatMap(([field, wanted]) =>
    isSame(text(wanted), text(actual[field])) || isSameSize(wanted, actual[field]) ? [] : [field],
  )
}

/** A size may be written as a number. */
function text(value: unknown): unknown {
  return typeof value === 'number' ? String(value) : value
}

export function imageKeyOf({ vm }: Pick<World, 'vm'>, { vmDiskImageRef }: VirtualMachineSpec) {
  return { namespace: vmDiskImageRef.namespace ?? vm.metadata.namespace ?? '', name: vmDiskImageRef.name }
}

function shownImage(world: World, spec: VirtualMachineSpec): NonNullable<VirtualMachineStatus['image']> {
  const { clone, claim } = world
  const { metadata, status } = world.image ?? {}
  // A refresh of its image is no news to a machine that has a disk, and there may be thousands: they are told of the new revision.
  const isWaiting = clone === undefined && claim === undefined
  return {
    ...imageKeyOf(world, spec),
    ...(metadata?.uid !== undefined && { uid: metadata.uid }),
    ...(isWaiting && status?.phase !== undefined && { phase: status.phase }),
    ...(isWaiting && status?.queuePosition !== undefined && placeOf(status)),
    ...(status?.artifact?.revision !== undefined && { revision: status.artifact.revision }),
  }
}

function placeOf({ queuePosition, queuePositionTime }: VMDiskImageStatus) {
  return { queuePosition, ...(queuePositionTime !== undefined && { queuePositionTime }) }
}

function missing({ world, spec }: Draft): Step {
  const { namespace, name } = imageKeyOf(world, spec)
  const which = `VMDiskImage ${namespace}/${name}`
  const { vmDiskImageTemplate, vmDiskImageMode = 'CreateIfNotExist' } = spec
  if (vmDiskImageMode === 'FailIfNotExist') {
    const message = `${which} does not exist, and vmDiskImageMode is FailIfNotExist: create it, or change the mode`
    return { standing: failed('ImageNotFound', message) }
  }
  if (vmDiskImageTemplate === undefined) {
    const message = `${which} does not exist and there is no vmDiskImageTemplate: waiting until somebody creates it`
    return { standing: waiting('ImageNotFound', message) }
  }
  if (world.imageNamespace !== 'there') {
    const state = world.imageNamespace === 'missing' ? 'does not exist' : 'is being deleted'
    const message = `namespace ${namespace} ${state}: ${which} cannot be created in it; create the namespace, or name another in vmDiskImageRef`
    return { standing: waiting(state === 'does not exist' ? 'ImageMissing' : 'NamespaceTerminating', message) }
  }
  if (world.namespaceTerminating) {
    const message = `${which} does not exist, and is not created for a virtual machine whose namespace is being deleted`
    return { standing: waiting('NamespaceTerminating', message) }
  }
  const metadata = { namespace, name, labels: { [LABELS.createdBy]: 'VirtualMachine' } }
  const [image] = render((chart) => new VMDiskImage(chart, 'VMDiskImage', { ...vmDiskImageTemplate, metadata }))
  return {
    standing: waiting('ImageMissing', `${which} does not exist: it is created from the template`),
    apply: [image as KubeObject],
    events: [{ type: 'Normal', reason: 'ImageCreated', message: `${which} is created from the template` }],
  }
}

/** Whose spec is to be corrected, and how: it is the image's, since a template is only read where there is no image. */
function mending(image: ImageFacts, spec: VirtualMachineSpec): string {
  const { namespace, name } = image.metadata
  const edit = `correct that image, not the virtual machine: kubectl -n ${namespace} edit vmdi ${name}`
  const differing = mismatches(spec, image)
  if (differing.length === 0 || spec.vmDiskImageMode === 'FailIfNotExist') return edit
  return `${edit}; or have it made from vmDiskImageTemplate, which differs in ${differing.join(', ')}: kubectl -n ${namespace} delete vmdi ${name}`
}

function present(image: ImageFacts, spec: VirtualMachineSpec, { vm }: World): Step {
  const { metadata, status } = image
  const { namespace, name } = imageKeyOf({ vm }, spec)
  const which = `VMDiskImage ${namespace}/${name}`
  const says = status.message === undefined ? '' : `: ${status.message}`
  if (metadata.deletionTimestamp !== undefined) {
    const next =
      spec.vmDiskImageTemplate === undefined || spec.vmDiskImageMode === 'FailIfNotExist'
        ? 'create it again, or name another in vmDiskImageRef'
        : 'it is created anew from the template once it is gone'
    return { standing: waiting('ImageTerminating', `${which} is being deleted: ${next}`) }
  }
  const { artifact } = status
  if (artifact !== undefined) {
    const message = `${artifact.kind} ${namespace}/${artifact.name}, the artifact in the status of ${which}, does not exist: the root disk is cloned once the image has one that does; where that lasts, see its conditions${says}`
    return { standing: waiting('CloneSourceGone', message), wake: SOURCE_LOOK }
  }
  if (status.phase === 'Failed')
    return { standing: failed('ImageFailed', `${which} is Failed${says}; ${mending(image, spec)}`) }
  if (status.phase === 'Syncing' || status.phase === 'Snapshotting') {
    const progress = status.progress === undefined ? '' : ` (${status.progress})`
    return { standing: waiting('ImageSyncing', `${which} is ${status.phase}${progress}${says}`) }
  }
  return { standing: waiting('WaitingForImage', `${which} is ${status.phase ?? 'new'}${says}`) }
}
