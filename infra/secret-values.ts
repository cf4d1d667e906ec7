import type { Manifest } from '@open-terrain/constructs/platform'
import { Output, output, secret } from '@pulumi/pulumi'
import { isOurs } from './settled.ts'

/** Fields of KubeVirt, of cloud-init and of our kinds whose text is a secret, or may hold some. */
const SECRET_FIELD = /passw(or)?d$|^(user|network)data(base64)?$/i
/** Fields of our kinds in which people may write anything: commands, files, variables of Ansible, fields of other kinds. */
const FREE_FIELDS: readonly string[] = ['args', 'command', 'content', 'overrides', 'variables']
/** Names of environment variables, and of headers of a probe. */
const SECRET_NAME = /passw|secret|token|credential|key|authorization|cookie/i
/** A URL with a user or a query, and a path with a query: signed URLs have their key there. */
const SECRET_PLACE = /^(?:[a-z][a-z0-9+.-]*:\/\/[^/\s]*@|(?:[a-z][a-z0-9+.-]*:\/|\/)\S*\?.)/i

/** Whether an object is of our kinds, and whether the value is of an environment variable. */
interface Place {
  readonly isOfOurs: boolean
  readonly isInEnv?: boolean
}

/** A value as Pulumi takes it, in which what may be secret is an output that Pulumi encrypts. */
type Marked = string | number | boolean | null | undefined | Output<unknown> | readonly Marked[] | MarkedObject
interface MarkedObject {
  readonly [field: string]: Marked
}

export interface MarkedManifest {
  /** The fields of the manifest. */
  readonly fields: MarkedObject
  /** Names of those fields that hold something secret, or something known only later: the cluster answers with the same. */
  readonly secretFields: readonly string[]
}

/**
 * Marks what may be secret in an object, so that Pulumi encrypts it in its state and does not show it: passwords, user data, the values of environment
 * variables, the content of files, variables, commands, overrides, the queries of URLs, and all of a Secret. All else stays readable in a preview.
 * An output of another resource in it is judged in the same way, when it is known.
 */
export function withSecretsMarked(manifest: Manifest): MarkedManifest {
  const place = { isOfOurs: isOurs(manifest) }
  const secretFields: string[] = []
  const fields = Object.entries(manifest).map(([field, value]): [string, Marked] => {
    let isSecret = false
    const mark = (found: unknown): Output<unknown> => {
      isSecret = true
      return secret(found)
    }
    const ofSecret = manifest.kind === 'Secret' && ['data', 'stringData'].includes(field)
    const marked = ofSecret ? mark(value) : markedField(field, value, place, mark)
    if (isSecret) secretFields.push(field)
    return [field, marked]
  })
  return { fields: Object.fromEntries(fields), secretFields }
}

type Mark = (found: unknown) => Output<unknown>

/** What the output is may be secret: that is known only when the field of the manifest is on its way. */
function markedLater(value: Output<unknown>, marked: (found: unknown) => Marked, mark: Mark): Output<unknown> {
  mark(undefined)
  return value.apply((found) => output(marked(found)))
}

function markedField(field: string, value: unknown, place: Place, mark: Mark): Marked {
  if (Output.isInstance(value)) return markedLater(value, (found) => markedField(field, found, place, secret), mark)
  if (place.isOfOurs && FREE_FIELDS.includes(field)) return mark(value)
  if (typeof value === 'string' && SECRET_FIELD.test(field)) return mark(value)
  return markedIn(value, { ...place, isInEnv: field === 'env' }, mark)
}

function markedIn(value: unknown, place: Place, mark: Mark): Marked {
  if (Output.isInstance(value)) return markedLater(value, (found) => markedIn(found, place, secret), mark)
  if (typeof value === 'string') return SECRET_PLACE.test(value) ? mark(value) : value
  if (typeof value !== 'object' || value === null) return value as Marked
  if (Array.isArray(value)) return value.map((one) => markedIn(one, place, mark))
  const { name, value: text } = value as Readonly<Record<'name' | 'value', unknown>>
  const isNamedSecret = typeof name === 'string' && (SECRET_NAME.test(name) || (place.isOfOurs && place.isInEnv))
  const entries = Object.entries(value).map(([field, one]): [string, Marked] => [
    field,
    field === 'value' && text !== undefined && isNamedSecret ? mark(one) : markedField(field, one, place, mark),
  ])
  return Object.fromEntries(entries)
}
