import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import { describe, expect, it } from 'vitest'
import { NOW, PlannedWorld, parsed, settledWorld } from '../../../../test/prepared/workspace/workspace-world.ts'
import { planWorkspace } from './plan.ts'

const CREATE = 'kubectl -n lab create secret generic'
const ref = (name: string, key: string) => ({ name, key })
const user = (name: string, key: string) => ({ name: `${name}-${key}`, passwordSecretRef: ref(name, key) })
const vm = (name: string, ...users: object[]) => ({
  name,
  backingVMDiskImage: 'ubuntu',
  vmDiskImageTemplate: { url: 'https://images.example/u.qcow2', sourceType: 'http', diskSize: '1Gi' },
  resources: { cpu: '1', memory: '1Gi' },
  users,
})
const cluster = (name: string, secret: string, key: string) => ({
  name,
  containers: [{ name, image: 'web:1', env: [{ name: 'A', valueFrom: { secretKeyRef: ref(secret, key) } }] }],
})
const LAB = {
  vms: [
    vm('a', user('login', 'root'), user('other', 'root')),
    vm('b', user('login', 'admin')),
    { ...vm('later', user('later', 'root')), ignoreOnDeploy: true },
  ],
  containerClusters: [cluster('web', 'app', 'key'), cluster('dns', 'login', 'root')],
}

/** Plans until nothing changes, in a cluster that has these Secrets and ConfigMaps. @param isReady whether the images are */
function planned(spec: object, secrets: readonly string[], isReady = true, configMaps: readonly string[] = []) {
  const of = new PlannedWorld(parsed(spec as WorkspaceSpecInput))
  if (isReady) of.allImagesReady()
  const next = () => planWorkspace({ ...of.world, secrets: new Set(secrets), configMaps: new Set(configMaps) }, NOW)
  for (let rounds = 0; rounds < 8; rounds += 1) of.take(next())
  const messageOf = (name: string) => of.status.components?.find((one) => one.name === name)?.message
  return { of, next, messageOf, message: () => next().status.message ?? '' }
}

describe('a workspace', () => {
  it('names each Secret that is missing once, with all its keys and with what waits for it, and one command', () => {
    const { message, messageOf, of } = planned(LAB, [])
    expect(message().split('; ').slice(0, 2)).toEqual([
      '3 Secrets are missing: login (for VirtualMachine a, VirtualMachine b, ContainerCluster dns), other (for VirtualMachine a), app (for ContainerCluster web)',
      `run: ${CREATE} login --from-literal=root=PASSWORD --from-literal=admin=PASSWORD && ${CREATE} other --from-literal=root=PASSWORD && ${CREATE} app --from-literal=key=VALUE`,
    ])
    // The keys that others need of a Secret are in its command, too: it is created once.
    expect(messageOf('b')).toBe(`${CREATE} login --from-literal=root=PASSWORD --from-literal=admin=PASSWORD`)
    expect(messageOf('a')).toMatch(/^2 Secrets are missing: login, other; run: /)
    expect([of.status.reason, of.status.waitingFor]).toEqual([
      'SecretMissing',
      'ContainerCluster web (SecretMissing) and 3 more',
    ])
  })

  it('names those of user data and of init containers, with the file that is to be in them', () => {
    const userDataSecretRef = ref('setup', 'cloud')
    const first = { ...cluster('first', 'setup', 'password').containers[0], name: 'first' }
    const { message } = planned(
      {
        vms: [{ ...vm('a'), userDataSecretRef }],
        containerClusters: [{ ...cluster('web', 'app', 'key'), initContainers: [first] }],
      },
      [],
    )
    expect(message()).toContain(
      `2 Secrets are missing: setup (for VirtualMachine a, ContainerCluster web), app (for ContainerCluster web); ` +
        `run: ${CREATE} setup --from-file=cloud=FILE --from-literal=password=VALUE && ${CREATE} app --from-literal=key=VALUE; `,
    )
  })

  it('says what a single member says of a single Secret', () => {
    const { message, messageOf } = planned(LAB, ['login', 'other'])
    expect(messageOf('web')).toBe(`${CREATE} app --from-literal=key=VALUE`)
    expect(message().startsWith(`ContainerCluster web: ${messageOf('web')}; `)).toBe(true)
  })

  it('names them while it waits for its images, behind that', () => {
    const { message, of } = planned({ vms: LAB.vms }, ['login'], false)
    expect(of.status.reason).not.toBe('SecretMissing')
    expect(message()).toContain(
      `; 1 Secret is missing: other (for VirtualMachine a); run: ${CREATE} other --from-literal=root=PASSWORD; `,
    )
  })

  it('names none before its namespace exists, or when it goes', () => {
    const of = new PlannedWorld(parsed(LAB as WorkspaceSpecInput))
    expect(planWorkspace(of.world, NOW).status.message).not.toContain('kubectl')
    const going = planned(LAB, [])
    const home = going.of.children.get('Namespace lab')
    if (home === undefined) throw new Error('no namespace')
    const metadata = { ...home.metadata, deletionTimestamp: '2026-01-31T12:00:00Z' }
    going.of.children.set('Namespace lab', { ...home, metadata })
    expect(going.message()).not.toContain('Secrets are missing')
  })

  it('names none that only what runs has been given', () => {
    const of = settledWorld(parsed({ vms: [LAB.vms[1]] } as WorkspaceSpecInput))
    const child = of.children.get('VirtualMachine b')
    const failed = { observedGeneration: 1, phase: 'Failed', reason: 'KickBudgetSpent', message: 'it hangs' }
    of.children.set('VirtualMachine b', { ...child, status: failed } as never)
    expect(planWorkspace({ ...of.world, secrets: new Set() }, NOW).status.message).not.toContain('kubectl')
  })
})

