import { type Output, output, RunError } from '@pulumi/pulumi'
import { describe, expect, it } from 'vitest'
import { runMocked } from '../test/prepared/infra/mocked-stack.ts'
import { OpenTerrain, type OpenTerrainArgs } from './open-terrain.ts'

const IMAGE = `registry.example/open-terrain/operator:1.4.0@sha256:${'a'.repeat(64)}`
const ARGS: OpenTerrainArgs = {
  image: IMAGE,
  replicas: 3,
  policy: { concurrency: 6, allowedSourceUrls: ['https://images.example.com/'] },
  pods: { nodeSelector: { infra: 'yes' } },
}

const later = <Value>(value: Value): Output<Value> => output(Promise.resolve(value)) as Output<Value>

async function objectsOf(args: OpenTerrainArgs) {
  const { objects } = await runMocked(async () => new OpenTerrain('open-terrain', args))
  return objects
    .map(({ urn, inputs, dependsOn }) => ({ urn, inputs, dependsOn }))
    .sort((a, b) => (a.urn < b.urn ? -1 : 1))
}

describe('a value of another resource', () => {
  it.each<[string, OpenTerrainArgs]>([
    ['as a whole', { ...ARGS, image: later(IMAGE), policy: later(ARGS.policy as object), replicas: later(3) }],
    [
      'as a part',
      {
        ...ARGS,
        policy: { ...(ARGS.policy as object), concurrency: later(6) },
        pods: { nodeSelector: { infra: later('yes') } },
      },
    ],
  ])('gives the same objects as if it were known, %s', async (_how, args) => {
    expect(await objectsOf(args)).toEqual(await objectsOf(ARGS))
  })

  it('must not decide which objects there are', async () => {
    const build = (args: object) => runMocked(async () => new OpenTerrain('open-terrain', { ...ARGS, ...args }))
    await expect(build({ namespace: later('other') })).rejects.toThrow(
      new RunError(
        'open-terrain: namespace must be known at once: only image, imagePullSecrets, replicas, resources, pods, policy, version may come from other resources',
      ),
    )
  })
})

describe('a component that is renamed', () => {
  it.each<[string, object]>([
    ['an alias', { name: 'before' }],
    ['the URN', 'urn:pulumi:test::open-terrain::open-terrain:index:OpenTerrain::before'],
  ] as [string, object][])('names what each object was named, by %s', async (_what, alias) => {
    const before = await runMocked(async () => new OpenTerrain('before', ARGS))
    const after = await runMocked(async () => new OpenTerrain('after', ARGS, { aliases: [alias as never] }))
    expect(after.objects.flatMap(({ aliases }) => aliases).sort()).toEqual(
      before.objects.map(({ name }) => name).sort(),
    )
  })
})

describe('a program of others', () => {
  it.each<[Partial<OpenTerrainArgs>, string]>([
    [{ image: undefined }, 'image is not set, and this package was released without one'],
    [{ image: 'registry.example/operator:latest' }, 'image: "registry.example/operator:latest" must be pinned'],
    [{ namespace: 'kube-system' }, 'namespace: "kube-system" must be a namespace that nothing else uses'],
    [
      { imageNamespace: 'sync-operator' },
      'imageNamespace: "sync-operator" must be another namespace than the operator',
    ],
    [
      { resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } },
      'resources.requests.cpu: "2" must not be more than the limit, 1',
    ],
    [{ networkPolicies: { apiServerPorts: [] } }, 'networkPolicies.apiServerPorts: [] must have at least one port'],
    [{ pods: { env: { LOG_LEVEL: 'verbose' } } }, 'pods.env.LOG_LEVEL: "verbose" must be one of trace, '],
  ])('is refused what the configuration of our own stack is refused: %o', async (args, message) => {
    const build = (given: Partial<OpenTerrainArgs>) =>
      runMocked(async () => new OpenTerrain('open-terrain', { ...ARGS, ...given }))
    await expect(build(args)).rejects.toThrow(`open-terrain: ${message}`)
  })
})
