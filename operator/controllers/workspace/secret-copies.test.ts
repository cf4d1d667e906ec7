import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { SECRET_COPY_POLICY, SECRET_COPY_RULE, type WorkspaceComponent } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { MINUTE, SECOND } from '../../../test/prepared/runtime/times.ts'
import { start, type WorkspaceBench } from '../../../test/prepared/workspace/workspace-bench.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { ADMISSION_POLICY, ADMISSION_POLICY_BINDING, DEPLOYMENT, SECRET } from '../../kube/resource-types.ts'

type Secret = KubeObject & { readonly type?: string; readonly data?: Readonly<Record<string, string>> }

const SOURCE = { namespace: 'logins', name: 'registry' }
const COPY = { namespace: 'lab', name: 'pull' }
const SHARED = { 'pelotech.ot/shared': 'true' }
const DOCKER = 'kubernetes.io/dockerconfigjson'
const [FIRST, SECOND_VALUE] = ['first-value-of-the-source', 'second-value-of-the-source']
const encoded = (value: string) => Buffer.from(value).toString('base64')

const LAB = {
  containerClusters: [
    {
      name: 'web',
      pullSecrets: ['pull'],
      containers: [{ name: 'web', image: 'registry.example/web:1' }],
    },
  ],
  secrets: [{ name: 'pull', from: SOURCE }],
} satisfies WorkspaceSpecInput

function source(change: Partial<Secret> = {}, labels: Readonly<Record<string, string>> = SHARED): Secret {
  const data = { '.dockerconfigjson': encoded(FIRST) }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { ...SOURCE, labels }, type: DOCKER, data, ...change } as Secret
}

const RULE = { name: SECRET_COPY_RULE }

function installRule({ client: { cluster } }: WorkspaceBench, policy: object = {}, binding: object = {}): void {
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const metadata = { name: SECRET_COPY_RULE }
  cluster.admin.create(ADMISSION_POLICY, {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicy', metadata },
    spec: { ...SECRET_COPY_POLICY, ...policy },
  } as KubeObject)
  cluster.admin.create(ADMISSION_POLICY_BINDING, {
    ...{ apiVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata },
    spec: { policyName: SECRET_COPY_RULE, validationActions: ['Deny'], ...binding },
  } as KubeObject)
}

/** A lab on a cluster where everything is as it has to be. */
async function startShared(spec: WorkspaceSpecInput = LAB, secret: Secret | undefined = source()) {
  const bench = await start(spec, (one) => {
    one.policy = { ...one.policy, sharedSecretNamespaces: ['logins'] }
    one.client.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'logins' } })
    if (secret !== undefined) one.client.cluster.admin.create(SECRET, secret)
    installRule(one)
  })
  await bench.work()
  return bench
}

const copyIn = (bench: WorkspaceBench) => bench.client.peek<Secret>('Secret', 'lab/pull')
const told = (bench: WorkspaceBench, kind = 'Secret'): Partial<WorkspaceComponent> =>
  bench.status().components?.find((one) => one.kind === kind) ?? {}
const writesTo = (bench: WorkspaceBench) =>
  bench.client.calls.filter(({ verb, kind }) => kind === 'Secret' && ['create', 'patch', 'delete'].includes(verb))

/** No value is in anything that was sent but the copy, as it is or in base64. */
function expectUntold(bench: WorkspaceBench): void {
  const sent = bench.client.calls.filter(({ kind }) => kind !== 'Secret').map(({ body }) => JSON.stringify(body) ?? '')
  for (const value of [FIRST, SECOND_VALUE])
    for (const form of [value, encoded(value)]) expect(sent.filter((text) => text.includes(form))).toEqual([])
}

