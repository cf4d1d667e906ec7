import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import { compareResourceVersions, type KubeObject } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP, DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, POD, SECRET } from '../../operator/kube/resource-types.ts'
import { OPERATOR_NAMESPACE } from '../control-plane/cluster.ts'
import {
  DELETED,
  LASTING,
  LATE,
  LATE_SECRET,
  MACHINE_NAME,
  type Performer,
  REFRESHED,
  RELEASE,
  releasedIn,
  SAME_RELEASE,
  TEMPLATED,
} from './cast.ts'
import { podFact } from './facts.ts'
import { type Manifest, readManifests, resourceTypeOf } from './manifests.ts'
import type { Observer } from './observer.ts'
import { standUpWorkspace, WORKSPACE_POLICY, type WorkspaceEnd } from './workspace-scene.ts'

/** The example files use minutes, which is too long for a demo. */
const RETRY_BACKOFF = '3s'
const POLICY_KEY = { namespace: OPERATOR_NAMESPACE, name: 'sync-operator-policy' }
const NAMESPACE = 'default'

export interface Stage {
  readonly client: KubeClient
  readonly observer: Observer
  readonly cast: readonly Performer[]
  readonly signal: AbortSignal
  /** Tells people what is done to the cluster, and why. */
  readonly say: (text: string) => void
  /** Leaves people the time to look at what is there. */
  readonly pause: (signal: AbortSignal) => Promise<void>
  /** Lets the held downloads finish. */
  readonly releaseDownloads: () => void
}

export interface PolicyChange {
  readonly from: number
  readonly to: number
  /** Revision of etcd that the change created. */
  readonly revision: string
}

/** What was done to the cluster, and at which revision of etcd, for the checks. */
export interface Acts {
  readonly retryLimit: number
  readonly policyChanges: readonly PolicyChange[]
  readonly refresh: { readonly revision: string; readonly waiting: number }
  readonly secretRevision: string
  readonly deletion: { readonly uid: string; readonly importersLeft: number }
  /** What was left of the virtual machine after it was gone, as `kind name`. */
  readonly machine: { readonly left: readonly string[] }
  readonly workspace: WorkspaceEnd
}

/** Creates everything that must exist before the operator starts: classes, credentials, and a policy for a short demo. */
export async function setStage({ client, say }: Pick<Stage, 'client' | 'say'>): Promise<number> {
  const files = ['sandbox-classes.yaml', 'secret.yaml', 'policy.yaml']
  const manifests = (await Promise.all(files.map(readManifests))).flat()
  for (const manifest of manifests) {
    const data = { ...manifest.data, ...WORKSPACE_POLICY, retryBackoffDuration: RETRY_BACKOFF }
    await create(client, manifest.kind === 'ConfigMap' ? { ...manifest, data } : manifest)
  }
  say(`created ${files.join(', ')} of the examples, with retryBackoffDuration ${RETRY_BACKOFF} to keep this short`)
  return Number(manifests.find(({ kind }) => kind === 'ConfigMap')?.data?.['retryLimit'])
}

/** Creates all images at once, as a pipeline would, and among them a virtual machine whose image does not exist yet. */
export async function createImages({ client, observer, cast, signal, say }: Stage): Promise<void> {
  for (const { name, role, manifest } of cast) {
    if (role === 'released' || role === 'workspace') continue
    await create(client, manifest)
    if (role !== 'templated') continue
    say(`created VirtualMachine ${MACHINE_NAME} (lab-machine.yaml of the examples), whose image ${name} does not exist`)
    // Otherwise its image would be the last in the queue, and everything would wait for its scene.
    await observer.until(`${name} to be made from the template`, signal, () => observer.image(name) !== undefined)
  }
  const count = cast.filter(({ role }) => isImage(role)).length
  say(`created ${count} images: vmdiskimage.yaml and fleet.yaml of the examples, and three that get into trouble`)
  const [release] = releasedIn(cast)
  if (release === undefined) return
  await create(client, release.manifest)
  say(`created DataSync ${RELEASE} (datasync.yaml of the examples), which has its images made behind all others`)
}

/** Creates the machine and the lab again, which the scenes have deleted. */
export async function createToLookAt({ client, cast }: Pick<Stage, 'client' | 'cast'>): Promise<void> {
  for (const { role, manifest } of cast)
    if (role === 'templated' || role === 'workspace') await create(client, manifest)
}

