import { ANNOTATIONS, LABELS } from '@open-terrain/constructs'
import {
  dataSync,
  POLICY_DEFAULTS,
  parseVirtualMachineSpec,
  parseWorkspaceSpec,
  virtualMachine,
  vmDiskImage,
  workspace,
} from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ScriptedClient } from '../test/prepared/kube/scripted-client.ts'
import { scriptedOperator } from '../test/prepared/operator/scripted-operator.ts'
import { MINUTE, SECOND } from '../test/prepared/runtime/times.ts'
import { SPEC as IMAGE_SPEC } from '../test/prepared/vm-disk-image/image-objects.ts'
import { type KubeObject, keyOf } from './kube/kube-object.ts'
import { VALUES_MAX } from './runtime/foreign.ts'

const URL = 'https://images.example/a.qcow2'
/** Valid specs of nothing that can be downloaded or started here: each rests once its status says what it waits for. */
const SPECS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  VMDiskImage: { ...IMAGE_SPEC, secretRef: 'missing' },
  VirtualMachine: {
    users: [{ name: 'demo', lock_passwd: true }],
    resources: { cpu: '2', memory: '2Gi' },
    vmDiskImageRef: { name: 'img', namespace: 'team' },
  },
  DataSync: { workspaceId: '035', sourceType: 'http', vms: [{ name: 'attacker', url: URL }] },
  Workspace: {
    vms: [{ name: 'one', backingVMDiskImage: 'img', resources: { cpu: 1, memory: '1Gi' }, users: [{ name: 'demo' }] }],
  },
}

/** Characters of a spec that are kept of each kind. */
const KEPT_MAX: Readonly<Record<string, number>> = {
  VMDiskImage: 64_000,
  VirtualMachine: 1_000_000,
  DataSync: 1_000_000,
  Workspace: 1_500_000,
}

/** What an API server may have stored in an object beside its spec, and in fields that an earlier schema had. */
const PADDING = fc.record({
  annotation: fc.record({
    name: fc.constantFrom('example.com/padding', ...Object.values(ANNOTATIONS)),
    length: fc.constantFrom(0, 300, 62_500, 63_900, 250_000),
  }),
  label: fc.constantFrom('example.com/padding', ...Object.values(LABELS)),
  finalizers: fc.constantFrom(0, 40, 4_000),
  owner: fc.constantFrom(0, 5_000, 1_000_000),
  field: fc.constantFrom(0, 8_000, 64_000, 1_060_000, 1_480_000, 1_520_000),
  depth: fc.constantFrom(0, 20, 40, 2_000),
  /** Empty texts, of which a megabyte has hundreds of thousands. */
  texts: fc.constantFrom(0, 10_000, 430_000),
  /** Whether the caches have room for large specs. */
  hasRoom: fc.boolean(),
})
type Padding = typeof PADDING extends fc.Arbitrary<infer P> ? P : never

const NONE: Padding = {
  annotation: { name: 'example.com/padding', length: 0 },
  label: 'example.com/padding',
  finalizers: 0,
  owner: 0,
  field: 0,
  depth: 0,
  texts: 0,
  hasRoom: true,
}

function nested(depth: number): unknown {
  let value: unknown = 'x'
  for (let left = depth; left > 0; left -= 1) value = { a: value }
  return value
}

function objectOf(kind: string, name: string, padding: Padding, teamUid?: string) {
  const { annotation, label, finalizers, owner, field, depth, texts } = padding
  const isNamespaced = kind !== 'Workspace'
  const ownerReferences = [
    // The garbage collector keeps an object as long as one of its owners exists.
    { apiVersion: 'v1', kind: 'Namespace', name: 'team', uid: teamUid },
    { apiVersion: 'v1', kind: 'ConfigMap', name: 'n'.repeat(owner), uid: 'owner-uid', controller: true },
  ]
  return {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind,
    metadata: {
      name,
      uid: `uid-${kind}-${name}`,
      generation: 1,
      ...(isNamespaced && { namespace: 'team' }),
      ...(annotation.length > 0 && { annotations: { [annotation.name]: 'x'.repeat(annotation.length) } }),
      labels: { [label]: 'padding' },
      ...(finalizers > 0 && {
        finalizers: Array.from({ length: finalizers }, (_none, at) => `example.com/finalizer-${at}`),
      }),
      ...(owner > 0 && { ownerReferences }),
    },
    spec: {
      ...(field > 0 && { padding: 'x'.repeat(field) }),
      ...(depth > 0 && { nested: nested(depth) }),
      ...(texts > 0 && { texts: Array.from({ length: texts }, () => '') }),
      ...SPECS[kind],
    },
  } as KubeObject
}

