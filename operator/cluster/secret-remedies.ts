import { firstFew } from '../base/messages.ts'

/** Words for the value of a key in a command. Of a key that is asked for several times, the last of them counts: a password is one line, a file may have more. */
const PLACEHOLDERS = ['VALUE', 'FILE', 'PASSWORD'] as const
type Placeholder = (typeof PLACEHOLDERS)[number]

/** One key, or all keys, that something needs of a Secret or ConfigMap. */
export interface AskedKey {
  /** Name of the object. */
  readonly name: string
  /** Default: all keys; without `all` those of the login to a registry, in the type that images are pulled with. */
  readonly key?: string
  /** What all keys become. */
  readonly all?: 'variables' | 'files'
  readonly placeholder?: Placeholder
}

/** A Secret, or a ConfigMap, that somebody has to create or to complete. */
export interface AwaitedSecret {
  /** @default Secret */
  readonly kind?: 'ConfigMap'
  readonly name: string
  /** All that is asked of it, also by what does not wait. */
  readonly asked: readonly AskedKey[]
  /** Keys of a Secret that exists which have no value, or none that can be used. Default: the Secret does not exist. */
  readonly lacks?: readonly string[]
  /** What waits for it, in words for people. */
  readonly by: readonly string[]
}

/** How somebody may change a Secret. `recreate`: the owners of a workspace create and delete Secrets, and cannot change them, since that answers with all values. */
export type SecretChange = 'patch' | 'recreate'

interface RemedyOptions {
  readonly namespace: string
  /** Characters of the whole text. The first Secret is named in any case. */
  readonly max: number
  readonly change: SecretChange
}

/** What waits for a Secret, of which a text names the first. */
const SHOWN_MAX = 3
/** Characters for the numbers at the beginning and at the end. */
const FRAME = 140

const LOGIN = '--docker-server=REGISTRY --docker-username=USER --docker-password=PASSWORD'

/** Returns the command that creates a Secret, or a ConfigMap, with all that is asked of it. */
export function createCommand(
  namespace: string,
  { kind, name, asked }: Pick<AwaitedSecret, 'kind' | 'name' | 'asked'>,
): string {
  const create = `kubectl -n ${namespace} create`
  if (kind === 'ConfigMap') return `${create} configmap ${name} ${contentsOf(asked)}`
  const isLogin = asked.some(({ key, all }) => key === undefined && all === undefined)
  if (isLogin) return `${create} secret docker-registry ${name} ${LOGIN}`
  return `${create} secret generic ${name} ${contentsOf(asked)}`
}

/** kubectl takes a file of variables only alone. */
function contentsOf(asked: readonly AskedKey[]): string {
  const keys = placeholdersOf(asked)
  const isAsked = (what: AskedKey['all']) => asked.some(({ all }) => all === what)
  if (isAsked('files')) return ['--from-file=FOLDER', ...optionsOf(keys)].join(' ')
  if (!isAsked('variables')) return optionsOf(keys).join(' ')
  return keys.size === 0 ? '--from-env-file=FILE' : [...optionsOf(keys), '--from-literal=NAME=VALUE'].join(' ')
}

/** kubectl takes each key once. */
function placeholdersOf(asked: readonly AskedKey[]): ReadonlyMap<string, Placeholder> {
  const byKey = new Map<string, Placeholder>()
  for (const { key, placeholder = 'VALUE' } of asked) {
    if (key === undefined) continue
    const before = byKey.get(key) ?? 'VALUE'
    byKey.set(key, PLACEHOLDERS.indexOf(placeholder) > PLACEHOLDERS.indexOf(before) ? placeholder : before)
  }
  return byKey
}

function optionsOf(keys: Iterable<readonly [key: string, placeholder: Placeholder]>): string[] {
  return [...keys].map(
    ([key, placeholder]) => `--from-${placeholder === 'FILE' ? 'file' : 'literal'}=${key}=${placeholder}`,
  )
}

