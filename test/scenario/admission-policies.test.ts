import { render } from '@open-terrain/constructs'
import { WORKSPACE_LIMITS } from '@open-terrain/constructs/operator'
import { type AdmissionChoices, AdmissionPolicies } from '@open-terrain/constructs/platform'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { type Plural, pathOf, useAdmissionCluster } from '../harness/admission-cluster.ts'
import type { Answer, ApiUser, Write } from '../harness/api-user.ts'
import { forbiddenUrls, LEGITIMATE_URLS } from './forbidden-urls.ts'
import { labProtectionSuite } from './lab-protection-suite.ts'
import { sourceUrlSuite } from './source-url-suite.ts'
import { workspaceAccessSuite } from './workspace-access-suite.ts'

const TEAM = 'team-a'
const FARM = 'vmdi-farm'
const OPERATOR = 'system:serviceaccount:sync-operator:open-terrain-operator'
const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector'
/** Groups of every service account. */
const ACCOUNTS = ['system:serviceaccounts', 'system:authenticated']

/** On the namespace and its machines: the operator writes only those of Workspaces. */
const OF_A_WORKSPACE = { 'pelotech.ot/workspace-uid': 'c0ffee' }

const cluster = useAdmissionCluster()

const template = { url: 'https://images.example.com/a.qcow2', sourceType: 'http', diskSize: '4Gi' }
const elsewhere = { name: 'shared', namespace: FARM }

const machine = (name: string, spec: object) => ({
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'VirtualMachine',
  metadata: { name, labels: OF_A_WORKSPACE },
  spec: { resources: { cpu: '2', memory: '2Gi' }, ...spec },
})

const dataSync = (name: string, vms: readonly object[]) => ({
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'DataSync',
  metadata: { name },
  spec: { workspaceId: '035', vms },
})

const workspace = (name: string, vms: readonly object[]) => ({
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'Workspace',
  metadata: { name },
  spec: {
    owners: [{ kind: 'User', name: 'alice' }],
    vms: vms.map((vm) => ({ backingVMDiskImage: 'a', resources: { cpu: '2', memory: '2Gi' }, ...vm })),
  },
})

const image = (name: string, spec: object) => ({
  apiVersion: 'pelotech.ot/v1alpha1',
  kind: 'VMDiskImage',
  metadata: { name },
  spec,
})

beforeAll(async () => {
  await cluster.admin.must('POST', '/api/v1/namespaces', { metadata: { name: TEAM, labels: OF_A_WORKSPACE } })
  await cluster.addNamespace(FARM)
  // A rule takes effect a moment after it is written.
  const local = 'https://images.example.com/a'
  await cluster.setPolicy({ allowedSourceUrls: 'https://other.example' })
  await cluster.admin.askUntil(
    /open-terrain-source-url/,
    'POST',
    `${pathOf(FARM, 'vmdiskimages')}?dryRun=All`,
    image('a', { ...template, url: local }),
  )
  await cluster.setPolicy(undefined)
})