type Told = KubeObject & {
  readonly spec: object
  readonly status?: {
    readonly reason?: string
    readonly ticket?: string
    readonly components?: readonly object[]
    readonly references?: { readonly names: readonly string[] }
  }
}

/** Two processes, one after the other, reconcile the objects. Returns what the second one wrote. */
async function writesOfSecond(client: ScriptedClient, hasRoom: boolean): Promise<string[]> {
  for (const isSecond of [false, true]) {
    client.calls.length = 0
    const stop = new AbortController()
    const running = scriptedOperator(client, hasRoom ? {} : { largePartsMax: 0 }).run(stop.signal)
    for (let left = isSecond ? 10 : 2; left > 0; left -= 1) await client.clock.advance(MINUTE)
    stop.abort()
    await client.clock.advance(10 * SECOND)
    await running
  }
  const writes = client.callsOf('create', 'replace', 'status', 'patch', 'delete')
  return writes.filter(isAboutObjects)
}

/** Reports whether a call is neither about what a process keeps for itself, nor an Event. */
function isAboutObjects(call: string): boolean {
  return !/ ((Lease|ConfigMap) sync-operator|Event [a-z-]+)\//.test(call)
}

/** Reconciles an object called `large`, and others that it refers to. Returns it as it is at the end. */
async function tryOne(kind: string, padding: Padding, spec: object = {}): Promise<Told> {
  const client = new ScriptedClient('sync-operator', 'team')
  const padded = objectOf(kind, 'large', padding, client.peek('Namespace', 'team')?.metadata.uid)
  client.put({ ...padded, spec: { ...(padded as Told).spec, ...spec } } as KubeObject)
  const { name, namespace } = REFERRED[kind] ?? SMALL
  const annotations = { [ANNOTATIONS.workspaceId]: '035', [ANNOTATIONS.workspaceVm]: 'attacker' }
  const image = objectOf('VMDiskImage', name, NONE)
  // It is for the DataSync, which had it created.
  const labels = kind === 'DataSync' ? { [LABELS.createdBy]: kind } : {}
  const metadata = { ...image.metadata, namespace, annotations, labels: { ...image.metadata.labels, ...labels } }
  client.put({ ...image, metadata } as KubeObject)
  expect(await writesOfSecond(client, padding.hasRoom)).toEqual([])
  const status = client.peek<Told>('VMDiskImage', `${namespace}/${name}`)?.status
  expect(status?.ticket).toBeDefined()
  if (kind in REFERRED) expect(status?.references?.names).toEqual([keyIn(kind)])
  const large = client.all(kind).find((one) => one.metadata.name === 'large') as Told
  expect(JSON.stringify(large.status).length).toBeLessThan(16_000)
  return large
}

const SMALL = { namespace: 'team', name: 'small' }
/** What the object refers to, by its kind. */
const REFERRED: Readonly<Record<string, typeof SMALL>> = {
  VirtualMachine: { namespace: 'team', name: 'img' },
  DataSync: { namespace: 'team', name: '035-attacker' },
  Workspace: { namespace: POLICY_DEFAULTS.imageNamespace, name: 'img' },
}

function keyIn(kind: string): string {
  return kind === 'Workspace' ? 'Workspace/large' : `${kind}/team/large`
}

describe.each(Object.keys(SPECS))('of a %s of any size', { timeout: 120_000 }, (kind) => {
  it('a second process writes nothing, and others are not held up', async () => {
    await fc.assert(
      fc.asyncProperty(PADDING, async (padding) => {
        const { status } = await tryOne(kind, padding)
        const { field, depth, annotation, texts, hasRoom } = padding
        const max = KEPT_MAX[kind] ?? 0
        if (field > max || depth > 32 || texts > VALUES_MAX) expect(status?.reason).toBe('TooLarge')
        const isRead = hasRoom || kind !== 'DataSync'
        if (isRead && field + annotation.length + texts < max - 10_000 && depth <= 20 && texts < VALUES_MAX)
          expect(status?.reason).not.toBe('TooLarge')
        expect(status?.reason).not.toBe('InvalidSpec')
      }),
      { numRuns: 12 },
    )
  })
})

