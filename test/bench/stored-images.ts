import {
  type Artifact,
  revisionOf,
  type VMDiskImageSpec,
  type VMDiskImageStatus,
} from '@open-terrain/constructs/operator'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { budgetKeyOf } from '../../operator/images/decide/image-content.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { inParallel } from '../harness/in-parallel.ts'
import type { Stage } from './stage.ts'

const MODEL = 'model-image'

interface StoredImage extends KubeObject {
  readonly spec: VMDiskImageSpec
  readonly status: VMDiskImageStatus & { readonly artifact: Artifact }
}

/** One finished image and its children, as an operator and the simulators left them. */
interface Model {
  readonly image: StoredImage
  readonly dataVolume: KubeObject
  readonly claim: KubeObject
  readonly snapshot: KubeObject
  readonly dataSource: KubeObject
}

/**
 * Stores finished images with all their children, without a download for each. The first one is synced; the others are
 * copies of its objects, with their own names, uids, revisions and tickets. Everything that was started for this has ended
 * when it resolves.
 */
export async function storeFinishedImages(stage: Stage, count: number): Promise<void> {
  const model = await makeModel(stage)
  await inParallel(count - 1, (at) => copy(stage, model, at + 1))
}

async function makeModel(stage: Stage): Promise<Model> {
  {
    await using observer = await stage.observe()
    await using _simulators = await stage.startSimulators({ durationMs: 100 })
    await using _leader = await stage.startLeader('model')
    await stage.client.create(IMAGE, stage.image(MODEL))
    await observer.until('the model is synced', () => observer.countIn('Succeeded') === 1)
  }
  const { client } = stage
  const namespace = stage.namespaces[0] ?? ''
  const image = await client.get<StoredImage>(IMAGE, { namespace, name: MODEL })
  const { name } = image.status.artifact
  const [dataVolume, claim, snapshot, dataSource] = await Promise.all([
    client.get(DATA_VOLUME, { namespace, name }),
    client.get(PERSISTENT_VOLUME_CLAIM, { namespace, name }),
    client.get(VOLUME_SNAPSHOT, { namespace, name }),
    client.get(DATA_SOURCE, { namespace, name: MODEL }),
  ])
  return { image, dataVolume, claim, snapshot, dataSource }
}

async function copy(stage: Stage, model: Model, at: number): Promise<void> {
  const { client } = stage
  const name = `stored-${at}`
  const wanted = stage.image(name, at) as StoredImage
  const revision = revisionOf(wanted.spec)
  const { image, dataVolume, claim, snapshot, dataSource } = model
  const texts = new Map([
    [`"namespace":"${image.metadata.namespace}"`, `"namespace":"${wanted.metadata.namespace}"`],
    [image.spec.url ?? '', wanted.spec.url ?? ''],
    [MODEL, name],
    [image.status.budget?.key ?? '', budgetKeyOf(revision, {}, undefined)],
    [image.status.revision ?? '', revision],
  ])
  const createdImage = await client.create(IMAGE, rewritten(image, texts))
  const { uid = '', resourceVersion = '' } = createdImage.metadata
  texts.set(image.metadata.uid ?? '', uid)
  texts.set(`"ticket":"${image.status.ticket}"`, `"ticket":"${resourceVersion}"`)
  const createdVolume = await store(client, DATA_VOLUME, rewritten(dataVolume, texts))
  texts.set(dataVolume.metadata.uid ?? '', createdVolume.metadata.uid ?? '')
  await store(client, PERSISTENT_VOLUME_CLAIM, rewritten(claim, texts))
  await store(client, VOLUME_SNAPSHOT, rewritten(snapshot, texts))
  await client.create(DATA_SOURCE, rewritten(dataSource, texts))
  await client.replaceStatus(IMAGE, { ...rewritten(image, texts), metadata: createdImage.metadata })
}

/** Creates an object, and then writes its status. */
async function store(client: KubeClient, type: ResourceType, object: KubeObject): Promise<KubeObject> {
  const created = await client.create(type, object)
  return await client.replaceStatus(type, { ...object, metadata: created.metadata })
}

/** Returns the object with texts replaced, longest first, and without the metadata that the API server writes. */
function rewritten<T extends KubeObject>(object: T, texts: ReadonlyMap<string, string>): T {
  let json = JSON.stringify(object)
  for (const [from, to] of [...texts].toSorted(([a], [b]) => b.length - a.length)) json = json.replaceAll(from, to)
  const copied = JSON.parse(json) as T
  const { name, namespace, labels, annotations, finalizers, ownerReferences } = copied.metadata
  const metadata = { name, namespace, labels, annotations, finalizers, ownerReferences }
  return { ...copied, metadata } as T
}
