/** Fields of KubeVirt, of cloud-init and of our kinds whose text is a secret, or holds some. */
const SECRET_FIELD = /passw(or)?d$|^(user|network)data(base64)?$/i
/** Names of environment variables. */
const SECRET_NAME = /passw|secret|token|credential|key/i
/** A line of cloud-init data, or of any other list of names and values. */
const SECRET_LINE = /(?:passw\w*|secret|token|key)["']?\s*[:=]\s*(\S.*?)\s*$/gim
/** A shorter value is part of ordinary words: it is removed only where it stands in quotes. */
const SHORT = 6
const HIDDEN = '…'

/**
 * Returns what the API server, a webhook or a controller says of an object without the secrets of that object: a refusal quotes what it refuses.
 * @param kind of the object
 * @param object all of it, a part of it, or the patch that was sent
 */
export function withoutSecretsOf(text: string, kind: string, object: object | undefined): string {
  if (object === undefined || text === '') return text
  const secrets = new Set(secretsIn(object, kind === 'Secret'))
  // The longest first: one may be the beginning of another.
  const values = [...secrets].filter((value) => value !== '').sort((a, b) => b.length - a.length)
  return values.reduce((rest, value) => withoutValue(rest, value), text)
}

/** It may be as it is, in quotes, or in quotes within a text that is in quotes. */
function withoutValue(text: string, value: string): string {
  const mark = value.length < SHORT ? '"' : ''
  const forms = [value, escaped(value), escaped(escaped(value))].map((form, at) => {
    const quote = at === 2 ? escaped(mark) : mark
    return [`${quote}${form}${quote}`, `${quote}${HIDDEN}${quote}`] as const
  })
  return forms.reduce((rest, [form, hidden]) => rest.replaceAll(form, hidden), text)
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

function* secretsIn(value: unknown, isSecret: boolean): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  const { name, value: text } = value as { readonly name?: unknown; readonly value?: unknown }
  if (typeof name === 'string' && typeof text === 'string' && SECRET_NAME.test(name)) yield text
  for (const [field, one] of Object.entries(value)) {
    if (isSecret && (field === 'data' || field === 'stringData')) yield* valuesOf(one, field === 'data')
    else if (typeof one === 'string' && SECRET_FIELD.test(field)) yield one
    else yield* secretsIn(one, isSecret)
  }
}

function* valuesOf(values: unknown, isEncoded: boolean): Generator<string> {
  for (const one of Object.values(values ?? {})) {
    if (typeof one !== 'string') continue
    yield one
    const text = isEncoded ? Buffer.from(one, 'base64').toString() : one
    yield text
    for (const [, value = ''] of text.matchAll(SECRET_LINE)) yield value.replace(/^(["'])(.*)\1$/, '$2')
  }
}
