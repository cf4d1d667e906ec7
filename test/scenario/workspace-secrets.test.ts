import { ANNOTATIONS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { SHARED_LABEL } from '@open-terrain/constructs/operator'
import { expect, it } from 'vitest'
import { find } from '../../operator/kube/find.ts'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { SECRET } from '../../operator/kube/resource-types.ts'
import { readManifests } from '../../sandbox/demo/manifests.ts'
import { useCluster } from '../harness/cluster.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

type Secret = KubeObject & { readonly type?: string; readonly data: Readonly<Record<string, string>> }

/** Passwords in the Secret of the example's database. */
const [APPLICATION, ROOT] = ['MARIADB_PASSWORD', 'MARIADB_ROOT_PASSWORD']

const decoded = (value = '') => Buffer.from(value, 'base64').toString()

it('a lab whose passwords the operator makes is Ready from one apply, and nobody is told a value', async () => {
  await using workspaces = await Workspaces.start(cluster())
  const { world } = workspaces
  const told = new Set<string>()
  for (const store of [world.mirror.workspaces, world.mirror.machines, world.mirror.events, world.mirror.deployments])
    store.onChange(({ after }) => told.add(JSON.stringify(after ?? '')))
  const [lab] = await readManifests('labs/logins.yaml')
  const { secrets = [], ...spec } = (lab?.spec ?? {}) as WorkspaceSpecInput
  const { metadata } = await workspaces.deploy('logins', { ...spec, secrets })
  const { name } = metadata
  const read = async (secret: string) => await world.client.get<Secret>(SECRET, { namespace: name, name: secret })
  const made = await Promise.all([read('student'), read('database')])
  const values = made.flatMap(({ data }) => Object.values(data))
  expect(made.map(({ data }) => Object.keys(data))).toEqual([['password'], [APPLICATION, ROOT]])
  expect(new Set(values).size).toBe(3)
  // The guest has the password of the Secret.
  const guest = JSON.stringify(Object.values((await read('desktop-cloudinit')).data).map(decoded))
  expect(guest).toContain(decoded(made[0]?.data['password']))

  // Another process leads: it writes neither of them.
  await world.operator?.stop()
  const requests = world.startOperator().requests
  await workspaces.patch(name, { secrets: [...secrets, MORE] })
  await workspaces.untilComponent(name, 'Secret', 'more', ({ phase }) => phase === 'Ready')
  await workspaces.untilReady(name)
  expect((await Promise.all([read('student'), read('database')])).map(versionOf)).toEqual(made.map(versionOf))
  const writes = requests.filter(
    ({ verb, resource }) => resource === 'secrets' && !['get', 'list', 'watch'].includes(verb),
  )
  expect(writes.map(({ verb }) => verb)).toEqual(['create'])

  // Somebody removes a key: that is told, and then it has another value.
  await world.client.mergePatch(SECRET, { namespace: name, name: 'database' }, { data: { [ROOT]: null } })
  await workspaces.until(
    name,
    'told that a value is lost',
    ({ status }) => status?.conditions?.some(({ type }) => type === 'SecretLost') === true,
  )
  await workspaces.untilReady(name)
  await expect.poll(async () => Object.keys((await read('database')).data)).toEqual([APPLICATION, ROOT])
  const { data } = await read('database')
  expect(data[APPLICATION]).toBe(made[1]?.data[APPLICATION])
  expect(values).not.toContain(data[ROOT])
  values.push(data[ROOT] ?? '')

  const metrics = await world.operator?.operator.metrics.registry.metrics()
  for (const text of [...told, ...world.logs.lines, metrics ?? ''])
    for (const value of [...values, ...values.map(decoded)]) expect(text.includes(value)).toBe(false)
  for (const text of ['has its random values', `has no value for ${ROOT} any more`])
    await world.until(`somebody is told that it ${text}`, () => [...told].some((one) => one.includes(text)))
  // As an owner can make it to look like one of ours, of a type that the operator may only delete.
  await world.client.create(SECRET, forgery(metadata))
  await workspaces.delete(name)
  await world.finish()
})

function forgery({ name, uid = '' }: KubeObject['metadata']): KubeObject {
  const owner = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name, uid, controller: true }
  const annotations = { [ANNOTATIONS.generatedKeys]: 'password=24' }
  const metadata = { namespace: name, name: 'forgery', annotations, ownerReferences: [owner] }
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'example.com/other', stringData: { a: 'b' } } as KubeObject
}

