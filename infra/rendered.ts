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
  /** Objects of Kubernetes, as `render` of @open-terrain/constructs returns them. */
  readonly objects: readonly object[]
  /** Whether the update waits until objects of the API of Open Terrain are Ready, and fails when one of them does. @default true */
  readonly isAwaited?: boolean
  /** Longest wait for one of them, as Pulumi writes durations (`30m`, `6h`). @default `6h`, since images are downloaded */
  readonly timeout?: string
  /** What has to be there before: an OpenTerrain, in the same program. */
  readonly after?: readonly Resource[]
}

/** Objects that constructs have rendered, as resources of a stack, each a child of this one. Throws where an object has no name. */
export class Rendered extends ComponentResource {
  readonly resources: readonly KubernetesObject[]
  /** `namespace/name` of the awaited objects, once they are Ready. Fails with the message of the first that is not. */
  readonly ready: Output<readonly string[]>

  constructor(name: string, args: RenderedArgs, options: ComponentResourceOptions = {}) {
    super('open-terrain:index:Rendered', name, {}, options)
    const { isAwaited = true, timeout = '6h', after = [] } = args
    const manifests = args.objects.map((object) => checked(name, object as Manifest))
    const namespaces: Resource[] = []
    const awaited: Input<string>[] = []
    this.resources = manifests.map((manifest) => {
      const waits = isAwaited && isOurs(manifest)
      const resource = new KubernetesObject(
        resourceName(name, manifest),
        waits ? awaitingSettled(manifest) : manifest,
        {
          parent: this,
          dependsOn: [...after, ...namespaces],
          ...(waits ? { customTimeouts: { create: timeout, update: timeout } } : {}),
        },
      )
      if (manifest.kind === 'Namespace') namespaces.push(resource)
      if (waits) awaited.push(judged(manifest, resource))
      return resource
    })
    this.ready = all(awaited)
    // Not what fails: the engine would only report it once more.
    this.registerOutputs({})
  }
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