it('a Secret is copied before the member that names it, with its type, and is not written again', async () => {
  const bench = await startShared()
  expect(copyIn(bench)).toMatchObject({ type: DOCKER, data: { '.dockerconfigjson': encoded(FIRST) } })
  expect([bench.status().phase, told(bench)]).toMatchObject([
    'Ready',
    { reason: 'Ready', message: 'Secret pull is a copy of Secret logins/registry' },
  ])
  const order = bench.client.calls.filter(({ verb }) => verb === 'create').map(({ kind }) => kind)
  expect(order.indexOf('Secret')).toBeLessThan(order.indexOf('Deployment'))
  const { ownerReferences, labels } = copyIn(bench)?.metadata ?? {}
  expect([ownerReferences?.[0]?.name, labels]).toEqual(['lab', expect.not.objectContaining(SHARED)])
  await bench.restart()
  await bench.work()
  expect(writesTo(bench).map(({ verb, key }) => [verb, key])).toEqual([['create', 'lab/pull']])
  expect(bench.status().irreplaceable).toBeUndefined()
  expectUntold(bench)
})

it('a copy follows its source: other values, keys that go, and an object of another type', async () => {
  const bench = await startShared(LAB, source({ type: 'Opaque', data: { a: encoded(FIRST), b: 'Yg==' } } as never))
  const { admin } = bench.client.cluster
  admin.mergePatch(SECRET, SOURCE, { data: { a: encoded(SECOND_VALUE), b: null, c: 'Yw==' } })
  await bench.work()
  expect(copyIn(bench)?.data).toEqual({ a: encoded(SECOND_VALUE), c: 'Yw==' })
  expect(bench.status().phase).toBe('Ready')
  admin.delete(SECRET, SOURCE)
  await bench.work()
  expect([copyIn(bench), told(bench)]).toMatchObject([
    undefined,
    { reason: 'SecretNotShared', message: expect.stringContaining('which does not exist') },
  ])
  admin.create(SECRET, source())
  await bench.work()
  expect([copyIn(bench), bench.status().phase]).toMatchObject([{ type: DOCKER }, 'Ready'])
  // It is another object, also for those who have not seen that it was gone.
  bench.client.delayWatches(5 * SECOND, ['Secret'])
  admin.delete(SECRET, SOURCE)
  admin.create(SECRET, source({ type: 'Opaque', data: { a: 'YQ==' } } as never))
  await bench.work()
  await bench.work()
  expect([copyIn(bench), bench.status().phase]).toMatchObject([{ type: 'Opaque', data: { a: 'YQ==' } }, 'Ready'])
  expectUntold(bench)
})

it('a copy of which only annotations of the source change is written once, tells of nothing, and no member is written', async () => {
  const bench = await startShared()
  const { admin } = bench.client.cluster
  const before = bench.client.calls.length
  admin.mergePatch(SECRET, SOURCE, { metadata: { annotations: { 'example.org/refreshed': 'now' } } })
  await bench.work()
  await bench.work()
  const writes = bench.client.calls
    .slice(before)
    .filter(({ verb }) => ['create', 'patch', 'delete', 'replaceStatus'].includes(verb))
  expect(writes.map(({ verb, kind }) => [verb, kind])).toEqual([['patch', 'Secret']])
  expect([copyIn(bench)?.data, bench.status().phase]).toEqual([{ '.dockerconfigjson': encoded(FIRST) }, 'Ready'])
  expectUntold(bench)
})

it('what somebody changes in a copy is put right', async () => {
  const bench = await startShared()
  const { admin } = bench.client.cluster
  admin.mergePatch(SECRET, COPY, { data: { '.dockerconfigjson': encoded('mine'), more: 'bQ==' } })
  await bench.work()
  expect([copyIn(bench)?.data, bench.status().phase]).toEqual([{ '.dockerconfigjson': encoded(FIRST) }, 'Ready'])
  admin.delete(SECRET, COPY)
  await bench.work()
  expect([copyIn(bench)?.data, bench.status().phase]).toEqual([{ '.dockerconfigjson': encoded(FIRST) }, 'Ready'])
  expect(bench.status().conditions?.some(({ type }) => type === 'SecretLost')).toBe(false)
})

const VERSION = 'pelotech.ot/copied-version'

