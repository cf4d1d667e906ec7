import {
  dataSync,
  parseDataSyncSpec,
  parseVirtualMachineSpec,
  parseVMDiskImageSpec,
  parseWorkspaceSpec,
  type Resource,
  virtualMachine,
  vmDiskImage,
  workspace,
} from '@open-terrain/constructs/operator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { installCrds, ourCrds } from '../../sandbox/control-plane/install.ts'
import { ApiUser } from '../harness/api-user.ts'
import { conditionOf } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'
import { DATA_SYNC_FIXTURES } from '../prepared/api/data-sync.ts'
import {
  PROPOSED_VIRTUAL_MACHINE,
  VIRTUAL_MACHINE_FIXTURES,
  VIRTUAL_MACHINE_NAMES,
} from '../prepared/api/virtual-machine.ts'
import { SPEC_FIXTURES } from '../prepared/api/vm-disk-image.ts'
import { WORKSPACE_FIXTURES } from '../prepared/api/workspace.ts'

type Crd = Awaited<ReturnType<typeof ourCrds>>[number]

const KINDS = [
  { ...vmDiskImage, fixtures: SPEC_FIXTURES, parse: parseVMDiskImageSpec },
  { ...virtualMachine, fixtures: VIRTUAL_MACHINE_FIXTURES, parse: parseVirtualMachineSpec },
  { ...dataSync, fixtures: DATA_SYNC_FIXTURES, parse: parseDataSyncSpec },
  { ...workspace, fixtures: WORKSPACE_FIXTURES, parse: parseWorkspaceSpec },
]

/** A valid spec, by kind. */
const FINE: Readonly<Record<string, object>> = {
  [vmDiskImage.kind]: { sourceType: 's3', url: 'https://a.example/b' },
  [virtualMachine.kind]: { vmDiskImageRef: { name: 'a' }, resources: { cpu: 1, memory: '1Gi' } },
  [dataSync.kind]: { workspaceId: '035', vms: [{ name: 'a', url: 'https://a.example/b' }] },
}
const NAME = 'must be the name of a Kubernetes object'
const LABEL = 'must be lower-case letters, digits and "-", at most 63'
const QUANTITY = 'must be a quantity such as'
const KEY = 'ssh-ed25519 something'