describe('who may use an image', () => {
  const MAY_NOT_USE =
    'may not use VMDiskImage "(shared|secret)" of namespace "vmdi-farm", which spec.(vmDiskImageRef|disks) names'
  const needs = (verbs: string, role: string) =>
    `: this needs the verb ${verbs} on vmdiskimages.pelotech.ot there, such as from a RoleBinding to ClusterRole "${role}" in namespace "vmdi-farm"$`
  const REFUSALS = {
    'no use': new RegExp(MAY_NOT_USE + needs('"use"', 'open-terrain-image-user')),
    'no use, nor create': new RegExp(
      MAY_NOT_USE + needs('"use", and "create" for spec.vmDiskImageTemplate,', 'open-terrain-image-creator'),
    ),
    'no create': new RegExp(
      `may not create VMDiskImages in namespace "vmdi-farm", where spec.vmDiskImageTemplate would make "shared"${needs(
        '"create"',
        'open-terrain-image-creator',
      ).replace('$', '; or leave the template out$')}`,
    ),
  } as const
  type Verdict = 'granted' | keyof typeof REFUSALS

  /** Machines that an administrator created, for the requests of the users. */
  const MACHINES = {
    own: { vmDiskImageRef: { name: 'mine' } },
    'own-templated': { vmDiskImageRef: { name: 'mine', namespace: TEAM }, vmDiskImageTemplate: template },
    plain: { vmDiskImageRef: elsewhere },
    templated: { vmDiskImageRef: elsewhere, vmDiskImageTemplate: template, vmDiskImageMode: 'FailIfNotExist' },
    disks: { vmDiskImageRef: { name: 'mine' }, disks: [{ name: 'a', vmDiskImageRef: elsewhere }] },
  } as const

  const onto = (name: keyof typeof MACHINES, spec: object): Request => ['PATCH', `/${name}`, { spec }]
  const meta = (name: keyof typeof MACHINES, metadata: object): Request => ['PATCH', `/${name}`, { metadata }]
  const create = (spec: object): Request => ['POST', '', machine('new', spec)]
  const apply = (name: string, spec: object): Request => ['APPLY', `/${name}`, machine(name, spec)]
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: '1', blockOwnerDeletion: false }

  type Request = readonly [write: Write, place: string, body?: object]
  const REQUESTS = {
    'create, own image': create(MACHINES.own),
    'create, own image by its namespace, with a template': create(MACHINES['own-templated']),
    'create, image elsewhere': create(MACHINES.plain),
    'create, image elsewhere, with a template': create({ vmDiskImageRef: elsewhere, vmDiskImageTemplate: template }),
    'create, image elsewhere, with a template for later': create(MACHINES.templated),
    'create, another image elsewhere': create({ vmDiskImageRef: { name: 'secret', namespace: FARM } }),
    'apply a new one, image elsewhere': apply('new', MACHINES.plain),
    'point it elsewhere': onto('own', { vmDiskImageRef: elsewhere }),
    'point it elsewhere, with its template': onto('own-templated', { vmDiskImageRef: elsewhere }),
    'point it elsewhere, by apply': [
      'APPLY',
      '/own',
      { ...machine('own', { vmDiskImageRef: elsewhere }), metadata: { name: 'own' } },
    ],
    'point it to another image there': onto('plain', { vmDiskImageRef: { name: 'secret' } }),
    'point it home': onto('plain', { vmDiskImageRef: { name: 'mine', namespace: null } }),
    'point it home, with its template': onto('templated', { vmDiskImageRef: { name: 'mine', namespace: TEAM } }),
    'add a template': onto('plain', { vmDiskImageTemplate: template }),
    'change the template': onto('templated', { vmDiskImageTemplate: { diskSize: '5Gi' } }),
    'drop the template': onto('templated', { vmDiskImageTemplate: null }),
    'have the template used': onto('templated', { vmDiskImageMode: 'CreateIfNotExist' }),
    'change the memory': onto('templated', { resources: { memory: '4Gi' } }),
    'add a label': meta('templated', { labels: { a: 'b' } }),
    'ask for a new disk': meta('plain', { annotations: { 'pelotech.ot/rebuild-requested-at': '1' } }),
    'ask for a new disk, with a template': meta('templated', {
      annotations: { 'pelotech.ot/rebuild-requested-at': '1' },
    }),
    'add a finalizer': meta('templated', { finalizers: ['example.com/a'] }),
    'add an owner': meta('templated', { ownerReferences: [owner] }),
    'create, with a disk of an own image': create({ ...MACHINES.own, disks: [{ name: 'a', ...MACHINES.own }] }),
    'create, with a disk of an image elsewhere': create(MACHINES.disks),
    'create, with many disks of an image elsewhere': create({
      ...MACHINES.own,
      disks: Array.from({ length: 16 }, (_none, at) => ({ name: `d${at}`, vmDiskImageRef: elsewhere })),
    }),
    'add a disk of an image elsewhere': onto('own', { disks: MACHINES.disks.disks }),
    'add another disk of the same image': onto('disks', {
      disks: [{ name: 'b', size: '1Gi' }, { name: 'c', vmDiskImageRef: elsewhere }, ...MACHINES.disks.disks],
    }),
    'change another field of such a disk': onto('disks', {
      disks: [{ name: 'a', vmDiskImageRef: elsewhere, bus: 'scsi' }],
    }),
    'point such a disk to another image there': onto('disks', {
      disks: [...MACHINES.disks.disks, { name: 'b', vmDiskImageRef: { ...elsewhere, name: 'secret' } }],
    }),
    'ask for new disks': meta('disks', { annotations: { 'pelotech.ot/rebuild-requested-at': '1' } }),
    'write the status': ['PATCH', '/templated/status', { status: { message: 'a' } }],
    delete: ['DELETE', '/templated'],
  } as const satisfies Record<string, Request>
  type What = keyof typeof REQUESTS

  /** What the rules require. Requests that are not listed are allowed for everybody. */
  const NEEDS: Partial<Record<What, 'use' | 'use of secret' | 'use and create'>> = {
    'create, image elsewhere': 'use',
    'create, image elsewhere, with a template': 'use and create',
    'create, image elsewhere, with a template for later': 'use and create',
    'create, another image elsewhere': 'use of secret',
    'apply a new one, image elsewhere': 'use',
    'point it elsewhere': 'use',
    'point it elsewhere, by apply': 'use',
    'point it elsewhere, with its template': 'use and create',
    'point it to another image there': 'use of secret',
    'add a template': 'use and create',
    'change the template': 'use and create',
    'drop the template': 'use',
    'have the template used': 'use and create',
    'ask for a new disk': 'use',
    'ask for a new disk, with a template': 'use and create',
    'create, with a disk of an image elsewhere': 'use',
    'create, with many disks of an image elsewhere': 'use',
    'add a disk of an image elsewhere': 'use',
    'point such a disk to another image there': 'use of secret',
    'ask for new disks': 'use',
  }

  type Verdicts = Readonly<Record<NonNullable<(typeof NEEDS)[What]>, Verdict>>
  const nothing: Verdicts = { use: 'no use', 'use of secret': 'no use', 'use and create': 'no use, nor create' }
  const using: Verdicts = { use: 'granted', 'use of secret': 'granted', 'use and create': 'no create' }
  const everything: Verdicts = { use: 'granted', 'use of secret': 'granted', 'use and create': 'granted' }

  const WRITER = 'machine-writer'
  /** Everybody can write machines in the team's namespace. What they may do in the namespace of the images differs. */
  interface Person {
    readonly there: readonly string[]
    readonly verdicts: Verdicts
    readonly groups?: string[]
  }
  const PEOPLE: Readonly<Record<string, Person>> = {
    'a tenant': { there: [], verdicts: nothing },
    'a tenant who may read there': { there: ['view'], verdicts: nothing },
    'a tenant who may create there': { there: ['only-create'], verdicts: nothing },
    'a tenant who may use': { there: ['open-terrain-image-user'], verdicts: using },
    'a tenant who may use one image': { there: ['only-shared'], verdicts: { ...using, 'use of secret': 'no use' } },
    'a tenant who may use and create': { there: ['open-terrain-image-creator'], verdicts: everything },
    'the owner of both': { there: ['edit'], verdicts: everything },
    [OPERATOR]: { there: [], verdicts: everything, groups: [...ACCOUNTS, 'system:serviceaccounts:sync-operator'] },
    [COLLECTOR]: { there: [], verdicts: nothing, groups: [...ACCOUNTS, 'system:serviceaccounts:kube-system'] },
    'an administrator': { there: ['cluster-admin'], verdicts: everything, groups: ['system:masters'] },
  }
  const users = new Map<string, ApiUser>()

  beforeAll(async () => {
    const images = { apiGroups: ['pelotech.ot'], resources: ['vmdiskimages'] }
    const machines = { apiGroups: ['pelotech.ot'], resources: ['virtualmachines', 'virtualmachines/status'] }
    await cluster.addClusterRole(WRITER, [{ ...machines, verbs: ['get', 'create', 'update', 'patch', 'delete'] }])
    await cluster.addClusterRole('only-create', [{ ...images, verbs: ['create'] }])
    await cluster.addClusterRole('only-shared', [{ ...images, verbs: ['use'], resourceNames: ['shared'] }])
    for (const [name, spec] of Object.entries(MACHINES))
      await cluster.admin.must('POST', pathOf(TEAM, 'virtualmachines'), machine(name, spec))
    for (const [name, { there, groups }] of Object.entries(PEOPLE))
      users.set(name, await cluster.addUser(name, { [TEAM]: [WRITER], [FARM]: there }, groups))
    // Controllers aggregate our roles into those of Kubernetes, a moment after both exist.
    await users
      .get('the owner of both')
      ?.askUntil('granted', 'POST', `${pathOf(FARM, 'vmdiskimages')}?dryRun=All`, image('a', template))
  })

  const ask = (who: string, what: What): Promise<Answer> => {
    const [write, place, body] = REQUESTS[what] as Request
    const manager = write === 'APPLY' ? '&fieldManager=test&force=true' : ''
    const path = `${pathOf(TEAM, 'virtualmachines')}${place}?dryRun=All${manager}`
    return (users.get(who) as ApiUser).ask(write, path, body)
  }

  /** The verdict as the table names it, or the response if it is none of them. */
  function verdictOf(who: string, { status, message }: Answer): string {
    if (status < 300) return 'granted'
    const isAboutThem = status === 403 && message.includes(`user "${who}"`)
    const [name] = Object.entries(REFUSALS).find(([, sentence]) => sentence.test(message)) ?? []
    return isAboutThem && name !== undefined ? name : `${status}: ${message}`
  }

  it.each(Object.keys(PEOPLE))('%s', async (who) => {
    const { verdicts } = PEOPLE[who] as Person
    const table = (Object.keys(REQUESTS) as What[]).map(async (what) => {
      const need = NEEDS[what]
      const wanted = need === undefined ? 'granted' : verdicts[need]
      return { what, wanted, got: verdictOf(who, await ask(who, what)) }
    })
    const rows = await Promise.all(table)
    expect(rows.map(({ what, got }) => `${what}: ${got}`)).toEqual(rows.map(({ what, wanted }) => `${what}: ${wanted}`))
  })

  it('a right that is taken away stops no other change', async () => {
    const lender = await cluster.addUser('a borrower', { [TEAM]: [WRITER], [FARM]: ['open-terrain-image-user'] })
    const path = pathOf(TEAM, 'virtualmachines')
    await lender.must('POST', path, machine('borrowed', MACHINES.plain))
    const borrower = users.get('a tenant') as ApiUser
    await borrower.must('PATCH', `${path}/borrowed`, { metadata: { finalizers: ['example.com/a'] } })
    await borrower.must('DELETE', `${path}/borrowed`)
    await borrower.must('PATCH', `${path}/borrowed`, { metadata: { finalizers: [] } })
  })
})