it.for([(was: string) => `${was}0`, () => 'another/1', () => 'none', () => ''])(
  'a copy that somebody has changed together with its version is put right (%#)',
  async (version) => {
    const bench = await startShared()
    const annotations = { [VERSION]: version(copyIn(bench)?.metadata.annotations?.[VERSION] ?? '') }
    const { admin } = bench.client.cluster
    admin.mergePatch(SECRET, COPY, { metadata: { annotations }, data: { '.dockerconfigjson': encoded('mine') } })
    await bench.work()
    expect([copyIn(bench)?.data, bench.status().phase]).toEqual([{ '.dockerconfigjson': encoded(FIRST) }, 'Ready'])
  },
)

it('a Secret with random values keeps them, although somebody marks it as a copy', async () => {
  const bench = await startShared({ ...LAB, secrets: [{ name: 'pull', generate: [{ key: 'a' }] }] })
  const { uid } = copyIn(bench)?.metadata ?? {}
  bench.client.cluster.admin.mergePatch(SECRET, COPY, { metadata: { annotations: { [VERSION]: 'any/1' } } })
  await bench.work()
  expect([copyIn(bench)?.metadata.uid, bench.status().phase]).toEqual([uid, 'Ready'])
})

it('a copy that somebody has made immutable is made again when it has to change', async () => {
  const bench = await startShared()
  const { uid } = copyIn(bench)?.metadata ?? {}
  bench.client.before = ({ verb, kind, key }) => {
    if (verb !== 'patch' || kind !== 'Secret' || key !== 'lab/pull') return
    const why = 'data: Forbidden: field is immutable when `immutable` is set'
    if (copyIn(bench)?.metadata.uid === uid) throw apiError('Rejected', { message: `Secret "pull" is invalid: ${why}` })
  }
  const { admin } = bench.client.cluster
  admin.mergePatch(SECRET, SOURCE, { data: { '.dockerconfigjson': encoded(SECOND_VALUE) } })
  await bench.work()
  expect([copyIn(bench)?.data, bench.status().phase]).toEqual([{ '.dockerconfigjson': encoded(SECOND_VALUE) }, 'Ready'])
  expect(writesTo(bench).filter(({ verb }) => verb === 'delete')).toHaveLength(1)
})

const NOT_SHARED: Readonly<
  Record<string, readonly [(bench: WorkspaceBench) => void, (bench: WorkspaceBench) => void, string]>
> = {
  'is not labelled any more': [
    ({ client }) =>
      client.cluster.admin.mergePatch(SECRET, SOURCE, { metadata: { labels: { 'pelotech.ot/shared': null } } }),
    ({ client }) => client.cluster.admin.mergePatch(SECRET, SOURCE, { metadata: { labels: SHARED } }),
    'which is not shared: its owner shares it with: kubectl -n logins label secret registry pelotech.ot/shared=true',
  ],
  'is gone': [
    ({ client }) => client.cluster.admin.delete(SECRET, SOURCE),
    ({ client }) => client.cluster.admin.create(SECRET, source()),
    'which does not exist: have it created there, with label pelotech.ot/shared: "true"',
  ],
  'is of a namespace that the policy does not list any more': [
    (bench) => bench.setPolicy({ sharedSecretNamespaces: ['others'] }),
    (bench) => bench.setPolicy({ sharedSecretNamespaces: ['logins'] }),
    'the policy key sharedSecretNamespaces does not list namespace logins',
  ],
  'is copied where nobody checks who may read it any more': [
    ({ client }) => client.cluster.admin.delete(ADMISSION_POLICY_BINDING, { name: SECRET_COPY_RULE }),
    (bench) => {
      bench.client.cluster.admin.delete(ADMISSION_POLICY, { name: SECRET_COPY_RULE })
      installRule(bench)
    },
    `ValidatingAdmissionPolicyBinding ${SECRET_COPY_RULE} is not there`,
  ],
  'is one that the operator made': [
    ({ client }) =>
      client.cluster.admin.mergePatch(SECRET, SOURCE, {
        metadata: { annotations: { 'pelotech.ot/generated-keys': 'a=24' } },
      }),
    ({ client }) =>
      client.cluster.admin.mergePatch(SECRET, SOURCE, {
        metadata: { annotations: { 'pelotech.ot/generated-keys': null } },
      }),
    'which the operator made',
  ],
}