/** Plays all scenes. Resolves when every image has reached its final state. */
export async function play(stage: Stage, retryLimit: number): Promise<Acts> {
  const { observer, cast, signal } = stage
  // While the held downloads last, which only the other scene releases, some images wait behind them: the refresh must wait its turn.
  const refreshAsked = Promise.withResolvers<void>()
  const [refresh, policyChanges, secretRevision, deletion, machine] = await Promise.all([
    refreshOne(stage, refreshAsked.resolve),
    refreshAsked.promise.then(() => changeConcurrency(stage)),
    bringSecret(stage),
    deleteOne(stage),
    deleteInUse(stage),
    releaseTwice(stage),
  ])
  const hasPhase = (name: string, phase: string) => observer.image(name)?.status.phase === phase
  const ends = cast.flatMap(({ name, role }) => {
    if (role === 'deleted' || role === 'templated' || role === 'workspace') return []
    const phase = role === 'failing' ? 'Failed' : 'Succeeded'
    return [observer.until(`${name} to be ${phase}`, signal, () => hasPhase(name, phase))]
  })
  // Slots are freed just before the last statuses. The checks need the end, not the moment before it.
  ends.push(observer.until('all slots to be free', signal, () => observer.ledger.holders.length === 0))
  await Promise.all(ends)
  const workspace = await standUpWorkspace(stage)
  return { retryLimit, policyChanges, refresh, secretRevision, deletion, machine, workspace }
}

/** Reports whether a person creates it, not an object that needs it. */
function isImage(role: Performer['role']): boolean {
  return role !== 'templated' && role !== 'released' && role !== 'workspace'
}

async function refreshOne({ client, observer, signal, say }: Stage, onAsked: () => void): Promise<Acts['refresh']> {
  await observer.until(`${REFRESHED} to be ready before it is refreshed`, signal, () => {
    return observer.image(REFRESHED)?.status.phase === 'Succeeded'
  })
  const waiting = waitingImages(observer).length
  const patch = { metadata: { annotations: { [ANNOTATIONS.syncRequestedAt]: new Date().toISOString() } } }
  const { metadata } = await client.mergePatch(IMAGE, { namespace: NAMESPACE, name: REFRESHED }, patch)
  say(`asked for a refresh of ${REFRESHED}, which goes to the end of the queue: ${waiting} images wait before it`)
  onAsked()
  const refreshed = () => {
    const image = observer.image(REFRESHED)
    const isTaken = compareResourceVersions(image?.status.ticket ?? '0', metadata.resourceVersion ?? '0') >= 0
    return isTaken && image?.status.phase === 'Succeeded'
  }
  await observer.until(`${REFRESHED} to be ready again after its refresh`, signal, refreshed)
  return { revision: metadata.resourceVersion ?? '0', waiting }
}

/** Lowers the limit while more downloads run than it allows, and raises it when they have drained and two more got a slot. */
async function changeConcurrency({ client, observer, signal, say, releaseDownloads }: Stage): Promise<PolicyChange[]> {
  const ended = () => [...observer.images.values()].filter(({ isReady }) => isReady).length
  const last = () => LASTING.map((name) => observer.image(name)).filter((image) => image && observer.downloadOf(image))
  await observer.until('4 images to download, 3 of them for long, and 2 to be ready', signal, () => {
    const isFull = observer.unfinished().length === 4 && observer.ledger.holders.length === 4
    return isFull && ended() >= 2 && last().length === LASTING.length
  })
  const lowered = await setConcurrency(client, 4, 2)
  await observer.until('the limit of 2 to be in force', signal, () => observer.ledger.limit === 2)
  const running = new Set(observer.unfinished().map(({ metadata }) => metadata.uid))
  releaseDownloads()
  say(`lowered concurrency from 4 to 2 while ${running.size} images download: they go on, and none starts before`)
  await observer.until('two images to start under the limit of 2', signal, () => {
    const unfinished = observer.unfinished()
    return unfinished.length === 2 && unfinished.every(({ metadata }) => !running.has(metadata.uid))
  })
  const raised = await setConcurrency(client, 2, 6)
  say('raised concurrency from 2 to 6')
  await observer.until('the limit of 6 to be in force', signal, () => observer.ledger.limit === 6)
  return [lowered, raised]
}

async function setConcurrency(client: KubeClient, from: number, to: number): Promise<PolicyChange> {
  const { metadata } = await client.mergePatch(CONFIG_MAP, POLICY_KEY, { data: { concurrency: String(to) } })
  return { from, to, revision: metadata.resourceVersion ?? '0' }
}

async function bringSecret({ client, observer, signal, say }: Stage): Promise<string> {
  const passed = () => {
    const ticket = observer.image(LATE)?.status.ticket
    if (ticket === undefined) return 0
    const later = [...observer.images.values()].filter(({ status }) => {
      return compareResourceVersions(status.ticket ?? '0', ticket) > 0
    })
    return later.filter(({ status }) => status.dataVolumeUID !== undefined).length
  }
  await observer.until(`${LATE} to wait for its Secret while six others pass it`, signal, () => {
    return observer.image(LATE)?.reason === 'SecretMissing' && passed() >= 6
  })
  const secret = await create(client, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: LATE_SECRET },
    data: { accessKeyId: btoa('demo'), secretKey: btoa('demo') },
  })
  say(`created the Secret that ${LATE} waits for; ${passed()} images with later tickets have passed it`)
  return secret.metadata.resourceVersion ?? '0'
}

