import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import {
  cloudInitFingerprint,
  cloudInitHash,
  type DataSyncSpec,
  type DiskSource,
  imageSpecOf,
  parseDataSyncSpec,
  parseVirtualMachineSpec,
  parseVMDiskImageSpec,
  parseWorkspaceSnapshotSpec,
  parseWorkspaceSpec,
  RESOURCES,
  renderCloudInit,
  renderCloudInitSecret,
  renderDataSyncImage,
  renderDataVolume,
  renderKubeVirtVirtualMachine,
  type VirtualMachineSpec,
  type VMDiskImageSpec,
  type WorkspaceSpec,
  withMacAddresses,
} from '@open-terrain/constructs/operator'
import { renderCrds } from '@open-terrain/constructs/platform'
import { describe, expect, it } from 'vitest'
import { objectsOf, renderAll } from '../prepared/children/rendered-workspace.ts'
import { renderedFile, type StoredObject, storedReleases, UNRELEASED } from './stored-releases.ts'

const CRDS = renderCrds().map((crd) => crd['spec'] as CrdSpec)
const RELEASES = storedReleases()
const PARSERS: Readonly<Record<string, (raw: unknown) => { readonly ok: boolean; readonly spec?: object }>> = {
  VMDiskImage: parseVMDiskImageSpec,
  VirtualMachine: parseVirtualMachineSpec,
  DataSync: parseDataSyncSpec,
  Workspace: parseWorkspaceSpec,
  WorkspaceSnapshot: parseWorkspaceSnapshotSpec,
}

const nameOf = ({ kind, metadata }: StoredObject) => `${kind} ${metadata.name}`

describe.each([...RELEASES])('what the release %s stored', (release, objects) => {
  it('is of every kind, with a least object of each', () => {
    const least = objects.filter(({ metadata }) => metadata.name === 'least').map(({ kind }) => kind)
    expect(least.sort()).toEqual(RESOURCES.map(({ kind }) => kind).sort())
  })

  it('is still accepted, and no field of it is lost', () => {
    const refused = objects.flatMap((object) => [...specProblems(object), ...statusProblems(object)])
    expect(refused).toEqual([])
  })

  it('is rendered as it was', async () => {
    const lines = objects.flatMap((object) => childrenOf(object).map((child) => `${nameOf(object)}: ${lineOf(child)}`))
    expect(lines.length).toBeGreaterThan(500)
    const text = `${lines.join('\n')}\n`
    // What is released never changes, not even by `vitest --update`.
    if (release === UNRELEASED) await expect(text).toMatchFileSnapshot(renderedFile(release))
    else expect(lines).toEqual(readFileSync(renderedFile(release), 'utf8').trim().split('\n'))
  })
})

describe('what the next release stores', () => {
  it.each(RESOURCES.map(({ kind }) => kind))('has every field of a %s', (kind) => {
    const own = RELEASES.get(UNRELEASED)?.filter((object) => object.kind === kind) ?? []
    for (const part of ['spec', 'status'] as const) {
      const fields = schemaOf(kind, part)
      const present = new Set(own.flatMap((object) => pathsIn(fields, object[part])))
      expect(
        leavesOf(fields).filter((path) => !present.has(path)),
        part,
      ).toEqual([])
    }
  })
})

function resourceOf({ kind }: StoredObject): (typeof RESOURCES)[number] {
  const resource = RESOURCES.find((one) => one.kind === kind)
  if (resource === undefined) throw new Error(`there is no kind ${kind} any more`)
  return resource
}

function specProblems(object: StoredObject): string[] {
  const parsed = PARSERS[object.kind]?.(object.spec)
  if (parsed?.spec === undefined) return [`${nameOf(object)}: ${JSON.stringify(parsed)}`]
  const fields = schemaOf(object.kind, 'spec')
  // Quantities may be stored as numbers, and are read as texts.
  const [stored, read] = [object.spec, parsed.spec].map((spec) => pathsIn(fields, spec).sort())
  return isDeepStrictEqual(read, stored) ? [] : [`${nameOf(object)}: a field of its spec is lost`]
}

function statusProblems(object: StoredObject): string[] {
  const { status = {} } = object
  // What has just been created has no phase yet.
  const read = resourceOf(object).status.partial().safeParse(status)
  if (!read.success) return [`${nameOf(object)}: ${read.error.message}`]
  return isDeepStrictEqual(read.data, status) ? [] : [`${nameOf(object)}: a field of its status is lost`]
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
}

interface CrdSpec {
  readonly names: { readonly kind: string }
  readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }]
}

/** The schema of the spec or the status of a kind, as it is installed. */
function schemaOf(kind: string, part: 'spec' | 'status'): Schema {
  const crd = CRDS.find(({ names }) => names.kind === kind)
  return crd?.versions[0].schema.openAPIV3Schema.properties?.[part] ?? {}
}

