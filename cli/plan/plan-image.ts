import { FINALIZERS } from '@open-terrain/constructs/operator'
import { NOTHING_SEEN } from '../../operator/cluster/import-facts.ts'
import { viewClaim, viewDataSource, viewDataVolume, viewSnapshot } from '../../operator/cluster/views.ts'
import { renderDownload } from '../../operator/controllers/vm-disk-image/admission/downloads.ts'
import type { Start } from '../../operator/controllers/vm-disk-image/decide/image-plan.ts'
import { planImage } from '../../operator/controllers/vm-disk-image/decide/plan.ts'
import { resolveSpec } from '../../operator/controllers/vm-disk-image/decide/target.ts'
import type { Holder, ImageWorld, Lookup } from '../../operator/controllers/vm-disk-image/world.ts'
import { type ImageView, viewImage } from '../../operator/images/image-view.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { type Assumptions, idOfPlanned, type Planned, ROUNDS_MAX, stored } from './planned.ts'

/** All that an image can name is there, and no name is taken. */
const EVERYTHING_THERE: Lookup = {
  secret: { isPullSecret: false, keys: { accessKeyId: 'text', secretKey: 'text', 'credentials.json': 'JSON' } },
  certificates: 'named',
  droppedFields: new Set(),
  hasStorageClass: true,
  hasEmptyProfile: false,
  hasSnapshotClass: true,
  driversApart: undefined,
  quotas: [],
  foreignVolume: undefined,
  foreignSlotVolume: undefined,
  leftoverClaim: 'none',
  leftoverImporter: undefined,
  hasForeignSnapshot: false,
}

/** Plans an image until it is published, in a cluster that has all that it names, and in which its download succeeds. */
export function planFreshImage(object: KubeObject, { policy, now }: Assumptions): Planned {
  const image = viewImage(stored(object))
  const metadata = { ...image.metadata, finalizers: [FINALIZERS.vmDiskImage] }
  let world = freshWorld({ ...image, metadata, status: {} }, policy)
  const objects: KubeObject[] = []
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const plan = planImage(world, now)
    world = { ...world, image: { ...world.image, status: plan.status } }
    world = { ...world, spec: resolveSpec(world.image, policy) }
    const download = plan.start !== undefined && world.slot !== undefined && world.dataVolumes.length === 0
    if (download) objects.push(renderDownload(plan.start))
    world = admitted(world, plan.start)
    const made = plan.apply.filter((child) => !objects.some((one) => idOfPlanned(one) === idOfPlanned(child)))
    objects.push(...made)
    world = made.reduce(withChild, world)
    if (plan.status.artifact !== undefined && world.dataSource !== undefined) break
  }
  const { phase, message = '' } = world.image.status
  const { namespace, name } = object.metadata
  const remarks =
    world.image.status.artifact === undefined ? [`VMDiskImage ${namespace}/${name} is ${phase}: ${message}`] : []
  return { objects, remarks }
}

/** Returns the image as if it were Ready. @param size of its disk; undefined: that of its spec */
export function readyImage(object: KubeObject, size: string | undefined, policy: Assumptions['policy']): ImageView {
  const image = viewImage(stored(object, { status: {} }))
  const target = targetOf(image, policy)
  const { revision = '00000000', snapshotName: name = object.metadata.name } = target ?? {}
  const restoreSize = size ?? target?.diskSize
  const artifact = {
    kind: 'VolumeSnapshot',
    name,
    revision,
    ...(restoreSize !== undefined && { restoreSize }),
  } as const
  return { ...image, status: { phase: 'Succeeded', artifact } }
}

function targetOf(image: ImageView, policy: Assumptions['policy']) {
  const spec = resolveSpec(image, policy)
  return spec.ok ? spec.target : undefined
}

function freshWorld(image: ImageView, policy: Assumptions['policy']): ImageWorld {
  return {
    image,
    spec: resolveSpec(image, policy),
    policy,
    namespaceTerminating: false,
    surroundings: { hasDataVolumes: true, hasSnapshots: true, hasDataSources: true },
    lookup: EVERYTHING_THERE,
    slot: undefined,
    isSlotKnown: true,
    // A pause of downloads holds all of them back, and changes nothing of what they make.
    limit: Math.max(1, policy.concurrency),
    queuePosition: 1,
    refusal: undefined,
    isCreateFailing: false,
    slotWaitsFor: undefined,
    dataVolumes: [],
    snapshots: [],
    claims: [],
    dataSource: undefined,
    observation: NOTHING_SEEN,
    needless: new Map(),
    isCdiAway: false,
    // Of an image that nothing refers to, the operator makes the same.
    references: { count: 1, names: [], users: [] },
  }
}

/** Takes a slot for a download that may have one, and then lets it succeed. */
function admitted(world: ImageWorld, start: Start | undefined): ImageWorld {
  if (start === undefined) return world
  if (world.slot === undefined) return start.admissible ? { ...world, slot: slotOf(start) } : world
  return world.dataVolumes.length === 0 ? withDownload(world, renderDownload(start)) : world
}

function slotOf({ uid, namespace, name, revision, attempt }: Start): Holder {
  return { uid, namespace, name, revision, attempt, claimant: 'ot' }
}

function withDownload(world: ImageWorld, dataVolume: KubeObject): ImageWorld {
  const conditions = [
    { type: 'Bound', status: 'True', reason: 'Bound', message: '' },
    { type: 'Running', status: 'False', reason: 'Completed', message: '' },
  ]
  const made = stored(dataVolume, { status: { phase: 'Succeeded', progress: '100.0%', conditions } })
  const owner = {
    apiVersion: made.apiVersion,
    kind: made.kind,
    name: made.metadata.name,
    uid: made.metadata.uid ?? '',
    controller: true,
  }
  const { namespace = '', name, labels = {} } = made.metadata
  const metadata = { namespace, name, labels, ownerReferences: [owner] }
  const claim = stored({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata }, { status: { phase: 'Bound' } })
  return {
    ...world,
    // It is free again once the download has ended.
    slot: undefined,
    dataVolumes: [viewDataVolume(made)],
    claims: [viewClaim(claim)],
    observation: { ...NOTHING_SEEN, dataVolumeUid: made.metadata.uid },
  }
}

function withChild(world: ImageWorld, child: KubeObject): ImageWorld {
  if (child.kind === 'DataSource') return { ...world, dataSource: viewDataSource(stored(child)) }
  const { spec } = world
  const restoreSize = spec.ok ? spec.target.diskSize : undefined
  const ready = stored(child, { status: { readyToUse: true, ...(restoreSize !== undefined && { restoreSize }) } })
  return { ...world, snapshots: [...world.snapshots, viewSnapshot(ready)] }
}
