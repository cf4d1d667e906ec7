import { LABELS } from '@open-terrain/constructs'
import { BY_DEFAULT, BY_IMAGE_LABEL, BY_NAMESPACE } from '../../cluster/caches.ts'
import { claimMessageOf } from '../../cluster/claim-message.ts'
import type { EventReads } from '../../cluster/event-reads.ts'
import { isFinished, type Observation } from '../../cluster/import-facts.ts'
import { type ImporterCaches, importersOf, mayFill, scratchOf } from '../../cluster/importers.ts'
import { BY_OWNER, childrenOf, familyKey, isChildOf, isOrphaned } from '../../cluster/ownership.ts'
import { lackAfter, lackOfRoom, podLimitsOf } from '../../cluster/quotas.ts'
import { type ClaimView, type DataVolumeView, isAlive, mayBeSnapshotted, type PodView } from '../../cluster/views.ts'
import { type ImageView, parsedImageSpec } from '../../images/image-view.ts'
import { sumReferences } from '../../images/references.ts'
import { isTerminating, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import { siblingKey } from './caches.ts'
import type { ImageSources } from './image-sources.ts'
import type { Sight } from './progress-watch.ts'
import type { ServedFields } from './served-fields.ts'
import type { SourceContents } from './source-contents.ts'
import { type ImageWorld, type Lookup, unrecordedDownload } from './world.ts'

/** The sources of an observation. Nothing here asks the API server: caches hold all of it. */
type Sources = Omit<
  ImageSources,
  'cdiPulse' | 'clones' | 'claimRefusals' | 'contents' | 'fields' | 'importerRemains'
> & {
  readonly claimRefusals: Pick<EventReads, 'note' | 'drop'>
  readonly fields: Pick<ServedFields, 'dropped'>
  readonly contents: Pick<SourceContents, 'secret' | 'certificates'>
}

export function observeImage(image: ImageView, sources: Sources): ImageWorld {
  const { caches, admission } = sources
  const { uid = '', namespace = '', name } = image.metadata
  const policy = sources.policy()
  const family = familyKey(namespace, uid)
  const dataVolumes = childrenOf(image, caches.cluster.dataVolumes.find(BY_OWNER, family))
  const slot = admission.slotOf(uid)
  const observation = look(image, dataVolumes, sources)
  // Only an image that still waits with a ticket keeps it; any other would take a new one.
  const kept = image.status.phase === 'Queued' ? image.status.ticket : undefined
  const ticket = kept ?? image.metadata.resourceVersion ?? '0'
  return {
    image,
    spec: parsedImageSpec(image),
    policy,
    namespaceTerminating: isTerminating(caches.cluster.namespaces.get(namespace)),
    surroundings: {
      hasDataVolumes: caches.reflectors.isInstalled(DATA_VOLUME),
      hasSnapshots: caches.reflectors.isInstalled(VOLUME_SNAPSHOT),
      hasDataSources: caches.reflectors.isInstalled(DATA_SOURCE),
    },
    lookup: lookupFor(image, sources),
    slot,
    isSlotKnown: slot !== undefined || dataVolumes.every((one) => isFinished(one) || admission.isStray(one)),
    limit: admission.state?.limit ?? policy.concurrency,
    queuePosition: admission.queue.position(uid, ticket),
    refusal: admission.refusalOf(uid),
    isCreateFailing: admission.isCreateFailing(uid),
    slotWaitsFor: admission.slotWaitsFor(uid),
    dataVolumes,
    snapshots: childrenOf(image, caches.cluster.snapshots.find(BY_OWNER, family)),
    claims: claimsOf(image, dataVolumes, sources),
    dataSource: caches.cluster.dataSources.get(siblingKey(image, name)),
    observation,
    isCdiAway: observation.dataVolumeUid !== undefined && sources.progress.isCdiAway,
    references: sumReferences(sources.references.map((source) => source.cached({ namespace, name }))),
  }
}

/**
 * Reports whether a live read found a child of the image. As in the caches, an object without its owner reference does not count. A claim
 * belongs to its DataVolume, which may be gone: its label decides.
 */
export function hasImageChild(found: readonly KubeObject[], image: ImageView): boolean {
  const isLabelled = ({ metadata }: KubeObject) => metadata.labels?.[LABELS.imageUid] === image.metadata.uid
  return found.some((one) => (one.kind === 'PersistentVolumeClaim' ? isLabelled(one) : isChildOf(one, image)))
}

function look(image: ImageView, dataVolumes: readonly DataVolumeView[], sources: Sources): Observation {
  const { uid = '' } = image.metadata
  const { dataVolumeUID, importerPodUID, reason } = image.status
  const { progress, caches } = sources
  const running = dataVolumes.find((one) => !isFinished(one))
  if (running !== undefined) {
    const isKnown = dataVolumeUID === running.metadata.uid
    const knownPodUid = isKnown ? importerPodUID : undefined
    const wasDue = isKnown && reason === 'CDINotResponding'
    const importers = importersOf(running, caches.cluster)
    const claim = caches.cluster.claims.get(keyOf(running.metadata))
    const sight = { dataVolume: running, hasClaim: claim !== undefined, importers, knownPodUid, wasDue }
    const claimRefusal = claimRefusalOf(image, sight, claim, sources)
    return { ...progress.look(uid, sight), claimRefusal }
  }
  sources.claimRefusals.drop(uid)
  const isOver = unrecordedDownload(image.status) === undefined && sources.admission.slotOf(uid) === undefined
  if (isOver) progress.forget(uid)
  const pods = caches.cluster.pods.find(BY_IMAGE_LABEL, familyKey(image.metadata.namespace, uid))
  return progress.recall(uid, dataVolumeUID, pods)
}

/**
 * Only for a download that has a claim, and for which CDI shows neither an importer nor what it waits for; or whose importer waits for a claim for
 * scratch space that does not exist.
 */
function claimRefusalOf(
  { metadata }: ImageView,
  { dataVolume, importers }: Pick<Sight, 'dataVolume' | 'importers'>,
  claim: ClaimView | undefined,
  { claimRefusals, caches: { cluster } }: Sources,
): string | undefined {
  const { uid = '', namespace = '' } = metadata
  const isSilent =
    claim !== undefined &&
    isChildOf(claim, dataVolume) &&
    !isTerminating(dataVolume) &&
    (importers.some((pod) => lacksScratch(pod, cluster.claims)) ||
      (dataVolume.running.reason === '' && claimMessageOf(dataVolume) === '' && importers.length === 0))
  if (isSilent) return claimRefusals.note(uid, { key: keyOf(metadata), namespace, uid: claim.metadata.uid ?? '' }).text
  claimRefusals.drop(uid)
  return undefined
}

function lacksScratch(pod: PodView, claims: ImporterCaches['claims']): boolean {
  return pod.hasScratch && pod.importer.starts === 0 && isAlive(pod) && scratchOf(pod, claims) === undefined
}

/** Returns claims with our label, and those of our DataVolumes in case somebody removed the label. */
function claimsOf(image: ImageView, dataVolumes: readonly DataVolumeView[], { caches }: Sources): ClaimView[] {
  const { namespace, uid = '' } = image.metadata
  const labelled = caches.cluster.claims.find(BY_IMAGE_LABEL, familyKey(namespace, uid))
  const owned = dataVolumes.flatMap((dataVolume) => {
    const claim = caches.cluster.claims.get(siblingKey(image, dataVolume.metadata.name))
    return claim !== undefined && isChildOf(claim, dataVolume) && !labelled.includes(claim) ? [claim] : []
  })
  return [...labelled, ...owned]
}

function lookupFor(image: ImageView, { caches: { cluster }, contents, fields }: Sources): Lookup {
  const { namespace = '', uid = '' } = image.metadata
  const sibling = (name: string) => siblingKey(image, name)
  /** The state of the claim of this name, unless a DataVolume of the image has it. */
  const claimState = (name: string): 'none' | 'foreign' | 'going' | 'orphaned' => {
    const claim = cluster.claims.get(sibling(name))
    if (claim === undefined) return 'none'
    const dataVolume = cluster.dataVolumes.get(sibling(name))
    const isOfLiving = dataVolume !== undefined && isChildOf(claim, dataVolume)
    if (isOfLiving) return isChildOf(dataVolume, image) ? 'none' : 'foreign'
    // Not by the managed-by label: CDI writes its own name there.
    if (claim.metadata.labels?.[LABELS.imageUid] === undefined) return 'foreign'
    // If its owner is gone it is garbage collected; `--cascade=orphan` removes the owner reference.
    return isTerminating(claim) || !isOrphaned(claim) ? 'going' : 'orphaned'
  }
  return {
    secret: (name) => cluster.secrets.get(sibling(name)) !== undefined,
    secretContent: (name) => contents.secret(sibling(name)),
    configMap: (name) => cluster.configMaps.get(sibling(name)) !== undefined,
    droppedFields: fields.dropped,
    certificates: (name) => contents.certificates(sibling(name)),
    storageClass: (name) => cluster.storageClasses.get(name) !== undefined,
    hasDefaultStorageClass: cluster.storageClasses.find(BY_DEFAULT, 'yes').length > 0,
    snapshotClass: (name) => cluster.snapshotClasses.get(name) !== undefined,
    driversApart: (storageClass, snapshotClass) => {
      const defaults = cluster.storageClasses.find(BY_DEFAULT, 'yes')
      // Of several defaults, that of a claim depends on when it is created.
      const only = defaults.length === 1 ? defaults[0] : undefined
      const ofVolumes =
        (storageClass === undefined ? only : cluster.storageClasses.get(storageClass))?.provisioner ?? ''
      const ofSnapshots = cluster.snapshotClasses.get(snapshotClass)?.driver ?? ''
      return mayBeSnapshotted(ofVolumes, ofSnapshots) ? undefined : { ofVolumes, ofSnapshots }
    },
    hasEmptyProfile: (name) => cluster.storageProfiles.get(name)?.isEmpty === true,
    lackOfRoom: (needs) => {
      for (const quota of cluster.quotas.find(BY_NAMESPACE, namespace)) {
        const what = lackOfRoom(quota, needs)
        if (what !== undefined) return { quota: quota.metadata.name, what }
      }
      return undefined
    },
    lackAfter: (refusal) => {
      const quota = cluster.quotas.get(sibling(refusal.quota))
      return quota && lackAfter(quota, refusal)
    },
    podQuotas: () => cluster.quotas.find(BY_NAMESPACE, namespace).flatMap((quota) => podLimitsOf(quota) ?? []),
    foreignVolume: (name) => {
      const dataVolume = cluster.dataVolumes.get(sibling(name))
      if (dataVolume !== undefined && !isChildOf(dataVolume, image)) return `DataVolume ${name}`
      return claimState(name) === 'foreign' ? `PersistentVolumeClaim ${name}` : undefined
    },
    leftoverClaim: (name) => {
      const state = claimState(name)
      return state === 'foreign' ? 'none' : state
    },
    leftoverImporter: (name) => {
      const pods = cluster.pods.find(BY_IMAGE_LABEL, familyKey(namespace, uid))
      return pods.find((pod) => isAlive(pod) && mayFill(pod, name, cluster.claims))?.metadata.name
    },
    foreignSnapshot: (name) => {
      const snapshot = cluster.snapshots.get(sibling(name))
      return snapshot !== undefined && !isChildOf(snapshot, image)
    },
  }
}