describe('a key that is missing in a Secret which exists', () => {
  const lacking = (more: object) => {
    const { of, message } = planned({ ...LAB, ...more }, ['login', 'other', 'app'])
    for (const [name, key] of [
      ['a', 'root'],
      ['b', 'admin'],
    ]) {
      const child = of.children.get(`VirtualMachine ${name}`)
      const missingSecretKeys = [{ name: 'login', key }]
      const status = {
        observedGeneration: 1,
        phase: 'Provisioning',
        reason: 'MissingPasswordSecret',
        missingSecretKeys,
      }
      of.children.set(`VirtualMachine ${name}`, { ...child, status } as never)
    }
    return { of, message, next: () => planWorkspace({ ...of.world, secrets: new Set(['login', 'other', 'app']) }, NOW) }
  }

  it('is added by one command for all machines', () => {
    const { message, next } = lacking({})
    expect(message()).toContain(
      '1 Secret is incomplete: login needs one line of text in root, admin (for VirtualMachine a, VirtualMachine b); ' +
        `run: kubectl -n lab patch secret login -p '{"stringData":{"root":"PASSWORD","admin":"PASSWORD"}}'; `,
    )
    const { components = [], reason } = next().status
    expect(reason).toBe('SecretMissing')
    expect(components.find(({ name }) => name === 'b')).toMatchObject({
      reason: 'MissingPasswordSecret',
      message: `1 Secret is incomplete: login needs one line of text in admin; run: kubectl -n lab patch secret login -p '{"stringData":{"admin":"PASSWORD"}}'`,
    })
  })

  it('is there again with all other keys where owners, who cannot change a Secret, create it again', () => {
    const { message } = lacking({ owners: [{ kind: 'User', name: 'alice@example.com' }] })
    expect(message()).toContain(
      `; run: kubectl -n lab delete secret login && ${CREATE} login --from-literal=root=PASSWORD --from-literal=admin=PASSWORD; `,
    )
  })
})

describe('a Secret or ConfigMap of which a container has all keys', () => {
  const lab = (more: object, name = 'web') => ({
    containerClusters: [{ name, containers: [{ name, image: 'web:1', ...more }] }],
  })
  const whole = (name: string) => ({ envFrom: [{ secretRef: { name } }, { prefix: 'A_', configMapRef: { name } }] })
  const folder = (name: string) => ({
    files: [
      { path: '/a', secretRef: { name } },
      { path: '/b', configMapRef: { name } },
    ],
  })
  const configMap = (name: string, content: string) => `kubectl -n lab create configmap ${name} ${content}`

  it.each([
    ['variables', whole('app'), '--from-env-file=FILE'],
    ['a folder', folder('app'), '--from-file=FOLDER'],
    ['both', { ...whole('app'), ...folder('app') }, '--from-file=FOLDER'],
  ])('is waited for, with the command for %s', (_what, more, content) => {
    const { of, messageOf, message, next } = planned(lab(more), [])
    const text = `1 Secret and 1 ConfigMap are missing: app, app; run: ${CREATE} app ${content} && ${configMap('app', content)}`
    expect(messageOf('web')).toBe(text)
    expect(message()).toContain(text.replaceAll(/ app([,;])/g, ' app (for ContainerCluster web)$1'))
    expect(of.status.reason).toBe('SecretMissing')
    expect(next().apply.some(({ kind }) => kind === 'Deployment')).toBe(false)
    const rest = planned(lab(more), ['app'])
    expect([rest.messageOf('web'), rest.of.status.reason]).toEqual([configMap('app', content), 'ConfigMapMissing'])
    expect(rest.message().startsWith(`ContainerCluster web: ${configMap('app', content)}; `)).toBe(true)
    expect(planned(lab(more), ['app'], true, ['app']).of.status.phase).toBe('Ready')
  })

  it('gets the keys that are named alone, too', () => {
    const env = [
      { name: 'A', valueFrom: { secretKeyRef: ref('app', 'a') } },
      { name: 'B', valueFrom: { configMapKeyRef: ref('app', 'b') } },
    ]
    const { messageOf } = planned(lab({ env, ...whole('app') }), [])
    expect(messageOf('web')).toContain(
      `${CREATE} app --from-literal=a=VALUE --from-literal=NAME=VALUE && ${configMap('app', '--from-literal=b=VALUE --from-literal=NAME=VALUE')}`,
    )
    expect(planned(lab({ env: env.slice(1) }), []).messageOf('web')).toBe(configMap('app', '--from-literal=b=VALUE'))
  })

  it('is not asked for where the operator makes it', () => {
    const secrets = [{ name: 'app', generate: [{ key: 'A' }] }]
    const { messageOf } = planned({ ...lab({ envFrom: [{ secretRef: { name: 'app' } }] }), secrets }, [])
    expect(messageOf('web')).not.toContain('kubectl')
    const plays = planned(lab({ files: [{ path: '/plays', configMapRef: { name: 'lab-ansible' } }] }), [])
    expect(plays.of.status.phase).toBe('Ready')
  })

  it('is kept where it has random values and is not made any more', () => {
    const secrets = [{ name: 'app', generate: [{ key: 'A' }] }]
    const of = settledWorld(parsed({ ...lab(folder('app')), secrets } as WorkspaceSpecInput))
    of.spec = parsed(lab(folder('app')) as WorkspaceSpecInput)
    expect(planWorkspace(of.world, NOW).remove.map(({ kind }) => kind)).not.toContain('Secret')
    of.spec = parsed(lab({ envFrom: [{ configMapRef: { name: 'app' } }] }) as WorkspaceSpecInput)
    expect(planWorkspace(of.world, NOW).remove.map(({ kind }) => kind)).toContain('Secret')
  })
})
