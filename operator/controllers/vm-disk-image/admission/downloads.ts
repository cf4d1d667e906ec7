import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { renderDataVolume, vmDiskImage } from '@open-terrain/constructs/operator'
import { messageOf, redactUrls } from '../../../base/messages.ts'
import { attemptOf, isFinished } from '../../../cluster/import-facts.ts'
import {
  type ClaimId,
  cachesOf,
  canBeFilled,
  claimOwning,
  mayBeFilled,
  mayFill,
  remainsOf,
} from '../../../cluster/importers.ts'
import { keptMetadata } from '../../../cluster/kept-metadata.ts'
import { controllerOfKind, ownerAmong } from '../../../cluster/ownership.ts'
import { type DataVolumeView, POD_PHASE, viewDataVolume } from '../../../cluster/views.ts'
import type { ImageView } from '../../../images/image-view.ts'
import { type ApiError, isApiError, isNamespaceTerminating, isUnknownField } from '../../../kube/api-error.ts'
import { find } from '../../../kube/find.ts'
import type { KubeClient, RequestOptions } from '../../../kube/kube-client.ts'
import { type KubeObject, keyOf } from '../../../kube/kube-object.ts'
import { listAll, listWhole } from '../../../kube/list-all.ts'
import { DATA_VOLUME, PERSISTENT_VOLUME_CLAIM, POD } from '../../../kube/resource-types.ts'
import { SharedReads } from '../../../kube/shared-reads.ts'
import { bounded, KEPT_MAX } from '../../../runtime/foreign.ts'
import type { Store } from '../../../runtime/store.ts'
import type { Start } from '../decide/image-plan.ts'
import type { Holder, Refusal } from '../world.ts'
import type { AdmissionOptions } from './admission-options.ts'
import { isDownloadOf, isOrphan } from './decide/download.ts'
import { fitting } from './decide/ledger-content.ts'
import { volumeNameOf } from './decide/slots.ts'

/** Name of the index of DataVolumes that may download for an image. The reader must check whether the image exists. */
export const IMPORTING_INDEX = 'importing'

/** Values of {@link IMPORTING_INDEX}. */
export function importingIndex(dataVolume: DataVolumeView): readonly string[] {
  const isOfImage = controllerOfKind(dataVolume, vmDiskImage) !== undefined
  return isOfImage && !isFinished(dataVolume) ? ['ours'] : []
}

/** Why a DataVolume is not created. */
export type Why = Pick<Refusal, 'reason' | 'message'>

/**
 * Requests the DataVolume of a slot. Uses only POST, so that no existing object is changed. Only an outcome that rules out its creation may
 * free the slot.
 */
export async function createDataVolume(client: KubeClient, start: Start, options: RequestOptions) {
  try {
    // What the served schema lacks is found before, unless it has changed a moment ago.
    const created = await client.create(DATA_VOLUME, renderDownload(start), { ...options, isStrict: true })
    return { kind: 'created', dataVolume: viewDataVolume(created) } as const
  } catch (error) {
    if (isApiError(error)) return outcomeOf(error)
    // A spec that cannot be rendered must not hold up those behind it.
    return refused({ reason: 'InvalidSpec', message: messageOf(error) }, true)
  }
}

/** Refusals by other rules, which say nothing about the spec and may change without it: an admission policy, or a webhook that is not CDI's. */
const OTHERS_RULES = /ValidatingAdmissionPolicy '|admission webhook "(?!\S*\.cdi\.kubevirt\.io")/

