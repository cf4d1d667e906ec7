import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type Adoptable,
  parseAdoptable,
  parseQuantity,
  parseVMDiskImageSpec,
  problemsText,
  VM_DISK_IMAGE_CONDITIONS,
} from '@open-terrain/constructs/operator'
import { redactUrls } from '../../operator/base/messages.ts'
import {
  type AdoptedObject,
  type AdoptionFacts,
  OLDER_OWNER_LABEL,
} from '../../operator/controllers/vm-disk-image/adoption-facts.ts'
import { type AdoptionTarget, judgeAdoptable } from '../../operator/controllers/vm-disk-image/decide/judge-adoption.ts'
import { groupOf, type KubeObject, type OwnerReference, type Raw } from '../../operator/kube/kube-object.ts'
import { shellWord } from '../why/to-paste.ts'

/** Group of the older operator, whose VMDiskImages are another kind. */
export const OLDER_GROUP = 'crd.pelotech.ot'

/** What is there for one image that may be adopted. */
export interface FoundVolume {
  readonly namespace: string
  /** Of the DataVolume, and of the image that is to adopt it. */
  readonly name: string
  /** The VMDiskImage of the older operator. Absent: people made the DataVolume. */
  readonly older?: KubeObject | undefined
  readonly dataVolume: KubeObject | undefined
  readonly claim: KubeObject | undefined
  /** The VMDiskImage of this operator that has the name. */
  readonly image: KubeObject | undefined
  readonly facts: AdoptionFacts
}

/** One write. They are made in this order, and each leaves what is there with one owner, or with none. */
export interface AdoptionStep {
  readonly what: 'unlabel' | 'release' | 'create'
  /** For people. */
  readonly text: string
  /** What does the same by hand. Absent: the manifest is applied. */
  readonly command?: string
}

/** What would become of one DataVolume. */
export interface PlannedAdoption {
  readonly namespace: string
  readonly name: string
  readonly madeBy: 'older operator' | 'people'
  /** Who owns it now, such as `VMDiskImage kali of crd.pelotech.ot`. Absent: nobody. */
  readonly owner?: string
  /** `adopted`: there is an image that has adopted it. */
  readonly state: 'ready' | 'adopted' | 'refused'
  /** What is proved of it, and what is not; or why it is refused. */
  readonly message: string
  readonly reason: string
  /** Bytes of its disk, which are not downloaded again at most. */
  readonly bytes: number
  readonly steps: readonly AdoptionStep[]
  readonly manifest: KubeObject
}

/** Returns what is to be done for one DataVolume, from what is there now: after a break, what is left of it. */
export function planAdoption(found: FoundVolume): PlannedAdoption {
  const { namespace, name, older, image, facts } = found
  const adoptable: Adoptable = { kind: 'DataVolume', name }
  const manifest = manifestOf(found)
  const owners = facts.object?.owners ?? []
  const about = {
    namespace,
    name,
    madeBy: older === undefined ? ('people' as const) : ('older operator' as const),
    ...(owners.length > 0 && { owner: owners.map(({ title }) => title).join(', ') }),
    bytes: Number(parseQuantity(facts.object?.size ?? '0') ?? 0),
    manifest,
  }
  const refused = (reason: string, message: string): PlannedAdoption => {
    return { ...about, state: 'refused', reason, message, steps: [] }
  }
  if (isDeleted(older)) return refused('AdoptionMissing', `its VMDiskImage of ${OLDER_GROUP} is being deleted`)
  const isNamed = image !== undefined && namesIt(image, adoptable)
  if (isNamed && hasAdopted(image, facts))
    return { ...about, state: 'adopted', reason: 'Adopted', message: `VMDiskImage ${name} adopts it`, steps: [] }
  if (image !== undefined && !isNamed)
    return refused('NameConflict', `there is a VMDiskImage ${name} already: annotate that one, or delete it`)
  const verdict = verdictOn(found, { adoptable, manifest, isNamed })
  const { steps, reason, message } = verdict
  return steps === undefined ? refused(reason, message) : { ...about, state: 'ready', reason, message, steps }
}