it.for(Object.entries(NOT_SHARED))(
  'a copy goes when its source %s, and comes back',
  async ([, [withdraw, share, text]]) => {
    const bench = await startShared()
    withdraw(bench)
    await bench.clock.advance(2 * MINUTE)
    await bench.work()
    expect([copyIn(bench), told(bench), bench.status().reason]).toMatchObject([
      undefined,
      { phase: 'Provisioning', reason: 'SecretNotShared', message: expect.stringContaining(text) },
      'SecretNotShared',
    ])
    // What runs goes on, and nobody is asked to create the Secret.
    expect([told(bench, 'ContainerCluster').phase, bench.client.all('Deployment')]).toMatchObject(['Ready', [{}]])
    expect(JSON.stringify(bench.status())).not.toContain('create secret')
    const reported = () => bench.events().filter((event) => event.startsWith('Warning SecretNotShared: Secret pull'))
    expect(reported()).toHaveLength(1)
    await bench.restart()
    await bench.work()
    expect(reported()).toHaveLength(1)
    share(bench)
    await bench.clock.advance(MINUTE)
    await bench.work()
    expect([copyIn(bench)?.data, bench.status().phase]).toEqual([{ '.dockerconfigjson': encoded(FIRST) }, 'Ready'])
  },
)

it('a copy that is withdrawn does not wait for a member that is leaving', async () => {
  const containerClusters = LAB.containerClusters.flatMap((one) => [one, { ...one, name: 'old' }])
  const bench = await startShared({ ...LAB, containerClusters })
  const { admin } = bench.client.cluster
  admin.mergePatch(DEPLOYMENT, { namespace: 'lab', name: 'old' }, { metadata: { finalizers: ['example.org/held'] } })
  admin.mergePatch(SECRET, SOURCE, { metadata: { labels: { 'pelotech.ot/shared': null } } })
  bench.change(LAB)
  await bench.work()
  expect(bench.client.peek('Deployment', 'lab/old')).toBeDefined()
  expect([copyIn(bench), told(bench).message]).toEqual([undefined, expect.stringContaining('which is not shared')])
})

it('a copy goes at once when its source is withdrawn, also where the spec cannot be read', async () => {
  const bench = await startShared()
  bench.change({ ...LAB, volumes: [{ name: 'Not A Name', size: '1Gi' }] })
  await bench.work()
  expect([bench.status().phase, copyIn(bench)]).toMatchObject(['Failed', {}])
  bench.client.cluster.admin.mergePatch(SECRET, SOURCE, { metadata: { labels: { 'pelotech.ot/shared': null } } })
  await bench.work()
  expect(copyIn(bench)).toBeUndefined()
})

const UNSURE: Readonly<Record<string, readonly [(bench: WorkspaceBench) => void, string]>> = {
  'refuses to say': [
    ({ client }) => {
      client.before = ({ kind }) => {
        if (kind === ADMISSION_POLICY.kind) throw apiError('Rejected', { status: 401 })
      }
    },
    'the operator may not read ValidatingAdmissionPolicy',
  ],
  'has the rule of another version': [
    ({ client }) => client.cluster.admin.mergePatch(ADMISSION_POLICY, RULE, { spec: { variables: [] } }),
    'is not the one of this version: its variables differ',
  ],
}

it.for(Object.entries(UNSURE))(
  'where the API server %s, nothing new is copied, and no copy is deleted but one that is not shared any more',
  async ([, [disturb, text]]) => {
    const bench = await startShared()
    disturb(bench)
    await bench.clock.advance(5 * MINUTE)
    const { admin } = bench.client.cluster
    admin.mergePatch(SECRET, SOURCE, { data: { '.dockerconfigjson': encoded(SECOND_VALUE) } })
    bench.create(LAB, 'other')
    await bench.work()
    expect([copyIn(bench)?.data, bench.client.peek('Secret', 'other/pull'), told(bench)]).toMatchObject([
      { '.dockerconfigjson': encoded(FIRST) },
      undefined,
      {
        reason: 'SecretNotShared',
        message: expect.stringMatching(`${text}.*; the copy that is there stays as it is$`),
      },
    ])
    admin.mergePatch(SECRET, SOURCE, { metadata: { labels: { 'pelotech.ot/shared': null } } })
    await bench.work()
    expect(copyIn(bench)).toBeUndefined()
  },
)