function outcomeOf(error: ApiError) {
  const message = redactUrls(error.message)
  const otherwise = (reason: Why['reason'], isFinal = false) => refused({ reason, message }, isFinal)
  if (isUnknownField(error))
    return refused(
      { reason: 'CDITooOld', message: `upgrade CDI, which lacks a field that the image needs: ${message}` },
      false,
    )
  // A live read shows whose it is.
  if (error.reason === 'AlreadyExists') return { kind: 'namesake' } as const
  if (isNamespaceTerminating(error)) return otherwise('NamespaceTerminating')
  if (error.reason === 'NotFound') return otherwise('CDIMissing')
  if (error.status === 403) return otherwise(message.includes('exceeded quota') ? 'QuotaExceeded' : 'CreateFailed')
  if (error.status === 422 && message.includes('already exists')) return otherwise('NameConflict')
  if (error.status === 422 && OTHERS_RULES.test(message)) return otherwise('CreateFailed')
  if (error.status === 422) return otherwise('RejectedByCDI', true)
  return {
    kind: 'failed',
    error: message,
    isAnswered: error.status !== 0,
    // The request may still be carried out: an error of the server, or of a proxy in front of it, does not tell what etcd does in the end.
    mayHappen: error.reason === 'NoAnswer' || error.status >= 500,
    // CDI's webhook or another one cannot be asked: nothing is created until it is back.
    isWebhookDown: message.includes('failed calling webhook'),
    retryAfterMs: error.retryAfterMs ?? 0,
  } as const
}

function refused(why: Why, isFinal: boolean) {
  return { kind: 'refused', why, isFinal } as const
}

