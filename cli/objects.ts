import { RESOURCES, type resourceSchema } from '@open-terrain/constructs/operator'
import { compareTexts } from '../operator/base/messages.ts'
import { find } from '../operator/kube/find.ts'
import type { KubeClient } from '../operator/kube/kube-client.ts'
import type { KubeObject } from '../operator/kube/kube-object.ts'
import { listWhole } from '../operator/kube/list-all.ts'
import { CommandError } from './exit-codes.ts'

/** One of our kinds. */
export type OwnResource = Parameters<typeof resourceSchema>[0]

/** Which objects a command is about: those that are named, or of one kind those that a selector selects. */
export interface ObjectChoice {
  /** `KIND/NAME`, or `KIND` alone with a selector or `all`. The kind as kubectl takes it: vmdi, vmdiskimage, vmdiskimages.pelotech.ot. */
  readonly words: readonly string[]
  /** Of objects that are in one. Undefined: in all namespaces. */
  readonly namespace: string | undefined
  readonly selector?: string
  readonly all?: boolean
}

/** An object of ours, and its kind. */
export interface ChosenObject {
  readonly resource: OwnResource
  readonly object: KubeObject
}

/** Returns the objects in the order of the words, those of a selector by namespace and name. Throws a CommandError if one does not exist, and ApiError. */
export async function objectsOf(client: KubeClient, choice: ObjectChoice): Promise<readonly ChosenObject[]> {
  const chosen = choice.words.map((word) => ({ word, ...wordOf(word) }))
  const isListed = choice.selector !== undefined || choice.all === true
  if (chosen.length === 0) throw new CommandError('usage', 'say which: KIND/NAME, or KIND with -l or --all')
  const wrong = chosen.find(({ name }) => (name === undefined) !== isListed)
  if (wrong !== undefined)
    throw new CommandError(
      'usage',
      isListed
        ? `say ${wrong.resource.singular} without a name, or no -l and --all`
        : `say ${wrong.word}/NAME, or -l, or --all`,
    )
  const found: ChosenObject[] = []
  for (const { resource, name } of chosen)
    found.push(
      ...(name === undefined ? await listed(client, resource, choice) : [await named(client, resource, name, choice)]),
    )
  return found
}

/** Returns the kind that a word names. Throws a CommandError if none has that name. */
export function resourceNamed(word: string): OwnResource {
  const bare = word.toLowerCase().replace(/\.pelotech\.ot$/, '')
  const found = RESOURCES.find(({ plural, singular, shortNames }) => [plural, singular, ...shortNames].includes(bare))
  if (found !== undefined) return found
  const kinds = RESOURCES.map(({ singular, shortNames }) => shortNames[0] ?? singular)
  throw new CommandError('usage', `${word} is no kind of Open Terrain: say one of ${kinds.join(', ')}`)
}

function wordOf(word: string): { readonly resource: OwnResource; readonly name: string | undefined } {
  const [kind = '', ...rest] = word.split('/')
  if (rest.length > 1 || rest[0] === '') throw new CommandError('usage', `${word} names no object: say KIND/NAME`)
  return { resource: resourceNamed(kind), name: rest[0] }
}

async function named(
  client: KubeClient,
  resource: OwnResource,
  name: string,
  { namespace }: ObjectChoice,
): Promise<ChosenObject> {
  const [short = resource.singular] = resource.shortNames
  if (resource.namespaced && namespace === undefined)
    throw new CommandError('usage', `${short}/${name} is in one namespace: say it with -n, and not all namespaces`)
  const key = resource.namespaced ? { namespace: namespace ?? '', name } : { name }
  const object = await find(client, resource, key)
  if (object !== undefined) return { resource, object }
  const where = resource.namespaced
    ? ` in namespace ${namespace}: see kubectl -n ${namespace} get ${short}`
    : `: see kubectl get ${short}`
  throw new CommandError('notFound', `there is no ${resource.kind} ${name}${where}`)
}

async function listed(
  client: KubeClient,
  resource: OwnResource,
  { namespace, selector }: ObjectChoice,
): Promise<readonly ChosenObject[]> {
  const objects = await listWhole(client, resource, {
    project: (object) => object,
    ...(resource.namespaced && namespace !== undefined && { namespace }),
    ...(selector !== undefined && { labelSelector: selector }),
  })
  if (objects.length === 0)
    throw new CommandError(
      'notFound',
      `there is no ${resource.kind}${selector === undefined ? '' : ` with the labels ${selector}`}${resource.namespaced && namespace !== undefined ? ` in namespace ${namespace}` : ''}`,
    )
  const keyIn = ({ metadata }: KubeObject) => `${metadata.namespace ?? ''}/${metadata.name}`
  return objects.toSorted((a, b) => compareTexts(keyIn(a), keyIn(b))).map((object) => ({ resource, object }))
}
