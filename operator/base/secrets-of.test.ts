import fc from 'fast-check'
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
  'a file of a container': [
    'Workspace',
    (secret) => ({ spec: { containerClusters: [{ containers: [{ files: [{ path: '/a', content: secret }] }] }] } }),
  ],
  'the files of a container cluster': ['ConfigMap', (secret) => ({ data: { 'app.0': secret } })],
  'an object in a list': ['Deployment', (secret) => [{ kind: 'ConfigMap', data: { 'app.0': secret } }]],
  'the query of a probe': [
    'Workspace',
    (secret) => ({ spec: { containers: [{ readinessProbe: { httpGet: { path: `/up?${secret}`, port: 80 } } }] } }),
  ],
  'a header of a probe': [
    'VirtualMachine',
    (secret) => ({
      readinessProbe: { httpGet: { port: 80, httpHeaders: [{ name: 'Authorization', value: secret }] } },
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

  it.each(WRITTEN)('has no piece of %s, however it is quoted', (_, kind, write) => {
    fc.assert(
      fc.property(content, quotes, pieces, (text, quote, { from, length }) => {
        const said = quote(write(text))
        const at = Math.floor(from * said.length)
        const piece = said.slice(at, at + Math.max(40, Math.floor(length * said.length)))
        const told = withoutSecretsOf(`admission webhook "a" denied it: ${piece} is too simple`, kind, write(text))
        expect(told.startsWith('admission webhook "a" denied it: ')).toBe(true)
        for (const part of partsOf(text)) expect(lettersOf(told)).not.toContain(part)
      }),
      { numRuns: 300 },
    )
  })

  it.each<[string, string, object]>([
    ['line of a file', 'ConfigMap', { data: { 'app.0': 'bind all\nrequirepass S3cretPass77' } }],
    ['line of a file with quotes', 'ConfigMap', { data: { 'app.0': `  password "S3cretPass77"` } }],
    ['line of a router', 'Workspace', { spec: { files: [{ content: 'enable secret 5 S3cretPass77\n' }] } }],
    ['word after a flag', 'Deployment', { spec: { args: ['redis-server', '--requirepass', 'S3cretPass77'] } }],
    ['word of a script', 'Deployment', { spec: { command: ['sh', '-c', 'serve --requirepass S3cretPass77'] } }],
    [
      'variable of a container',
      'Workspace',
      { spec: { containers: [{ env: [{ name: 'LOGIN', value: 'S3cretPass77' }] }] } },
    ],
    ['variable of a play', 'Workspace', { spec: { ansible: [{ variables: { logins: ['S3cretPass77'] } }] } }],
    ['line of a play', 'ConfigMap', { data: { 'deploy.yaml': '  vars:\n    logins:\n      - "S3cretPass77"\n' } }],
  ])('has no password of a %s', (_, kind, sent) => {
    expect(withoutSecretsOf('denied: S3cretPass77 is weak', kind, sent)).toBe('denied: … is weak')
  })

  it('keeps ordinary words that a file has too', () => {
    const data = { 'app.0': '# the password of the database\nlisten 80;\nrequirepass hunter22\n' }
    const text = 'configmaps "web" is forbidden: the name of the database has the password hunter22 in it, listen'
    expect(withoutSecretsOf(text, 'ConfigMap', { data })).toBe(text.replace('hunter22', '…'))
    const env = [{ name: 'MODE', value: 'production' }]
    expect(withoutSecretsOf('no production today', 'Workspace', { spec: { env } })).toBe('no production today')
  })

  it('keeps the names of a workspace, which are in the file of hosts and in the inventory', () => {
    const data = { hosts: '10.0.0.5 web.example\n', 'inventory.yaml': 'ansible_host: 10.0.0.5\n' }
    const text = 'denied: 10.0.0.5 web.example'
    expect(withoutSecretsOf(text, 'ConfigMap', { data })).toBe(text)
  })

  it('is searched in a time that grows as the object and the text do', () => {
    const line = (at: number) => `${'all the same again and again '.repeat(30)}${at}`
    const text = Array.from({ length: 1_000 }, (_, at) => line(at)).join('\n')
    const sent = { data: { 'app.0': text } }
    const start = process.cpuUsage()
    expect(withoutSecretsOf(`denied: ${JSON.stringify(text)}`, 'ConfigMap', sent)).not.toContain('all the same')
    const { user, system } = process.cpuUsage(start)
    expect(user + system).toBeLessThan(5_000_000)
  })
})

const WRITTEN: readonly (readonly [string, string, (text: string) => object])[] = [
  ['a file of a workspace', 'Workspace', (content) => ({ spec: { a: [{ files: [{ path: '/a', content }] }] } })],
  ['the files of a cluster', 'ConfigMap', (text) => ({ kind: 'ConfigMap', data: { 'web.0': text } })],
  ['user data', 'Workspace', (userData) => ({ spec: { vms: [{ name: 'a', userData }] } })],
  ['a Secret', 'Secret', (text) => ({ stringData: { a: text } })],
]

const word = fc.string({ minLength: 1, maxLength: 24 })
/** Lines as files have them, with whatever people write. */
const content = fc
  .array(
    fc.oneof(
      word,
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.tuple(word, fc.constantFrom(': ', ' = ', ' ', '<&>"\\'), word).map((all) => all.join('')),
      { arbitrary: fc.stringMatching(/^ {0,6}[a-z]{3,9}: [A-Za-z0-9]{20,60}$/), weight: 3 },
    ),
    { maxLength: 12 },
  )
  .map((lines) => lines.join('\n').replaceAll('…', ''))

const indented = (text: string): string => text.replace(/^/gm, '      ')
/** How Go and YAML write texts, and texts of texts. */
const quotes = fc.constantFrom<((object: object) => string)[]>(
  (object) => JSON.stringify(object),
  (object) => JSON.stringify(JSON.stringify(object)),
  (object) => JSON.stringify(object, null, 2),
  (object) => JSON.stringify(object).replace(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`),
  (object) =>
    JSON.stringify(object).replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`),
  (object) => `map[${textsOf(object).join(' ')}]`,
  (object) =>
    textsOf(object)
      .map((text) => `data: |\n${indented(text)}`)
      .join('\n'),
  (object) => textsOf(object).join(' ').replaceAll(/\s+/g, ' '),
)
const pieces = fc.record({
  from: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.double({ min: 0, max: 1, noNaN: true }),
})

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

/** Letters and digits in a row, whatever is between them, that must not be told. */
const PART = 16

function lettersOf(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9…]/g, '')
}

/** What a quotation of it has too, whichever letters of escapes are in between. */
function partsOf(text: string): string[] {
  const runs = text.match(/[A-Za-z0-9]{16,}/g) ?? []
  return runs.flatMap((run) => Array.from({ length: run.length - PART + 1 }, (_, at) => run.slice(at, at + PART)))
}
