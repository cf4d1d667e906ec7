import type { Manifest } from '@open-terrain/constructs/platform'
import {
  all,
  ComponentResource,
  type ComponentResourceOptions,
  type Input,
  type Output,
  type Resource,
  RunError,
} from '@pulumi/pulumi'
import { KubernetesObject, resourceName } from './kubernetes-object.ts'
import { awaitingSettled, failureOf, isOurs } from './settled.ts'

export interface RenderedArgs {
  /** Kubernetes objects, as `render` of @open-terrain/constructs returns them. */
  readonly objects: readonly object[]
  /** Whether the update waits until objects of the Open Terrain API are Ready, and fails when one of them fails. @default true */
  readonly isAwaited?: boolean
  /** Longest wait for one of them, in the duration format of Pulumi (`30m`, `6h`). @default `6h`, because images are downloaded */
  readonly timeout?: string
  /** Whether objects stay in the cluster when they leave the stack, or when it is destroyed. @default false */
  readonly retain?: boolean
  /** Resources that must exist before: an OpenTerrain in the same program. */
  readonly after?: readonly Resource[]
}

/** Objects that constructs rendered, as resources of a stack, each a child of this one. Throws if an object has no name. */
export class Rendered extends ComponentResource {
  /** Namespaces first, and otherwise in the order of the objects. */
  readonly resources: readonly KubernetesObject[]
  /** `namespace/name` of the awaited objects, once they are Ready. Fails with the message of the first one that failed. */
  readonly ready: Output<readonly string[]>

  constructor(name: string, args: RenderedArgs, options: ComponentResourceOptions = {}) {
    super('open-terrain:index:Rendered', name, {}, options)
    const { isAwaited = true, timeout = '6h', retain = false, after = [] } = args
    const manifests = namespacesFirst(args.objects.map((object) => checked(name, object as Manifest)))
    const namespaces: Resource[] = []
    const awaited: Input<string>[] = []
    this.resources = manifests.map((manifest) => {
      const waits = isAwaited && isOurs(manifest)
      const resource = new KubernetesObject(
        resourceName(name, manifest),
        waits ? awaitingSettled(manifest) : manifest,
        {
          parent: this,
          retainOnDelete: retain,
          dependsOn: [...after, ...(isNamespace(manifest) ? [] : namespaces)],
          ...(waits ? { customTimeouts: { create: timeout, update: timeout } } : {}),
        },
      )
      if (isNamespace(manifest)) namespaces.push(resource)
      if (waits) awaited.push(judged(manifest, resource))
      return resource
    })
    this.ready = all(awaited)
    // No output of `ready`: if that fails, the engine would only report the failure once more.
    this.registerOutputs({})
  }
}

function namespacesFirst(manifests: readonly Manifest[]): readonly Manifest[] {
  return manifests.toSorted((a, b) => Number(isNamespace(b)) - Number(isNamespace(a)))
}

function isNamespace({ kind }: Manifest): boolean {
  return kind === 'Namespace'
}

function checked(component: string, manifest: Manifest): Manifest {
  const { apiVersion, kind, metadata } = manifest
  if (typeof apiVersion === 'string' && typeof kind === 'string' && typeof metadata?.name === 'string') return manifest
  throw new RunError(
    `${component}: an object (kind ${kind}) lacks apiVersion, kind or metadata.name: set it, names are never generated`,
  )
}

function judged(manifest: Manifest, resource: KubernetesObject): Output<string> {
  const { name, namespace } = manifest.metadata
  return resource.status.apply((status) => {
    const failure = failureOf(manifest, status)
    if (failure !== undefined) throw new RunError(failure)
    return namespace === undefined ? name : `${namespace}/${name}`
  })
}
