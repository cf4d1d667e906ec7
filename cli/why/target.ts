import { RESOURCES, workspace } from '@open-terrain/constructs/operator'
import { isApiError } from '../../operator/kube/api-error.ts'
import { find } from '../../operator/kube/find.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { listWhole } from '../../operator/kube/list-all.ts'
import { CommandError } from '../exit-codes.ts'

/** An object that a command is about. */
export interface ExplainTarget {
  readonly type: ResourceType
  readonly name: string
}

/** Returns what `KIND/NAME`, `KIND NAME`, or the name of a lab alone says. Throws a CommandError. */
export function targetOf(words: readonly string[]): ExplainTarget {
  const [first = '', second] = words
  if (second !== undefined) return { type: typeNamed(first), name: second }
  const slash = first.indexOf('/')
  if (slash === -1) return { type: workspace, name: first }
  return { type: typeNamed(first.slice(0, slash)), name: first.slice(slash + 1) }
}

/** What people call a Workspace. */
const LAB: ReadonlySet<string> = new Set(['lab', 'labs'])

/** Takes what kubectl takes: kind, plural, singular and short name, also with the group behind it. */
function typeNamed(word: string): ResourceType {
  const wanted = word.toLowerCase()
  if (LAB.has(wanted)) return workspace
  const found = RESOURCES.find(({ kind, plural, singular, shortNames, group }) => {
    const names = [kind.toLowerCase(), plural, singular]
    return [...names, ...names.map((name) => `${name}.${group}`), ...shortNames].includes(wanted)
  })
  if (found !== undefined) return found
  const known = RESOURCES.map(({ kind, shortNames }) => `${kind} (${shortNames.join(', ')})`).join(', ')
  throw new CommandError('usage', `${word} is none of the kinds of Open Terrain: ${known}`)
}

/** Returns the object. Without a namespace, the only one of that name is meant. Throws CommandError and ApiError. */
export async function findTarget(
  client: KubeClient,
  { type, name }: ExplainTarget,
  namespace: string | undefined,
): Promise<KubeObject> {
  const object = type.namespaced ? await inNamespace(client, type, name, namespace) : await find(client, type, { name })
  if (object !== undefined) return object
  const where = namespace === undefined ? '' : ` in namespace ${namespace}`
  throw new CommandError('notFound', `there is no ${type.kind} ${name}${where}`)
}

async function inNamespace(
  client: KubeClient,
  type: ResourceType,
  name: string,
  namespace: string | undefined,
): Promise<KubeObject | undefined> {
  if (namespace !== undefined) return await find(client, type, { namespace, name })
  const found = await listWhole(client, type, {
    fieldSelector: `metadata.name=${name}`,
    project: (object) => object,
  }).catch((error: unknown) => {
    if (isApiError(error, 'Rejected') && error.status === 403)
      throw new CommandError(
        'usage',
        `say in which namespace ${name} is: -n NAMESPACE; you may not look in all of them`,
      )
    throw error
  })
  if (found.length <= 1) return found[0]
  const namespaces = found.map(({ metadata }) => metadata.namespace).join(', ')
  throw new CommandError('usage', `there is a ${type.kind} ${name} in each of ${namespaces}: say in which one with -n`)
}
