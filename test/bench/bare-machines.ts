import {
  type Artifact,
  cloudInitFingerprint,
  cloudInitHash,
  renderCloneDataVolume,
  renderCloudInit,
  renderCloudInitSecret,
  renderKubeVirtVirtualMachine,
  uuidFrom,
} from '@open-terrain/constructs/operator'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE, SECRET } from '../../operator/kube/resource-types.ts'
import { inParallel } from '../harness/in-parallel.ts'
import { stopwatch } from './stopwatch.ts'

interface ReadyImage extends KubeObject {
  readonly status: { readonly artifact: Artifact }
}

interface KubeVirtMachine extends KubeObject {
  readonly status?: { readonly ready?: boolean }
}

const PREFIX = 'bare-'

/**
 * Measures how long CDI and KubeVirt alone take for machines: a bare client creates all objects that the operator would create for each
 * machine, without waiting in between. No operator may run at the same time. Uses the images of the cluster, which must be Succeeded, in
 * turn. Resolves with the seconds until all guests run.
 */
export async function runBareMachines(client: KubeClient, count: number, timeoutMs: number): Promise<number> {
  const { items } = await client.list<ReadyImage>(IMAGE)
  const machines = Array.from({ length: count }, (_, at) => {
    const image = items[at % items.length]
    if (image === undefined) throw new Error('there is no image to make machines of')
    return objectsOf(image, `${PREFIX}${at}`)
  })
  const passed = stopwatch()
  await Promise.all([
    inParallel(count, async (at) => {
      for (const [type, object] of machines[at] ?? []) await client.create(type, object)
    }),
    untilReady(client, count, AbortSignal.timeout(timeoutMs)),
  ])
  return passed()
}

/** The objects that the operator creates for a machine, in the same order. */
function objectsOf(image: ReadyImage, name: string): (readonly [ResourceType, KubeObject])[] {
  const { namespace = '' } = image.metadata
  const vm = { namespace, name, uid: crypto.randomUUID() }
  const data = renderCloudInit({ hostname: name })
  const machine = renderKubeVirtVirtualMachine({
    vm,
    hostname: name,
    firmwareUuid: uuidFrom([vm.uid]),
    cpu: '1',
    memory: '1Gi',
    cloudInit: { fingerprint: cloudInitFingerprint(vm.uid, cloudInitHash(data)), hasNetworkData: false },
  })
  const clone = renderCloneDataVolume({
    vm,
    artifact: image.status.artifact,
    imageNamespace: namespace,
    storageClass: 'fast',
  })
  return [
    [SECRET, withoutOwner(renderCloudInitSecret({ vm, data }))],
    [DATA_VOLUME, withoutOwner(clone)],
    [KUBEVIRT_VIRTUAL_MACHINE, withoutOwner(machine)],
  ]
}

/** The owner would be a VirtualMachine of Open Terrain that does not exist, so the garbage collector would delete the object. */
function withoutOwner({ metadata, ...rest }: object & Pick<KubeObject, 'metadata'>): KubeObject {
  const { ownerReferences: _owner, ...others } = metadata
  return { ...rest, metadata: others } as KubeObject
}

async function untilReady(client: KubeClient, count: number, signal: AbortSignal): Promise<void> {
  const ready = new Set<string>()
  for await (const event of client.watch<KubeVirtMachine>(KUBEVIRT_VIRTUAL_MACHINE, { signal })) {
    if (event.type === 'BOOKMARK') continue
    const { metadata, status } = event.object
    if (metadata.name.startsWith(PREFIX) && status?.ready === true) ready.add(metadata.uid ?? '')
    if (ready.size === count) return
  }
  throw new Error(`of ${count} machines that a bare client created, ${ready.size} ran in time`)
}