type Verdict = Pick<PlannedAdoption, 'reason' | 'message'> & Partial<Pick<PlannedAdoption, 'steps'>>

/** Returns the steps, and what is proved; without steps, why it is refused. */
function verdictOn(
  found: FoundVolume,
  given: { readonly adoptable: Adoptable; readonly manifest: KubeObject; readonly isNamed: boolean },
): Verdict {
  const { namespace, image, facts } = found
  const { adoptable, manifest, isNamed } = given
  if (facts.fault !== undefined && facts.fault.isUnread !== true) {
    const message = `nobody checks who may have a disk adopted: ${facts.fault.why}; install the admission rules first`
    return { reason: 'AdoptionUnchecked', message }
  }
  // As it is when the steps before the last are done.
  const released = { ...facts, fault: undefined, ...releasedFacts(found) }
  const terms = { namespace, target: targetOf(image ?? manifest), isAnySource: acceptsAnySource(image) }
  const { refusal, proof } = judgeAdoptable(adoptable, released, terms)
  if (refusal !== undefined) return refusal
  const parsed = parseVMDiskImageSpec((manifest as Raw).spec)
  if (!isNamed && !parsed.ok)
    return { reason: 'InvalidSpec', message: `no valid image results: ${problemsText(parsed.problems)}` }
  const steps = stepsOf(found).filter(({ what }) => !isNamed || what !== 'create')
  return steps.length > 0 ? { ...proof, steps } : toldBy(image)
}

function isDeleted(object: KubeObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined
}

/** Reports whether the annotation of an image names this object, in whichever spelling. */
function namesIt({ metadata }: KubeObject, { kind, name }: Adoptable): boolean {
  const named = parseAdoptable(metadata.annotations?.[ANNOTATIONS.adopt] ?? '')
  return named?.kind === kind && named.name === name
}

function hasAdopted(image: KubeObject, { claim }: AdoptionFacts): boolean {
  const uid = (image as Raw).status?.adoption?.uid
  return uid !== undefined && uid === claim?.uid
}

function acceptsAnySource(image: KubeObject | undefined): boolean {
  return image?.metadata.annotations?.[ANNOTATIONS.adoptSource] === 'any'
}

/** What an image says of what it is to adopt. */
function toldBy(image: KubeObject | undefined): { readonly reason: string; readonly message: string } {
  const { conditions = [], reason = 'Adopting', message = 'not looked at yet' } = (image as Raw)?.status ?? {}
  const told: Raw = conditions.find(({ type }: Raw) => type === VM_DISK_IMAGE_CONDITIONS.Adopted) ?? { reason, message }
  const title = `VMDiskImage ${image?.metadata.name} names it, and has not adopted it`
  return { reason: told.reason, message: `${title}: ${told.message}` }
}

/** Reports whether an owner is a VMDiskImage of the older operator, as a controller or not. */
export function isOlderOwner({ kind, apiVersion }: OwnerReference): boolean {
  return kind === 'VMDiskImage' && groupOf(apiVersion) === OLDER_GROUP
}

/** Reports whether only VMDiskImages of the older operator own an object. */
export function isOfOlder(object: KubeObject | undefined): boolean {
  const owners = object?.metadata.ownerReferences ?? []
  return owners.length > 0 && owners.every(isOlderOwner)
}

/** Its value is the name of the VMDiskImage, which may be another name than that of the object. */
function isLabelled(object: KubeObject | undefined): boolean {
  return object?.metadata.labels?.[OLDER_OWNER_LABEL] !== undefined
}

function releasedFacts({ dataVolume, facts }: FoundVolume): Partial<AdoptionFacts> {
  const { object, claim } = facts
  const withoutLabel = <T extends AdoptedObject>(one: T): T => ({
    ...one,
    labels: one.labels.filter((label) => !label.startsWith(`${OLDER_OWNER_LABEL}=`)),
  })
  const free = isOfOlder(dataVolume) ? { owners: [] } : {}
  return {
    object: object && { ...withoutLabel(object), ...free },
    claim: claim && withoutLabel(claim),
  }
}