/** Paths of the fields that have no fields of their own. */
function leavesOf(schema: Schema, path = ''): string[] {
  const { properties, items, additionalProperties } = schema
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, one]) => leavesOf(one, `${path}.${name}`))
  if (items !== undefined) return leavesOf(items as Schema, `${path}[]`)
  return typeof additionalProperties === 'object' ? leavesOf(additionalProperties as Schema, `${path}{}`) : [path]
}

/** Those that a value has. */
function pathsIn(schema: Schema, value: unknown, path = ''): string[] {
  if (value === undefined || value === null) return []
  const { properties, items, additionalProperties } = schema
  if (properties !== undefined)
    return Object.entries(value).flatMap(([name, one]) => pathsIn(properties[name] ?? {}, one, `${path}.${name}`))
  if (items !== undefined) return (value as unknown[]).flatMap((one) => pathsIn(items as Schema, one, `${path}[]`))
  if (typeof additionalProperties !== 'object') return [path]
  return Object.values(value).flatMap((one) => pathsIn(additionalProperties as Schema, one, `${path}{}`))
}

function lineOf(child: object): string {
  const { kind, metadata } = child as StoredObject
  return `${kind} ${metadata.name} ${createHash('sha256').update(JSON.stringify(child)).digest('hex').slice(0, 16)}`
}

/**
 * What the operator renders of an object, with the policy and figures of no cluster. A rendering that is replaced stays behind a property
 * (docs/adr/0015-what-an-earlier-version-made-stays.md): a release that rendered in that way is rendered so here.
 */
function childrenOf({ kind, metadata, spec: stored }: StoredObject): object[] {
  const { name, namespace = '', uid = '' } = metadata
  const parsed = PARSERS[kind]?.(stored)
  if (parsed?.spec === undefined) throw new Error(`${kind} ${name} cannot be read`)
  const { spec } = parsed
  switch (kind) {
    case 'Workspace':
      return childrenOfWorkspace(name, uid, spec as WorkspaceSpec)
    case 'VirtualMachine':
      return childrenOfMachine({ namespace, name, uid }, spec as VirtualMachineSpec)
    case 'DataSync':
      return childrenOfDataSync(namespace, spec as DataSyncSpec)
    case 'VMDiskImage':
      return childrenOfImage({ namespace, name, uid }, spec as VMDiskImageSpec)
    default:
      return []
  }
}

function childrenOfWorkspace(name: string, uid: string, spec: WorkspaceSpec): object[] {
  return (['bridge', 'ovn-layer2'] as const).flatMap((driver) => {
    const children = objectsOf(renderAll({ workspace: { name, uid }, spec }, driver, '/srv/labs'))
    const machines = children.filter((one) => one.kind === 'VirtualMachine') as StoredObject[]
    const ofMachines = machines.flatMap((machine) =>
      childrenOf({ ...machine, metadata: { ...machine.metadata, uid: machine.metadata.name } }),
    )
    return [...children, ...ofMachines]
  })
}

interface MachineRef {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

function childrenOfMachine(vm: MachineRef, spec: VirtualMachineSpec): object[] {
  const { interfaces: wanted = [], resources, nodeGroup, os } = spec
  const interfaces = withMacAddresses(vm.uid, vm.name, wanted)
  const users = spec.users?.map(({ passwordSecretRef, ...user }) =>
    passwordSecretRef === undefined ? user : { ...user, plain_text_passwd: 'password' },
  )
  const hostname = spec.name ?? vm.name
  const data = renderCloudInit({
    hostname,
    ...(os && { os }),
    ...(users && { users }),
    ...(spec.interfaces && { interfaces }),
  })
  const cloudInit = {
    fingerprint: cloudInitFingerprint('secret', cloudInitHash(data)),
    hasNetworkData: wanted.length > 0,
  }
  return [
    renderCloudInitSecret({ vm, data }),
    renderKubeVirtVirtualMachine({
      ...{ vm, hostname, firmwareUuid: 'uuid', runStrategy: 'Always', interfaces, cloudInit, version: spec },
      ...{ cpu: resources?.cpu, memory: resources?.memory, nodeGroup },
    } as Parameters<typeof renderKubeVirtVirtualMachine>[0]),
  ]
}

function childrenOfDataSync(namespace: string, spec: DataSyncSpec): object[] {
  const { workspaceId, version } = spec as { workspaceId: string; version?: string }
  return spec.vms.map((vm) =>
    renderDataSyncImage({
      namespace,
      triple: { workspaceId, vm: vm.name, ...(version !== undefined && { version }) },
      spec: imageSpecOf(spec, vm),
      annotations: {},
    } as Parameters<typeof renderDataSyncImage>[0]),
  )
}

function childrenOfImage(image: MachineRef, spec: VMDiskImageSpec): object[] {
  const { sourceType: type = 'http', url, secretRef, certConfigMap, checksum, diskSize = '24Gi', storageClass } = spec
  const source = { type, url, secretRef, certConfigMap, checksum } as DiskSource
  const more = storageClass === undefined ? {} : { storageClass }
  return [renderDataVolume({ image, name: `${image.name}-1`, revision: '1', attempt: 1, source, diskSize, ...more })]
}
