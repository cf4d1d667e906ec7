import { OWNER_ROLES, virtualMachine, vmDiskImage } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { MINUTE, SECOND } from '../../../test/prepared/runtime/times.ts'
import {
  DEPLOYED,
  IMAGE_NAMESPACE,
  MACHINE_ALONE,
  NAME,
  READY_IMAGE,
  start,
  startReady,
  VM,
  WRITES,
} from '../../../test/prepared/workspace/workspace-bench.ts'
import { apiVersionOf, type ObjectMeta, type ResourceType } from '../../kube/kube-object.ts'
import { CONFIG_MAP, DEPLOYMENT, NAMESPACE, PERSISTENT_VOLUME_CLAIM, SECRET } from '../../kube/resource-types.ts'

const { vmDiskImageTemplate: _none, ...WITHOUT_TEMPLATE } = VM

const LABELS = { theirs: 'yes' }
const THEIRS = {
  replicas: 0,
  selector: { matchLabels: LABELS },
  template: { metadata: { labels: LABELS }, spec: { containers: [] } },
}

describe('images', () => {
  it('that nothing says how to make are waited for, and nothing else is created', async () => {
    const bench = await start({ ...DEPLOYED, vms: [WITHOUT_TEMPLATE] })
    expect(bench.status()).toMatchObject({ phase: 'Provisioning', reason: 'ImageMissing' })
    expect(bench.status().waitingFor).toMatch('Image demo-vmdi (ImageMissing)')
    expect(bench.status().message).toMatch('its machine has no vmDiskImageTemplate, and the policy no imageUrlTemplate')
    expect(bench.owned().filter((one) => !/^(Namespace|NetworkPolicy) /.test(one))).toEqual([])
    await expectReadyWith(bench, vmDiskImage, { namespace: IMAGE_NAMESPACE, name: 'demo-vmdi' })
  })

  it('are made from the URL of the policy, as soon as it gives one', async () => {
    const bench = await start({ ...DEPLOYED, vms: [WITHOUT_TEMPLATE] })
    bench.setPolicy({ imageUrlTemplate: 'https://images.example/{name}/{version}.qcow2' })
    await bench.clock.advance(2 * SECOND)
    const image = bench.client.peek('VMDiskImage', `${IMAGE_NAMESPACE}/demo-vmdi`)
    expect(image).toMatchObject({
      metadata: { labels: { 'pelotech.ot/created-by': 'Workspace' } },
      spec: { url: 'https://images.example/demo-vm/2.1.0.qcow2', sourceType: 'http', diskSize: '18Gi' },
    })
  })

  it('that fail make the workspace Failed, and it heals when they do', async () => {
    const bench = await start()
    bench.reportImage('demo-vmdi', { phase: 'Failed', reason: 'NotFound', message: 'the source says 404' })
    await bench.clock.advance(2 * SECOND)
    expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'ImageFailed' })
    expect(bench.status().message).toMatch('the source says 404')
    expect(bench.status().conditions?.find(({ type }) => type === 'Settled')?.status).toBe('True')
    bench.reportImage('demo-vmdi', READY_IMAGE)
    await bench.work()
    expect(bench.status().phase).toBe('Ready')
  })

  it('that two workspaces share stay when one of them goes', async () => {
    const bench = await startReady(MACHINE_ALONE)
    bench.create(MACHINE_ALONE, 'other')
    await bench.work()
    expect(bench.status('other').phase).toBe('Ready')
    const image = { namespace: IMAGE_NAMESPACE, name: 'demo-vmdi' }
    expect(bench.references?.cached(image)).toEqual({
      count: 2,
      names: ['Workspace/lab', 'Workspace/other'],
      users: [],
    })
    bench.deleteWorkspace('other')
    await bench.clock.advance(MINUTE)
    expect(bench.workspace('other')).toBeUndefined()
    expect(bench.references?.cached(image).names).toEqual(['Workspace/lab'])
    expect([
      bench.status().phase,
      bench.client.callsOf('delete').filter((call) => call.includes('VMDiskImage')),
    ]).toEqual(['Ready', []])
  })
})