async function deleteOne({ client, observer, signal, say }: Stage): Promise<Acts['deletion']> {
  const download = () => {
    const image = observer.image(DELETED)
    return image === undefined ? undefined : observer.downloadOf(image)
  }
  await observer.until(`${DELETED} to be downloaded to a quarter`, signal, () => (download()?.progress ?? 0) >= 0.25)
  const uid = observer.image(DELETED)?.metadata.uid ?? ''
  const progress = Math.round((download()?.progress ?? 0) * 100)
  await client.delete(IMAGE, { namespace: NAMESPACE, name: DELETED }, { uid, propagationPolicy: 'Background' })
  say(`deleted ${DELETED} at ${progress} % of its download`)
  const isHolding = () => observer.ledger.holders.some((holder) => holder.uid === uid)
  await observer.until(`${DELETED} to be gone and its slot free`, signal, () => {
    return observer.image(DELETED) === undefined && !isHolding()
  })
  return { uid, importersLeft: await importersOf(client, uid) }
}

/** Deletes the image while its virtual machine runs, and then the machine. */
async function deleteInUse({ client, observer, signal, say, pause }: Stage): Promise<Acts['machine']> {
  await observer.until(`VirtualMachine ${MACHINE_NAME} to be Ready`, signal, () => {
    return observer.machine(MACHINE_NAME)?.status.phase === 'Ready'
  })
  say(`VirtualMachine ${MACHINE_NAME} is Ready: it runs on a disk that was cloned from ${TEMPLATED}`)
  await pause(signal)
  const uid = observer.machine(MACHINE_NAME)?.metadata.uid ?? ''
  await client.delete(IMAGE, { namespace: NAMESPACE, name: TEMPLATED }, { propagationPolicy: 'Background' })
  say(`deleted ${TEMPLATED} while VirtualMachine ${MACHINE_NAME} has a disk of it`)
  const image = () => observer.image(TEMPLATED)
  await observer.until(`the deletion of ${TEMPLATED} to wait for VirtualMachine ${MACHINE_NAME}`, signal, () => {
    return image() === undefined || image()?.blocked !== undefined
  })
  await client.delete(MACHINE, { namespace: NAMESPACE, name: MACHINE_NAME }, { uid, propagationPolicy: 'Background' })
  say(`deleted VirtualMachine ${MACHINE_NAME}, the last user of ${TEMPLATED}`)
  await observer.until(`VirtualMachine ${MACHINE_NAME} and ${TEMPLATED} to be gone`, signal, () => {
    return observer.machine(MACHINE_NAME) === undefined && image() === undefined
  })
  return { left: await childrenOf(client, uid) }
}

/** A pipeline waits until the images of a release are ready. Then another one releases the same images and has nothing to wait for. */
async function releaseTwice({ client, observer, cast, signal, say }: Stage): Promise<void> {
  const isSettled = (name: string) => observer.dataSync(name)?.isSettled === true
  await observer.until(`DataSync ${RELEASE} to be Settled`, signal, () => isSettled(RELEASE))
  const released = releasedIn(cast)
  const [release] = released
  if (release === undefined) return
  await create(client, { ...release.manifest, metadata: { name: SAME_RELEASE } })
  say(`created DataSync ${SAME_RELEASE}, another one of the same workspace and version`)
  await observer.until(`DataSync ${SAME_RELEASE} to be Settled`, signal, () => isSettled(SAME_RELEASE))
  const isNamed = ({ name }: Performer) => observer.image(name)?.status.references?.count === 2
  await observer.until(`the images of ${RELEASE} to tell that two refer to them`, signal, () => released.every(isNamed))
}

/** A live read, as below. */
async function childrenOf(client: KubeClient, machineUid: string): Promise<string[]> {
  const selection = { namespace: NAMESPACE, labelSelector: `${LABELS.vmUid}=${machineUid}` }
  const lists = [KUBEVIRT_VIRTUAL_MACHINE, DATA_VOLUME, SECRET].map(async (type) => {
    const { items } = await client.list(type, selection)
    return items.map(({ metadata }) => `${type.kind} ${metadata.name}`)
  })
  return (await Promise.all(lists)).flat()
}

/** Counts the importers of an image that have not ended. A live read: an observer could have missed what still exists. */
async function importersOf(client: KubeClient, uid: string): Promise<number> {
  const { items } = await client.list(POD, { namespace: NAMESPACE, labelSelector: `${LABELS.imageUid}=${uid}` })
  return items.filter((pod) => !podFact(pod).hasEnded).length
}

/** Returns the images that wait only for a slot, the next one first. */
export function waitingImages(observer: Observer) {
  return [...observer.images.values()]
    .filter(({ status, reason }) => status.phase === 'Queued' && (reason === 'Queued' || reason === 'Paused'))
    .toSorted((a, b) => compareResourceVersions(a.status.ticket ?? '0', b.status.ticket ?? '0'))
}

async function create(client: KubeClient, manifest: Manifest): Promise<KubeObject> {
  const type = resourceTypeOf(manifest)
  const { metadata } = manifest
  const placed = type.namespaced ? { ...manifest, metadata: { namespace: NAMESPACE, ...metadata } } : manifest
  return await client.create(type, placed)
}
