import { isRecord } from '../../operator/base/equality.ts'
import { redactUrls } from '../../operator/base/messages.ts'
import { withoutSecretsOf } from '../../operator/base/secrets-of.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'

const HIDDEN = '…'
/** Characters that are kept of one text. */
const TEXT_MAX = 8_000
/** Fields of which nothing is kept: what a guest, a container or a play gets. */
const SECRET_FIELD =
  /passw(or)?d$|^(user|network)_?data(base64)?$|^(stringData|binaryData|content|variables|overrides|ansible)$/i
/** Annotations that are kept. Others may hold anything, such as the whole manifest. */
const KEPT_ANNOTATION = /^([a-z0-9-]+\.)*(pelotech\.ot|kubevirt\.io)\//
/** ConfigMaps that a bug report needs, by name: all values of others are left out. */
const KEPT_CONFIG_MAP = /^sync-operator-/

/** A word of a command line that says nothing but what it is. */
const PLAIN_FLAG = /^--?[a-z][\w-]*$/i
/** The program that a command line runs. */
const PROGRAM = /^[^\s=]+$/
/** Paths below the spec of an object at which values are as somebody wrote them in overrides: `template.spec.hostAliases`. */
const OVERRIDES = /\/overrides$/

interface Place {
  readonly object: KubeObject
  readonly operatorNamespace: string
  /** Whether a secret may be quoted here: in a status, or in a command. */
  readonly mayQuote: boolean
}

/**
 * Returns an object without what may be secret: user data, contents of files, values of environment variables and headers, words of commands, variables of
 * plays, passwords, overrides also where they are merged, data of ConfigMaps, credentials and queries of URLs, and each of these where a status quotes it. Names
 * stay.
 * @param operatorNamespace where the data of ConfigMaps of the operator is kept
 * @param overridden paths in the object at which overrides were merged that it does not name itself, such as those of a Deployment in its pods
 */
export function redactedObject(
  object: KubeObject,
  operatorNamespace: string,
  overridden: readonly string[] = [],
): object {
  const place = { object, operatorNamespace, mayQuote: false }
  const {
    managedFields: _who,
    annotations = {},
    ...metadata
  } = object.metadata as KubeObject['metadata'] & { readonly managedFields?: unknown }
  const rest = Object.entries(withoutOverrides(object, overridden)).filter(([field]) => field !== 'metadata')
  return {
    ...(hidden({ metadata: { ...metadata, annotations } }, place) as object),
    ...Object.fromEntries(
      rest.map(([field, value]) => [field, redactedField(field, value, { ...place, mayQuote: field === 'status' })]),
    ),
  }
}

function keptAnnotations(annotations: object): object {
  const kept = Object.entries(annotations).filter(([name]) => KEPT_ANNOTATION.test(name) && !OVERRIDES.test(name))
  return Object.fromEntries(kept)
}

/** Returns a text without credentials of URLs, and without the secrets of the objects that it may quote. */
export function redactedText(text: string, objects: readonly KubeObject[]): string {
  return redactUrls(
    objects.reduce((rest, one) => withoutSecretsOf(rest, one.kind, one), text),
    TEXT_MAX,
  )
}

function redactedField(field: string, value: unknown, place: Place): unknown {
  if (SECRET_FIELD.test(field) || (field === 'data' && !isDataKept(place))) return withoutLeaves(value)
  if (field === 'annotations' && isRecord(value)) return hidden(keptAnnotations(value), place)
  if (field !== 'command' && field !== 'args') return hidden(value, place)
  const said = hidden(value, { ...place, mayQuote: true })
  return Array.isArray(said) ? said.map((word, at) => shownWord(word, field === 'command' && at === 0)) : said
}

function isDataKept({ object: { kind, metadata }, operatorNamespace }: Place): boolean {
  return kind === 'ConfigMap' && metadata.namespace === operatorNamespace && KEPT_CONFIG_MAP.test(metadata.name)
}

/** A command line may have a secret anywhere. */
function shownWord(word: unknown, isProgram: boolean): unknown {
  if (typeof word !== 'string') return withoutLeaves(word)
  return PLAIN_FLAG.test(word) || (isProgram && PROGRAM.test(word)) ? word : HIDDEN
}

/** Returns the paths below the spec of an object at which overrides were merged. Its annotation names them. */
export function overriddenPaths({ metadata }: KubeObject): readonly string[] {
  const notes = Object.entries(metadata.annotations ?? {}).filter(([name]) => OVERRIDES.test(name))
  return notes.flatMap(([, text]) => text.split(',')).filter((path) => path !== '')
}

function withoutOverrides(object: KubeObject, more: readonly string[]): KubeObject {
  const paths = [...overriddenPaths(object).map((path) => `spec.${path}`), ...more]
  return paths.reduce<unknown>(withoutValueAt, object) as KubeObject
}

/** @param path `a.b[item].c`; the name of a field may have dots as well */
function withoutValueAt(value: unknown, path: string): unknown {
  if (path === '') return withoutLeaves(value)
  const [, item, below = ''] = /^\[([^\]]*)\]\.?(.*)$/s.exec(path) ?? []
  if (item !== undefined && Array.isArray(value)) {
    const isMeant = (one: unknown) => isRecord(one) && Object.values(one).includes(item)
    // Where no item is found, all of them are hidden.
    return value.some(isMeant)
      ? value.map((one) => (isMeant(one) ? withoutValueAt(one, below) : one))
      : value.map(withoutLeaves)
  }
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([field, one]) => {
      if (path !== field && !path.startsWith(`${field}.`) && !path.startsWith(`${field}[`)) return [field, one]
      return [field, withoutValueAt(one, path.slice(field.length).replace(/^\./, ''))]
    }),
  )
}

function hidden(value: unknown, place: Place): unknown {
  if (typeof value === 'string') {
    const text = place.mayQuote ? withoutSecretsOf(value, place.object.kind, place.object) : value
    return redactUrls(text, TEXT_MAX)
  }
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => hidden(one, place))
  // Of a variable, or of a header, the name need not tell that it is a secret.
  const isVariable = 'name' in value && 'value' in value && typeof value.value === 'string'
  return Object.fromEntries(
    Object.entries(value).map(([field, one]) => [
      field,
      isVariable && field === 'value' ? HIDDEN : redactedField(field, one, place),
    ]),
  )
}

/** Keeps the names of fields, and how many there are. */
function withoutLeaves(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return HIDDEN
  if (Array.isArray(value)) return value.map(() => HIDDEN)
  return Object.fromEntries(Object.keys(value).map((field) => [field, HIDDEN]))
}