describe('a child that is refused', () => {
  it('is told on its component, and all others go on; it heals by itself', async () => {
    let isRefused = true
    const bench = await start(DEPLOYED, ({ client }) => {
      client.before = ({ verb, key }) => {
        if (isRefused && verb === 'create' && key === 'lab/demo-app')
          throw apiError('Rejected', { message: 'exceeded quota' })
      }
    })
    await bench.work()
    expect(bench.open()).toEqual(['ContainerCluster demo-app: Provisioning Refused'])
    expect(bench.status()).toMatchObject({ phase: 'Provisioning', reason: 'Refused' })
    expect(bench.status().message).toMatch('exceeded quota')
    bench.client.calls.length = 0
    await bench.clock.advance(10 * MINUTE)
    const tries = bench.client.callsOf(...WRITES)
    expect(tries.length).toBeLessThanOrEqual(20)
    expect(new Set(tries)).toEqual(new Set(['create Deployment lab/demo-app']))
    isRefused = false
    await bench.clock.advance(2 * MINUTE)
    await bench.work()
    expect(bench.status().phase).toBe('Ready')
  })

  it('holds up those alone that need it', async () => {
    const bench = await start(DEPLOYED, ({ client }) => {
      client.before = ({ verb, key }) => {
        if (verb === 'create' && key === 'lab/control-net') throw apiError('Rejected', { message: 'no more networks' })
      }
    })
    await bench.work()
    expect(bench.open()).toEqual([
      'Network control-net: Provisioning Refused',
      'ContainerCluster ansible: Provisioning Provisioning',
      'VirtualMachine demo-vm: Provisioning Provisioning',
    ])
    const waits = bench.status().components?.find(({ name }) => name === 'demo-vm')?.message
    expect(waits).toBe('waits for Network control-net, which is not ready (Refused)')
    expect(bench.owned()).toContain('Deployment demo-app')
  })

  it('because its name is taken is a NameConflict of its component, and what has the name is left alone', async () => {
    const bench = await start(DEPLOYED)
    const foreign = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { namespace: NAME, name: 'ansible' },
      spec: THEIRS,
    }
    bench.client.cluster.admin.create(DEPLOYMENT, foreign as never)
    await bench.work()
    expect(bench.open()).toEqual(['ContainerCluster ansible: Failed NameConflict'])
    expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'NameConflict' })
    bench.deleteWorkspace()
    await bench.clock.advance(5 * SECOND)
    bench.letClaimsGo()
    await bench.clock.advance(MINUTE)
    expect(bench.workspace()).toBeUndefined()
    expect(bench.client.callsOf('delete').filter((call) => call === 'delete Deployment lab/ansible')).toEqual([])
  })
})

describe('the namespace', () => {
  it('that is not of the workspace is left alone, with all that is in it', async () => {
    const bench = await start(DEPLOYED, ({ client }) => {
      client.cluster.admin.create(NAMESPACE, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAME } })
    })
    await bench.work()
    expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'NameConflict' })
    expect(bench.status().message).toMatch(`Namespace ${NAME} exists and is not of this workspace`)
    expect(bench.owned()).toEqual([])
    bench.deleteWorkspace()
    await bench.clock.advance(10 * SECOND)
    expect([bench.workspace(), bench.client.peek('Namespace', NAME)?.metadata.deletionTimestamp]).toEqual([
      undefined,
      undefined,
    ])
  })

  it('that somebody deletes is told, and made again with what had no data in it; the rest waits for a word', async () => {
    const bench = await startReady()
    const uid = bench.client.peek('Namespace', NAME)?.metadata.uid
    bench.bootGuests()
    await bench.clock.advance(10 * SECOND)
    bench.client.cluster.admin.delete(NAMESPACE, { name: NAME })
    await bench.clock.advance(10 * SECOND)
    // What goes with it comes first.
    expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'VolumeLost' })
    const namespace = bench.status().components?.find(({ kind }) => kind === 'Namespace')
    expect(namespace).toMatchObject({ phase: 'Provisioning', reason: 'NamespaceTerminating' })
    expect(await bench.lost('volumes')).toBe(DEPLOYED.volumes?.length)
    bench.letClaimsGo()
    await bench.work()
    await bench.work()
    expect(bench.client.peek('Namespace', NAME)?.metadata.uid).not.toBe(uid)
    const waiting = [
      ...(DEPLOYED.volumes ?? []).map(({ name }) => `Volume ${name}: Failed VolumeLost`),
      ...(DEPLOYED.vms ?? []).map(({ name }) => `VirtualMachine ${name}: Failed DiskLost`),
    ]
    expect(bench.open()).toEqual(expect.arrayContaining(waiting))
    expect(bench.owned().filter((one) => /^(PersistentVolumeClaim|VirtualMachine) /.test(one))).toEqual([])
    const lost = await bench.lost('volumes')
    expect(lost).toBe(DEPLOYED.volumes?.length)
    bench.change({ vms: 'none' } as never)
    await bench.work()
    expect(bench.status()).toMatchObject({ reason: 'InvalidSpec', lost: expect.any(Array) })
    bench.change(DEPLOYED)
    await bench.work()
    expect([bench.open(), await bench.lost('volumes')]).toEqual([expect.arrayContaining(waiting), lost])
    await bench.restart()
    await bench.work()
    expect(bench.open()).toEqual(expect.arrayContaining(waiting))
    bench.askForRemake('now')
    await bench.work()
    await bench.work()
    expect([bench.open(), bench.status().phase, bench.status().lost]).toEqual([[], 'Ready', undefined])
    // Another process counts what it has seen itself.
    expect(await bench.lost('volumes')).toBe(0)
  })

  it('stays as it is where somebody deletes one machine: that asks for it to begin again', async () => {
    const bench = await startReady()
    const { name } = VM
    bench.bootGuests()
    await bench.clock.advance(10 * SECOND)
    const uid = bench.client.peek('VirtualMachine', `${NAME}/${name}`)?.metadata.uid
    bench.client.cluster.admin.delete(virtualMachine, { namespace: NAME, name })
    await bench.work()
    expect(bench.open()).toEqual([])
    expect(bench.client.peek('VirtualMachine', `${NAME}/${name}`)?.metadata.uid).not.toBe(uid)
  })
})

