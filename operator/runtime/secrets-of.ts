/** User data may have a secret anywhere, as a script has it, and any of its lines may be told alone. */
const USER_DATA = /^userdata$/i
/** Fields of KubeVirt, of cloud-init and of our kinds whose text is a secret, or holds some. */
const SECRET_FIELD = /passw(or)?d$|^(user|network)data(base64)?$/i
/** Names of environment variables, and of variables of Ansible. */
const SECRET_NAME = /passw|secret|token|credential|key/i
/** A line of cloud-init data, of a play, or of any other list of names and values. */
const SECRET_LINE = /(?:passw|secret|token|credential|key)\w{0,64}["']?\s*[:=]\s*(\S.*)$/i
/** Annotation of an object: paths below its spec, such as `a.b[item].c`, at which values are as somebody wrote them. */
const WRITTEN_BY_SOMEBODY = /\/overrides$/
/** In YAML, the value is in the lines below, which begin further to the right. */
const BELOW = /^[|>][-+0-9]*$/
/** A shorter value is part of ordinary words: it is removed only where it stands in quotes. */
const SHORT = 6
/** Secrets times characters that are searched, which takes about 0.3 s: nothing that a tenant stores may hold up the process. */
const SEARCH_MAX = 1e8
const TOO_MUCH = 'What was said is left out: it is too long to be searched for all the secrets of the object'
const HIDDEN = '…'

/**
 * Returns what the API server, a webhook or a controller says of an object without the secrets of that object: a refusal quotes what it refuses.
 * @param kind of the object
 * @param object all of it, a part of it, or the patch that was sent
 */
export function withoutSecretsOf(text: string, kind: string, object: object | undefined): string {
  if (object === undefined || text === '') return text
  const secrets = new Set([...secretsIn(object, { kind }), ...writtenBySomebody(object)])
  if (secrets.size * text.length > SEARCH_MAX) return TOO_MUCH
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

interface Place {
  readonly kind: string
  /** Somebody chose the names of the fields. */
  readonly areVariables?: boolean
}

function* secretsIn(value: unknown, place: Place): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  const { name, value: text } = value as { readonly name?: unknown; readonly value?: unknown }
  if (typeof name === 'string' && typeof text === 'string' && SECRET_NAME.test(name)) yield text
  for (const [field, one] of Object.entries(value)) yield* secretsOfField(field, one, place)
}

function* secretsOfField(field: string, value: unknown, { kind, areVariables = false }: Place): Generator<string> {
  if (kind === 'Secret' && (field === 'data' || field === 'stringData')) yield* valuesOf(value, field === 'data')
  else if (hasLines(kind, field)) for (const text of textsOf(value)) yield* secretLines(text)
  else if (field === 'overrides') yield* allTexts(value)
  else if (typeof value !== 'string')
    yield* secretsIn(value, { kind, areVariables: areVariables || field === 'variables' })
  else if (SECRET_FIELD.test(field) || (areVariables && SECRET_NAME.test(field))) {
    yield value
    if (USER_DATA.test(field)) yield* allLines(value)
  }
}

function* allTexts(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  // A shorter one is part of ordinary words, and never stands in quotes.
  if (typeof value === 'number' && String(value).length >= SHORT) yield String(value)
  if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) yield* allTexts(one)
}

/** @param object of which annotations name such values */
function* writtenBySomebody(object: object): Generator<string> {
  const { metadata, spec } = object as {
    readonly metadata?: { readonly annotations?: object }
    readonly spec?: unknown
  }
  for (const [annotation, paths] of Object.entries(metadata?.annotations ?? {})) {
    if (!WRITTEN_BY_SOMEBODY.test(annotation) || typeof paths !== 'string') continue
    // A longer one is none of ours.
    if (paths.length > NOTE_MAX) continue
    for (const path of new Set(paths.split(',', PATHS_MAX))) yield* allTexts(valueAt(spec, path))
  }
}

/** More are none of ours. */
const PATHS_MAX = 64
const NOTE_MAX = 16_000

function valueAt(spec: unknown, path: string): unknown {
  const steps = [...path.matchAll(/\[([^[\]]*)\]|[^.[\]]+/g)]
  return steps.reduce<unknown>((value, [step, item]) => {
    if (typeof value !== 'object' || value === null) return undefined
    if (item !== undefined)
      return Object.values(value).find((one) => [one?.name, one?.mountPath, one?.ip].includes(item))
    return Object.hasOwn(value, step) ? (value as Record<string, unknown>)[step] : undefined
  }, spec)
}

/** Plays, and what a program is told. */
function hasLines(kind: string, field: string): boolean {
  return (kind === 'ConfigMap' && field === 'data') || field === 'command' || field === 'args'
}

function textsOf(values: unknown): string[] {
  return Object.values(values ?? {}).filter((one) => typeof one === 'string')
}

function* valuesOf(values: unknown, isEncoded: boolean): Generator<string> {
  for (const one of textsOf(values)) {
    yield one
    const text = isEncoded ? Buffer.from(one, 'base64').toString() : one
    yield text
    yield* allLines(text)
    yield* leavesOf(text)
  }
}

/** Returns the strings of a text that is JSON, such as a login to registries: any may be told alone. Shorter ones are parts of ordinary words. */
function* leavesOf(text: string): Generator<string> {
  // What is nested can be nested too deep to be walked by calls.
  const left: unknown[] = [parsedJson(text)]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null) continue
    for (const [field, one] of Object.entries(value))
      if (typeof one !== 'string') left.push(one)
      else yield* [one, ...(field === 'auth' ? loginOf(one) : [])].filter(({ length }) => length >= SHORT)
  }
}

/** Returns what `auth` of a registry says: user and password, with a colon between them, and the password alone. */
function loginOf(auth: string): string[] {
  const login = Buffer.from(auth, 'base64').toString()
  return [login, login.slice(login.indexOf(':') + 1)]
}

function parsedJson(text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Each line, and what a line says is a secret by its name. */
function* allLines(text: string): Generator<string> {
  for (const line of text.split('\n')) yield line.trim()
  yield* secretLines(text)
}

function* secretLines(text: string): Generator<string> {
  /** How far to the right the name is of which the value is in the lines below. */
  let name: number | undefined
  for (const line of text.split('\n')) {
    const said = line.trim()
    const indent = line.length - line.trimStart().length
    if (name !== undefined && (indent > name || said === '')) {
      yield said
      continue
    }
    const value = SECRET_LINE.exec(said)?.[1] ?? ''
    name = BELOW.test(value) ? indent : undefined
    if (name === undefined) yield value.replace(/^(["'])(.*)\1$/, '$2')
  }
}
