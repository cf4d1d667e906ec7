import { describe, expect, it } from 'vitest'
import { withoutSecretsOf } from './secrets-of.ts'

const CANARY = 'hunter2 \\ "quoted" 🐤'

/** What can be sent with a secret in it, by what it is. */
const SENT: Readonly<Record<string, readonly [kind: string, sent: (secret: string) => object]>> = {
  'a user of a machine': ['VirtualMachine', (secret) => ({ spec: { users: [{ plain_text_passwd: secret }] } })],
  'a hashed password': ['Workspace', (secret) => ({ spec: { vms: [{ users: [{ hashed_passwd: secret }] }] } })],
  'a text of a Secret': ['Secret', (secret) => ({ stringData: { any: secret } })],
  'a value of a Secret': ['Secret', (secret) => ({ data: { any: Buffer.from(secret).toString('base64') } })],
  'data of cloud-init': [
    'VirtualMachine',
    (secret) => ({ spec: { template: { spec: { volumes: [{ cloudInitNoCloud: { userData: secret } }] } } } }),
  ],
  'a variable of a play': [
    'Workspace',
    (secret) => ({
      spec: { vms: [{ ansible: { roles: { deploy: [{ variables: { nested: { api_token: secret } } }] } } }] },
    }),
  ],
  'overrides of a machine': [
    'Workspace',
    (secret) => ({ spec: { vms: [{ overrides: { template: { spec: { list: [{ serial: secret }] } } } }] } }),
  ],
  'a value of KubeVirt’s machine that is overridden': [
    'VirtualMachine',
    (secret) => ({
      metadata: { annotations: { 'pelotech.ot/overrides': 'a.b,domain.disks[/r.oot].serial' } },
      spec: {
        domain: {
          disks: [
            { name: 'other', serial: '/r.oot' },
            { name: '/r.oot', serial: secret },
          ],
        },
      },
    }),
  ],
  'an environment variable': [
    'Deployment',
    (secret) => ({ spec: { template: { spec: { containers: [{ env: [{ name: 'API_TOKEN', value: secret }] }] } } } }),
  ],
}

/** As a play has them: names of secrets, quoted or not, with a value in their line or below it. */
const PLAY_LINES: readonly ((secret: string) => string)[] = [
  (secret) => `admin_password: ${secret}`,
  (secret) => `"api_token": ${JSON.stringify(secret)}`,
  (secret) => `credentials_of_the_lab: ${secret}`,
  (secret) => `private_key: |\n  -----BEGIN-----\n  ${secret}\n  -----END-----`,
]

