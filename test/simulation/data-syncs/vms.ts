import { ANNOTATIONS, type DataSyncSpecInput } from '@open-terrain/constructs'
import { dataSyncImageName, type ImageTriple } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../operator/kube/kube-object.ts'
import type { SourceNature } from '../schedule.ts'
import { urlOf } from '../sources.ts'
import type { DataSyncPlan } from './data-sync-schedule.ts'

// What the numbers of a schedule mean.

export const WORKSPACES = ['035', '1'] as const
export const VERSIONS = [undefined, '1.0.0', '2'] as const
/** In workspace 1, vm `2-3` without a version and vm `3` of version 2 would have the same name if the parts were only joined. */
export const VMS = ['attacker', 'web-server', '2-3', '3'] as const

/** How downloads of each source end, and how long they take. */
export const SOURCES: readonly { readonly nature: SourceNature; readonly downloadSeconds: number }[] = [
  { nature: 'good', downloadSeconds: 1 },
  { nature: 'good', downloadSeconds: 8 },
  { nature: 'good', downloadSeconds: 20 },
  { nature: 'broken', downloadSeconds: 2 },
  { nature: 'missing', downloadSeconds: 0 },
]

export function pick<T>(from: readonly T[], number: number): T {
  return from[number % from.length] as T
}

export function triplesOf({ workspaceId, version, vms }: DataSyncSpecInput): ImageTriple[] {
  return vms.map(({ name }) => ({ workspaceId, version, vm: name }))
}

/** The design's rule for names: the parts joined, if that is unambiguous. Returns undefined if the name ends in a hash. */
export function plainName({ workspaceId, version, vm }: ImageTriple): string | undefined {
  if (version === undefined && /^v?[0-9][^-]*-/.test(vm)) return undefined
  return [workspaceId, version, vm].filter((part) => part !== undefined).join('-')
}

/** Returns which vm of which workspace the annotations of an image name. */
export function tripleIn({ metadata: { annotations = {} } }: KubeObject): ImageTriple | undefined {
  const { [ANNOTATIONS.workspaceId]: workspaceId, [ANNOTATIONS.workspaceVm]: vm } = annotations
  if (workspaceId === undefined || vm === undefined) return undefined
  return { workspaceId, version: annotations[ANNOTATIONS.workspaceVersion], vm }
}

export function isFor(triple: ImageTriple, image: KubeObject): boolean {
  const its = tripleIn(image)
  return its !== undefined && textOf(its) === textOf(triple)
}

export function textOf({ workspaceId, version, vm }: ImageTriple): string {
  return JSON.stringify([workspaceId, version ?? null, vm])
}

export function specOf(plan: DataSyncPlan, namespace: string): DataSyncSpecInput {
  const workspaceId = pick(WORKSPACES, plan.workspace)
  const version = pick(VERSIONS, plan.version)
  const spec = {
    workspaceId,
    ...(version !== undefined && { version }),
    sourceType: 'http' as const,
    diskSize: '16Mi',
    storageClass: 'storage-0',
    ...(plan.snapshotClass !== undefined && { snapshotClass: `snapshots-${plan.snapshotClass}` }),
  }
  const vms = plan.vms.map(({ vm, source }) => vmOf({ workspaceId, version, vm: pick(VMS, vm) }, source, namespace))
  return { ...spec, vms: vms.filter(({ name }, at) => vms.findIndex((other) => other.name === name) === at) }
}

/** Returns the key of the image of one of its vms, and the spec that the DataSync wants at first. */
export function firstImageOf(plan: DataSyncPlan, vm: number, namespace: string) {
  const { workspaceId, version, vms, ...shared } = specOf(plan, namespace)
  const { name, ...own } = pick(vms, vm)
  const key = { namespace, name: dataSyncImageName({ workspaceId, version, vm: name }) }
  return { key, spec: { ...shared, ...own } }
}

type Vm = DataSyncSpecInput['vms'][number]

/** Different images have different URLs, so that a transfer identifies its image. */
export function vmOf(triple: ImageTriple, source: number, namespace: string): Vm {
  const { workspaceId, version = 'none', vm } = triple
  const title = [namespace, workspaceId, version, vm].join('/')
  return { name: vm, url: urlOf(title, source % SOURCES.length, pick(SOURCES, source)) }
}

/** What a DataSync wants of an image, by the design. All else is left to people. */
export const FIELDS: readonly string[] = [
  'name',
  'url',
  'sourceType',
  'diskSize',
  'storageClass',
  'snapshotClass',
  'secretRef',
  'certConfigMap',
  'checksum',
]

/** Returns what a vm wants of its image, as text for comparison: its own fields, and those that all vms share. */
export function wishOf(spec: DataSyncSpecInput, vm: string): string {
  return fieldsOf({ ...spec, ...spec.vms.find(({ name }) => name === vm) })
}

export function fieldsOf(spec: object): string {
  const fields = spec as Readonly<Record<string, unknown>>
  return JSON.stringify(FIELDS.map((field) => fields[field] ?? null))
}
