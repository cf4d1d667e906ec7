import { GROUP, VERSION } from '@open-terrain/constructs'
import { RETAIN_ANNOTATION } from '@open-terrain/constructs/infra'
import {
  INSTALLATION_PARTS,
  type Installation,
  type InstallationPart,
  type InstallationProps,
  type Manifest,
  POLICY_NAME,
  renderInstallation,
} from '@open-terrain/constructs/platform'
import {
  type Alias,
  ComponentResource,
  type ComponentResourceOptions,
  getProject,
  getStack,
  type Input,
  Output,
  output,
  type Resource,
  RunError,
} from '@pulumi/pulumi'
import { imageProblem, parseImageReference } from './image-reference.ts'
import { KubernetesObject, resourceName } from './kubernetes-object.ts'
import { Protection } from './protection.ts'
import { releasedImage } from './released-image.ts'

/** Values that other resources of the program may provide: they are in objects, and in no object's name. */
const LATE = ['image', 'imagePullSecrets', 'replicas', 'resources', 'pods', 'policy', 'version'] as const
type LateKey = (typeof LATE)[number]
type Late<Value> = Input<Value extends readonly unknown[] ? Value : { readonly [Key in keyof Value]: Late<Value[Key]> }>

/** What is installed. The default of `image` is that of the release of this package. A package that was made without one has none. */
export type OpenTerrainArgs = Omit<InstallationProps, 'owner' | LateKey> & {
  readonly [Key in LateKey]?: Late<NonNullable<InstallationProps[Key]>>
} & {
  /** Whether this stack takes over what another stack has installed in the cluster, which is refused otherwise. @default false */
  readonly adopt?: boolean
  /**
   * Whether Pulumi refuses to destroy the installation, and to delete CRDs and namespaces. CRDs and namespaces stay in the cluster in any case.
   * @default true
   */
  readonly protect?: boolean
}

/** Where each replica serves its metrics: pods with these labels in this namespace, at this port and path. */
export interface MetricsAddress {
  readonly namespace: string
  readonly selector: Readonly<Record<string, string>>
  readonly port: number
  readonly path: string
}

export interface InstalledVersions {
  /** Tag or digest of the operator's image. */
  readonly operator: string
  /** `group/version` of the API. */
  readonly api: string
}

/** Kinds that hold people's data. Such objects stay in the cluster when they leave the stack. */
const KEPT_KINDS: readonly string[] = ['CustomResourceDefinition', 'Namespace']

/**
 * Open Terrain in one cluster: the objects of `renderInstallation`, created part after part. Use a provider with `enableConfigMapMutable`. Without
 * it, a change of the policy deletes its ConfigMap and creates another one.
 */
export class OpenTerrain extends ComponentResource {
  /** The operator's namespace, once it exists. */
  readonly namespace: Output<string>
  /** Name of the policy's ConfigMap in that namespace, once it exists. */
  readonly policyName: Output<string>
  readonly metrics: Output<MetricsAddress>
  readonly versions: Output<InstalledVersions>
  readonly parts: Readonly<Record<InstallationPart, readonly KubernetesObject[]>>

  constructor(name: string, args: OpenTerrainArgs, options: ComponentResourceOptions = {}) {
    super('open-terrain:index:OpenTerrain', name, {}, options)
    const { adopt = false, protect = true, image = releasedImage(), ...others } = args
    if (image === undefined)
      throw new RunError(
        `${name}: image is not set, and this package was released without one: name the operator's image`,
      )
    const props = { ...others, image }
    const owner = { name: `${getProject()}/${getStack()}`, adopt }
    const { installation, later } = rendered(name, { ...props, owner })
    const formerNames = formerNamesOf(name, options)
    const made = new Map<Manifest, KubernetesObject>()
    const partOf = (part: InstallationPart) => installation[part].flatMap((manifest) => made.get(manifest) ?? [])
    let before: readonly Resource[] = []
    for (const part of INSTALLATION_PARTS) {
      const placement = { prefix: name, formerNames, before, protect, ...(LATE_PARTS.includes(part) ? { later } : {}) }
      const { resources } = new Part(`${name}/${part}`, installation[part], placement, this)
      for (const [manifest, resource] of resources) made.set(manifest, resource)
      if (resources.size > 0) before = [...resources.values()]
    }
    this.parts = Object.fromEntries(
      INSTALLATION_PARTS.map((part) => [part, partOf(part)]),
    ) as unknown as typeof this.parts
    new Protection(`${name}/protection`, [...made.values()], protect, { parent: this })
    const { metadata } = resourceOf(made, 'ConfigMap', POLICY_NAME)
    this.namespace = metadata.apply(({ namespace }) => namespace ?? '')
    this.policyName = metadata.apply((policy) => policy.name)
    this.metrics = output(metricsOf(installation))
    this.versions = output(props.image).apply(versionsOf)
    this.registerOutputs({
      namespace: this.namespace,
      policyName: this.policyName,
      metrics: this.metrics,
      versions: this.versions,
    })
  }
}

/** What values that are known later are part of. */
const LATE_PARTS: readonly InstallationPart[] = ['policy', 'operator']

interface Rendering {
  /** Which objects there are. Those of {@link LATE_PARTS} are as they will be only if there is nothing `later`. */
  readonly installation: Installation
  /** Those objects with all values, by the name of the resource. Undefined if all values are known. */
  readonly later?: Output<ReadonlyMap<string, Manifest>> | undefined
}

type Props = Omit<OpenTerrainArgs, 'adopt' | 'protect'> & Pick<InstallationProps, 'owner'>

