import { withoutPiecesOf } from './pieces-of.ts'

/** User data may have a secret anywhere, as a script has it, and any of its lines may be told alone. */
const USER_DATA = /^userdata$/i
/** Content of a file of a container: a configuration may have a secret anywhere as well. */
const CONTENT = 'content'
/** Key of such a file in the ConfigMap of its container cluster: `web.0`. No other ConfigMap of ours has such keys. */
const FILE_KEY = /^[a-z0-9-]+\.\d+$/
/** Key of plays in their ConfigMap. The inventory has names and addresses alone. */
const PLAYS_KEY = /^(?!inventory\.).*\.ya?ml$/
/** Fields of KubeVirt, of cloud-init and of our kinds whose text is a secret, or holds some. */
const SECRET_FIELD = /passw(or)?d$|^(user|network)data(base64)?$/i
/** Names of environment variables, of variables of Ansible, and of headers of a probe. */
const SECRET_NAME = /passw|secret|token|credential|key|authorization|cookie/i
/** A word of a command line after which a secret follows: `--requirepass`. */
const SECRET_FLAG = /^[\w-]*(?:pass|secret|token|credential|key)[\w-]*$/i
/** A line of a configuration whose last word is a secret: `requirepass X`, `enable secret 5 X`. */
const SECRET_END = /(?:pass|passw|password|passwd|passphrase|secret|token|credential|key)\s+(?:\d\s+)?(\S+)$/i
/** How much of the end of a line is looked at for one. */
const END_MAX = 256
/** Ordinary words, such as the name of a mode or of a member. */
const WORDS = /^[a-z]+(?:[-_.][a-z]+)*$/i
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
  const secrets = new Set<string>()
  const written = new Set<string>()
  for (const secret of secretsIn(object, { kind }))
    if (typeof secret === 'string') secrets.add(secret)
    else written.add(secret.written)
  for (const secret of writtenBySomebody(object)) secrets.add(secret)
  if (secrets.size * text.length > SEARCH_MAX) return TOO_MUCH
  // The longest first: one may be the beginning of another.
  const values = [...secrets].filter((value) => value !== '').sort((a, b) => b.length - a.length)
  const rest = values.reduce((rest, value) => withoutValue(rest, value), text)
  return withoutPiecesOf(rest, [...written])
}

/** A value, or a longer text of which no piece may be told. */
type Secret = string | { readonly written: string }

/** It may be as it is, in quotes, or in quotes within a text that is in quotes. */
function withoutValue(text: string, value: string): string {
  // Most are so, and there may be many.
  if (value.length >= SHORT && !ESCAPED.test(value)) return text.includes(value) ? text.replaceAll(value, HIDDEN) : text
  const mark = value.length < SHORT ? '"' : ''
  const inQuotes = escaped(value)
  const forms = new Map([[`${mark}${value}${mark}`, mark]])
  forms.set(`${mark}${inQuotes}${mark}`, mark)
  forms.set(`${escaped(mark)}${escaped(inQuotes)}${escaped(mark)}`, escaped(mark))
  let rest = text
  for (const [form, quote] of forms) if (rest.includes(form)) rest = rest.replaceAll(form, `${quote}${HIDDEN}${quote}`)
  return rest
}

