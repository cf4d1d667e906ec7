import { LABELS } from '@open-terrain/constructs'
import { BY_CHILD, BY_IMAGE_LABEL, type ClusterCaches } from '../../cluster/caches.ts'
import { claimMessageOf } from '../../cluster/claim-message.ts'
import type { EventReads } from '../../cluster/event-reads.ts'
import { isFinished, type Observation } from '../../cluster/import-facts.ts'
import { type ImporterCaches, importersOf, isNeedless, scratchOf } from '../../cluster/importers.ts'
import { BY_OWNER, childrenOf, familyKey, isChildOf } from '../../cluster/ownership.ts'
import { type ClaimView, type DataVolumeView, isAlive, type PodView } from '../../cluster/views.ts'
import type { ImageView } from '../../images/image-view.ts'
import { sumReferences } from '../../images/references.ts'
import { isTerminating, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { DATA_SOURCE, DATA_VOLUME, VOLUME_SNAPSHOT } from '../../kube/resource-types.ts'
import type { AdoptionReads } from './adoption-reads.ts'
import { adoptablesOf, adoptionValue, siblingKey } from './caches.ts'
import { resolveSpec } from './decide/target.ts'
import type { ImageSources } from './image-sources.ts'
import { lookUp } from './lookup.ts'
import type { Sight } from './progress-watch.ts'
import type { ServedFields } from './served-fields.ts'
import type { SourceContents } from './source-contents.ts'
import { type ImageWorld, unrecordedDownload } from './world.ts'

/** The sources of an observation. Nothing here asks the API server: caches hold all of it. */
type Sources = Omit<
  ImageSources,
  'cdiPulse' | 'adoptionReads' | 'clones' | 'claimRefusals' | 'contents' | 'fields' | 'importerRemains'
> & {
  readonly claimRefusals: Pick<EventReads, 'note' | 'drop'>
  readonly fields: Pick<ServedFields, 'dropped'>
  readonly contents: Pick<SourceContents, 'secret' | 'certificates'>
  readonly adoptionReads?: Pick<AdoptionReads, 'look'>
}

export function observeImage(image: ImageView, sources: Sources): ImageWorld {
  const { caches, admission } = sources
  const { uid = '', namespace = '', name } = image.metadata
  const policy = sources.policy()
  const spec = resolveSpec(image, policy)
  const family = familyKey(namespace, uid)
  const dataVolumes = childrenOf(image, caches.cluster.dataVolumes.find(BY_OWNER, family))
  const slot = admission.slotOf(uid)
  const observation = look(image, dataVolumes, sources)
  // Only an image that still waits with a ticket keeps it; any other would take a new one.
  const kept = image.status.phase === 'Queued' ? image.status.ticket : undefined
  const ticket = kept ?? image.metadata.resourceVersion ?? '0'
  return {
    image,
    spec,
    policy,
    namespaceTerminating: isTerminating(caches.cluster.namespaces.get(namespace)),
    surroundings: {
      hasDataVolumes: caches.reflectors.isInstalled(DATA_VOLUME),
      hasSnapshots: caches.reflectors.isInstalled(VOLUME_SNAPSHOT),
      hasDataSources: caches.reflectors.isInstalled(DATA_SOURCE),
    },
    lookup: lookUp(image, spec, slot, sources),
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
    adoptedArtifact: adoptedArtifactOf(image, caches.cluster),
    adoptable: adoptableOf(image, sources),
    dataSource: caches.cluster.dataSources.get(siblingKey(image, name)),
    observation,
    needless: needlessOf(dataVolumes, caches.cluster),
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

function adoptedArtifactOf(image: ImageView, cluster: ClusterCaches): ImageWorld['adoptedArtifact'] {
  const { artifact } = image.status
  if (artifact?.adoptedUID === undefined) return undefined
  const key = siblingKey(image, artifact.name)
  const found = artifact.kind === 'VolumeSnapshot' ? cluster.snapshots.get(key) : cluster.claims.get(key)
  return found?.metadata.uid === artifact.adoptedUID ? found : undefined
}

/** What the annotation names, or without it what was adopted. */
function adoptableOf(image: ImageView, { caches, adoptionReads }: Sources): ImageWorld['adoptable'] {
  const [adoptable] = adoptablesOf(image)
  if (adoptable === undefined) return undefined
  const { cluster, images } = caches
  const key = siblingKey(image, adoptable.name)
  const [dataVolume, claim] = [cluster.dataVolumes.get(key), cluster.claims.get(key)]
  const snapshot = cluster.snapshots.get(key)
  const held = adoptable.kind === 'VolumeSnapshot' ? snapshot : claim
  const others = images.find(BY_CHILD, key).filter(({ metadata }) => metadata.uid !== image.metadata.uid)
  const adopter = others.find(({ status }) => {
    return status.adoption?.uid !== undefined && status.adoption.uid === held?.metadata.uid
  })
  const version = [dataVolume, claim, snapshot].map((one) => one?.metadata.resourceVersion ?? '').join('/')
  return {
    dataVolume,
    claim,
    snapshot,
    sighted: adoptionReads?.look(keyOf(image.metadata), { value: adoptionValue(image), adoptable, version }),
    otherAdopter: adopter?.metadata.name,
    version,
  }
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
    const { claims } = caches.cluster
    const importers = importersOf(running, caches.cluster).filter((pod) => !isUnstartedAndNeedless(pod, claims))
    const claim = claims.get(keyOf(running.metadata))
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

/** Reports whether a pod fills nothing and has downloaded nothing: one that CDI has made although the claim was filled. */
function isUnstartedAndNeedless(pod: PodView, claims: ImporterCaches['claims']): boolean {
  return pod.importer.starts === 0 && isNeedless(pod, claims)
}

function needlessOf(dataVolumes: readonly DataVolumeView[], cluster: ClusterCaches): ImageWorld['needless'] {
  const isLeft = (pod: PodView) => isAlive(pod) && !isTerminating(pod) && isUnstartedAndNeedless(pod, cluster.claims)
  const found = dataVolumes.filter(isFinished).map((one): [string, PodView[]] => {
    return [one.metadata.uid ?? '', importersOf(one, cluster).filter(isLeft)]
  })
  return new Map(found.filter(([, pods]) => pods.length > 0))
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
