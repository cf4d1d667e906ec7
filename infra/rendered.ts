import { parseDuration } from '@open-terrain/constructs/infra'
import type { Manifest } from '@open-terrain/constructs/platform'
import {
  all,
  ComponentResource,
  type ComponentResourceOptions,
  Config,
  type Input,
  log,
  Output,
  output,
  type Resource,
  RunError,
  runtime,
  unsecret,
} from '@pulumi/pulumi'
import { ApiObject } from 'cdk8s'
import { KubernetesObject, resourceName } from './kubernetes-object.ts'
import { ObjectReader } from './object-reader.ts'
import { ProgramLife } from './program-life.ts'
import { pluralOf, unawaited } from './settled.ts'
import { untilReady } from './until-ready.ts'

export interface RenderedArgs {
  /**
   * Kubernetes objects, as `render` of @open-terrain/constructs returns them, or constructs of cdk8s, which are rendered. Which objects there are must be known at once, as must their apiVersion,
   * kind, name and namespace. Other fields may be outputs of other resources.
   */
  readonly objects: readonly object[]
  /**
   * Outputs of other resources, each by a text that stands for it in the objects: constructs check their fields at once, and so need a text. A field
   * that is exactly this text gets the output, wherever it is. Each text must stand somewhere.
   */
  readonly outputs?: Readonly<Record<string, Input<string>>>
  /** Whether the update waits until objects of the Open Terrain API are Ready, and fails as soon as one of them fails. @default true */
  readonly isAwaited?: boolean
  /** Longest wait for them, from when all are applied, as a duration (`30m`, `1h30m`). @default `6h`, because images are downloaded */
  readonly timeout?: string
  /**
   * Content or path of the kubeconfig with which the program looks whether objects are ready. Set it if the provider has one of its own.
   * @default `kubernetes:kubeconfig` of the stack, or else what kubectl takes
   */
  readonly kubeconfig?: Input<string>
  /** Context in it. Set it if the provider has one of its own. @default `kubernetes:context` of the stack, or else the current one */
  readonly context?: Input<string>
  /** Whether objects stay in the cluster when they leave the stack, or when it is destroyed. @default false */
  readonly retain?: boolean
  /** Resources that must exist before: an OpenTerrain in the same program. To begin when another Rendered is ready, give `ready.apply(() => resources)` of that. */
  readonly after?: Input<readonly Resource[]>
}

/** Objects that constructs rendered, as resources of a stack, each a child of this one. Throws if an object has no name. */
export class Rendered extends ComponentResource {
  /** Namespaces first, and otherwise in the order of the objects. */
  readonly resources: readonly KubernetesObject[]
  /**
   * `namespace/name` of the awaited objects, once they are Ready. Fails with the messages of those that failed first. In a preview, and where the
   * provider applies nothing (a mock, or one that writes files), they are not looked at.
   */
  readonly ready: Output<readonly string[]>

  constructor(name: string, args: RenderedArgs, options: ComponentResourceOptions = {}) {
    const { isAwaited = true, timeout = '6h', retain = false, after = [] } = args
    const timeoutMs = parseDuration(timeout)
    if (timeoutMs === undefined)
      throw new RunError(`${name}: timeout ${timeout} is no duration: write for example 30m, 6h or 1h30m`)
    const given = listed(name, args.objects).map(withoutConstruct)
    const objects = withOutputs(name, given, args.outputs ?? {})
    const manifests = namespacesFirst(objects.map((object) => checked(name, object)))
    super('open-terrain:index:Rendered', name, {}, options)
    const namespaces: Resource[] = []
    const awaited: AwaitedResource[] = []
    this.resources = manifests.map((manifest) => {
      const waits = isAwaited && pluralOf(manifest) !== undefined
      const resource = new KubernetesObject(resourceName(name, manifest), waits ? unawaited(manifest) : manifest, {
        parent: this,
        retainOnDelete: retain,
        dependsOn: joined(after, isNamespace(manifest) ? [] : namespaces),
      })
      if (isNamespace(manifest)) namespaces.push(resource)
      if (waits) awaited.push({ manifest, resource })
      return resource
    })
    this.ready = this.#readyOf(name, awaited, timeoutMs, args)
    // No output of `ready`: if that fails, the engine would only report the failure once more.
    this.registerOutputs({})
  }