it('a volume whose claim somebody deletes a moment after it is bound is told, also by the next process', async () => {
  const names = ['first', 'second']
  const bench = await start({ volumes: names.map((name) => ({ name, size: '1Gi' })) })
  const { admin } = bench.client.cluster
  const at = { phase: 'Bound', capacity: { storage: '1Gi' } }
  await bench.clock.advance(10 * SECOND)
  for (const name of names) {
    bench.tell(PERSISTENT_VOLUME_CLAIM, `${NAME}/${name}`, at)
    await bench.clock.advance(SECOND / 10)
  }
  for (const name of names) admin.delete(PERSISTENT_VOLUME_CLAIM, { namespace: NAME, name })
  bench.letClaimsGo()
  await bench.restart()
  await bench.clock.advance(10 * SECOND)
  expect(bench.open()).toEqual(names.map((name) => `Volume ${name}: Failed VolumeLost`))
  expect(bench.owned().filter((one) => one.startsWith('PersistentVolumeClaim '))).toEqual([])
})

it('a volume that goes while the spec cannot be read is told when it can', async () => {
  const bench = await startReady()
  bench.change({ vms: 'none' } as never)
  await bench.clock.advance(10 * SECOND)
  const { admin } = bench.client.cluster
  for (const { metadata } of admin.list(PERSISTENT_VOLUME_CLAIM).items) admin.delete(PERSISTENT_VOLUME_CLAIM, metadata)
  bench.letClaimsGo()
  await bench.clock.advance(10 * SECOND)
  bench.change(DEPLOYED)
  await bench.work()
  bench.askForRemake('now')
  await bench.work()
  expect([bench.open(), bench.status().phase]).toEqual([[], 'Ready'])
  expect(bench.events().filter((event) => event.startsWith('Warning VolumeLost: Volume '))).toHaveLength(
    DEPLOYED.volumes?.length ?? 0,
  )
})

it('a Secret that passwords and user data are to come from is waited for, with the command that creates it', async () => {
  const from = (key: string, at: number) => ({ name: `demo-${at}`, passwordSecretRef: { name: 'demo-password', key } })
  const users = ['password', 'admin', 'password'].map(from)
  const userDataSecretRef = { name: 'demo-password', key: 'user-data' }
  const bench = await start({ vms: [{ ...VM, interfaces: [], users: users as never, userDataSecretRef }] })
  await bench.work()
  expect(bench.status()).toMatchObject({ phase: 'Provisioning', reason: 'SecretMissing' })
  const command = `kubectl -n ${NAME} create secret generic demo-password --from-literal=password=PASSWORD --from-literal=admin=PASSWORD --from-file=user-data=FILE`
  expect(bench.status().components?.find(({ kind }) => kind === 'VirtualMachine')?.message).toBe(command)
  await expectReadyWith(bench, SECRET, { namespace: NAME, name: 'demo-password' })
})

