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
  'an environment variable': [
    'Deployment',
    (secret) => ({ spec: { template: { spec: { containers: [{ env: [{ name: 'API_TOKEN', value: secret }] }] } } } }),
  ],
}

describe('the answer to a write', () => {
  it('has no password of a line that somebody quotes from cloud-init data', () => {
    const lines = [`passwd: ${CANARY}`, `  "plain_text_passwd": "${CANARY}",`, `api_token = ${CANARY}`]
    for (const line of lines) {
      const sent = { data: { userdata: Buffer.from(`#cloud-config\n${line}\nother: words`).toString('base64') } }
      expect(withoutSecretsOf(`denied: ${line}`, 'Secret', sent)).not.toContain(CANARY)
      expect(withoutSecretsOf('denied: other: words', 'Secret', sent)).toBe('denied: other: words')
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
