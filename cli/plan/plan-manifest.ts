import { vmDiskImage } from '@open-terrain/constructs/operator'
import { parsedDataSyncSpec, viewDataSync } from '../../operator/controllers/data-sync/caches.ts'
import { planDataSync } from '../../operator/controllers/data-sync/decide/plan.ts'
import { wishesOf } from '../../operator/controllers/data-sync/decide/wishes.ts'
import { groupOf, type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import type { Written } from './manifest.ts'
import { planFreshImage } from './plan-image.ts'
import { planFreshLab } from './plan-lab.ts'
import { planFreshMachine } from './plan-machine.ts'
import { type Assumptions, idOfPlanned, type Planned, type Present, type PresentCluster, stored } from './planned.ts'

/**
 * Plans objects of ours, and all that follows from them: the machines of a lab, and the images of both. Each object is in the result once.
 * @param cluster undefined: one that has nothing of it yet
 */
export async function planManifest(
  written: readonly Written[],
  assumptions: Assumptions,
  cluster?: PresentCluster,
): Promise<Planned> {
  const inFile = written.filter(({ kind }) => kind === vmDiskImage.kind)
  const sizes = inFile.map((image) => [keyOf(image.metadata), sizeOf(image)] as const)
  const known = { ...assumptions, images: new Map([...sizes, ...assumptions.images]) }
  const objects = new Map<string, KubeObject>()
  const remarks = new Set<string>()
  const staying: string[] = []
  const left: KubeObject[] = [...written]
  for (let next = left.shift(); next !== undefined; next = left.shift()) {
    const id = idOfPlanned(next)
    if (objects.has(id)) continue
    const present = cluster && isOurs(next) ? await presentOf(next, cluster) : undefined
    const uid = present?.live.metadata.uid
    objects.set(id, uid === undefined ? next : { ...next, metadata: { ...next.metadata, uid } })
    const planned = await planOne(present === undefined ? next : asKept(next, present.live), known, present)
    for (const remark of planned.remarks) remarks.add(remark)
    staying.push(...(planned.staying ?? []))
    // What follows from it comes right after it.
    left.unshift(...planned.objects)
  }
  return { objects: [...objects.values()], remarks: [...remarks], staying }
}

async function presentOf(object: KubeObject, cluster: PresentCluster): Promise<Present | undefined> {
  const live = await cluster.liveOf(object)
  return live && { live, children: await cluster.childrenOf(live) }
}

/** Returns what is written with what the operator, and people by their requests, have told of the stored one: which claims are restored, and what it was asked for. */
function asKept<T extends KubeObject>(written: T, { metadata: { uid, annotations = {} } }: KubeObject): T {
  const ours = Object.entries(annotations).filter(([name]) => name.startsWith(`${vmDiskImage.group}/`))
  const kept = { ...Object.fromEntries(ours), ...written.metadata.annotations }
  return { ...written, metadata: { ...written.metadata, ...(uid !== undefined && { uid }), annotations: kept } }
}

async function planOne(object: KubeObject, assumptions: Assumptions, present: Present | undefined): Promise<Planned> {
  if (!isOurs(object)) return { objects: [], remarks: [] }
  if (object.kind === 'VMDiskImage') return planFreshImage(object, assumptions)
  if (object.kind === 'VirtualMachine') return await planFreshMachine(object, assumptions, present)
  if (object.kind === 'DataSync') return planFreshDataSync(object, assumptions)
  if (object.kind === 'Workspace') return planFreshLab(object, assumptions, present)
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