/** Returns the DataVolume of a download. */
export function renderDownload({ namespace, name, uid, revision, attempt, target }: Start): KubeObject {
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

/** A live look at the DataVolume of a slot. Undefined: it does not exist. `foreign`: that of somebody else has its name. */
export async function lookForDataVolume(client: KubeClient, holder: Holder, signal: AbortSignal) {
  const key = { namespace: holder.namespace, name: volumeNameOf(holder) }
  const found = await find(client, DATA_VOLUME, key, { signal })
  if (found === undefined) return undefined
  const dataVolume = viewDataVolume(found)
  return isDownloadOf(dataVolume, holder) ? dataVolume : 'foreign'
}

/**
 * Returns the pods of a namespace that have not ended, from live lists that concurrent callers share. Lists all of them, because anyone who may
 * write there can remove labels, but can neither change a uid nor revive an ended pod.
 */
export function livePods(client: KubeClient): SharedReads<readonly KubeObject[]> {
  const notEnded = { fieldSelector: 'status.phase!=Succeeded,status.phase!=Failed', metadataOnly: true }
  return new SharedReads((namespace, signal) =>
    listWhole(client, POD, { ...notEnded, project: viewFiller, signal, namespace }),
  )
}

/** Keeps the part of a pod that shows which claim it fills. */
function viewFiller(pod: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = pod
  const { name, namespace = '', uid = '' } = metadata
  const claim = controllerOfKind(pod, PERSISTENT_VOLUME_CLAIM)
  return bounded(
    { apiVersion, kind, metadata: { name, namespace, uid, ...(claim !== undefined && { ownerReferences: [claim] }) } },
    KEPT_MAX,
  )
}

/** Returns the claims of a namespace, from live lists that concurrent callers share. */
export function liveClaims(client: KubeClient): SharedReads<readonly KubeObject[]> {
  return new SharedReads((namespace, signal) =>
    listWhole(client, PERSISTENT_VOLUME_CLAIM, { metadataOnly: true, project: viewFilled, signal, namespace }),
  )
}

/** Keeps the part of a claim that shows whose it is, and whether it can be filled. */
function viewFilled({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const matters = { labels: [LABELS.imageUid], annotations: [POD_PHASE] }
  return bounded({ apiVersion, kind, metadata: keptMetadata(metadata, matters) }, KEPT_MAX)
}

/** What is known of the downloads of a slot, by uid. */
export interface KnownDownloads {
  readonly dataVolumes: ReadonlySet<string>
  readonly claims: readonly ClaimId[]
  readonly pods: ReadonlySet<string>
}

/** Live lists of what CDI creates. */
export interface LeftoverReads {
  readonly claims: SharedReads<readonly KubeObject[]>
  readonly pods: SharedReads<readonly KubeObject[]>
}

/** `importers`: pods that were known before. */
type Left =
  | { readonly what: 'importer'; readonly importers: readonly KubeObject[] }
  | { readonly what: 'claim' | 'doubtful' | 'nothing' }

/**
 * Looks for what outlives a DataVolume: importers, and claims for which CDI may start another one. `doubtful`: a pod or a claim may be one of
 * these or a stranger's, because the objects that would identify it are gone.
 * @param known what was observed while the objects that identify it existed
 */
export async function lookForRemains(
  live: LeftoverReads,
  holder: Holder,
  known: KnownDownloads,
  signal: AbortSignal,
): Promise<Left> {
  // In this order: whatever is started for one of these claims is among the pods.
  const claims = await live.claims.take(holder.namespace, signal)
  const pods = await live.pods.take(holder.namespace, signal)
  const found = cachesOf(claims, pods)
  const volumeName = volumeNameOf(holder)
  const targets = claims.filter((claim) => known.dataVolumes.has(controllerOfKind(claim, DATA_VOLUME)?.uid ?? ''))
  const importers = pods.filter(({ metadata }) => known.pods.has(metadata.uid ?? ''))
  const filled = importers.flatMap((pod) => claimOwning(pod) ?? [])
  const ids = [...targets.map(({ metadata }) => metadata), ...filled].map(({ name, uid = '' }) => ({ name, uid }))
  const { namespace } = holder
  const remains = remainsOf([...known.claims, ...ids.map((id) => ({ ...id, namespace }))], found)
  if (importers.length > 0 || remains.pods.length > 0) return { what: 'importer', importers }
  const uids = new Set([...known.claims.map(({ uid }) => uid), ...ids.map(({ uid }) => uid)])
  const isKnown = (claim: KubeObject) => uids.has(claim.metadata.uid ?? '') || remains.claims.includes(claim)
  if (claims.some((claim) => isKnown(claim) && canBeFilled(claim))) return { what: 'claim' }
  const isLabelled = ({ metadata }: KubeObject) => metadata.labels?.[LABELS.imageUid] === holder.uid
  const isDoubtful =
    pods.some((pod) => mayFill(pod, volumeName, found.claims)) ||
    claims.some((claim) => mayBeFilled(claim, volumeName, isLabelled))
  return { what: isDoubtful ? 'doubtful' : 'nothing' }
}

/**
 * Returns the holders for a missing ledger: images whose status reports a download in progress, because an importer may outlive its DataVolume,
 * and images whose download a live list finds. The latter come last: anybody may make DataVolumes for images of their own, and if there are too
 * many for a ledger, the operator stops the others.
 */
export async function findHolders(options: AdmissionOptions, signal: AbortSignal): Promise<Holder[]> {
  const { client, images, me: claimant } = options
  // A download is only found for an image that is known.
  if (images.size === 0) return []
  const found = new Map<string, Holder>()
  const inStatus: Holder[] = []
  for await (const dataVolume of listAll(client, DATA_VOLUME, { signal, project: viewDataVolume })) {
    if (isFinished(dataVolume)) continue
    const image = ownerAmong(dataVolume, images) ?? formerOwner(dataVolume, images)
    const holder = image && holderOf(image, dataVolume, claimant)
    if (holder !== undefined) found.set(holder.uid, holder)
  }
  for (const { metadata, status } of images.values()) {
    const { uid = '', namespace = '', name } = metadata
    const { phase, revision, attempt = 1 } = status
    if (phase !== 'Syncing' || revision === undefined) continue
    inStatus.push(found.get(uid) ?? { uid, namespace, name, revision, attempt, claimant })
    found.delete(uid)
  }
  return fitting([...inStatus, ...found.values()])
}

/** Returns the image whose status, which only the operator writes, refers to this download. Somebody has removed its owner reference. */
function formerOwner(dataVolume: DataVolumeView, images: Store<ImageView>): ImageView | undefined {
  if (!isOrphan(dataVolume)) return undefined
  const { namespace = '', uid, annotations } = dataVolume.metadata
  const image = images.get(keyOf({ namespace, name: annotations?.[ANNOTATIONS.imageNameFull] ?? '' }))
  return image?.status.dataVolumeUID === uid ? image : undefined
}

/** Returns undefined if the DataVolume does not have the name that the operator would give it. */
export function holderOf({ metadata }: ImageView, dataVolume: DataVolumeView, claimant: string): Holder | undefined {
  const { uid = '', namespace = '', name } = metadata
  const revision = dataVolume.metadata.name.slice(-REVISION_LENGTH)
  const holder = { uid, namespace, name, revision, attempt: attemptOf(dataVolume), claimant }
  return volumeNameOf(holder) === dataVolume.metadata.name ? holder : undefined
}

const REVISION_LENGTH = 8
