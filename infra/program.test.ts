import { join } from 'node:path'
import { INSTALLATION_PARTS, type Manifest, renderInstallation } from '@open-terrain/constructs/platform'
import { type Output, RunError, runtime } from '@pulumi/pulumi'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { type MockedStack, type Registered, runMocked, settledValue } from '../test/prepared/infra/mocked-stack.ts'
import { installationProps, parseConfig } from './config.ts'
import { environmentsIn, readStackFile } from './stack-files.ts'

const ROOT = join(import.meta.dirname, '..')
const IMAGE = `registry.example/open-terrain/operator:1.4.0@sha256:${'a'.repeat(64)}`

interface Program extends MockedStack {
  readonly exports: Readonly<Record<string, Output<unknown>>>
}

/** Runs the program with these values, passed as text as the engine does. */
async function up(values: Readonly<Record<string, unknown>>): Promise<Program> {
  const texts = Object.entries({ image: IMAGE, ...values }).map(([key, value]) => [
    `open-terrain:${key}`,
    typeof value === 'string' ? value : JSON.stringify(value),
  ])
  const all = { ...Object.fromEntries(texts), 'kubernetes:context': 'of-the-test' }
  runtime.setAllConfig(all, ['open-terrain:secrets'])
  vi.resetModules()
  let exports: Program['exports'] = {}
  const stack = await runMocked(async () => {
    exports = (await import('./program.ts')) as unknown as Program['exports']
  })
  return { ...stack, exports }
}

function installationOf(values: Readonly<Record<string, unknown>>): readonly Manifest[] {
  const installation = renderInstallation({
    ...installationProps(parseConfig({ image: IMAGE, ...values })),
    owner: { name: 'open-terrain/test' },
  })
  return INSTALLATION_PARTS.flatMap((part) => installation[part])
}

function idOf({ kind, metadata: { namespace, name } }: Manifest): string {
  return [kind, namespace, name].join('/')
}

function manifestOf({ inputs }: Registered): Manifest {
  return inputs as Manifest
}

function sorted(manifests: readonly Manifest[]): readonly Manifest[] {
  return [...manifests].sort((a, b) => idOf(a).localeCompare(idOf(b)))
}

/** Returns the URNs of all resources that must exist before, directly or transitively. */
function ancestorsOf(one: Registered, all: readonly Registered[], found = new Set<string>()): Set<string> {
  for (const urn of one.dependsOn) {
    if (found.has(urn)) continue
    found.add(urn)
    const other = all.find((candidate) => candidate.urn === urn)
    if (other !== undefined) ancestorsOf(other, all, found)
  }
  return found
}

describe.each(environmentsIn(ROOT))('the stack %s', (environment) => {
  const values = readStackFile(ROOT, environment)
  const isProtected = values['protect'] !== false
  let objects: Program['objects']
  let exports: Program['exports']
  beforeAll(async () => {
    ;({ objects, exports } = await up(values))
  })

  it('applies what the platform constructs render, and nothing else', () => {
    expect(sorted(objects.map(manifestOf))).toEqual(sorted(installationOf(values)))
  })

  it('keeps CRDs and namespaces with their guards, and nothing else', () => {
    const isKept = ({ inputs }: Registered) =>
      inputs['kind'] === 'CustomResourceDefinition' ||
      inputs['kind'] === 'Namespace' ||
      manifestOf({ inputs } as Registered).metadata.name.startsWith('open-terrain-keep-')
    expect(objects.filter(({ isRetained }) => isRetained)).toEqual(objects.filter(isKept))
    expect(objects.filter((one) => one.isProtected)).toEqual(isProtected ? objects.filter(isKept) : [])
    expect(objects.filter(isKept).length).toBeGreaterThan(4)
  })

  it('makes each part after the parts before it, and the Deployment after all that it needs', () => {
    const partOf = (one: Registered) =>
      INSTALLATION_PARTS.findIndex((part) => one.parent.endsWith(`::open-terrain/${part}`))
    for (const one of objects) {
      const ancestors = ancestorsOf(one, objects)
      const earlier = objects.filter((other) => partOf(other) < partOf(one))
      expect(earlier.filter(({ urn }) => !ancestors.has(urn))).toEqual([])
    }
    const deployment = objects.find(({ inputs }) => inputs['kind'] === 'Deployment') as Registered
    const needs = [
      'Namespace',
      'ServiceAccount',
      'ClusterRole',
      'ClusterRoleBinding',
      'Role',
      'RoleBinding',
      'ConfigMap',
    ]
    const before = ancestorsOf(deployment, objects)
    // Grafana reads this one.
    const isDashboard = ({ name }: Registered) => name.endsWith('/open-terrain-dashboard')
    const needed = objects.filter((one) => needs.includes(String(one.inputs['kind'])) && !isDashboard(one))
    const after = needed.filter(({ urn }) => !before.has(urn))
    expect(after).toEqual([])
  })

  it('says what people need to know', async () => {
    const outputs = await Promise.all(Object.entries(exports).map(async ([key, one]) => [key, await settledValue(one)]))
    expect(Object.fromEntries(outputs)).toEqual({
      cluster: { id: 'uid-of-kube-system' },
      namespace: 'sync-operator',
      policyName: 'sync-operator-policy',
      metrics: {
        namespace: 'sync-operator',
        selector: expect.objectContaining({ 'app.kubernetes.io/name': 'open-terrain-operator' }),
        port: 8080,
        path: '/metrics',
      },
      versions: { operator: '1.4.0', api: 'pelotech.ot/v1alpha1' },
      readyImages: [],
    })
  })
})