it('a lab has a copy of a login that is shared with it, as long as it is', async () => {
  await using workspaces = await Workspaces.start(cluster(), { sharedSecretNamespaces: 'registry-logins' })
  const { world } = workspaces
  const told = new Set<string>()
  const { workspaces: labs, events, deployments } = world.mirror
  for (const store of [labs, events, deployments]) store.onChange(({ after }) => told.add(JSON.stringify(after ?? '')))
  await world.createNamespace('registry-logins')
  const source = { namespace: 'registry-logins', name: 'pull' }
  const share = async (to: string | null) =>
    await world.client.mergePatch(SECRET, source, { metadata: { labels: { [SHARED_LABEL]: to } } })
  const [first, second] = ['first-password-of-all', 'second-password-of-all']
  await world.client.create(SECRET, loginOf(source, first))
  const [lab] = await readManifests('labs/shared-login.yaml')
  const { name } = (await workspaces.create('class', (lab?.spec ?? {}) as WorkspaceSpecInput)).metadata
  const copy = async () => await find<Secret>(world.client, SECRET, { namespace: name, name: 'pull' })
  const untilTold = async (text: string) =>
    await workspaces.untilComponent(name, 'Secret', 'pull', ({ reason, message = '' }) => {
      return reason === 'SecretNotShared' && message.includes(text)
    })
  await untilTold('which is not shared')
  await share('true')
  await workspaces.untilReady(name)
  const made = await copy()
  expect(made).toMatchObject({ type: LOGIN, data: { '.dockerconfigjson': expect.stringMatching(/./) } })
  expect(decoded(made?.data['.dockerconfigjson'])).toContain(first)

  // Another password, and then another object of another type.
  await world.client.mergePatch(SECRET, source, { stringData: loginOf(source, second).stringData })
  await expect.poll(async () => decoded((await copy())?.data['.dockerconfigjson'])).toContain(second)
  await world.client.delete(SECRET, source)
  await world.client.create(SECRET, {
    ...loginOf(source, second),
    type: 'Opaque',
    metadata: { ...source, labels: { [SHARED_LABEL]: 'true' } },
  } as KubeObject)
  await expect.poll(async () => (await copy())?.type).toBe('Opaque')
  await workspaces.untilReady(name)

  await share(null)
  await untilTold('which is not shared')
  await expect.poll(copy).toBeUndefined()
  await share('true')
  await workspaces.untilReady(name)
  expect(decoded((await copy())?.data['.dockerconfigjson'])).toContain(second)

  const metrics = await world.operator?.operator.metrics.registry.metrics()
  for (const text of [...told, ...world.logs.lines, metrics ?? ''])
    for (const value of [first, second, Buffer.from(first).toString('base64')]) expect(text.includes(value)).toBe(false)
  await workspaces.delete(name)
  expect(await find(world.client, SECRET, source)).toBeDefined()
  await world.finish()
})

const LOGIN = 'kubernetes.io/dockerconfigjson'

function loginOf(metadata: object, password: string) {
  const auths = { 'registry.example.com': { username: 'labs', password } }
  const stringData = { '.dockerconfigjson': JSON.stringify({ auths }) }
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: LOGIN, stringData } as KubeObject & {
    readonly stringData: object
  }
}

const MORE = { name: 'more', generate: [{ key: 'a' }] }

function versionOf({ metadata }: KubeObject): string {
  return `${keyOf(metadata)} ${metadata.resourceVersion}`
}