it('a copy is deleted only after a second look has not seen the rule either', async () => {
  const bench = await startShared()
  const { admin } = bench.client.cluster
  admin.delete(ADMISSION_POLICY, RULE)
  await bench.clock.advance(MINUTE)
  expect([copyIn(bench), told(bench).message]).toMatchObject([
    {},
    expect.stringContaining('is not there; have the admission policies of Open Terrain installed again; the copy that'),
  ])
  await bench.clock.advance(MINUTE)
  expect(copyIn(bench)).toBeUndefined()
})

it('what was written while the rule was away is not copied before it is written again', async () => {
  const bench = await startShared()
  const { admin } = bench.client.cluster
  await bench.clock.advance(MINUTE)
  // Both between two looks.
  admin.delete(ADMISSION_POLICY_BINDING, RULE)
  bench.create({ ...LAB, containerClusters: [] }, 'other')
  await bench.clock.advance(0)
  admin.delete(ADMISSION_POLICY, RULE)
  installRule(bench)
  await bench.clock.advance(5 * MINUTE)
  const copy = () => bench.client.peek('Secret', 'other/pull')
  expect([copy(), bench.status('other').message]).toEqual([
    undefined,
    expect.stringContaining(
      'this was written while the rule that checks who may read that was not there, or was changed',
    ),
  ])
  expect([copyIn(bench), bench.status().phase]).toMatchObject([{}, 'Ready'])
  bench.change({}, 'other')
  await bench.clock.advance(MINUTE)
  bench.change({ secrets: LAB.secrets }, 'other')
  await bench.work()
  expect(copy()).toBeDefined()
})

it('a source that cannot be read holds up nothing but its copy', async () => {
  const bench = await start({ ...LAB, volumes: [{ name: 'data', size: '1Gi' }] }, (one) => {
    one.policy = { ...one.policy, sharedSecretNamespaces: ['logins'] }
    one.client.put(source())
    installRule(one)
    one.client.before = ({ verb, kind, key }) => {
      if (verb === 'get' && kind === 'Secret' && key === 'logins/registry') throw apiError('NoAnswer')
    }
  })
  await bench.work()
  expect([copyIn(bench), told(bench), told(bench, 'Volume')]).toMatchObject([
    undefined,
    { reason: 'Provisioning', message: expect.stringContaining('it is not known yet of which type that is') },
    { phase: 'Ready' },
  ])
  bench.client.before = () => undefined
  await bench.clock.advance(MINUTE)
  await bench.work()
  expect([copyIn(bench), bench.status().phase]).toMatchObject([{}, 'Ready'])
})

const NEVER: Readonly<Record<string, readonly [(bench: WorkspaceBench) => void, string]>> = {
  'the operator may not look for the rule': [
    (bench) => {
      installRule(bench)
      bench.client.before = ({ kind }) => {
        if (kind === ADMISSION_POLICY.kind) throw apiError('Rejected')
      }
    },
    'the operator may not read ValidatingAdmissionPolicy',
  ],
  'the rule judges nothing': [
    (bench) => installRule(bench, { validations: [{ expression: 'true' }] }),
    'is not the one of this version: its validations differ',
  ],
  'the rule is for none': [
    (bench) => installRule(bench, { matchConditions: [{ name: 'never', expression: 'false' }] }),
    'is not the one of this version: its matchConditions differ',
  ],
  'the rule is not installed': [() => undefined, `ValidatingAdmissionPolicy ${SECRET_COPY_RULE} is not there`],
  'the rule ignores failures': [(bench) => installRule(bench, { failurePolicy: 'Ignore' }), 'is not Fail'],
  'the rule only warns': [(bench) => installRule(bench, {}, { validationActions: ['Warn'] }), 'does not refuse'],
  'the rule is for some Workspaces': [(bench) => installRule(bench, {}, { matchResources: {} }), 'matchResources'],
}