describe('Secrets to pull the image of the operator', () => {
  it('are named by its pods, and made by nobody here', async () => {
    const { objects } = await up({ imagePullSecrets: ['registry.example'] })
    const deployment = objects.find(({ inputs }) => inputs['kind'] === 'Deployment') as Registered
    const imagePullSecrets = [{ name: 'registry.example' }]
    expect(deployment.inputs).toMatchObject({ spec: { template: { spec: { imagePullSecrets } } } })
    expect(objects.filter(({ inputs }) => inputs['kind'] === 'Secret')).toEqual([])
  })
})

describe('a change of the policy', () => {
  it('touches its ConfigMap alone, which the provider updates in place', async () => {
    const [before, after] = [await up({ policy: { concurrency: 4 } }), await up({ policy: { concurrency: 6 } })]
    const changed = after.objects.filter(
      ({ urn, inputs }) =>
        JSON.stringify(before.objects.find((one) => one.urn === urn)?.inputs) !== JSON.stringify(inputs),
    )
    expect(changed.map(({ inputs }) => [inputs['kind'], inputs['data']])).toEqual([
      ['ConfigMap', expect.objectContaining({ concurrency: '6' })],
    ])
    expect(after.objects.map(({ urn }) => urn).sort()).toEqual(before.objects.map(({ urn }) => urn).sort())
    const provider = after.registered.find(({ type }) => type === 'pulumi:providers:kubernetes') as Registered
    expect(provider.inputs).toMatchObject({ enableConfigMapMutable: 'true', upsertExistingObjects: 'true' })
    const providers = new Set(after.objects.map((one) => one.provider.split('::').slice(0, -1).join('::')))
    expect([...providers]).toEqual([provider.urn])
  })
})

describe('the fields that Pulumi owns', () => {
  it('are none that the operator writes', async () => {
    const { objects } = await up({
      images: { ubuntu: { url: 'https://images.example/ubuntu.qcow2', sourceType: 'http', diskSize: '9Gi' } },
    })
    const owned = objects.filter(({ inputs }) => {
      const { finalizers, ownerReferences } = inputs['metadata'] as Record<string, unknown>
      return 'status' in inputs || finalizers !== undefined || ownerReferences !== undefined
    })
    expect(owned).toEqual([])
  })
})

describe('secrets of a stack', () => {
  const secrets = { registry: { accessKeyId: 'reader', secretKey: 'hush' } }

  it('are secret in what is registered, in the namespace of images', async () => {
    const { objects } = await up({ imageNamespace: 'disks', secrets })
    const secret = objects.find(({ inputs }) => inputs['kind'] === 'Secret') as Registered
    expect(secret.inputs).toMatchObject({
      metadata: { name: 'registry', namespace: 'disks' },
      stringData: { [runtime.specialSigKey]: runtime.specialSecretSig, value: secrets.registry },
    })
    const others = objects.filter((one) => one !== secret)
    expect(JSON.stringify(others)).not.toContain('hush')
    expect(ancestorsOf(secret, objects).size).toBe(others.length)
  })

  it('that are no texts are refused without showing them', async () => {
    await expect(up({ secrets: { registry: 'hush' } })).rejects.toThrow(
      /^the configuration of the stack is not valid\n {2}open-terrain:secrets must be an object of Secrets by name, each an object of key and text: set each with pulumi config set --secret --path '[^\n]+'$/,
    )
  })
})

describe('names in secrets of a stack', () => {
  it('are refused without showing a text', async () => {
    const failed = up({ secrets: { Registry: { 'secret key': 'hush' } } })
    await expect(failed).rejects.toThrow('open-terrain:secrets.Registry: this name must be the name of a Secret')
    await expect(failed).rejects.toThrow('open-terrain:secrets.Registry.secret key: this key must be letters, ')
    await expect(failed).rejects.not.toThrow('hush')
  })
})

describe('images of a stack', () => {
  it('are made last, and awaited', async () => {
    const url = 'https://images.example/ubuntu.qcow2'
    const { objects } = await up({
      images: { ubuntu: { url, sourceType: 'http', diskSize: '9Gi' } },
      secrets: { registry: { key: 'x' } },
    })
    const image = objects.find(({ inputs }) => inputs['kind'] === 'VMDiskImage') as Registered
    expect(image.inputs).toMatchObject({
      metadata: { name: 'ubuntu', namespace: 'vmdi-farm', annotations: { 'pulumi.com/skipAwait': 'true' } },
      spec: { url },
    })
    expect(image.isRetained).toBe(true)
    expect(ancestorsOf(image, objects).size).toBe(objects.length - 1)
  })
})

describe('the protection of a stack', () => {
  it('is deleted before every object, and depends on all of them', async () => {
    const values = {
      secrets: { registry: { key: 'x' } },
      images: { ubuntu: { url: 'https://images.example/a.qcow2', sourceType: 'http', diskSize: '9Gi' } },
    }
    for (const protect of [true, false]) {
      const { objects, registered } = await up({ ...values, protect, monitoring: { enabled: true } })
      const protections = registered.filter(({ type }) => type === 'open-terrain:index:Protection')
      expect(protections.map(({ isProtected }) => isProtected)).toEqual([protect, protect])
      const covered = new Set(protections.flatMap(({ dependsOn }) => dependsOn))
      expect(objects.filter(({ urn }) => !covered.has(urn))).toEqual([])
      const urns = protections.map(({ urn }) => urn)
      expect(registered.filter(({ dependsOn }) => dependsOn.some((urn) => urns.includes(urn)))).toEqual([])
    }
  })
})

describe('a configuration that is wrong', () => {
  it('stops the program with the key, the value and what to do', async () => {
    const failed = up({ replicas: 0 })
    await expect(failed).rejects.toThrow('open-terrain:replicas: 0 must be at least 1')
    // Pulumi shows a RunError as it is, without a stack trace.
    await expect(failed).rejects.toSatisfy(RunError.isInstance)
  })
})
