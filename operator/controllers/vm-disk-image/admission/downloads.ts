import { ANNOTATIONS, LABELS, MANAGER, renderDataVolume, vmDiskImage } from '@open-terrain/constructs'
import { type ImporterCaches, mayFill } from '../../../cluster/importers.ts'
import { controllerOfKind, isChildOf, isOrphaned, ownerAmong } from '../../../cluster/ownership.ts'
import { type DataVolumeView, viewDataVolume } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { type ApiError, isApiError, isNamespaceTerminating } from '../../../kube/api-error.ts'
import { find } from '../../../kube/find.ts'
import type { KubeClient, RequestOptions } from '../../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { listAll, listWhole } from '../../../kube/list-all.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../../kube/resource-types.ts'
import { SharedLooks } from '../../../kube/shared-looks.ts'
import { bounded, KEPT_MAX } from '../../../runtime/foreign.ts'
import { redactUrls } from '../../../runtime/redact.ts'
import type { Store } from '../../../runtime/store.ts'
import { attemptOf } from '../decide/attempts.ts'
import type { Start } from '../decide/image-plan.ts'
import { isFinished } from '../decide/judge.ts'
import type { Holder, Refusal, Refused } from '../world.ts'
import { ownerOf, volumeNameOf } from './decide/slots.ts'

/** Name of the index over DataVolumes that finds those which may download for an image; whether that exists is for the reader to see. */
export const IMPORTING_INDEX = 'importing'

/** Values of {@link IMPORTING_INDEX}. */
export function importingIndex(dataVolume: DataVolumeView): readonly string[] {
  const isOfImage = controllerOfKind(dataVolume, vmDiskImage) !== undefined
  return isOfImage && !isFinished(dataVolume) ? ['ours'] : []
}

/**
 * Whether it may download for the image that holds a slot: its own, or one that was its own until somebody deleted the image with `--cascade=orphan`. The
 * garbage collector takes the owner off then, which stops no importer. Such a one keeps the slot that it has, and nobody deletes it but people;
 * it takes no slot that it never had, or else anybody who may create DataVolumes could hold up the queue by labels alone.
 */
export function isDownloadOf(dataVolume: DataVolumeView, holder: Holder): boolean {
  const isOrphanOf = isOrphan(dataVolume) && dataVolume.metadata.labels?.[LABELS.imageUid] === holder.uid
  return isOrphanOf || isChildOf(dataVolume, ownerOf(holder))
}

/** A download that was orphaned before it was finished. */
export function isOrphan(dataVolume: DataVolumeView): boolean {
  const { labels } = dataVolume.metadata
  const wasOurs = labels?.[LABELS.managedBy] === MANAGER && labels[LABELS.imageUid] !== undefined
  return wasOurs && isOrphaned(dataVolume) && !isFinished(dataVolume)
}

/** What became of asking for a DataVolume. Only an answer that rules it out may free its slot. */
export type CreateOutcome =
  | { readonly kind: 'created'; readonly dataVolume: DataVolumeView }
  | { readonly kind: 'refused'; readonly refusal: Refused; readonly isFinal: boolean }
  /** One of that name exists; a look at it tells more. */
  | { readonly kind: 'namesake' }
  /** Not now. `isAnswered`: somebody said so. `mayHappen`: it may be carried out all the same, for a while. */
  | {
      readonly kind: 'failed'
      readonly isAnswered: boolean
      readonly mayHappen: boolean
      readonly retryAfterMs: number
      readonly error: string
    }

/** The API server could not ask CDI's webhook. That is no answer that got lost: nothing is created until the webhook is back. */
export function isWebhookDown({ error }: { readonly error: string }): boolean {
  return error.includes('failed calling webhook')
}

/** Asks for the DataVolume of a slot; POST alone, so that nothing that exists is changed. */
export async function createDataVolume(
  client: KubeClient,
  start: Start,
  options: RequestOptions,
): Promise<CreateOutcome> {
  try {
    const created = await client.create(DATA_VOLUME, renderFor(start), options)
    return { kind: 'created', dataVolume: viewDataVolume(created) }
  } catch (error) {
    if (isApiError(error)) return outcomeOf(start, error)
    // A spec that cannot be rendered must not hold up those behind it.
    const text = error instanceof Error ? error.message : String(error)
    return { kind: 'refused', refusal: refusal(start, 'InvalidSpec', text), isFinal: true }
  }
}

/** A refusal by rules of the cluster, which say nothing about the spec and may change without it: an admission policy, or a webhook that is not CDI's. */
const OTHERS_RULES = /ValidatingAdmissionPolicy '|admission webhook "(?!\S*\.cdi\.kubevirt\.io")/

function outcomeOf(start: Start, error: ApiError): CreateOutcome {
  const text = redactUrls(error.message)
  const refused = (reason: Refusal['reason'], isFinal: boolean): CreateOutcome => {
    return { kind: 'refused', refusal: refusal(start, reason, text), isFinal }
  }
  if (error.reason === 'AlreadyExists') return { kind: 'namesake' }
  if (isNamespaceTerminating(error)) return refused('NamespaceTerminating', false)
  if (error.reason === 'NotFound') return refused('CDIMissing', false)
  if (error.status === 403) return refused(text.includes('exceeded quota') ? 'QuotaExceeded' : 'CreateFailed', false)
  if (error.status === 422 && text.includes('already exists')) return refused('NameConflict', false)
  if (error.status === 422)
    return OTHERS_RULES.test(text) ? refused('CreateFailed', false) : refused('RejectedByCDI', true)
  // An error of the server, or of a proxy before it, says nothing about what etcd does in the end.
  const mayHappen = error.reason === 'NoAnswer' || error.status >= 500
  const { retryAfterMs = 0 } = error
  return { kind: 'failed', isAnswered: error.status !== 0, mayHappen, retryAfterMs, error: text }
}