/** Each field with a format: a value that violates it, and words of the message that describe it. */
const WORDS = [
  ...['storageClass', 'snapshotClass', 'secretRef', 'certConfigMap'].map((field) =>
    of(vmDiskImage, field, 'Gp3', NAME),
  ),
  of(vmDiskImage, 'diskSize', '5GB', QUANTITY),
  of(vmDiskImage, 'diskSize', '5Ki', 'diskSize must be between 1Mi and 1Pi'),
  of(vmDiskImage, 'diskSize', 5, 'diskSize must be between 1Mi and 1Pi'),
  of(vmDiskImage, 'unreferencedTTL', '3d', 'must be a duration such as 72h, 1h30m, 45s or 500ms'),
  of(vmDiskImage, 'checksum', 'sha256:abc', 'hexadecimal digest in full'),
  of(vmDiskImage, 'url', 's3://bucket/key', 'url must start with https://'),
  ...['baseVm', 'baseVmVersion', 'version'].map((field) => of(virtualMachine, field, '2 1', 'must be letters, digits')),
  of(virtualMachine, 'name', 'Demo_VM', LABEL),
  of(virtualMachine, 'resources.cpu', '2k', "must be a number of CPUs such as 2, '1.5' (in quotes) or 500m"),
  of(virtualMachine, 'resources.cpu', 513, 'cpu must be between 1m and 512'),
  of(virtualMachine, 'resources.memory', '2gb', QUANTITY),
  of(virtualMachine, 'resources.diskSize', '18 GB', QUANTITY),
  of(virtualMachine, 'vmDiskImageRef.name', 'farm/image', NAME),
  of(virtualMachine, 'vmDiskImageRef.namespace', 'a.b', LABEL),
  of(virtualMachine, 'interfaces.0', { network: 'a/b', ipAddress: '10.0.0.1/24' }, LABEL, 'network'),
  of(
    virtualMachine,
    'interfaces.0',
    { network: 'a', ipAddress: '10.0.0.1' },
    'ipAddress must be an address',
    'ipAddress',
  ),
  of(virtualMachine, 'users.0', { name: 'a:b' }, 'name must not contain ":"', 'name'),
  of(virtualMachine, 'users.0', { name: 'a', groups: 'Users' }, 'groups must be names of groups', 'groups'),
  of(virtualMachine, 'users.0', { name: 'a', plain_text_passwd: 'a\tb' }, 'must be one line', 'plain_text_passwd'),
  of(virtualMachine, 'users.0', { name: 'a', sudo: 'x'.repeat(513) }, 'sudo must have at most 512 characters', 'sudo'),
  of(
    virtualMachine,
    'users.0',
    { name: 'a', ssh_authorized_keys: [KEY] },
    'must hold public keys',
    'ssh_authorized_keys',
  ),
  of(dataSync, 'workspaceId', 'x'.repeat(64), 'workspaceId must have at most 63 characters'),
  of(dataSync, 'version', 'x'.repeat(64), 'version must have at most 63 characters'),
  ...['storageClass', 'snapshotClass', 'secretRef', 'certConfigMap'].map((field) => of(dataSync, field, 'Gp3', NAME)),
  of(dataSync, 'diskSize', '5GB', QUANTITY),
  of(workspace, 'volumes.0', { name: 'a', size: '5Ki' }, 'size must be between 1Mi and 1Pi', 'size'),
  of(dataSync, 'vms.0', { name: 'a', url: 's3://bucket/key' }, 'url must start with https://', 'url'),
  of(dataSync, 'vms.0', { name: 'a', url: 'https://a.example/b', diskSize: '5GB' }, QUANTITY, 'diskSize'),
  of(dataSync, 'vms.0', { name: 'a', url: 'https://a.example/b', checksum: 'md5:0' }, 'digest in full', 'checksum'),
  of(
    virtualMachine,
    'vmDiskImageTemplate',
    { sourceType: 'blank', unreferencedTTL: '3d' },
    'duration',
    'unreferencedTTL',
  ),
]

function withField(tree: unknown, [first, ...rest]: readonly string[], value: unknown): unknown {
  if (first === undefined) return value
  const below = (tree as Readonly<Record<string, unknown>> | undefined)?.[first]
  const child = withField(below, rest, value)
  return first === '0' ? [child] : { ...(tree as object | undefined), [first]: child }
}

function of(kind: Resource, path: string, value: unknown, rule: string, inner?: string) {
  return { kind, path: path.split('.'), value, rule, inner, field: [path, ...(inner ? [inner] : [])].join('.') }
}

/** The path for the creation of an object by dry run. */
function urlOf({ apiVersion, plural, namespaced }: Resource): string {
  return `/apis/${apiVersion}/${namespaced ? 'namespaces/default/' : ''}${plural}?dryRun=All`
}

/** Where the API server judges a fixture in another way than the schema, or without the words of the fixture. */
async function differencesOf(admin: ApiUser, one: (typeof KINDS)[number]): Promise<readonly string[]> {
  const { apiVersion, kind } = one
  const url = urlOf(one)
  const differences: string[] = []
  await Promise.all(
    one.fixtures.map(async ({ name, spec, valid, path = '', says = '' }, at) => {
      const manifest = { apiVersion, kind, metadata: { name: `fixture-${at}` }, spec }
      const { status, message } = await admin.ask('POST', url, manifest)
      const isAccepted = status === 201
      const answer = message.slice(0, 300)
      if (isAccepted !== valid) differences.push(`${name}: the API server answers ${status}: ${answer}`)
      if (one.parse(spec).ok !== valid) differences.push(`${name}: the schema disagrees`)
      const missing = isAccepted ? [] : [path, says].filter((part) => !message.includes(part))
      for (const part of missing) differences.push(`${name}: ${part} is not said: ${answer}`)
      if (/should match|failed rule/.test(message)) differences.push(`${name}: no words, but ${answer}`)
    }),
  )
  return differences
}