describe.each(Object.keys(REFERRED))('a large %s for whose spec the caches have no room', (kind) => {
  it('counts for its image as any other', async () => {
    const { status } = await tryOne(kind, { ...NONE, field: 64_000, hasRoom: false })
    expect(status?.reason === 'TooLarge').toBe(kind === 'DataSync')
  })
})

describe.each([vmDiskImage, virtualMachine, dataSync, workspace])('a $kind that becomes too large', (type) => {
  it('loses nothing that was made for it, is small again as if nothing had been, and goes when it is deleted', async () => {
    const client = new ScriptedClient('sync-operator', 'team')
    const { metadata } = client.put(objectOf(type.kind, 'large', NONE))
    const stop = new AbortController()
    const running = scriptedOperator(client).run(stop.signal)
    const after = async (change: () => unknown) => {
      change()
      await client.clock.advance(2 * MINUTE)
      return client.all(type.kind).find(({ metadata: { name } }) => name === 'large') as Told | undefined
    }
    const grown = (padding: string | null) => () =>
      client.cluster.admin.mergePatch(type, metadata, { spec: { padding } })
    const small = await after(() => undefined)
    client.calls.length = 0
    const large = await after(grown('x'.repeat(1_520_000)))
    expect(large?.status?.reason).toBe('TooLarge')
    expect(large?.metadata.finalizers).toEqual(small?.metadata.finalizers)
    expect(client.callsOf('create', 'replace', 'status', 'patch', 'delete').filter(isAboutObjects)).toEqual([
      `status ${type.kind} ${keyOf(metadata)}`,
    ])
    const again = await after(grown(null))
    expect(again?.status?.reason).toBe(small?.status?.reason)
    expect(client.callsOf('delete')).toEqual([])
    await after(grown('x'.repeat(1_520_000)))
    expect(await after(() => client.cluster.admin.delete(type, metadata))).toBeUndefined()
    stop.abort()
    await client.clock.advance(10 * SECOND)
    await running
  })
})

describe('a valid VirtualMachine of more than a million characters', () => {
  const key = `ssh-ed25519 AAAA${'a'.repeat(4_000)}`
  const users = Array.from({ length: 16 }, (_user, at) => {
    return { name: `user-${at}`, lock_passwd: true, ssh_authorized_keys: Array.from({ length: 16 }, () => key) }
  })

  it('is not called invalid, and is told once', async () => {
    const { spec, status } = await tryOne('VirtualMachine', NONE, { users })
    expect(parseVirtualMachineSpec(spec).ok).toBe(true)
    expect(status).toMatchObject({ phase: 'Failed', reason: 'TooLarge' })
  })
})

describe('a valid Workspace whose variables are many times as large as YAML', () => {
  const withTexts = (count: number) => {
    const variables = { nested: nested(15), texts: { a: { b: { c: Array.from({ length: count }, () => '') } } } }
    const [vm] = (SPECS['Workspace'] as { readonly vms: readonly object[] }).vms
    return { vms: [{ ...vm, ansible: { roles: { build: [{ role: 'r', variables }] } } }] }
  }

  it('has everything but its plays, which are not even rendered', async () => {
    const { spec, status } = await tryOne('Workspace', NONE, withTexts(60_000))
    expect(parseWorkspaceSpec(spec).ok).toBe(true)
    expect(status?.components).toContainEqual(expect.objectContaining({ kind: 'Ansible', reason: 'AnsibleTooLarge' }))
    expect(status?.components?.length).toBeGreaterThan(1)
  })

  it('is told once that it has too many values', async () => {
    const { spec, status } = await tryOne('Workspace', NONE, withTexts(430_000))
    expect(parseWorkspaceSpec(spec).ok).toBe(true)
    expect(status).toMatchObject({ phase: 'Failed', reason: 'TooLarge' })
  })
})
