import type { SourceType } from './source-type.ts'

/** A key of the Secret of a source. */
export interface CredentialKey {
  readonly key: string
  /** What its value is. */
  readonly is: string
  /** What CDI cannot do without: the key alone (an empty value then means no login), a value, or a JSON object. */
  readonly needs: 'key' | 'value' | 'JSON'
}

/** What CDI reads from the Secret of a source, by its type. A Secret without one of these keys starts no importer, or one that only fails. */
export const SOURCE_CREDENTIALS: Readonly<Record<SourceType, readonly CredentialKey[]>> = {
  s3: [
    { key: 'accessKeyId', is: 'the access key ID', needs: 'value' },
    { key: 'secretKey', is: 'the secret access key', needs: 'value' },
  ],
  http: [
    { key: 'accessKeyId', is: 'the user name', needs: 'key' },
    { key: 'secretKey', is: 'the password', needs: 'key' },
  ],
  registry: [
    { key: 'accessKeyId', is: 'the user name', needs: 'key' },
    { key: 'secretKey', is: 'the password', needs: 'key' },
  ],
  gcs: [{ key: 'credentials.json', is: 'the JSON key file of a service account', needs: 'JSON' }],
  blank: [],
}

/** Every key that CDI reads for any type. */
export const CREDENTIAL_KEYS: readonly string[] = [
  ...new Set(Object.values(SOURCE_CREDENTIALS).flatMap((keys) => keys.map(({ key }) => key))),
]

/** Returns the keys of all types as text: `s3: a (the user) and b (the password); ...`. */
export function credentialsText(): string {
  const types = Object.keys(SOURCE_CREDENTIALS) as SourceType[]
  const texts = new Set(types.map(keysText).filter((text) => text !== ''))
  const ofText = (text: string) => types.filter((type) => keysText(type) === text).join(' and ')
  return Array.from(texts, (text) => `${ofText(text)}: ${text}`).join('; ')
}

/** Returns the keys of one type as text; empty if it has none. */
export function keysText(type: SourceType): string {
  return SOURCE_CREDENTIALS[type].map(({ key, is }) => `${key} (${is})`).join(' and ')
}

/** CDI reads the certificates of a registry from keys of a ConfigMap that end like this, and passes over others without a word. */
export const CERTIFICATE_ENDINGS = ['.crt', '.pem'] as const