const ESCAPED = /[^ !#-[\]-~]/

function escaped(text: string): string {
  if (!ESCAPED.test(text)) return text
  return JSON.stringify(text).slice(1, -1)
}

interface Place {
  readonly kind: string
  /** Somebody chose the names of the fields. */
  readonly areVariables?: boolean
}

function* secretsIn(value: unknown, place: Place): Generator<Secret> {
  if (typeof value !== 'object' || value === null) return
  const { name, value: text, kind } = value as Readonly<Record<'name' | 'value' | 'kind', unknown>>
  if (typeof name === 'string' && typeof text === 'string' && SECRET_NAME.test(name)) yield text
  // One of several objects.
  const own = kind === 'ConfigMap' || kind === 'Secret' ? { ...place, kind } : place
  for (const [field, one] of Object.entries(value)) yield* secretsOfField(field, one, own)
}

function* secretsOfField(field: string, value: unknown, { kind, areVariables = false }: Place): Generator<Secret> {
  if (kind === 'Secret' && (field === 'data' || field === 'stringData')) yield* valuesOf(value, field === 'data')
  else if (kind === 'ConfigMap' && field === 'data') yield* configurationIn(value)
  else if (field === 'command' || field === 'args') yield* secretWords(textsOf(value))
  else if (field === 'overrides') yield* allTexts(value)
  else if (typeof value === 'string') yield* secretsOfText(field, value, areVariables)
  else {
    if (field === 'env') yield* secretsOfVariables(value)
    yield* secretsIn(value, { kind, areVariables: areVariables || field === 'variables' })
  }
}

function* secretsOfText(field: string, text: string, isVariable: boolean): Generator<Secret> {
  if (SECRET_FIELD.test(field) || (isVariable && SECRET_NAME.test(field))) yield text
  if (field === CONTENT || USER_DATA.test(field)) yield* writtenText(text)
  // Also where the names are those of a list, whose items have numbers.
  else if (isVariable) yield* secretsOfVariable(text)
  // A request of a probe.
  else if (field === 'path' && text.includes('?')) yield text.slice(text.indexOf('?') + 1)
}

/** Environment variables of a container. */
function* secretsOfVariables(variables: unknown): Generator<Secret> {
  for (const one of Object.values(variables ?? {}))
    if (typeof one?.value === 'string') yield* secretsOfVariable(one.value)
}

/** Its name need not tell that it is a secret. */
function* secretsOfVariable(text: string): Generator<Secret> {
  if (text.includes('\n')) yield* writtenText(text)
  else if (text.length >= SHORT && !WORDS.test(text)) yield text
}

function* configurationIn(data: unknown): Generator<Secret> {
  for (const [key, text] of Object.entries(data ?? {})) {
    if (typeof text !== 'string') continue
    if (FILE_KEY.test(key)) yield* writtenText(text)
    else yield* secretLines(text)
    if (PLAYS_KEY.test(key)) yield* variablesIn(text)
  }
}

/** Values of plays: `name: value`, and items of lists. */
function* variablesIn(plays: string): Generator<Secret> {
  for (const line of plays.split('\n')) {
    const text = line.trim().replace(/^(?:- )+/, '')
    const colon = text.indexOf(': ')
    yield* secretsOfVariable(withoutQuotes(colon < 0 ? text : text.slice(colon + 2).trim()))
  }
}

function* secretWords(words: readonly string[]): Generator<Secret> {
  for (const [at, word] of words.entries()) {
    for (const line of word.split('\n')) yield* secretEnd(line)
    yield* secretLines(word)
    const before = words[at - 1] ?? ''
    // Files have paths, which are no secrets.
    if (before.length < END_MAX && SECRET_FLAG.test(before) && !word.startsWith('/')) yield word
  }
}

function* writtenText(text: string): Generator<Secret> {
  yield { written: text }
  yield* allLines(text)
  for (const line of text.split('\n')) yield* secretEnd(line)
}

function* secretEnd(line: string): Generator<string> {
  const [, word] = SECRET_END.exec(line.trimEnd().slice(-END_MAX)) ?? []
  if (word !== undefined && word.length >= SHORT) yield withoutQuotes(word)
}

function withoutQuotes(text: string): string {
  return text.replace(/^(["'])(.*)\1$/, '$2')
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

function textsOf(values: unknown): string[] {
  return Object.values(values ?? {}).filter((one) => typeof one === 'string')
}

function* valuesOf(values: unknown, isEncoded: boolean): Generator<Secret> {
  for (const one of textsOf(values)) {
    yield one
    const text = isEncoded ? Buffer.from(one, 'base64').toString() : one
    yield text
    yield* writtenText(text)
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
    if (name === undefined) yield withoutQuotes(value)
  }
}