it('Secrets of containers are waited for, with one command that creates all of them', async () => {
  const env = ['a', 'b', 'c'].map((key) => ({ name: key, valueFrom: { secretKeyRef: { name: 'app', key } } }))
  const files = [{ path: '/c', secretKeyRef: { name: 'app', key: 'c' } }]
  const cluster = {
    name: 'web',
    pullSecrets: ['login'],
    containers: [{ name: 'web', image: 'registry.example/web:1', env, files }],
  }
  const bench = await start({ containerClusters: [cluster] })
  await bench.work()
  const told = () => bench.status().components?.find(({ kind }) => kind === 'ContainerCluster')?.message
  const create = `kubectl -n ${NAME} create secret`
  const login = `${create} docker-registry login --docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD`
  const app = `${create} generic app --from-literal=a=VALUE --from-literal=b=VALUE --from-file=c=FILE`
  expect(told()).toBe(`2 Secrets are missing: login, app; run: ${login} && ${app}`)
  bench.client.cluster.admin.create(SECRET, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: NAME, name: 'login' },
  })
  await bench.work()
  expect(told()).toBe(app)
  expect(bench.status().message).toMatch(`ContainerCluster web: ${app}; `)
  expect(bench.client.all('Deployment')).toEqual([])
  await expectReadyWith(bench, SECRET, { namespace: NAME, name: 'app' })
})

it('a ConfigMap of which a container has all keys is waited for, and its content is no matter', async () => {
  const envFrom = [{ configMapRef: { name: 'settings' } }]
  const bench = await start({
    containerClusters: [{ name: 'web', containers: [{ name: 'web', image: 'a', envFrom }] }],
  })
  await bench.work()
  const command = `kubectl -n ${NAME} create configmap settings --from-env-file=FILE`
  expect(bench.status()).toMatchObject({ phase: 'Provisioning', reason: 'ConfigMapMissing' })
  expect(bench.status().message).toMatch(`ContainerCluster web: ${command}; `)
  expect(bench.client.all('Deployment')).toEqual([])
  await expectReadyWith(bench, CONFIG_MAP, { namespace: NAME, name: 'settings' })
  bench.client.cluster.admin.mergePatch(CONFIG_MAP, { namespace: NAME, name: 'settings' }, { data: { a: 'b' } })
  expect(bench.open()).toEqual([])
})

it('a file with other content is in another ConfigMap, and the one of before goes, unless a cluster has to stay as it is', async () => {
  const withFile = (content: string, more: object = {}) => {
    const files = [{ path: '/etc/motd', content }]
    const containers = [{ name: 'web', image: 'registry.example/web:1', files, ...more }]
    return { containerClusters: [{ name: 'web', containers }] }
  }
  const bench = await start(withFile('a'))
  const contents = () =>
    bench.client
      .all('ConfigMap')
      .flatMap((one) => (one as unknown as { readonly data: { readonly 'web.0'?: string } }).data['web.0'] ?? [])
  await bench.work()
  expect([bench.status().phase, contents()]).toEqual(['Ready', ['a']])
  bench.change(withFile('b'))
  await bench.work()
  await bench.work()
  expect([bench.status().phase, contents()]).toEqual(['Ready', ['b']])
  bench.change(withFile('c', { capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'SYS_PTRACE'] } }))
  await bench.work()
  expect([bench.status().reason, contents()]).toEqual(['CapabilityNotAllowed', ['b']])
  // All of them at once, so that the policy is changed once.
  expect(bench.status().message).toContain('adds SYS_ADMIN, SYS_PTRACE, which')
})

it('a device of the node needs the policy, and what has it stays without', async () => {
  const containers = [{ name: 'web', image: 'registry.example/web:1', devices: ['tun' as const, 'kvm' as const] }]
  const bench = await start({ containerClusters: [{ name: 'web', containers }] })
  await bench.work()
  expect([bench.status().reason, bench.client.all('Deployment')]).toEqual(['DeviceNotAllowed', []])
  expect(bench.status().message).toContain('container web asks for device tun, kvm, which')
  bench.setPolicy({ allowedDevices: ['kvm', 'tun'] })
  await bench.work()
  expect([bench.status().phase, bench.status().warnings]).toEqual(['Ready', 1])
  bench.setPolicy({ allowedDevices: ['tun'] })
  await bench.work()
  expect(bench.client.all('Deployment')).toHaveLength(1)
  expect(bench.status().message).toContain('asks for device kvm, which the policy key allowedDevices does not name')
})

