import {
  type Policy,
  type Reason,
  type VMDiskImageSpec,
  virtualMachine,
  type WorkspaceSpec,
  type WorkspaceVm,
} from '@open-terrain/constructs/operator'
import { disputeText } from '../../../../images/decide/dispute.ts'
import { type Ensured, ensureImage, isNewlyCorrected, isNobodyElses } from '../../../../images/decide/ensure-image.ts'
import { whoMade } from '../../../../images/decide/image-creator.ts'
import { isOtherContent, mismatches } from '../../../../images/decide/image-meaning.ts'
import type { ImageView } from '../../../../images/image-view.ts'
import { referenceOf } from '../../../../images/references.ts'
import { isTerminating, type KubeObject } from '../../../../kube/kube-object.ts'
import { NAMESPACE } from '../../../../kube/resource-types.ts'
import type { ImageFacts, MachineFacts, WorkspaceWorld } from '../../world.ts'
import {
  type Component,
  type ComponentSummary,
  componentFailed,
  componentReady,
  componentWaiting,
  idOf,
} from '../component.ts'
import type { ComponentKind, Judgement } from '../component-kind.ts'
import { imageTemplate } from '../image-template.ts'
import { hasItsDisk } from '../machine-disk.ts'

const KIND = 'Image'

const NO_IMAGE: ImageFacts = { image: undefined, isShared: false, claims: [] }

/**
 * The images of the machines. Images have no owner and are deleted by their own rule. The workspace ensures that they exist, and waits for them. Its
 * machines carry no template, so that the workspace alone decides what an image is created from.
 */
export const IMAGE_KIND: ComponentKind = {
  kind: KIND,
  isGround: true,
  types: [],
  children: ({ spec }) => imageNames(spec).map((name): Component => ({ kind: KIND, name, objects: [], needs: [] })),
  summary: (world, { name }) => judgeImage(world, name),
}

export function imageNames({ vms = [] }: WorkspaceSpec): string[] {
  return [...new Set([...vms.map(({ backingVMDiskImage }) => backingVMDiskImage), ...vms.flatMap(diskImagesOf)])]
}

/** Names of the images of a machine's disks beside its root disk. */
function diskImagesOf({ disks = [] }: WorkspaceVm): string[] {
  return disks.flatMap(({ backingVMDiskImage }) => backingVMDiskImage ?? [])
}

export function imageIdsOf(vm: WorkspaceVm): string[] {
  return [...new Set([vm.backingVMDiskImage, ...diskImagesOf(vm)])].map((name) => idOf(KIND, name))
}

/** Returns the references to an image that count as its own: that of the workspace, and those of its machines of the image. */
export function ownReferences(
  { workspace, children }: Pick<WorkspaceWorld, 'workspace' | 'children'>,
  image: string,
): Set<string> {
  const machines = [...children.values()].filter((child) => isMachineOf(image, child))
  return new Set([workspace, ...machines].map(referenceOf))
}

interface NamesImage {
  readonly vmDiskImageRef?: { readonly name?: unknown }
}

/** Reports whether it is a machine with a disk of the image. */
function isMachineOf(image: string, child: KubeObject): boolean {
  const { kind, spec } = child as KubeObject & { readonly spec?: NamesImage & { readonly disks?: unknown } }
  if (kind !== virtualMachine.kind || spec === undefined) return false
  const disks: readonly NamesImage[] = Array.isArray(spec.disks) ? spec.disks : []
  return [spec, ...disks].some(({ vmDiskImageRef }) => vmDiskImageRef?.name === image)
}

/** An image with what the workspace wants of it. */
interface Wanted {
  readonly ref: { readonly namespace: string; readonly name: string }
  /** For messages. */
  readonly which: string
  readonly template: VMDiskImageSpec | undefined
  readonly ensured: Ensured
}

function judgeImage(world: WorkspaceWorld, name: string): Judgement {
  const { workspace, spec, policy } = world
  const facts = world.images.get(name) ?? NO_IMAGE
  if (!spec.ok) return { summary: componentWaiting('WaitingForImages', 'the spec cannot be read'), isThere: false }
  const ref = { namespace: policy.imageNamespace, name }
  const made = imageTemplate(spec.spec, policy, name)
  const wish = { ref, template: made.spec, mode: undefined, createdBy: workspace }
  const ensured = ensureImage(wish, facts.image, { claims: facts.claims, hasOthers: facts.isShared }, policy)
  const wanted = { ref, which: `VMDiskImage ${ref.namespace}/${name}`, template: made.spec, ensured }
  const judgement =
    facts.image === undefined
      ? missing(world, wanted, made.spec === undefined ? made.lacks : undefined)
      : present(world, wanted, { ...facts, image: facts.image })
  return judgement.isThere !== true && isNeededNoMore(world, spec.spec, name) ? unneeded(wanted, facts) : judgement
}

/** Reports whether every machine of the image has its disk, which is a copy. */
function isNeededNoMore({ children }: WorkspaceWorld, { vms = [] }: WorkspaceSpec, image: string): boolean {
  return vms.every((vm) => {
    const disks = diskImagesOf(vm).filter((one) => one === image).length
    if (vm.backingVMDiskImage !== image && disks === 0) return true
    const machine = children.get(idOf(virtualMachine.kind, vm.name)) as MachineFacts | undefined
    if (machine === undefined || !isMachineOf(image, machine) || !hasItsDisk(machine)) return false
    // A disk that was added later may still wait.
    return disks === 0 || madeOf(machine, image) === disks
  })
}

/** Returns how many disks beside its root disk a machine has, or is making, from an image. */
function madeOf({ status: { disks = [] } }: MachineFacts, image: string): number {
  return disks.filter((disk) => disk.image?.endsWith(`/${image}`)).length
}