export function refusal({ revision, target }: Start, reason: Refusal['reason'], message: string): Refused {
  return { revision, budgetKey: target.budgetKey, reason, message }
}

function renderFor({ namespace, name, uid, revision, attempt, target }: Start): KubeObject {
  const { sourceType: type = 'blank', url, secretRef, certConfigMap, checksum } = target
  const { volumeName, diskSize = '', storageClass, specName } = target
  return renderDataVolume({
    image: { name, namespace, uid, specName },
    name: volumeName,
    revision,
    attempt,
    source: { type, url, secretRef, certConfigMap, checksum },
    diskSize,
    storageClass,
  }) as KubeObject
}

/** A live look at the DataVolume of a slot. Undefined: it does not exist, or is somebody else's. */
export async function lookForDataVolume(
  client: KubeClient,
  holder: Holder,
  options: RequestOptions,
): Promise<DataVolumeView | 'foreign' | undefined> {
  const key = { namespace: holder.namespace, name: volumeNameOf(holder) }
  const found = await find(client, DATA_VOLUME, key, options)
  if (found === undefined) return undefined
  const dataVolume = viewDataVolume(found)
  return isDownloadOf(dataVolume, holder) ? dataVolume : 'foreign'
}

/** What a live look finds of importers whose DataVolume is gone. */
export type Remains =
  /** One that was seen while the claims that lead to it were there. */
  | 'importer'
  /** A pod that may be one, and may as well be a stranger's: the claims that would tell are gone. */
  | 'doubtful'
  | 'nothing'

/**
 * Pods of a namespace that have not ended, by live lists that several looks share: all of them, for anyone who may write there can take labels off, but neither
 * change a uid nor revive what has ended.
 */
export function livePods(client: KubeClient): SharedLooks<readonly KubeObject[]> {
  const pods = { fieldSelector: NOT_ENDED, metadataOnly: true, project: viewFiller }
  return new SharedLooks((namespace, signal) => listWhole(client, POD, { ...pods, signal, namespace }))
}

/** As much of a pod as tells which claim it fills. */
function viewFiller(pod: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = pod
  const { name, namespace = '', uid = '' } = metadata
  const claim = controllerOfKind(pod, PERSISTENT_VOLUME_CLAIM)
  return bounded(
    { apiVersion, kind, metadata: { name, namespace, uid, ...(claim !== undefined && { ownerReferences: [claim] }) } },
    KEPT_MAX,
  )
}

/**
 * People delete DataVolumes in the background, their pods live on for a while.
 * @param known uids of the importers that were seen
 */
export async function lookForImporters(
  pods: SharedLooks<readonly KubeObject[]>,
  holder: Holder,
  { known, claims }: { readonly known: ReadonlySet<string>; readonly claims: ImporterCaches['claims'] },
  signal: AbortSignal,
): Promise<Remains> {
  const found = await pods.take(holder.namespace, signal)
  if (found.some(({ metadata }) => known.has(metadata.uid ?? ''))) return 'importer'
  return found.some((pod) => mayFill(pod, volumeNameOf(holder), claims)) ? 'doubtful' : 'nothing'
}

const NOT_ENDED = 'status.phase!=Succeeded,status.phase!=Failed'

/**
 * The holders that a ledger should have, where there is none: whose download a live list finds, and whose status says that one is under way,
 * for an importer may outlive its DataVolume.
 */
export async function findHolders(
  client: KubeClient,
  images: Store<ImageView>,
  claimant: string,
  options: RequestOptions,
): Promise<Holder[]> {
  const holders = new Map<string, Holder>()
  for await (const dataVolume of listAll(client, DATA_VOLUME, { ...options, project: viewDataVolume })) {
    const image = isFinished(dataVolume)
      ? undefined
      : (ownerAmong(dataVolume, images) ?? formerOwner(dataVolume, images))
    const holder = image && holderOf(image, dataVolume, claimant)
    if (holder !== undefined) holders.set(holder.uid, holder)
  }
  for (const { metadata, status } of images.values()) {
    const { uid = '', namespace = '', name } = metadata
    const { phase, revision, attempt = 1 } = status
    if (phase !== 'Syncing' || revision === undefined || holders.has(uid)) continue
    holders.set(uid, { uid, namespace, name, revision, attempt, claimant })
  }
  return [...holders.values()]
}

/** The image whose status, which only we write, tells of this download: somebody has taken its owner off. */
function formerOwner(dataVolume: DataVolumeView, images: Store<ImageView>): ImageView | undefined {
  if (!isOrphan(dataVolume)) return undefined
  const { namespace = '', uid, annotations } = dataVolume.metadata
  const image = images.get(keyOf({ namespace, name: annotations?.[ANNOTATIONS.imageNameFull] ?? '' }))
  return image?.status.dataVolumeUID === uid ? image : undefined
}

/** Undefined: it does not have the name that it would have from us. */
export function holderOf({ metadata }: ImageView, dataVolume: DataVolumeView, claimant: string): Holder | undefined {
  const { uid = '', namespace = '', name } = metadata
  const revision = dataVolume.metadata.name.slice(-REVISION_LENGTH)
  const holder = { uid, namespace, name, revision, attempt: attemptOf(dataVolume), claimant }
  return volumeNameOf(holder) === dataVolume.metadata.name ? holder : undefined
}

const REVISION_LENGTH = 8