it.for(Object.entries(NEVER))('nothing is copied, and no member made, where %s', async ([, [install, text]]) => {
  const bench = await start(LAB, (one) => {
    one.policy = { ...one.policy, sharedSecretNamespaces: ['logins'] }
    one.client.put(source())
    install(one)
  })
  await bench.work()
  expect([copyIn(bench), told(bench), told(bench, 'ContainerCluster')]).toMatchObject([
    undefined,
    { reason: 'SecretNotShared', message: expect.stringContaining(text) },
    { message: 'waits for Secret pull, which is not ready (SecretNotShared)' },
  ])
  expect(bench.client.all('Deployment')).toEqual([])
  // Not even its type is read.
  expect(bench.client.calls.filter(({ verb, kind }) => verb === 'get' && kind === 'Secret')).toEqual([])
})

it.for(['kubernetes.io/service-account-token', 'bootstrap.kubernetes.io/token', 'helm.sh/release.v1', 'a/b'])(
  'a Secret of type %s is never copied',
  async (type) => {
    const bench = await startShared(LAB, source({ type }))
    expect([copyIn(bench), told(bench).reason]).toEqual([undefined, 'SecretNotShared'])
    expect(told(bench).message).toContain(`which is of type ${type}: only Secrets of these types are copied: Opaque, `)
  },
)

it('a source that is withdrawn between the plan and the write is not copied', async () => {
  let isWithdrawn = false
  const bench = await start(LAB, (one) => {
    one.policy = { ...one.policy, sharedSecretNamespaces: ['logins'] }
    one.client.put(source())
    installRule(one)
    one.client.before = ({ verb, kind, key }) => {
      if (verb !== 'create' || kind !== 'Namespace' || key !== 'lab') return
      one.client.delayWatches(20 * SECOND, ['Secret'])
      one.client.cluster.admin.mergePatch(SECRET, SOURCE, { metadata: { labels: { 'pelotech.ot/shared': null } } })
      isWithdrawn = true
    }
  })
  await bench.work()
  await bench.clock.advance(30 * SECOND)
  expect([isWithdrawn, writesTo(bench), told(bench).reason]).toEqual([true, [], 'SecretNotShared'])
})

it('a Secret with random values becomes a copy, and the other way round, only once that can be made', async () => {
  const GENERATED = { ...LAB, secrets: [{ name: 'pull', generate: [{ key: 'a' }] }] }
  const bench = await startShared(GENERATED, source({}, {}))
  const before = copyIn(bench)?.data
  bench.change(LAB)
  await bench.work()
  expect([copyIn(bench)?.data, told(bench).reason]).toEqual([before, 'SecretNotShared'])
  bench.client.cluster.admin.mergePatch(SECRET, SOURCE, { metadata: { labels: SHARED } })
  await bench.work()
  expect([copyIn(bench), bench.status().phase]).toMatchObject([{ type: DOCKER }, 'Ready'])
  bench.change(GENERATED)
  await bench.work()
  expect([Object.keys(copyIn(bench)?.data ?? {}), copyIn(bench)?.type, bench.status().phase]).toEqual([
    ['a'],
    'Opaque',
    'Ready',
  ])
  bench.deleteWorkspace()
  await bench.work()
  expect(bench.owned()).toEqual([])
})

it('a Secret of somebody else that has the name of a copy is left alone', async () => {
  const bench = await start(LAB, (one) => {
    one.policy = { ...one.policy, sharedSecretNamespaces: ['logins'] }
    one.client.put(source())
    one.client.put(source({ metadata: COPY, data: { theirs: 'dA==' } }))
    installRule(one)
  })
  await bench.work()
  expect([told(bench).reason, copyIn(bench)?.data]).toEqual(['NameConflict', { theirs: 'dA==' }])
})