/** An image that the machines need no more. It is not made again before one of them needs it. */
function unneeded({ which }: Wanted, { image }: ImageFacts): Judgement {
  const { status, metadata } = image ?? {}
  const state =
    metadata === undefined ? 'is gone' : isTerminating(image) ? 'is being deleted' : `is ${status?.phase ?? 'new'}`
  const detail = status?.message === undefined ? '' : `: ${status.message}`
  const message = `${which} ${state}${detail}; every machine of it has its disk, so only a new machine or a new disk waits for it`
  return { summary: componentReady(message, 'ImageNotNeeded'), isThere: false }
}

function missing(world: WorkspaceWorld, { which, ref, ensured }: Wanted, lacks: string | undefined): Judgement {
  const { imageNamespace } = world
  const not = (summary: Judgement['summary']): Judgement => ({ summary, isThere: false })
  if (imageNamespace === 'terminating')
    return not(
      componentWaiting(
        'NamespaceTerminating',
        `namespace ${ref.namespace} is being deleted: ${which} cannot be created in it; create the namespace again when it is gone, or set the policy key imageNamespace to another one`,
      ),
    )
  if (imageNamespace === 'missing')
    return not(
      componentWaiting(
        'ImageMissing',
        `namespace ${ref.namespace} does not exist, and ${which} cannot be created in it: create it, or correct the policy key imageNamespace`,
      ),
    )
  if (isNameTaken(world))
    return not(
      componentWaiting(
        'WaitingForImages',
        `${which} is not created, as namespace ${home(world)} is not of this workspace`,
      ),
    )
  if (lacks !== undefined)
    return not(
      componentWaiting('ImageMissing', `${which} does not exist, and ${lacks}: waiting until somebody creates it`),
    )
  const apply = ensured.kind === 'created' ? [ensured.image] : []
  return { ...not(componentWaiting('WaitingForImages', `${which} is being created`)), apply }
}

/** Nothing of the workspace can run in a namespace of others, so no image is downloaded for it. */
function isNameTaken(world: WorkspaceWorld): boolean {
  const namesake = world.namesakes.get(idOf(NAMESPACE.kind, home(world)))
  return namesake !== undefined && !isTerminating(namesake)
}

function home({ workspace }: WorkspaceWorld): string {
  return workspace.metadata.name
}

function present(
  world: WorkspaceWorld,
  wanted: Wanted,
  { image }: ImageFacts & { readonly image: ImageView },
): Judgement {
  const { which, template } = wanted
  const { metadata, status } = image
  const { artifact, phase = 'new', reason, message = '' } = status
  if (metadata.deletionTimestamp !== undefined) {
    const next = template === undefined ? 'waited for' : 'created again'
    const detail = message === '' ? '' : `; ${message}`
    return {
      summary: componentWaiting(
        'WaitingForImages',
        `${which} is being deleted: it is ${next} once it is gone${detail}`,
      ),
      isThere: false,
    }
  }
  if (artifact !== undefined) {
    const differing = template === undefined ? [] : mismatches(template, image, world.policy)
    if (differing.length === 0) return { summary: componentReady(`${which} can be cloned`), isThere: true }
    const text = `${which} differs from its template in ${differing.join(', ')}, and ${whoMade(image)}; it can be cloned, and is used as it is: correct the template, or name another image in backingVMDiskImage`
    return { summary: componentReady(text, isOtherContent(differing) ? 'ImageMismatch' : undefined), isThere: true }
  }
  const corrected = correction(world, wanted, image)
  if (corrected !== undefined) return corrected
  const detail = message === '' ? '' : `: ${message}`
  if (phase === 'Failed') {
    const where = mending(wanted, image, world.policy)
    return {
      summary: withReason(componentFailed('ImageFailed', `${which} is Failed${detail}${where}`), reason),
      isThere: false,
    }
  }
  return { summary: withReason(waitingFor(`${which} is ${phase}`, reason, detail), reason), isThere: false }
}

/** Returns what to correct. */
function mending({ which, template, ensured }: Wanted, { status }: ImageView, policy: Policy): string {
  if (ensured.kind === 'disputed' && template !== undefined) return `; ${disputeText(which, template, ensured, policy)}`
  if (ensured.kind !== 'follows') return ''
  const isShared = (status.references?.count ?? 0) > 1
  return `; correct vmDiskImageTemplate, or the image${isShared ? ': it follows the template as soon as all that refer to it want the same' : ''}`
}

/** Queue positions change all the time, and the image itself shows them. */
function waitingFor(text: string, reason: string | undefined, detail: string): ComponentSummary {
  const told = reason === undefined || MOVING.has(reason) ? text : `${text}${detail}`
  return componentWaiting(reason === 'CDINotResponding' ? reason : 'WaitingForImages', told)
}

const MOVING: ReadonlySet<string> = new Set<Reason>(['Queued', 'Syncing', 'Starting', 'Snapshotting', 'RetryBackoff'])

function withReason(summary: ComponentSummary, reason: string | undefined): ComponentSummary {
  return reason === undefined ? summary : { ...summary, reason }
}

/** When a wrong template is corrected, the image that was created from it is corrected too. */
function correction(world: WorkspaceWorld, { which, ref, ensured }: Wanted, image: ImageView): Judgement | undefined {
  const message = `${which} has no artifact yet, and is corrected from its template`
  const summary = componentWaiting('WaitingForImages', message)
  if (ensured.kind === 'corrected') {
    const onlyIf = [isNobodyElses(ref, [...ownReferences(world, ref.name), ...ensured.agreeing])]
    return { summary, isThere: false, applyIf: [{ wanted: ensured.image, onlyIf }] }
  }
  return isNewlyCorrected(image) ? { summary, isThere: false } : undefined
}