describe('where an image may come from', () => {
  afterAll(() => cluster.setPolicy(undefined))

  const of: Readonly<Record<Plural, (url: string) => object>> = {
    vmdiskimages: (url) => image('a', specOf(url)),
    virtualmachines: (url) => machine('a', { vmDiskImageRef: { name: 'a' }, vmDiskImageTemplate: specOf(url) }),
    // Only the last of three vms has the URL to judge.
    datasyncs: (url) =>
      dataSync('a', [...['b', 'c'].map((name) => ({ name, sourceType: 'blank' })), { name: 'a', url }]),
    workspaces: (url) => workspace('a', [{ name: 'b' }, { name: 'a', vmDiskImageTemplate: specOf(url) }]),
  }
  const PLURALS = Object.keys(of) as Plural[]
  const FIELDS: Readonly<Record<Plural, string>> = {
    vmdiskimages: 'spec.url',
    virtualmachines: 'spec.vmDiskImageTemplate.url',
    datasyncs: 'spec.vms: url of vm "a"',
    workspaces: 'spec.vms: vmDiskImageTemplate.url of vm "a"',
  }
  const specOf = (url: string) => ({ url, diskSize: '4Gi' })
  const tryCreate = (plural: Plural, url: string) =>
    cluster.admin.ask('POST', `${pathOf(TEAM, plural)}?dryRun=All`, of[plural](url))

  /** The URLs with another response. */
  async function answeredOtherwise(plural: Plural, urls: readonly string[], isRight: (answer: Answer) => boolean) {
    const answers = await Promise.all(urls.map(async (url) => ({ url, ...(await tryCreate(plural, url)) })))
    return answers.filter((answer) => !isRight(answer))
  }

  const FORBIDDEN = forbiddenUrls()
  const isRefused = ({ status, message }: Answer) => status === 422 && message.includes('url')

  it.each(PLURALS)('%s: 600 ways to spell a forbidden address are refused by the schema alone', async (plural) => {
    await cluster.setPolicy(undefined)
    expect(FORBIDDEN.length).toBeGreaterThanOrEqual(600)
    expect(await answeredOtherwise(plural, FORBIDDEN, isRefused)).toEqual([])
    expect(await answeredOtherwise(plural, LEGITIMATE_URLS, ({ status }) => status === 201)).toEqual([])
  })

  it.each(PLURALS)('%s: by the list of the policy, as it is at the moment', async (plural) => {
    const url = 'https://images.example.com/vms/a.qcow2'
    const until = (wanted: RegExp | 'granted') =>
      cluster.admin.askUntil(wanted, 'POST', `${pathOf(TEAM, plural)}?dryRun=All`, of[plural](url))
    const field = FIELDS[plural]

    await cluster.setPolicy({ allowedSourceUrls: 'https://a.example/b,\n https://10.0.0.8' })
    await until(/not on the list/)
    expect((await tryCreate(plural, url)).message).toContain(
      `${field} is not on the list of allowed sources, key allowedSourceUrls of ConfigMap sync-operator/sync-operator-policy: ` +
        'https://a.example/b, https://10.0.0.8',
    )
    expect(await tryCreate(plural, 'https://a.example/b/c')).toMatchObject({ status: 201 })
    expect(await tryCreate(plural, 'https://10.0.0.8/c')).toMatchObject({ status: 201 })
    // The list does not apply to these: the schema refuses all of them, as the test before shows, before a policy is asked.
    const some = FORBIDDEN.filter((_, at) => at % 20 === 0)
    expect(await answeredOtherwise(plural, some, isRefused)).toEqual([])

    await cluster.setPolicy({ allowedSourceUrls: 'https://images.example.com' })
    await until('granted')
    await cluster.setPolicy({ concurrency: '4' })
    await cluster.admin.askUntil(
      /names a private address/,
      'POST',
      `${pathOf(TEAM, plural)}?dryRun=All`,
      of[plural]('https://10.0.0.8/a'),
    )
    await until('granted')
  })

  it('what is stored already may be edited, and deleted, though its source is not on the list any more', async () => {
    const stored = {
      vmdiskimages: `${pathOf(TEAM, 'vmdiskimages')}/a`,
      virtualmachines: `${pathOf(TEAM, 'virtualmachines')}/a`,
      datasyncs: `${pathOf(TEAM, 'datasyncs')}/a`,
      workspaces: `${pathOf(TEAM, 'workspaces')}/a`,
    }
    const url = 'https://images.example.com/a'
    await cluster.setPolicy(undefined)
    await cluster.admin.askUntil('granted', 'POST', `${pathOf(TEAM, 'vmdiskimages')}?dryRun=All`, of.vmdiskimages(url))
    for (const plural of PLURALS) await cluster.admin.must('POST', pathOf(TEAM, plural), of[plural](url))
    await cluster.setPolicy({ allowedSourceUrls: 'https://a.example/b' })
    await cluster.admin.askUntil(/not on the list/, 'PATCH', `${stored.vmdiskimages}?dryRun=All`, {
      spec: { url: `${url}2` },
    })

    const must: ApiUser['must'] = (...request) => cluster.admin.must(...request)
    await must('PATCH', stored.vmdiskimages, { metadata: { finalizers: ['example.com/a'] }, spec: { suspend: true } })
    await must('PATCH', `${stored.vmdiskimages}/status`, { status: { message: 'a' } })
    await must('PATCH', stored.virtualmachines, {
      metadata: { labels: { a: 'b' } },
      spec: { vmDiskImageTemplate: { diskSize: '5Gi' } },
    })
    // Of the vms of a DataSync, only new sources are checked.
    const kept = { name: 'renamed', url }
    await must('PATCH', stored.datasyncs, {
      spec: { version: '2', vms: [kept, { name: 'b', url: 'https://a.example/b' }] },
    })
    const refusal = await cluster.admin.ask('PATCH', stored.datasyncs, {
      spec: { vms: [kept, { name: 'b', url: `${url}2` }] },
    })
    expect(refusal).toMatchObject({ status: 422, message: expect.stringContaining('url of vm "b" is not on the list') })
    await must('PATCH', stored.workspaces, workspace('a', [{ name: 'renamed', vmDiskImageTemplate: specOf(url) }]))
    expect(
      await cluster.admin.ask(
        'PATCH',
        stored.workspaces,
        workspace('a', [{ name: 'renamed', vmDiskImageTemplate: specOf(`${url}2`) }]),
      ),
    ).toMatchObject({
      status: 422,
      message: expect.stringContaining('vmDiskImageTemplate.url of vm "renamed" is not on the list'),
    })
    await must('DELETE', stored.workspaces)
    await must('DELETE', stored.datasyncs)
    await must('DELETE', stored.vmdiskimages)
    await must('PATCH', stored.vmdiskimages, { metadata: { finalizers: [] } })
    await must('DELETE', stored.virtualmachines)
  })
})

