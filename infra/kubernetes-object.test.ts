import type { Manifest } from '@open-terrain/constructs/platform'
import { type Output, output, secret } from '@pulumi/pulumi'
import { describe, expect, it } from 'vitest'
import { runMocked } from '../test/prepared/infra/mocked-stack.ts'
import { KubernetesObject } from './kubernetes-object.ts'

const CANARY = 'hush-hush'
const API = 'pelotech.ot/v1alpha1'
const plain = { name: 'plain', image: 'registry.example/a:1' }

/** How Pulumi marks what it encrypts. */
const MARK = '4dabf18193072939515e22adb298388d'

/** The value without what is encrypted. */
function readable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (MARK in value) return '[secret]'
  if (Array.isArray(value)) return value.map(readable)
  return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, readable(one)]))
}

async function sent(manifest: Manifest, isLate = false) {
  const later = isLate ? (output(Promise.resolve(manifest)) as unknown as Output<Manifest>) : undefined
  const { objects } = await runMocked(async () => new KubernetesObject('one', manifest, {}, later))
  const [object] = objects
  return { whole: JSON.stringify(object?.sent), readable: readable(object?.sent), outputs: object?.secretOutputs }
}

const object = (kind: string, rest: object, apiVersion = API): Manifest => ({
  apiVersion,
  kind,
  metadata: { name: 'one', namespace: 'labs' },
  ...rest,
})
const container = (words: object) => ({
  spec: { containerClusters: [{ name: 'web', containers: [{ ...plain, ...words }] }] },
})

const SECRETS: readonly [string, Manifest, string][] = [
  [
    'password of a user',
    object('VirtualMachine', { spec: { users: [{ name: 'a', plain_text_passwd: CANARY }] } }),
    'spec',
  ],
  ['user data', object('VirtualMachine', { spec: { userData: `#cloud-config\n# ${CANARY}` } }), 'spec'],
  ['overrides', object('VirtualMachine', { spec: { overrides: { domain: { serial: CANARY } } } }), 'spec'],
  [
    'password of a machine',
    object('Workspace', { spec: { vms: [{ users: [{ plain_text_passwd: CANARY }] }] } }),
    'spec',
  ],
  [
    'variables of a role',
    object('Workspace', { spec: { vms: [{ roles: [{ variables: { a: [CANARY] } }] }] } }),
    'spec',
  ],
  ['environment variable', object('Workspace', container({ env: [{ name: 'PLAIN', value: CANARY }] })), 'spec'],
  ['content of a file', object('Workspace', container({ files: [{ path: '/etc/a', content: CANARY }] })), 'spec'],
  ['arguments', object('Workspace', container({ args: ['--requirepass', CANARY] })), 'spec'],
  ['command', object('Workspace', container({ command: ['sh', '-c', CANARY] })), 'spec'],
  [
    'path of a probe',
    object('Workspace', container({ readinessProbe: { httpGet: { path: `/up?key=${CANARY}` } } })),
    'spec',
  ],
  [
    'header of a probe',
    object(
      'Workspace',
      container({ livenessProbe: { httpGet: { httpHeaders: [{ name: 'Authorization', value: CANARY }] } } }),
    ),
    'spec',
  ],
  ['query of a URL', object('VMDiskImage', { spec: { url: `https://images.example/a.qcow2?sig=${CANARY}` } }), 'spec'],
  ['user of a URL', object('DataSync', { spec: { urls: [`https://${CANARY}@images.example/a`] } }), 'spec'],
  ['Secret', object('Secret', { stringData: { a: CANARY } }, 'v1'), 'stringData'],
  ['encoded Secret', object('Secret', { data: { a: CANARY } }, 'v1'), 'data'],
  [
    'environment variable of others that is named so',
    object('Deployment', { spec: { containers: [{ env: [{ name: 'API_TOKEN', value: CANARY }] }] } }, 'apps/v1'),
    'spec',
  ],
  [
    'user data of KubeVirt',
    object('VirtualMachine', { spec: { volumes: [{ cloudInitNoCloud: { userData: CANARY } }] } }, 'kubevirt.io/v1'),
    'spec',
  ],
]

describe('KubernetesObject', () => {
  it.each(SECRETS)('has Pulumi encrypt what may be secret: %s', async (_, manifest, field) => {
    for (const isLate of [false, true]) {
      const { whole, readable, outputs } = await sent(manifest, isLate)
      expect(whole).toContain(CANARY)
      expect(JSON.stringify(readable)).not.toContain(CANARY)
      expect(outputs).toEqual([field, '__inputs'])
    }
  })

  it.each<[string, object]>([
    ['a password', { users: [{ name: 'a', plain_text_passwd: output(CANARY) }] }],
    ['a list with a password', { users: output(Promise.resolve([{ name: 'a', plain_text_passwd: CANARY }])) }],
    ['what is secret already', { users: [{ name: 'a', groups: [secret(CANARY)] }] }],
    ['a signed URL', { ansible: { repositories: [output(`https://git.example/a?sig=${CANARY}`)] } }],
    ['an environment variable', { containers: [{ env: [{ name: 'PLAIN', value: output(CANARY) }] }] }],
  ])('has Pulumi encrypt an output of another resource that is %s', async (_, spec) => {
    const { whole, readable, outputs } = await sent(object('Workspace', { spec }))
    expect(whole).toContain(CANARY)
    expect(JSON.stringify(readable)).not.toContain(CANARY)
    expect(outputs).toEqual(['spec', '__inputs'])
  })

  it('leaves all else readable', async () => {
    const workspace = object('Workspace', container({ env: [{ name: 'PLAIN', value: CANARY }], runAsUser: 5 }))
    expect((await sent(workspace)).readable).toMatchObject(
      object('Workspace', container({ env: [{ name: 'PLAIN', value: '[secret]' }], runAsUser: 5 })),
    )
    for (const one of [
      object('VMDiskImage', { spec: { url: 'https://images.example/a.qcow2' } }),
      object('ValidatingAdmissionPolicy', { spec: { variables: [{ name: 'a', expression: 'b ? c : d' }] } }, 'v1'),
      object('Deployment', { spec: { env: [{ name: 'LOG_LEVEL', value: 'debug' }], args: ['a'] } }, 'apps/v1'),
      object('CustomResourceDefinition', { spec: { userData: { type: 'string' }, overrides: {} } }, 'v1'),
    ])
      expect(await sent(one)).toMatchObject({ readable: one, outputs: [] })
    const late = object('VMDiskImage', { spec: { url: output('https://images.example/a.qcow2') } })
    expect((await sent(late)).readable).toMatchObject({ spec: { url: 'https://images.example/a.qcow2' } })
  })
})