describe('the answer to a write', () => {
  it.each<[string, object]>([
    ['the password', { username: 'robot', password: 'S3cretPass77' }],
    ['a token', { identitytoken: 'S3cretPass77' }],
    ['what is encoded', { auth: Buffer.from('robot:S3cretPass77').toString('base64') }],
  ])('has nothing of a login to a registry: %s', (_, login) => {
    const config = JSON.stringify({ auths: { 'registry.example': login } })
    const sent = { data: { '.dockerconfigjson': Buffer.from(config).toString('base64') } }
    expect(withoutSecretsOf('denied: S3cretPass77 is weak', 'Secret', sent)).toBe('denied: … is weak')
  })

  it('has nothing of JSON that is nested without end', () => {
    const text = `${'['.repeat(50_000)}"S3cretPass77"${']'.repeat(50_000)}`
    expect(withoutSecretsOf('denied: S3cretPass77', 'Secret', { stringData: { a: text } })).toBe('denied: …')
  })

  it.each(PLAY_LINES.map((line) => [line('…'), line]))('has no secret of a play: %s', (_, line) => {
    const play = `- name: deploy\n  vars:\n${line(CANARY).replace(/^/gm, '    ')}\n    edition: community\n`
    const sent = { data: { 'deploy.yaml': play } }
    for (const said of [play, JSON.stringify(play), ...play.split('\n'), 'edition: community']) {
      const text = withoutSecretsOf(`denied: ${said}`, 'ConfigMap', sent)
      expect(text).not.toContain(CANARY)
      expect(text).not.toContain(JSON.stringify(CANARY).slice(1, -1))
      expect(text.includes('edition: community')).toBe(said.includes('edition: community'))
    }
  })

  it('has no line of user data', () => {
    const userData = `#cloud-config\nhostname: ${CANARY}\nruncmd:\n  - mysql --password=${CANARY}\n`
    for (const sent of [{ spec: { userData } }, { spec: { vms: [{ userData }] } }])
      expect(withoutSecretsOf(`denied: --password=${CANARY}, hostname: ${CANARY}, lab`, 'Workspace', sent)).toBe(
        'denied: --password=…, …, lab',
      )
  })

  it('is left out where an object has so many secrets that to look for them would take long', () => {
    const play = Array.from({ length: 60_000 }, (_, at) => `api_token: ${CANARY}${at}`).join('\n')
    const text = withoutSecretsOf(`denied: ${play}`, 'ConfigMap', { data: { 'deploy.yaml': play } })
    expect(text).toContain('left out')
    expect(text).not.toContain(CANARY)
  })

  it('has no password of the arguments of a program', () => {
    const containers = [{ command: ['sh', '-c'], args: [`serve --admin-password=${CANARY}\n`] }]
    const text = withoutSecretsOf(`denied: --admin-password=${CANARY}`, 'Deployment', {
      spec: { template: { spec: { containers } } },
    })
    expect(text).toBe('denied: --admin-password=…')
  })

  it('has no password of a line that somebody quotes from cloud-init data', () => {
    const lines = [`passwd: ${CANARY}`, `  "plain_text_passwd": "${CANARY}",`, `api_token = ${CANARY}`]
    for (const line of lines) {
      const sent = { data: { userdata: Buffer.from(`#cloud-config\n${line}\nother: words`).toString('base64') } }
      expect(withoutSecretsOf(`denied: ${line}`, 'Secret', sent)).not.toContain(CANARY)
      expect(withoutSecretsOf('denied: other: words', 'Secret', sent)).toBe('denied: …')
      expect(withoutSecretsOf('denied: no words', 'Secret', sent)).toBe('denied: no words')
    }
  })

  it.each(Object.entries(SENT))('has no secret of what was sent: %s', (_, [kind, sent]) => {
    for (const secret of [CANARY, 'short', 'with\nlines and more']) {
      const json = JSON.stringify(secret)
      for (const said of [json, JSON.stringify(json).slice(1, -1), ...(secret.length < 6 ? [] : [secret])]) {
        const text = withoutSecretsOf(
          `admission webhook denied it: Invalid value: ${said}: too simple`,
          kind,
          sent(secret),
        )
        expect(text.startsWith('admission webhook denied it: Invalid value: ')).toBe(true)
        expect(text.endsWith(': too simple')).toBe(true)
        expect(text).not.toContain(secret)
        expect(text).not.toContain(json.slice(1, -1))
      }
    }
  })

  it('has no value of a Secret as it was encoded', () => {
    const encoded = Buffer.from(CANARY).toString('base64')
    expect(withoutSecretsOf(`illegal data: ${encoded}`, 'Secret', { data: { any: encoded } })).toBe('illegal data: …')
  })

  it('keeps what is no secret, and words that a short one is part of', () => {
    const sent = { metadata: { name: 'lab' }, spec: { users: [{ name: 'al', plain_text_passwd: 'a' }] } }
    const text = 'virtualmachines "lab" is forbidden: "a" and "al" are no names'
    expect(withoutSecretsOf(text, 'VirtualMachine', sent)).toBe(
      'virtualmachines "lab" is forbidden: "…" and "al" are no names',
    )
    expect(withoutSecretsOf('secrets "keys" not found', 'VMDiskImage', { spec: { secretRef: 'keys' } })).toBe(
      'secrets "keys" not found',
    )
  })
})
