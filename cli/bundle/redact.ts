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

interface Place {
  readonly object: KubeObject
  /** Whether a secret may be quoted here: in a status, or in a command. */
  readonly mayQuote: boolean
}

/**
 * Returns an object without what may be secret: user data, contents of files, values of environment variables and headers, variables of plays, passwords,
 * overrides, data of ConfigMaps, credentials and queries of URLs, and each of these where a status or a command quotes it. Names stay.
 */
export function redactedObject(object: KubeObject): object {
  const {
    managedFields: _who,
    annotations = {},
    ...metadata
  } = object.metadata as KubeObject['metadata'] & { readonly managedFields?: unknown }
  const kept = Object.entries(annotations).filter(
    ([name]) => KEPT_ANNOTATION.test(name) && !name.endsWith('/overrides'),
  )
  const rest = Object.entries(object).filter(([field]) => field !== 'metadata')
  return {
    ...(hidden(
      { metadata: { ...metadata, annotations: Object.fromEntries(kept) } },
      { object, mayQuote: false },
    ) as object),
    ...Object.fromEntries(
      rest.map(([field, value]) => [field, redactedField(field, value, { object, mayQuote: field === 'status' })]),
    ),
  }
}

/** Returns a text without credentials of URLs, and without the secrets of the objects that it may quote. */
export function redactedText(text: string, objects: readonly KubeObject[]): string {
  return redactUrls(
    objects.reduce((rest, one) => withoutSecretsOf(rest, one.kind, one), text),
    TEXT_MAX,
  )
}

function redactedField(field: string, value: unknown, place: Place): unknown {
  const { kind, metadata } = place.object
  if (SECRET_FIELD.test(field) || (field === 'data' && !(kind === 'ConfigMap' && KEPT_CONFIG_MAP.test(metadata.name))))
    return withoutLeaves(value)
  return hidden(value, { ...place, mayQuote: place.mayQuote || field === 'command' || field === 'args' })
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