it('an existing network needs the policy, and what is on it stays without', async () => {
  const vm = { name: 'vm', backingVMDiskImage: 'ubuntu', resources: { cpu: 1, memory: '1Gi' } }
  const url = 'https://images.example.com/u.qcow2'
  const bench = await start({
    networks: [{ name: 'site', attach: 'vlans/v-100' }],
    vms: [
      {
        ...vm,
        vmDiskImageTemplate: { url, sourceType: 'http', diskSize: '1Gi' },
        interfaces: [{ network: 'site' }],
      },
    ],
    containerClusters: [
      {
        name: 'web',
        interfaces: [{ network: 'site' }],
        containers: [{ name: 'web', image: 'registry.example/web:1' }],
      },
    ],
  })
  const members = () => ['VirtualMachine', 'Deployment'].map((kind) => bench.client.all(kind).length)
  await bench.work()
  expect([bench.status().reason, members()]).toEqual(['NetworkNotAllowed', [0, 0]])
  expect(bench.open()).toEqual([
    'Network site: Failed NetworkNotAllowed',
    'ContainerCluster web: Failed NetworkNotAllowed',
    'VirtualMachine vm: Failed NetworkNotAllowed',
  ])
  bench.setPolicy({ attachableNetworks: ['vlans/v-200', 'vlans/v-100'] })
  await bench.work()
  expect([bench.status().phase, members()]).toEqual(['Ready', [1, 1]])
  bench.setPolicy({ attachableNetworks: [] })
  await bench.work()
  expect([bench.status().reason, members()]).toEqual(['NetworkNotAllowed', [1, 1]])
  const told = bench.status().components?.find(({ kind }) => kind === 'VirtualMachine')?.message
  expect(told).toMatch(
    /does not list: remove attach, or have the policy allow it; the VirtualMachine of that name exists/,
  )
})

it('overrides of a machine need the policy, and it stays as it is without', async () => {
  const overrides = { template: { spec: { domain: { cpu: { model: 'canary-model' } } } } }
  const vm = { name: 'vm', backingVMDiskImage: 'ubuntu', resources: { cpu: 1, memory: '1Gi' } }
  const template = { url: 'https://images.example.com/u.qcow2', sourceType: 'http', diskSize: '1Gi' } as const
  const bench = await start({ vms: [{ ...vm, vmDiskImageTemplate: template, overrides }] })
  const made = () =>
    bench.client.all('VirtualMachine').map((machine) => (machine as { spec?: { overrides?: unknown } }).spec?.overrides)
  await bench.work()
  expect([bench.status().reason, made()]).toEqual(['OverrideNotAllowed', []])
  bench.setPolicy({ allowedOverrides: ['vm:template.spec.domain.cpu'] })
  await bench.work()
  expect([bench.status().phase, made()]).toEqual(['Ready', [overrides]])
  bench.setPolicy({ allowedOverrides: [] })
  await bench.work()
  expect([bench.status().reason, made()]).toEqual(['OverrideNotAllowed', [overrides]])
  const [machine] = bench.status().components?.filter(({ kind }) => kind === 'VirtualMachine') ?? []
  expect(machine?.message).toMatch(
    /overrides: template.spec.domain.cpu.model is not allowed: .* the VirtualMachine of that name exists and stays/,
  )
  expect(JSON.stringify(bench.status())).not.toContain('canary')
})

it('overrides of a container cluster need the policy, replace its pod, and are gone when the spec has them no more', async () => {
  const withPod = (spec: object | undefined) => ({
    containerClusters: [
      {
        name: 'web',
        containers: [{ name: 'web', image: 'registry.example/web:1' }],
        ...(spec !== undefined && { overrides: { spec } as Record<string, unknown> }),
      },
    ],
  })
  const aliases = [{ ip: '10.0.0.9', hostnames: ['canary.example.com'] }]
  const bench = await start(withPod({ hostAliases: aliases, hostname: 'canary' }))
  const pods = () =>
    bench.client
      .all('Deployment')
      .map((one) => (one as unknown as { spec: { template: { spec: Record<string, unknown> } } }).spec.template.spec)
  const said = async () => {
    await bench.work()
    expect(JSON.stringify(bench.status())).not.toContain('canary')
    return [bench.status().reason, bench.status().components?.find(({ kind }) => kind === 'ContainerCluster')?.message]
  }
  expect(await said()).toEqual([
    'OverrideNotAllowed',
    'overrides: spec.hostname cannot be overridden: hostname of the container cluster says that',
  ])
  bench.change(withPod({ hostAliases: aliases, containers: [{ name: 'db', imagePullPolicy: 'Always' }] }))
  bench.setPolicy({ allowedOverrides: ['pod:spec.hostAliases', 'pod:spec.containers'] })
  expect((await said())[1]).toBe('overrides: spec.containers[db] is not there: the member has no item of that name')
  expect(pods()).toEqual([])
  bench.change(withPod({ hostAliases: aliases, containers: [{ name: 'web', imagePullPolicy: 'Always' }] }))
  expect(await said()).toEqual(['Ready', 'the containers of web run'])
  expect(pods()).toMatchObject([{ hostAliases: aliases, containers: [{ name: 'web', imagePullPolicy: 'Always' }] }])
  bench.setPolicy({ allowedOverrides: [] })
  expect((await said())[1]).toMatch(
    /spec.hostAliases\[10.0.0.9\].hostnames is not allowed: .* the Deployment of that name exists and stays as it is/,
  )
  expect(pods()).toMatchObject([{ hostAliases: aliases }])
  bench.change(withPod(undefined))
  expect((await said())[0]).toBe('Ready')
  expect(pods()).not.toMatchObject([{ hostAliases: aliases }])
})