/** Applies what follows from the choice, as another field manager than the one before. */
async function choose(choices: AdmissionChoices): Promise<void> {
  for (const object of render((chart) => void new AdmissionPolicies(chart, 'Chosen', choices)) as KubeObject[]) {
    if (object.kind !== 'ValidatingAdmissionPolicyBinding') continue
    const path = `/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/${object.metadata.name}`
    await cluster.admin.must('APPLY', `${path}?fieldManager=${Object.keys(choices)[0] ?? 'none'}&force=true`, object)
  }
}

describe('a password that everybody reads', () => {
  const users = (...names: string[]) => names.map((name) => ({ name, plain_text_passwd: 'secret' }))
  const shared = { name: 'b', users: [{ name: 'root', passwordSecretRef: { name: 's', key: 'k' } }] }
  const write = async (object: { readonly kind: string }) => {
    const plural = object.kind === 'Workspace' ? 'workspaces' : 'virtualmachines'
    return await cluster.admin.ask('POST', `${pathOf(TEAM, plural)}?dryRun=All`, object)
  }

  it('is warned of, with whose it is, and not refused', async () => {
    const open = machine('open', { vmDiskImageRef: { name: 'a' }, users: users('a', 'b') })
    // A rule takes effect a moment after it is written.
    const told = expect.stringContaining('plain_text_passwd of user \\"a\\" and of 1 more')
    await expect.poll(() => write(open)).toMatchObject({ status: 201, warnings: told })
    const lab = await write(workspace('open', [{ name: 'a', users: users('c', 'd') }, shared]))
    expect([lab.status, lab.warnings]).toEqual([201, expect.stringContaining('of user \\"c\\" of vm \\"a\\": use')])
    expect((await write(workspace('closed', [shared]))).warnings).toBe('')
  })

  it('is refused where the installation says so, if it is new: what objects have already stays, and they can be changed', async () => {
    const change = async (path: string, spec: object) =>
      (await cluster.admin.ask('PATCH', `${path}?dryRun=All`, { spec })).message
    const changeVms = (vms: readonly object[]) => change(lab, workspace('before', vms).spec)
    const [labs, machines] = [pathOf(TEAM, 'workspaces'), pathOf(TEAM, 'virtualmachines')]
    const root = { name: 'a', users: users('c', 'd') }
    await cluster.admin.must('POST', labs, workspace('before', [root, shared]))
    await cluster.admin.must('POST', machines, machine('before', { vmDiskImageRef: { name: 'a' }, users: users('a') }))
    await choose({ plainTextPasswords: 'Deny' })
    await cluster.admin.askUntil(/use passwordSecretRef/, 'POST', `${labs}?dryRun=All`, workspace('open', [root]))

    const [lab, vm] = [pathOf(TEAM, 'workspaces', 'before'), pathOf(TEAM, 'virtualmachines', 'before')]
    const moreMemory = { ...root, resources: { cpu: '2', memory: '2Gi' } }
    const withKey = { ...root, users: [{ ...users('c')[0], sudo: 'ALL=(ALL) ALL' }, ...users('d')] }
    for (const vms of [[moreMemory, shared], [withKey, shared], [shared, root], [{ ...root, users: users('d') }], []])
      expect(await changeVms(vms), JSON.stringify(vms)).toBe('')
    for (const vms of [
      [{ ...root, users: users('c', 'd', 'e') }],
      [{ ...root, users: [{ name: 'c', plain_text_passwd: 'other' }] }],
      [root, { ...shared, users: users('c') }],
      [root, { ...root, name: 'z' }],
    ])
      expect(await changeVms(vms), JSON.stringify(vms)).toContain('use passwordSecretRef')
    expect(await change(vm, { users: [...users('a'), { name: 'b' }] })).toBe('')
    expect(await change(vm, { users: users('a', 'b') })).toContain('plain_text_passwd of user "b": use')

    await choose({})
    await cluster.admin.askUntil('granted', 'POST', `${labs}?dryRun=All`, workspace('open', [root]))
  })

  it('is looked for in the largest Workspace that there can be', async () => {
    const {
      vms: members,
      vmUsers: { users: each },
    } = WORKSPACE_LIMITS
    const many = (length: number) => Array.from({ length }, (_none, at) => at)
    const vmsOf = (last: string) =>
      many(members).map((at) => ({
        name: `m${at}`,
        users: many(each).map((user) => ({
          name: `u${user}`,
          plain_text_passwd: at === members - 1 && user === each - 1 ? last : 'secret',
        })),
      }))
    const path = pathOf(TEAM, 'workspaces')
    await cluster.admin.must('POST', path, workspace('large', vmsOf('first')))
    const change = (last: string) =>
      cluster.admin.ask('PATCH', `${pathOf(TEAM, 'workspaces', 'large')}?dryRun=All`, workspace('large', vmsOf(last)))
    expect((await change('second')).warnings).toContain(`of user \\"u${each - 1}\\" of vm \\"m${members - 1}\\": use`)
  })
})

