import { LABELS, type Policy } from '@open-terrain/constructs'
import { BY_DEFAULT, BY_IMAGE_LABEL, BY_NAMESPACE } from '../../cluster/caches.ts'
import { claimMessageOf } from '../../cluster/claim-message.ts'
import type { EventLooks } from '../../cluster/event-looks.ts'
import { importersOf, mayFill } from '../../cluster/importers.ts'
import { BY_OWNER, childrenOf, familyKey, isChildOf, isOrphaned } from '../../cluster/ownership.ts'
import { lackOfRoom } from '../../cluster/quotas.ts'
import { type ClaimView, type DataVolumeView, isAlive, type PodView } from '../../cluster/views.ts'
import { type ImageView, parsedImageSpec } from '../../images/image-view.ts'
import { type ReferenceSource, sumReferences } from '../../images/references.ts'
import { type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import type { Admission } from './admission/admission.ts'
import { type ImageCaches, siblingKey } from './caches.ts'
import { isFinished } from './decide/judge.ts'
import { unrecordedDownload } from './decide/status.ts'
import type { ProgressWatch } from './progress-watch.ts'
import type { ImageWorld, Lookup } from './world.ts'

/** The sources of an observation. Nothing here asks the API server: caches hold all of it. */
export interface Sources {
  readonly caches: ImageCaches
  readonly policy: () => Policy
  readonly admission: Admission
  readonly progress: ProgressWatch
  readonly claimRefusals: Pick<EventLooks, 'note' | 'drop'>
  readonly references: readonly ReferenceSource[]
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
    spec: parsedImageSpec(image.spec),
    policy,
    namespaceTerminating: caches.cluster.namespaces.get(namespace)?.metadata.deletionTimestamp !== undefined,
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
 * Reports whether a live read found any child of the image. As in the caches, an object whose owner reference was removed does not
 * count. A claim belongs to its DataVolume, which may be gone, so its label decides.
 */
export function hasImageChild(found: readonly KubeObject[], image: ImageView): boolean {
  return found.some((one) =>
    one.kind === 'PersistentVolumeClaim'
      ? one.metadata.labels?.[LABELS.imageUid] === image.metadata.uid
      : isChildOf(one, image),
  )
}

function look(image: ImageView, dataVolumes: readonly DataVolumeView[], sources: Sources): ImageWorld['observation'] {
  const { uid = '' } = image.metadata
  const { status } = image
  const { progress, caches } = sources
  const running = dataVolumes.find((one) => !isFinished(one))
  const { dataVolumeUID } = status
  if (running !== undefined) {
    const isKnown = dataVolumeUID === running.metadata.uid
    const knownPodUid = isKnown ? status.importerPodUID : undefined
    const wasDue = isKnown && status.reason === 'CDINotResponding'
    const importers = importersOf(running, caches.cluster)
    const claim = caches.cluster.claims.get(keyOf(running.metadata))
    const claimRefusal = claimRefusalOf(image, { dataVolume: running, claim, importers }, sources)
    const known = { dataVolume: running, hasClaim: claim !== undefined, importers, knownPodUid, wasDue }
    return { ...progress.look(uid, known), claimRefusal }
  }
  sources.claimRefusals.drop(uid)
  if (unrecordedDownload(status) === undefined) progress.forget(uid)
  return progress.recall(uid, dataVolumeUID)
}

interface Download {
  readonly dataVolume: DataVolumeView
  /** The claim of the same name. */
  readonly claim: ClaimView | undefined
  readonly importers: readonly PodView[]
}

/** Only for a download that has a claim, and for which CDI shows neither an importer nor what it waits for. */
function claimRefusalOf(
  { metadata }: ImageView,
  { dataVolume, claim, importers }: Download,
  { claimRefusals }: Sources,
): string | undefined {
  const { uid = '', namespace = '' } = metadata
  const isSilent =
    claim !== undefined &&
    isChildOf(claim, dataVolume) &&
    dataVolume.metadata.deletionTimestamp === undefined &&
    dataVolume.running.reason === '' &&
    claimMessageOf(dataVolume) === '' &&
    importers.length === 0
  if (isSilent) return claimRefusals.note(uid, { key: keyOf(metadata), namespace, uid: claim.metadata.uid ?? '' }).text
  claimRefusals.drop(uid)
  return undefined
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

function lookupFor(image: ImageView, { caches }: Sources): Lookup {
  const { namespace, uid = '' } = image.metadata
  const sibling = (name: string) => siblingKey(image, name)
  const claimState = (name: string): 'none' | 'in use' | 'leftover' | 'foreign' => {
    const claim = caches.cluster.claims.get(sibling(name))
    if (claim === undefined) return 'none'
    const dataVolume = caches.cluster.dataVolumes.get(sibling(name))
    const isOfLiving = dataVolume !== undefined && isChildOf(claim, dataVolume)
    if (isOfLiving) return isChildOf(dataVolume, image) ? 'in use' : 'foreign'
    // Not by the managed-by label: CDI writes its own name there.
    return claim.metadata.labels?.[LABELS.imageUid] === undefined ? 'foreign' : 'leftover'
  }
  return {
    secret: (name) => caches.cluster.secrets.get(sibling(name)) !== undefined,
    configMap: (name) => caches.cluster.configMaps.get(sibling(name)) !== undefined,
    storageClass: (name) => caches.cluster.storageClasses.get(name) !== undefined,
    hasDefaultStorageClass: caches.cluster.storageClasses.find(BY_DEFAULT, 'yes').length > 0,
    snapshotClass: (name) => caches.cluster.snapshotClasses.get(name) !== undefined,
    hasEmptyProfile: (name) => caches.cluster.storageProfiles.get(name)?.isEmpty === true,
    lackOfRoom: (needs) => {
      for (const quota of caches.cluster.quotas.find(BY_NAMESPACE, image.metadata.namespace ?? '')) {
        const what = lackOfRoom(quota, needs)
        if (what !== undefined) return { quota: quota.metadata.name, what }
      }
      return undefined
    },
    foreignVolume: (name) => {
      const dataVolume = caches.cluster.dataVolumes.get(sibling(name))
      if (dataVolume !== undefined && !isChildOf(dataVolume, image)) return `DataVolume ${name}`
      return claimState(name) === 'foreign' ? `PersistentVolumeClaim ${name}` : undefined
    },
    leftoverClaim: (name) => {
      if (claimState(name) !== 'leftover') return 'none'
      const claim = caches.cluster.claims.get(sibling(name))
      // If its owner is gone it is garbage collected; `--cascade=orphan` removes the owner reference.
      const isGoing = claim?.metadata.deletionTimestamp !== undefined || (claim !== undefined && !isOrphaned(claim))
      return isGoing ? 'going' : 'orphaned'
    },
    leftoverImporter: (name) => {
      const pods = caches.cluster.pods.find(BY_IMAGE_LABEL, familyKey(namespace, uid))
      return pods.find((pod) => isAlive(pod) && mayFill(pod, name, caches.cluster.claims))?.metadata.name
    },
    foreignSnapshot: (name) => {
      const snapshot = caches.cluster.snapshots.get(sibling(name))
      return snapshot !== undefined && !isChildOf(snapshot, image)
    },
  }
}