/** @param cluster whose kinds this suite replaces, and installs again */
export function badInputSuite(cluster: () => Cluster): void {
  describe('a bad spec', () => {
    // Connections are kept for the next requests: one for each of hundreds would cost more than the answers.
    let admin: ApiUser
    beforeAll(() => {
      admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
    })
    afterAll(() => admin[Symbol.asyncDispose]())

    it.each(KINDS)('of a $kind is judged by the API server as by the schema, fixture by fixture', async (one) => {
      expect(await differencesOf(admin, one)).toEqual([])
    })

    it.each(WORDS)(
      'is refused with field, value and rule: $field $value',
      async ({ kind, path, field, inner, value, rule }) => {
        const { apiVersion } = kind
        const spec = withField(FINE[kind.kind], path, value) as object
        const manifest = { apiVersion, kind: kind.kind, metadata: { name: 'bad' }, spec }
        const { status, message } = await admin.ask('POST', urlOf(kind), manifest)
        expect(status).toBe(422)
        expect(message).toContain(`spec.${field.replaceAll(/[.](\d+)/g, '[$1]')}`)
        expect(message).toContain(rule)
        const bad = inner === undefined ? value : (value as Record<string, unknown>)[inner]
        expect(message).toContain(JSON.stringify(Array.isArray(bad) ? bad[0] : bad))
      },
    )

    it('of a VirtualMachine may have a good name only', async () => {
      const { apiVersion, kind, plural } = virtualMachine
      const answers = await Promise.all(
        [...VIRTUAL_MACHINE_NAMES.accepted, ...VIRTUAL_MACHINE_NAMES.refused].map(async (name) => {
          const manifest = { ...PROPOSED_VIRTUAL_MACHINE, apiVersion, kind, metadata: { name } }
          const url = `/apis/${apiVersion}/namespaces/default/${plural}?dryRun=All`
          const { status, message: refusal } = await admin.ask('POST', url, manifest)
          return [name, status === 201 ? 'accepted' : /metadata\.name must be [^:]*/.exec(refusal)?.[0]]
        }),
      )
      const message =
        'metadata.name must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends'
      expect(answers).toEqual([
        ...VIRTUAL_MACHINE_NAMES.accepted.map((name) => [name, 'accepted']),
        ...VIRTUAL_MACHINE_NAMES.refused.map((name) => [name, message]),
      ])
    })

    it('that got in under an older schema is shown, with its field, and blocks nobody', async () => {
      await using world = await World.start(cluster(), { policy: { concurrency: '1' } })
      const { kubeconfigYaml } = cluster().controlPlane
      const crds = await ourCrds()
      await installCrds({ kubeconfigYaml }, crds.map(withoutRules))
      await world.createWhenTaken('bad', { url: 'ftp://somewhere/a' })
      const bad = await world.untilReason('bad', 'InvalidSpec')
      expect(bad.status).toMatchObject({ phase: 'Failed', message: expect.stringContaining('spec.url') })
      expect(conditionOf(bad, 'Stalled')?.status).toBe('True')
      await world.syncImage('good')

      await installCrds({ kubeconfigYaml }, crds)
      await world.patchImage('bad', { spec: { url: world.urlOf('bad') } })
      await world.untilSynced('bad')
      await world.finish()
    })
  })
}

/** The same kinds, but any spec is valid. */
function withoutRules(crd: Crd): Crd {
  const copy = structuredClone(crd) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, unknown> } } }[] }
  }
  for (const { schema } of copy.spec.versions) {
    schema.openAPIV3Schema.properties['spec'] = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  }
  return copy as unknown as Crd
}
