import { generatedKeysOf } from '@open-terrain/constructs/operator'
import { find } from '../../kube/find.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'

const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ'
/** Nothing that looks like something else in a console, and nothing that means something to YAML, to a shell, or in a URL. */
const ALPHABET = `${LETTERS}23456789`
/** Windows and many programs want each of these in a password. */
const WANTED = [/^[a-zA-Z]/, /[a-z]/, /[A-Z]/, /[2-9]/]

/** Returns a random integer from 0 up to, and not including, `max`: `randomInt` of node:crypto. */
export type DrawInt = (max: number) => number

/** Returns a random text of that many characters. Each of those that have all that is wanted is equally likely. */
export function drawValue(length: number, draw: DrawInt): string {
  for (;;) {
    const value = Array.from({ length }, () => ALPHABET[draw(ALPHABET.length)]).join('')
    if (WANTED.every((one) => one.test(value))) return value
  }
}

interface SecretContent extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

interface ValuesOptions {
  readonly client: KubeClient
  readonly draw: DrawInt
  /** Returns the keys that a Secret has had, whatever the Secret itself says. */
  readonly keysKnown: (secret: KubeObject) => readonly string[]
}

/**
 * Returns a child as it is to be written: a Secret whose values are to be made with a value for each key that it does not have, any other child as it is.
 * A Secret that exists is read for that, by name. Its values are neither returned nor kept, so nothing can write them again. A key that it has lost is made
 * again only for a plan that has told of it: one that names the version which lacks the key. Throws ApiError.
 * @param existing the child as it was observed. The caller writes only to this version of it
 */
export async function withGeneratedValues(
  wanted: KubeObject,
  existing: KubeObject | undefined,
  { client, draw, keysKnown }: ValuesOptions,
  signal: AbortSignal,
): Promise<KubeObject> {
  const keys = wanted.kind === SECRET.kind ? generatedKeysOf(wanted.metadata.annotations) : []
  if (keys.length === 0) return wanted
  const found = existing && (await find<SecretContent>(client, SECRET, wanted.metadata, { signal }))
  const isTold = wanted.metadata.resourceVersion !== undefined
  const known = new Set([
    ...Object.keys(found?.data ?? {}),
    ...(found === undefined || isTold ? [] : [...keysMarkedIn(found), ...keysKnown(wanted)]),
  ])
  const lacking = keys.filter(({ key }) => !known.has(key))
  const data = lacking.map(({ key, length }) => [key, Buffer.from(drawValue(length, draw)).toString('base64')])
  return { ...wanted, data: Object.fromEntries(data) } as KubeObject
}

function keysMarkedIn({ metadata }: KubeObject): string[] {
  return generatedKeysOf(metadata.annotations).map(({ key }) => key)
}