function rendered(name: string, props: Props): Rendering {
  const [known, unknown] = [false, true].map((isLate) =>
    Object.fromEntries(Object.entries(props).filter(([, value]) => comesLater(value) === isLate)),
  ) as [object, object]
  const names = Object.keys(unknown)
  if (names.length === 0) return { installation: renderedWhole(name, known as InstallationProps) }
  const early = names.find((key) => !LATE.includes(key as LateKey))
  if (early !== undefined)
    throw new RunError(`${name}: ${early} must be known at once: only ${LATE.join(', ')} may come from other resources`)
  const objectsOf = (all: Installation) =>
    new Map(LATE_PARTS.flatMap((part) => all[part]).map((one) => [resourceName(name, one), one]))
  // No object is named after the image.
  const installation = renderInstallation({ image: 'later', ...known } as InstallationProps)
  const later = output(unknown).apply((values) => {
    const found = objectsOf(renderedWhole(name, { ...known, ...values } as InstallationProps))
    const missing = [...objectsOf(installation).keys()].find((id) => !found.has(id))
    if (missing === undefined) return found
    throw new RunError(
      `${name}: policy is known only later and names other objects than ${missing}: set imageNamespace`,
    )
  })
  return { installation, later }
}

/** Without a stack trace: the message names the property. */
function renderedWhole(name: string, props: InstallationProps): Installation {
  const problem = imageProblem(props.image)
  if (problem !== undefined) throw new RunError(`${name}: image: ${JSON.stringify(props.image)} ${problem}`)
  try {
    return renderInstallation(props)
  } catch (error) {
    throw new RunError(`${name}: ${(error as Error).message}`)
  }
}

function comesLater(value: unknown): boolean {
  if (Output.isInstance(value) || value instanceof Promise) return true
  return typeof value === 'object' && value !== null && Object.values(value).some(comesLater)
}

/** Returns the names that a component has had, so that what is named after it is found when it is renamed. */
function formerNamesOf(name: string, { aliases = [] }: ComponentResourceOptions): readonly Output<string>[] {
  return aliases.map((alias) =>
    (output(alias) as Output<string | Alias>).apply((one) => {
      if (typeof one !== 'string') return output(one.name ?? name)
      return output(one.slice(one.lastIndexOf('::') + 2))
    }),
  )
}

interface Placement {
  readonly prefix: string
  /** What `prefix` was. */
  readonly formerNames: readonly Output<string>[]
  /** The objects as they are, by the name of the resource, where that is not known at once. */
  readonly later?: Rendering['later']
  /** Resources that must exist before any object of the part is created. */
  readonly before: readonly Resource[]
  readonly protect: boolean
}

class Part extends ComponentResource {
  readonly resources: ReadonlyMap<Manifest, KubernetesObject>

  constructor(
    name: string,
    manifests: readonly Manifest[],
    { prefix, formerNames, later, before, protect }: Placement,
    parent: Resource,
  ) {
    super('open-terrain:index:Part', name, {}, { parent })
    const made = new Map<Manifest, KubernetesObject>()
    for (const rank of [isKept, isOther, isWorkload]) {
      const dependsOn = [...before, ...made.values()]
      for (const manifest of manifests.filter(rank)) {
        const kept = isKept(manifest) ? { protect, retainOnDelete: true } : {}
        const id = resourceName(prefix, manifest)
        const aliases = formerNames.map((former) => ({ name: former.apply((old) => resourceName(old, manifest)) }))
        const options = { parent: this, dependsOn, aliases, ...kept }
        const found = later?.apply((all) => all.get(id) ?? manifest)
        made.set(manifest, new KubernetesObject(id, manifest, options, found))
      }
    }
    this.resources = made
    this.registerOutputs({})
  }
}

/** Created first, because other objects of the part are created in them or are of their kinds. Their deletion guards are kept with them. */
function isKept({ kind, metadata }: Manifest): boolean {
  const { annotations } = metadata as { readonly annotations?: Readonly<Record<string, string>> }
  return KEPT_KINDS.includes(kind) || annotations?.[RETAIN_ANNOTATION] === 'true'
}

/** Created last, so that its pods start with the intended rights and limits. */
function isWorkload({ kind }: Manifest): boolean {
  return kind === 'Deployment'
}

function isOther(manifest: Manifest): boolean {
  return !isKept(manifest) && !isWorkload(manifest)
}

function resourceOf(made: ReadonlyMap<Manifest, KubernetesObject>, kind: string, name: string): KubernetesObject {
  for (const [manifest, resource] of made)
    if (manifest.kind === kind && manifest.metadata.name === name) return resource
  throw new Error(`the installation has no ${kind} ${name}`)
}

interface DeploymentSpec {
  readonly selector: { readonly matchLabels: Readonly<Record<string, string>> }
  readonly template: {
    readonly spec: {
      readonly containers: readonly {
        readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
      }[]
    }
  }
}

/** Reads the address from the Deployment, because the Deployment opens the port. */
function metricsOf(installation: Installation): MetricsAddress {
  for (const deployment of installation.operator.filter(isWorkload)) {
    const { selector, template } = deployment['spec'] as DeploymentSpec
    const ports = template.spec.containers.flatMap((container) => container.ports ?? [])
    const port = ports.find(({ name }) => name === 'metrics')?.containerPort
    const { namespace } = deployment.metadata
    if (port !== undefined && namespace !== undefined)
      return { namespace, selector: selector.matchLabels, port, path: '/metrics' }
  }
  throw new Error('no Deployment of the installation has a port named metrics')
}

function versionsOf(image: string): InstalledVersions {
  const { tag, digest } = parseImageReference(image)
  return { operator: tag ?? digest ?? 'unknown', api: `${GROUP}/${VERSION}` }
}
