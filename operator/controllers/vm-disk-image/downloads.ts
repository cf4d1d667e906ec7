import { ANNOTATIONS, childName, LABELS, MANAGER, renderDataVolume } from '@open-terrain/constructs'
import { type ApiError, isApiError, isNamespaceTerminating } from '../../kube/api-error.ts'
import type { KubeClient, RequestOptions } from '../../kube/kube-client.ts'
import { controllerOf, isControlledBy, type KubeObject } from '../../kube/kube-object.ts'
import { listAll } from '../../kube/list-all.ts'
import { DATA_VOLUME, POD } from '../../kube/resource-types.ts'
import { redactUrls } from '../../runtime/redact.ts'
import type { Start } from './image-plan.ts'
import { isFinished } from './judge.ts'
import { attemptOf, type DataVolumeView, isAlive, type PodView, viewDataVolume, viewPod } from './views.ts'
import type { Holder, Refusal, Refused } from './world.ts'

/** Name of the index over DataVolumes that finds ours which may download. */
export const IMPORTING_INDEX = 'importing'

/** Values of {@link IMPORTING_INDEX}. */
export function importingIndex(dataVolume: DataVolumeView): readonly string[] {
  return isOurDownload(dataVolume) && !isFinished(dataVolume) ? ['ours'] : []
}

/** Made by us for an image; clones for virtual machines have another owner. */
export function isOurDownload(dataVolume: DataVolumeView): boolean {
  return dataVolume.metadata.labels?.[LABELS.managedBy] === MANAGER && controllerOf(dataVolume)?.kind === 'VMDiskImage'
}

/**
 * Whether it may download for the image with this uid: its own, or one that was its own until somebody deleted the image with `--cascade=orphan`. The
 * garbage collector takes the owner off then, which stops no importer. Such a one keeps the slot that it has, and nobody deletes it but people;
 * it takes no slot that it never had, or else anybody who may create DataVolumes could hold up the queue by labels alone.
 */
export function isDownloadOf(dataVolume: DataVolumeView, uid: string): boolean {
  return (
    isControlledBy(dataVolume, uid) || (isOrphan(dataVolume) && dataVolume.metadata.labels?.[LABELS.imageUid] === uid)
  )
}

/** A download that was orphaned before it was finished. */
function isOrphan(dataVolume: DataVolumeView): boolean {
  const { labels } = dataVolume.metadata
  const wasOurs = labels?.[LABELS.managedBy] === MANAGER && labels[LABELS.imageUid] !== undefined
  return wasOurs && controllerOf(dataVolume) === undefined && !isFinished(dataVolume)
}

/** What became of asking for a DataVolume. Only an answer that rules it out may free its slot. */
export type CreateOutcome =
  | { readonly kind: 'created'; readonly dataVolume: DataVolumeView }
  | {
      readonly kind: 'refused'
      readonly refusal: Refused
      readonly isFinal: boolean
      readonly error: string
    }
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

/** Asks for the DataVolume of a claim; POST alone, so that nothing that exists is changed. */
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
    return { kind: 'refused', refusal: refusal(start, 'InvalidSpec', text), isFinal: true, error: text }
  }
}

/** A refusal by rules of the cluster, which say nothing about the spec and may change without it: an admission policy, or a webhook that is not CDI's. */
const OTHERS_RULES = /ValidatingAdmissionPolicy '|admission webhook "(?!\S*\.cdi\.kubevirt\.io")/

function outcomeOf(start: Start, error: ApiError): CreateOutcome {
  const text = redactUrls(error.message)
  const refused = (reason: Refusal['reason'], isFinal: boolean): CreateOutcome => {
    return { kind: 'refused', refusal: refusal(start, reason, text), isFinal, error: text }
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
  const {
    sourceType = 'blank',
    url,
    secretRef,
    certConfigMap,
    checksum,
    diskSize = '',
    storageClass,
    volumeName,
  } = target
  return renderDataVolume({
    image: { name, namespace, uid },
    name: volumeName,
    revision,
    attempt,
    source: { type: sourceType, url, secretRef, certConfigMap, checksum },
    diskSize,
    storageClass,
  }) as KubeObject
}

/** A live look at the DataVolume of a claim. Undefined: there is none of ours. */
export async function lookForDataVolume(
  client: KubeClient,
  holder: Holder,
  options: RequestOptions,
): Promise<DataVolumeView | 'foreign' | undefined> {
  const { namespace, name, uid, revision } = holder
  try {
    const key = { namespace, name: childName(name, revision) }
    const found = viewDataVolume(await client.get(DATA_VOLUME, key, options))
    return isDownloadOf(found, uid) ? found : 'foreign'
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

/** Whether an importer of the image may still run: people delete DataVolumes in the background, their pods live on for a while. */
export async function hasImporter(
  client: KubeClient,
  { namespace, uid }: Holder,
  options: RequestOptions,
): Promise<boolean> {
  const pods = await client.list(POD, { ...options, namespace, labelSelector: `${LABELS.imageUid}=${uid}` })
  return pods.items.map(viewPod).some(isAlive)
}

/** All downloads of ours, by a live list, as the holders that a ledger should have. */
export async function findHolders(client: KubeClient, claimant: string, options: RequestOptions): Promise<Holder[]> {
  const holders = new Map<string, Holder>()
  const selection = { ...options, labelSelector: `${LABELS.managedBy}=${MANAGER}` }
  for await (const object of listAll(client, DATA_VOLUME, selection)) {
    const dataVolume = viewDataVolume(object)
    const isRunning = (isOurDownload(dataVolume) && !isFinished(dataVolume)) || isOrphan(dataVolume)
    const holder = isRunning ? holderOf(dataVolume, claimant) : undefined
    if (holder !== undefined) holders.set(holder.uid, holder)
  }
  // A DataVolume that was deleted in the background leaves its importer behind for a while.
  const pods = await client.list(POD, { ...options, labelSelector: LABELS.imageUid })
  for (const pod of pods.items.map(viewPod).filter(isAlive)) {
    const holder = holderOfPod(pod, claimant)
    if (holder !== undefined && !holders.has(holder.uid)) holders.set(holder.uid, holder)
  }
  return [...holders.values()]
}

function holderOfPod({ metadata }: PodView, claimant: string): Holder | undefined {
  const { namespace = '', labels = {} } = metadata
  const { [LABELS.imageUid]: uid, [LABELS.imageName]: name, [LABELS.revision]: revision } = labels
  if (uid === undefined || name === undefined || revision === undefined) return undefined
  return { uid, namespace, name, revision, attempt: 1, claimant }
}

function holderOf(dataVolume: DataVolumeView, claimant: string): Holder | undefined {
  const { namespace = '', labels = {}, annotations = {} } = dataVolume.metadata
  const { [LABELS.imageUid]: orphanOf, [LABELS.revision]: revision } = labels
  const { uid = orphanOf, name = annotations[ANNOTATIONS.imageNameFull] } = controllerOf(dataVolume) ?? {}
  if (uid === undefined || name === undefined || revision === undefined) return undefined
  return { uid, namespace, name, revision, attempt: attemptOf(dataVolume), claimant }
}