  #readyOf(
    component: string,
    awaited: readonly AwaitedResource[],
    timeoutMs: number,
    args: RenderedArgs,
  ): Output<readonly string[]> {
    const names = awaited.map(({ manifest: { metadata } }) =>
      metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`,
    )
    if (runtime.isDryRun() || awaited.length === 0)
      return all(awaited.map(({ resource }) => resource.id)).apply(() => names)
    const stack = new Config('kubernetes')
    // The names of objects that are ready are no secret, though the kubeconfig is one, and their fields may be.
    const kubeconfig = unsecret(output(args.kubeconfig ?? stack.getSecret('kubeconfig')))
    const context = output(args.context ?? stack.get('context'))
    const uids = unsecret(all(awaited.map(({ resource }) => resource.metadata.apply(({ uid }) => uid))))
    const life = new ProgramLife()
    const ready = all([uids, kubeconfig, context]).apply(async ([found, kubeconfig, context]) => {
      const applied = awaited.flatMap(({ manifest }, at) => {
        const uid = found[at]
        return uid === undefined ? [] : [{ manifest, uid }]
      })
      if (applied.length === 0) return names
      const reader = await ObjectReader.open({ kubeconfig, context })
      const report = (text: string) => void log.info(text, this, undefined, true)
      await untilReady(applied, { reader, component, timeoutMs, signal: life.signal, report })
      return names
    })
    life.lastsUntil(ready)
    return ready
  }
}

/** Waits for nothing where the resources are known at once. */
function joined(after: Input<readonly Resource[]>, others: readonly Resource[]): Input<Resource[]> {
  const fixed = [...others]
  return isList(after) ? [...after, ...fixed] : output(after).apply((later) => [...(later as Resource[]), ...fixed])
}

function isList(after: Input<readonly Resource[]>): after is readonly Resource[] {
  return Array.isArray(after)
}

interface AwaitedResource {
  readonly manifest: Manifest
  readonly resource: KubernetesObject
}

/** A construct has a name and no spec: it would be applied empty, whatever is wrong with it. */
function withoutConstruct(object: unknown): unknown {
  if (!ApiObject.isApiObject(object)) return object
  try {
    return object.toJson()
  } catch (error) {
    // Of this kind of error Pulumi shows the message alone.
    throw new RunError((error as Error).message)
  }
}

function listed(component: string, objects: unknown): readonly unknown[] {
  if (Array.isArray(objects)) return objects
  throw new RunError(
    `${component}: objects is no list that is known at once, and it decides which resources there are: put outputs of other resources into fields of the objects instead`,
  )
}

function withOutputs(
  component: string,
  objects: readonly unknown[],
  outputs: Readonly<Record<string, Input<string>>>,
): readonly unknown[] {
  const unused = new Set(Object.keys(outputs))
  const replaced = (value: unknown): unknown => {
    if (typeof value === 'string' && Object.hasOwn(outputs, value)) {
      unused.delete(value)
      return output(outputs[value])
    }
    if (typeof value !== 'object' || value === null || Output.isInstance(value)) return value
    if (Array.isArray(value)) return value.map(replaced)
    return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, replaced(one)]))
  }
  const filled = objects.map(replaced)
  const [text] = unused
  if (text === undefined) return filled
  throw new RunError(
    `${component}: outputs has ${JSON.stringify(text)}, and no field of the objects is exactly this text: write it where the output belongs`,
  )
}

function namespacesFirst(manifests: readonly Manifest[]): readonly Manifest[] {
  return manifests.toSorted((a, b) => Number(isNamespace(b)) - Number(isNamespace(a)))
}

function isNamespace({ kind }: Manifest): boolean {
  return kind === 'Namespace'
}

function checked(component: string, object: unknown): Manifest {
  const { apiVersion, kind, metadata } = (object ?? {}) as Partial<Manifest>
  const { name, namespace = '' } = metadata ?? {}
  if ([apiVersion, kind, name, namespace].every((text) => typeof text === 'string')) return object as Manifest
  const which = typeof kind === 'string' ? ` (kind ${kind})` : ''
  throw new RunError(
    `${component}: an object${which} lacks apiVersion, kind or metadata.name as a text that is known at once: set it, names are never generated, and neither they nor a namespace may be outputs`,
  )
}
