import { ANNOTATIONS, type WorkspaceSpecInput } from '@open-terrain/constructs'
import { expect, it } from 'vitest'
import { type KubeObject, keyOf } from '../../operator/kube/kube-object.ts'
import { SECRET } from '../../operator/kube/resource-types.ts'
import { readManifests } from '../../sandbox/demo/manifests.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { Workspaces } from '../harness/workspaces.ts'

// The default storage class makes this cluster unsuitable for other tests.
const cluster = useOwnCluster()

type Secret = KubeObject & { readonly data: Readonly<Record<string, string>> }

const decoded = (value = '') => Buffer.from(value, 'base64').toString()

it('a lab whose passwords the operator makes is Ready from one apply, and nobody is told a value', async () => {
  await using workspaces = await Workspaces.start(cluster())
  const { world } = workspaces
  const told = new Set<string>()
  for (const store of [world.mirror.workspaces, world.mirror.machines, world.mirror.events, world.mirror.deployments])
    store.onChange(({ after }) => told.add(JSON.stringify(after)))
  const [lab] = await readManifests('labs/logins.yaml')
  const { secrets = [], ...spec } = (lab?.spec ?? {}) as WorkspaceSpecInput
  const { metadata } = await workspaces.deploy('logins', { ...spec, secrets })
  const { name } = metadata
  const read = async (secret: string) => await world.client.get<Secret>(SECRET, { namespace: name, name: secret })
  const made = await Promise.all([read('student'), read('database')])
  const values = made.flatMap(({ data }) => Object.values(data))
  expect(made.map(({ data }) => Object.keys(data))).toEqual([['password'], ['application', 'root']])
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
  await world.client.mergePatch(SECRET, { namespace: name, name: 'database' }, { data: { root: null } })
  await workspaces.until(
    name,
    'told that a value is lost',
    ({ status }) => status?.conditions?.some(({ type }) => type === 'SecretLost') === true,
  )
  await workspaces.untilReady(name)
  const { data } = await read('database')
  expect(Object.keys(data)).toEqual(['application', 'root'])
  expect(data['application']).toBe(made[1]?.data['application'])
  expect(values).not.toContain(data['root'])
  values.push(data['root'] ?? '')

  const metrics = await world.operator?.operator.metrics.registry.metrics()
  for (const text of [...told, ...world.logs.lines, metrics ?? ''])
    for (const value of [...values, ...values.map(decoded)]) expect(text.includes(value)).toBe(false)
  for (const text of ['has its random values', 'has no value for root any more'])
    expect([...told].filter((one) => one.includes(text))).not.toEqual([])
  // As an owner can make it to look like one of ours, of a type that the operator may only delete.
  await world.client.create(SECRET, forgery(metadata))
  await workspaces.delete(name)
  await world.finish()
})

function forgery({ name, uid = '' }: KubeObject['metadata']): KubeObject {
  const owner = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name, uid, controller: true }
  const annotations = { [ANNOTATIONS.generatedKeys]: 'password=24' }
  const metadata = { namespace: name, name: 'forgery', annotations, ownerReferences: [owner] }
  const stringData = { username: 'a', password: 'b' }
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/basic-auth', stringData } as KubeObject
}

const MORE = { name: 'more', generate: [{ key: 'a' }] }

function versionOf({ metadata }: KubeObject): string {
  return `${keyOf(metadata)} ${metadata.resourceVersion}`
}
