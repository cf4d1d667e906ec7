import type { KubeObject } from '../../operator/kube/kube-object.ts'

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete'

/** A request as the API server understands it. */
export interface ProxiedRequest {
  readonly verb: Verb
  /** Empty for core resources. */
  readonly group: string
  /** Plural name, with the subresource: `vmdiskimages/status`. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  /** Whether it requests all objects: a list, or a watch that begins with one. */
  readonly isList: boolean
  /** The number of this request among those with the same verb and resource, from 1. */
  readonly nth: number
  readonly body: KubeObject | undefined
}

interface Location {
  readonly root: string
  readonly namespace: string | undefined
  readonly resource: string
  readonly name: string | undefined
  readonly subresource: string | undefined
}

const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  'customresourcedefinitions',
  'namespaces',
  'storageclasses',
  'volumesnapshotclasses',
])

const VERBS: Readonly<Record<string, Verb>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' }

/** Parses method and URL. Throws if the path is not that of a resource. The operator requests nothing else. */
export function readRequest(method: string, url: URL): Omit<ProxiedRequest, 'nth' | 'body'> {
  const { root, namespace, resource, name, subresource } = locate(url.pathname)
  const reading = url.searchParams.has('watch') ? 'watch' : name === undefined ? 'list' : 'get'
  const verb = VERBS[method] ?? reading
  return {
    verb,
    isList: verb === 'list' || url.searchParams.has('sendInitialEvents'),
    group: /^\/apis\/([^/]+)/.exec(root)?.[1] ?? '',
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespace,
    name,
  }
}

/** Restricts a path for all namespaces to this one. Returns other paths unchanged. */
export function narrow(path: string, namespace: string): string {
  const { root, namespace: given, resource, name } = locate(path)
  if (given !== undefined || name !== undefined || CLUSTER_SCOPED.has(resource)) return path
  return `${root}/namespaces/${namespace}/${resource}`
}

function locate(path: string): Location {
  const root = /^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)(?=\/)/.exec(path)?.[0]
  if (root === undefined) throw new Error(`not a path of a resource: ${path}`)
  const segments = path
    .slice(root.length + 1)
    .split('/')
    .map(decodeURIComponent)
  const isNamespaced = segments[0] === 'namespaces' && segments.length > 2
  const [resource = '', name, subresource] = isNamespaced ? segments.slice(2) : segments
  return { root, namespace: isNamespaced ? segments[1] : undefined, resource, name, subresource }
}
