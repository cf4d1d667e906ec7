import { vmDiskImage } from '@open-terrain/constructs/operator'
import { parsedDataSyncSpec, viewDataSync } from '../../operator/controllers/data-sync/caches.ts'
import { planDataSync } from '../../operator/controllers/data-sync/decide/plan.ts'
import { wishesOf } from '../../operator/controllers/data-sync/decide/wishes.ts'
import { groupOf, type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import type { Written } from './manifest.ts'
import { planFreshImage } from './plan-image.ts'
import { planFreshLab } from './plan-lab.ts'
import { planFreshMachine } from './plan-machine.ts'
import { type Assumptions, idOfPlanned, type Planned, stored } from './planned.ts'

/**
 * Plans objects of ours, and all that follows from them: the machines of a lab, and the images of both. Each object is in the result once.
 * @param uidOf returns the uid of an object of ours, if it is stored somewhere
 */
export async function planManifest(
  written: readonly Written[],
  assumptions: Assumptions,
  uidOf: (object: KubeObject) => Promise<string | undefined> = async () => undefined,
): Promise<Planned> {
  const inFile = written.filter(({ kind }) => kind === vmDiskImage.kind)
  const sizes = inFile.map((image) => [keyOf(image.metadata), sizeOf(image)] as const)
  const known = { ...assumptions, images: new Map([...sizes, ...assumptions.images]) }
  const objects = new Map<string, KubeObject>()
  const remarks = new Set<string>()
  const left: KubeObject[] = [...written]
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const id = idOfPlanned(next)
    if (objects.has(id)) continue
    const uid = isOurs(next) ? await uidOf(next) : undefined
    const object = uid === undefined ? next : { ...next, metadata: { ...next.metadata, uid } }
    objects.set(id, object)
    const planned = await planOne(object, known)
    for (const remark of planned.remarks) remarks.add(remark)
    // What follows from it comes right after it.
    left.unshift(...planned.objects)
  }
  return { objects: [...objects.values()], remarks: [...remarks] }
}

async function planOne(object: KubeObject, assumptions: Assumptions): Promise<Planned> {
  if (!isOurs(object)) return { objects: [], remarks: [] }
  if (object.kind === 'VMDiskImage') return planFreshImage(object, assumptions)
  if (object.kind === 'VirtualMachine') return await planFreshMachine(object, assumptions)
  if (object.kind === 'DataSync') return planFreshDataSync(object, assumptions)
  if (object.kind === 'Workspace') return planFreshLab(object, assumptions)
  const { namespace, name } = object.metadata
  return { objects: [], remarks: [`${object.kind} ${namespace}/${name} is of what runs: what it makes is not planned`] }
}

function planFreshDataSync(object: KubeObject, { policy, now }: Assumptions): Planned {
  const dataSync = viewDataSync(stored(object, { status: {} }))
  const spec = parsedDataSyncSpec(dataSync)
  const images = spec.ok ? wishesOf(dataSync, spec.spec).map((wish) => ({ wish, image: undefined, others: [] })) : []
  const { apply } = planDataSync(
    { dataSync, spec, namespaceTerminating: false, images, refusal: undefined, policy },
    now,
  )
  return { objects: apply, remarks: [] }
}

function sizeOf({ spec }: Written): string | undefined {
  return (spec as { readonly diskSize?: string }).diskSize
}

function isOurs({ apiVersion }: KubeObject): boolean {
  return groupOf(apiVersion) === vmDiskImage.group
}