describe('a Workspace without owners', () => {
  const create = (owners?: readonly object[]) =>
    cluster.admin.ask('POST', `${pathOf(TEAM, 'workspaces')}?dryRun=All`, {
      ...workspace('open', []),
      spec: { volumes: [], ...(owners === undefined ? {} : { owners }) },
    })
  const owners = [{ kind: 'User', name: 'alice' }]

  it('is that of all authors, who are told so when it is created, or loses its owners, and not again', async () => {
    const told =
      'everybody who may write Workspaces can change and delete Workspace \\"open\\": name those who work in it'
    expect(await create()).toMatchObject({ status: 201, warnings: expect.stringContaining(told) })
    expect(await create(owners)).toMatchObject({ status: 201, warnings: '' })
    const path = pathOf(TEAM, 'workspaces', 'loses')
    await cluster.admin.must('POST', pathOf(TEAM, 'workspaces'), { ...workspace('loses', []), spec: { owners } })
    expect((await cluster.admin.ask('PATCH', path, { spec: { owners: [] } })).warnings).toContain('spec.owners')
    expect((await cluster.admin.ask('PATCH', path, { spec: { volumes: [] } })).warnings).toBe('')
  })

  it('is refused where the installation says so', async () => {
    await choose({ workspacesWithoutOwners: 'Deny' })
    await cluster.admin.askUntil(
      /name those who work in it in spec.owners/,
      'POST',
      `${pathOf(TEAM, 'workspaces')}?dryRun=All`,
      {
        ...workspace('open', []),
        spec: { volumes: [] },
      },
    )
    expect(await create(owners)).toMatchObject({ status: 201 })
    await choose({})
  })
})

describe('a WorkspaceSnapshot', () => {
  const point = {
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'WorkspaceSnapshot',
    metadata: { name: 'before-exam' },
    spec: {},
  }
  const pathIn = (namespace: string) =>
    `/apis/pelotech.ot/v1alpha1/namespaces/${namespace}/workspacesnapshots?dryRun=All`

  it('is taken in the namespace of a Workspace, and refused elsewhere', async () => {
    await cluster.admin.must('POST', pathIn(TEAM), point)
    await expect(cluster.admin.must('POST', pathIn(FARM), point)).rejects.toThrow(
      `namespace "${FARM}" is not that of a Workspace: create WorkspaceSnapshot "before-exam"`,
    )
  })
})

// One after another on one API server, which takes seconds to start. The last one removes a kind.
sourceUrlSuite(cluster)
workspaceAccessSuite(cluster)
labProtectionSuite(cluster)
