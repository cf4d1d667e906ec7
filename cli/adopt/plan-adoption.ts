import { ANNOTATIONS } from '@open-terrain/constructs'
import { type Adoptable, parseQuantity, parseVMDiskImageSpec, problemsText } from '@open-terrain/constructs/operator'
import { redactUrls } from '../../operator/base/messages.ts'
import { type AdoptionFacts, OLDER_OWNER_LABEL } from '../../operator/controllers/vm-disk-image/adoption-facts.ts'
import { type AdoptionTarget, judgeAdoptable } from '../../operator/controllers/vm-disk-image/decide/judge-adoption.ts'
import { controllerOf } from '../../operator/kube/controller-of.ts'
import { groupOf, type KubeObject, type Raw } from '../../operator/kube/kube-object.ts'

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
  /** Who controls it now, such as `VMDiskImage kali of crd.pelotech.ot`. Absent: nobody. */
  readonly owner?: string
  /** `adopted`: there is an image that names it. */
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
  const owner = facts.object?.controller
  const about = {
    namespace,
    name,
    madeBy: older === undefined ? ('people' as const) : ('older operator' as const),
    ...(owner !== undefined && { owner }),
    bytes: Number(parseQuantity(facts.object?.size ?? '0') ?? 0),
    manifest,
  }
  const refused = (reason: string, message: string): PlannedAdoption => {
    return { ...about, state: 'refused', reason, message, steps: [] }
  }
  if (isDeleted(older)) return refused('AdoptionMissing', `its VMDiskImage of ${OLDER_GROUP} is being deleted`)
  // As it is when the steps before the last are done.
  const released = { ...facts, fault: undefined, ...releasedFacts(found) }
  const target = targetOf(manifest)
  const { refusal, proof } = judgeAdoptable(adoptable, released, { namespace, target, isAnySource: false })
  if (image?.metadata.annotations?.[ANNOTATIONS.adopt] !== undefined)
    return { ...about, state: 'adopted', reason: 'Adopted', message: `VMDiskImage ${name} adopts it`, steps: [] }
  if (image !== undefined)
    return refused('NameConflict', `there is a VMDiskImage ${name} already: annotate that one, or delete it`)
  if (refusal !== undefined) return refused(refusal.reason, refusal.message)
  const parsed = parseVMDiskImageSpec((manifest as Raw).spec)
  if (!parsed.ok) return refused('InvalidSpec', `no valid image results: ${problemsText(parsed.problems)}`)
  return { ...about, state: 'ready', reason: proof.reason, message: proof.message, steps: stepsOf(found) }
}

function isDeleted(object: KubeObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined
}

/** Reports whether an object is controlled by a VMDiskImage of the older operator. */
export function isOfOlder(object: KubeObject | undefined): boolean {
  const controller = object && controllerOf(object)
  return controller?.kind === 'VMDiskImage' && groupOf(controller.apiVersion) === OLDER_GROUP
}

function isLabelled(object: KubeObject | undefined): boolean {
  return object !== undefined && object.metadata.labels?.[OLDER_OWNER_LABEL] === object.metadata.name
}

function releasedFacts({ dataVolume, facts }: FoundVolume): Partial<AdoptionFacts> {
  const { object, claim } = facts
  const free = isOfOlder(dataVolume) ? { controller: undefined, controllerUid: undefined } : {}
  return {
    object: object && { ...object, isLabelled: false, ...free },
    claim: claim && { ...claim, isLabelled: false },
  }
}

function stepsOf({ namespace, name, dataVolume, claim }: FoundVolume): readonly AdoptionStep[] {
  const kubectl = `kubectl -n ${namespace}`
  const steps: AdoptionStep[] = []
  if (isLabelled(claim))
    steps.push({
      what: 'unlabel',
      text: `remove label ${OLDER_OWNER_LABEL} of PersistentVolumeClaim ${name}, by which the older operator deletes it`,
      command: `${kubectl} label pvc ${name} ${OLDER_OWNER_LABEL}-`,
    })
  if (isOfOlder(dataVolume) || isLabelled(dataVolume))
    steps.push({
      what: 'release',
      text: `release DataVolume ${name}: remove its owner reference and its label ${OLDER_OWNER_LABEL}, in one write`,
      command: `${kubectl} patch dv ${name} --type=merge -p '${JSON.stringify(releaseOf(dataVolume))}'`,
    })
  return [...steps, { what: 'create', text: `create VMDiskImage ${name}, which adopts datavolume/${name}` }]
}

/** Returns the patch that takes a DataVolume from the older operator. Other owners stay. */
export function releaseOf(dataVolume: KubeObject | undefined): { readonly metadata: object } {
  const controller = dataVolume && controllerOf(dataVolume)
  const owners = dataVolume?.metadata.ownerReferences ?? []
  const ownerReferences = isOfOlder(dataVolume) ? owners.filter(({ uid }) => uid !== controller?.uid) : owners
  return { metadata: { ownerReferences, labels: { [OLDER_OWNER_LABEL]: null } } }
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
