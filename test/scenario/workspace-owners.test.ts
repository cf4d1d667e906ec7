import { render } from '@open-terrain/constructs'
import { OWNER_ROLES } from '@open-terrain/constructs/operator'
import { UserRoles } from '@open-terrain/constructs/platform'
import { beforeAll, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { EVENT, ROLE_BINDING } from '../../operator/kube/resource-types.ts'
import { install } from '../harness/admission-cluster.ts'
import { ApiUser } from '../harness/api-user.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { Workspaces } from '../harness/workspaces.ts'

// Its roles are for the whole cluster.
const cluster = useOwnCluster()

beforeAll(async () => {
  await using admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
  await install(
    admin,
    render((chart) => void new UserRoles(chart, 'UserRoles')),
  )
})

const WORKSPACES = '/apis/pelotech.ot/v1alpha1/workspaces'
/** A container with a port of its node. */
const exposed = [
  {
    name: 'app',
    containers: [
      {
        name: 'app',
        image: 'registry.example/app:1',
        portMappings: [{ containerPort: 53, protocol: 'udp', hostPort: 53 }],
      },
    ],
  },
]

it('the owners of a workspace work in it, and nobody else changes or deletes it', async () => {
  await using workspaces = await Workspaces.start(cluster())
  const { world } = workspaces
  const { controlPlane } = cluster()
  await using admin = new ApiUser(controlPlane.kubeconfigPath)
  const userOf = async (name: string, groups: readonly string[] = []) =>
    new ApiUser((await controlPlane.addUser(name, groups)).path)
  await using alice = await userOf('alice')
  await using student = await userOf('student', ['class-7'])
  await using stranger = await userOf('stranger')
  await admin.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'authors' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'open-terrain-workspace-author' },
    subjects: ['alice', 'stranger'].map((name) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name })),
  })
  const owners = [
    { kind: 'User', name: 'alice' },
    { kind: 'Group', name: 'class-7' },
  ] as const
  const { metadata } = await workspaces.deploy('owned', { owners: [...owners] })
  const inLab = (rest: string) => `/api/v1/namespaces/${metadata.name}/${rest}`
  /** Nobody has to run for that: the authorizer answers first. */
  const mayExec = async (user: ApiUser) => (await user.ask('POST', inLab('pods/any/exec?command=sh'))).status !== 403

  for (const owner of [alice, student]) {
    await owner.askUntil('granted', 'GET', inLab('pods'))
    expect(await owner.ask('POST', inLab('secrets?dryRun=All'), { metadata: { name: 'password' } })).toMatchObject({
      status: 201,
    })
    expect((await owner.ask('GET', inLab('secrets'))).status).toBe(403)
    expect(await mayExec(owner)).toBe(true)
  }
  expect((await stranger.ask('GET', inLab('pods'))).status).toBe(403)
  expect((await alice.ask('GET', '/api/v1/namespaces/default/pods')).status).toBe(403)

  const path = `${WORKSPACES}/${metadata.name}?dryRun=All`
  const change = { spec: { volumes: [] } }
  await stranger.askUntil(/"stranger" is not among spec.owners of Workspace .* ask User "alice"/, 'DELETE', path)
  expect((await stranger.ask('PATCH', path, change)).status).toBe(403)
  for (const user of [alice, admin]) {
    expect(await user.ask('PATCH', path, change)).toMatchObject({ status: 200 })
    expect(await user.ask('DELETE', path)).toMatchObject({ status: 200 })
  }
  // At the end of a lab, the operator deletes it, whoever its owners are.
  await using operator = new ApiUser(world.operatorKubeconfig)
  const isTold = 'the operator writes no spec of a Workspace, and deletes one only if its own spec says so'
  for (const [verb, body] of [['DELETE'], ['PATCH', change]] as const)
    expect(await operator.ask(verb, path, body)).toMatchObject({
      status: 403,
      message: expect.stringContaining(isTold),
    })
  await workspaces.patch(metadata.name, { lifetime: '1h', onExpiry: 'Delete' })
  await workspaces.until(metadata.name, 'warned', ({ status }) => status?.expiry?.noticeTime !== undefined)
  expect(await operator.ask('DELETE', path)).toMatchObject({ status: 200 })

  // An owner who is no author sees what the Workspace says.
  const { items } = (await world.client.list(EVENT, { namespace: metadata.name })) as {
    readonly items: readonly KubeObject[]
  }
  const about = items.map((one) => (one as KubeObject & { readonly involvedObject: object }).involvedObject)
  expect(about).toContainEqual(expect.objectContaining({ kind: 'Workspace', uid: metadata.uid }))
  expect(await student.ask('GET', inLab('events'))).toMatchObject({ status: 200 })

  // What somebody adds or takes away is put right.
  const key = { namespace: metadata.name, name: OWNER_ROLES.withShells }
  const outsider = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'stranger' }
  await world.client.mergePatch(ROLE_BINDING, key, { subjects: [outsider] })
  const names = async () => {
    const { subjects } = (await world.client.get(ROLE_BINDING, key)) as KubeObject & {
      readonly subjects: typeof owners
    }
    return subjects.map(({ name }) => name)
  }
  await expect.poll(names).toEqual(['alice', 'class-7'])

  // A shell in a container with a port of the node is a way onto the node.
  await workspaces.patch(metadata.name, { containerClusters: exposed as never })
  const bindings = async () =>
    (await world.client.list(ROLE_BINDING, { namespace: metadata.name })).items.map((one) => one.metadata.name)
  await expect.poll(bindings).toEqual([OWNER_ROLES.withoutShells])
  await expect.poll(() => mayExec(alice)).toBe(false)
  await workspaces.patch(metadata.name, { owners: [] })
  await expect.poll(bindings).toEqual([])
  await workspaces.delete(metadata.name)
  await world.finish()
})

it('who may not read a Secret adds nothing that reads a copy of it, unless they own the lab', async () => {
  await using workspaces = await Workspaces.start(cluster(), {}, { idle: true })
  const { controlPlane } = cluster()
  await using admin = new ApiUser(controlPlane.kubeconfigPath)
  await using author = new ApiUser((await controlPlane.addUser('author', [])).path)
  await admin.must('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'author' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'open-terrain-workspace-author' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'author' }],
  })
  const secrets = [{ name: 'pull', from: { namespace: 'kube-system', name: 'login' } }]
  const [open, owned] = [
    await workspaces.create('open', { secrets }),
    await workspaces.create('own', { secrets, owners: [{ kind: 'User', name: 'author' }] }),
  ].map(({ metadata }) => `${WORKSPACES}/${metadata.name}?dryRun=All`)
  const members = { spec: { containerClusters: exposed } }
  await author.askUntil(/"author" may not read Secret "login" of namespace "kube-system"/, 'PATCH', open ?? '', members)
  await author.must('PATCH', open ?? '', { spec: { volumes: [] } })
  await author.must('PATCH', owned ?? '', members)
  await admin.must('PATCH', open ?? '', members)
})