function stepsOf({ namespace, name, dataVolume, claim }: FoundVolume): readonly AdoptionStep[] {
  const kubectl = (...words: readonly string[]) => ['kubectl', '-n', namespace, ...words].map(shellWord).join(' ')
  const steps: AdoptionStep[] = []
  if (isLabelled(claim))
    steps.push({
      what: 'unlabel',
      text: `remove label ${OLDER_OWNER_LABEL} of PersistentVolumeClaim ${name}, by which the older operator deletes it`,
      command: kubectl('label', 'pvc', name, `${OLDER_OWNER_LABEL}-`),
    })
  if (isOfOlder(dataVolume) || isLabelled(dataVolume))
    steps.push({
      what: 'release',
      text: `release DataVolume ${name}: remove its owner reference and its label ${OLDER_OWNER_LABEL}, in one write`,
      command: kubectl('patch', 'dv', name, '--type=merge', '-p', JSON.stringify(releaseOf(dataVolume))),
    })
  return [...steps, { what: 'create', text: `create VMDiskImage ${name}, which adopts datavolume/${name}` }]
}

/** Returns the patch that takes a DataVolume from the older operator. Throws an Error if it would have another owner left. */
export function releaseOf(dataVolume: KubeObject | undefined): { readonly metadata: object } {
  const left = (dataVolume?.metadata.ownerReferences ?? []).filter((owner) => !isOlderOwner(owner))
  const [other] = left
  if (other !== undefined)
    throw new Error(`DataVolume ${dataVolume?.metadata.name} has another owner: ${other.kind} ${other.name}`)
  return { metadata: { ownerReferences: left, labels: { [OLDER_OWNER_LABEL]: null } } }
}

function targetOf(manifest: KubeObject): AdoptionTarget {
  const { url, sourceType, diskSize, checksum, storageClass }: Raw = (manifest as Raw).spec
  return { url, sourceType, diskSize, checksum, storageClass }
}

/** The older operator stores this where no URL is given. */
const NO_URL = 'not-provided'

/** Returns the image that would adopt the DataVolume: what the older VMDiskImage says, or what the DataVolume itself was filled from. */
function manifestOf({ namespace, name, older, dataVolume, facts }: FoundVolume): KubeObject {
  const spec = older === undefined ? specOfDataVolume(dataVolume, facts) : specOfOlder(older)
  return {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'VMDiskImage',
    metadata: { namespace, name, annotations: { [ANNOTATIONS.adopt]: `datavolume/${name}` } },
    spec: JSON.parse(JSON.stringify(spec)),
  } as KubeObject
}

function specOfOlder({ spec = {} }: Raw): object {
  const { url, sourceType, diskSize, storageClass, snapshotClass, secretRef, certConfigMap } = spec
  const isBlank = sourceType === 'blank'
  const source = isBlank ? {} : { url: url === NO_URL ? undefined : url, secretRef, certConfigMap }
  return { ...source, sourceType, diskSize, storageClass, snapshotClass }
}

function specOfDataVolume(dataVolume: KubeObject | undefined, { object, claim }: AdoptionFacts): object {
  const { sourceType } = object?.filledFrom ?? {}
  const { source = {} }: Raw = (dataVolume as Raw)?.spec ?? {}
  const { url, checksum, secretRef, certConfigMap } = (sourceType && source[sourceType]) ?? {}
  const from = sourceType === 'blank' ? {} : { url, checksum, secretRef, certConfigMap }
  return { ...from, sourceType, diskSize: object?.size, storageClass: claim?.storageClass ?? object?.storageClass }
}

/** Returns a manifest that people may read: without what a presigned URL proves. */
export function shownManifest(manifest: KubeObject): KubeObject {
  const { spec }: Raw = manifest
  return spec.url === undefined
    ? manifest
    : ({ ...manifest, spec: { ...spec, url: redactUrls(spec.url) } } as KubeObject)
}