it('a privileged container needs the policy, and owners have no shells as long as one may run', async () => {
  const withPrivileges = (more: object) => ({
    owners: [{ kind: 'User' as const, name: 'alice' }],
    containerClusters: [{ name: 'web', containers: [{ name: 'web', image: 'registry.example/web:1', ...more }] }],
  })
  const bench = await start(withPrivileges({ privileged: true }))
  const roles = () => bench.client.all('RoleBinding').map(({ metadata }) => metadata.name)
  const level = () =>
    bench.client
      .all('Namespace')
      .flatMap(({ metadata }) => metadata.labels?.['pod-security.kubernetes.io/enforce'] ?? [])
  const told = () => bench.status().components?.find(({ kind }) => kind === 'ContainerCluster')?.message
  await bench.work()
  expect([bench.status().reason, bench.client.all('Deployment')]).toEqual(['PrivilegedNotAllowed', []])
  expect(told()).toMatch(/^container web is to be privileged, and the policy key allowPrivileged is false: remove/)
  bench.setPolicy({ allowPrivileged: true })
  await bench.work()
  expect([bench.status().phase, level(), roles()]).toEqual(['Ready', ['privileged'], [OWNER_ROLES.withoutShells]])
  bench.setPolicy({ allowPrivileged: false })
  await bench.work()
  expect([bench.status().reason, bench.client.all('Deployment').length]).toEqual(['PrivilegedNotAllowed', 1])
  expect(told()).toMatch(/the Deployment of that name exists and stays as it is/)
  expect([level(), roles()]).toEqual([['baseline'], [OWNER_ROLES.withoutShells]])
  // It stays although the spec does not ask for it any more.
  const { owners, containerClusters } = withPrivileges({})
  bench.change({ owners, containerClusters: containerClusters.map((one) => ({ ...one, ignoreOnDeploy: true })) })
  await bench.work()
  expect(roles()).toEqual([OWNER_ROLES.withoutShells])
  bench.change(withPrivileges({}))
  await bench.work()
  expect(roles()).toEqual([OWNER_ROLES.withShells])
})

it('a spec that breaks a rule is told, and nothing of the workspace is touched', async () => {
  const bench = await startReady()
  const owned = bench.owned()
  bench.change({ vms: 'none' } as never)
  await bench.clock.advance(5 * SECOND)
  expect(bench.status()).toMatchObject({ phase: 'Failed', reason: 'InvalidSpec' })
  expect([bench.owned(), bench.client.callsOf('delete')]).toEqual([owned, []])
})

it('a workspace is deleted of which nothing exists yet', async () => {
  const bench = await start(DEPLOYED, ({ client }) => {
    client.before = ({ verb, kind }) => {
      if (verb === 'create' && kind !== 'Event') throw apiError('Rejected')
    }
  })
  expect(bench.owned()).toEqual([])
  bench.deleteWorkspace()
  await bench.clock.advance(5 * SECOND)
  expect(bench.workspace()).toBeUndefined()
})

/** Creates an object that the workspace waits for, and expects the workspace to become Ready. */
async function expectReadyWith(bench: Awaited<ReturnType<typeof start>>, type: ResourceType, metadata: ObjectMeta) {
  bench.client.cluster.admin.create(type, { apiVersion: apiVersionOf(type), kind: type.kind, metadata })
  await bench.work()
  expect(bench.status().phase).toBe('Ready')
}