/** Returns what goes into the keys that a Secret lacks. */
function lackingKeys({ asked, lacks = [] }: AwaitedSecret): (readonly [key: string, placeholder: Placeholder])[] {
  const placeholders = placeholdersOf(asked)
  return lacks.map((key) => [key, placeholders.get(key) ?? 'VALUE'] as const)
}

function commandFor({ namespace, change }: RemedyOptions, secret: AwaitedSecret): string {
  const { name, lacks } = secret
  if (lacks === undefined) return createCommand(namespace, secret)
  if (change === 'recreate')
    return `kubectl -n ${namespace} delete secret ${name} && ${createCommand(namespace, secret)}`
  const keys = lackingKeys(secret)
  const patch = `kubectl -n ${namespace} patch secret ${name} -p`
  if (keys.some(([, placeholder]) => placeholder === 'FILE'))
    return `${patch} "$(kubectl create secret generic ${name} ${optionsOf(keys).join(' ')} --dry-run=client -o json)"`
  return `${patch} '${JSON.stringify({ stringData: Object.fromEntries(keys) })}'`
}

/**
 * Returns one text for all Secrets and ConfigMaps that are missing or incomplete: their number, each with its name and with what waits for it, and one command line for
 * them. Where they are too many, the text has the first of them, and the number of the others.
 */
export function secretRemedy(secrets: readonly AwaitedSecret[], options: RemedyOptions): string {
  const parts = secrets.map((secret) => ({ title: titleOf(secret), command: commandFor(options, secret) }))
  let length = FRAME
  const over = parts.findIndex(({ title, command }) => {
    length += title.length + command.length + 6
    return length > options.max
  })
  const shown = parts.slice(0, over === -1 ? parts.length : Math.max(over, 1))
  const more = parts.length - shown.length
  const titles = shown.map(({ title }) => title).join(', ') + (more > 0 ? ` and ${more} more` : '')
  const commands = shown.map(({ command }) => command).join(' && ')
  const others = more === 1 ? 'one is' : `${more} are`
  const rest = more > 0 ? `; the other ${others} told once these are there` : ''
  return `${countOf(secrets)}: ${titles}; run: ${commands}${rest}`
}

function countOf(objects: readonly AwaitedSecret[]): string {
  const [configMaps, secrets] = [objects.filter(isConfigMap), objects.filter((one) => !isConfigMap(one))]
  const incomplete = secrets.filter(({ lacks }) => lacks !== undefined).length
  const missing = objects.length - incomplete
  const states = [...(missing > 0 ? ['missing'] : []), ...(incomplete > 0 ? ['incomplete'] : [])].join(' or ')
  const counts = [numbered('Secret', secrets.length), numbered('ConfigMap', configMaps.length)]
  return `${counts.filter((one) => one !== '').join(' and ')} ${objects.length === 1 ? 'is' : 'are'} ${states}`
}

function isConfigMap({ kind }: AwaitedSecret): boolean {
  return kind === 'ConfigMap'
}

function numbered(kind: string, count: number): string {
  return count === 0 ? '' : `${count} ${kind}${count === 1 ? '' : 's'}`
}

function titleOf(secret: AwaitedSecret): string {
  const { name, by } = secret
  const keys = lackingKeys(secret)
  const needs = [
    needed('one line of text in', keys, (placeholder) => placeholder !== 'FILE'),
    needed('text in', keys, (placeholder) => placeholder === 'FILE'),
  ].filter((one) => one !== '')
  const lacks = needs.length === 0 ? '' : ` needs ${needs.join(' and ')}`
  return `${name}${lacks}${by.length === 0 ? '' : ` (for ${firstFew(by, SHOWN_MAX)})`}`
}

function needed(what: string, keys: ReturnType<typeof lackingKeys>, such: (one: Placeholder) => boolean): string {
  const names = keys.filter(([, placeholder]) => such(placeholder)).map(([key]) => key)
  return names.length === 0 ? '' : `${what} ${names.join(', ')}`
}
