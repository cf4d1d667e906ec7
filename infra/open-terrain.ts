import { GROUP, POLICY_NAME, VERSION } from '@open-terrain/constructs'
import {
  INSTALLATION_PARTS,
  type Installation,
  type InstallationPart,
  type InstallationProps,
  type Manifest,
  RETAIN_ANNOTATION,
  renderInstallation,
} from '@open-terrain/constructs/platform'
import { ComponentResource, type ComponentResourceOptions, type Output, output, type Resource } from '@pulumi/pulumi'
import { parseImageReference } from './image-reference.ts'
import { KubernetesObject, resourceName } from './kubernetes-object.ts'

export type OpenTerrainArgs = InstallationProps & {
  /** Whether Pulumi refuses to delete CRDs and namespaces. They stay in the cluster in any case. @default true */
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
    const { protect = true, ...props } = args
    const installation = renderInstallation(props)
    const made = new Map<Manifest, KubernetesObject>()
    const partOf = (part: InstallationPart) => installation[part].flatMap((manifest) => made.get(manifest) ?? [])
    let before: readonly Resource[] = []
    for (const part of INSTALLATION_PARTS) {
      const { resources } = new Part(`${name}/${part}`, installation[part], { prefix: name, before, protect }, this)
      for (const [manifest, resource] of resources) made.set(manifest, resource)
      if (resources.size > 0) before = [...resources.values()]
    }
    this.parts = Object.fromEntries(
      INSTALLATION_PARTS.map((part) => [part, partOf(part)]),
    ) as unknown as typeof this.parts
    const { metadata } = resourceOf(made, 'ConfigMap', POLICY_NAME)
    this.namespace = metadata.apply(({ namespace }) => namespace ?? '')
    this.policyName = metadata.apply((policy) => policy.name)
    this.metrics = output(metricsOf(installation))
    this.versions = output(versionsOf(props.image))
    this.registerOutputs({
      namespace: this.namespace,
      policyName: this.policyName,
      metrics: this.metrics,
      versions: this.versions,
    })
  }
}

interface Placement {
  readonly prefix: string
  /** Resources that must exist before any object of the part is created. */
  readonly before: readonly Resource[]
  readonly protect: boolean
}

class Part extends ComponentResource {
  readonly resources: ReadonlyMap<Manifest, KubernetesObject>

  constructor(name: string, manifests: readonly Manifest[], { prefix, before, protect }: Placement, parent: Resource) {
    super('open-terrain:index:Part', name, {}, { parent })
    const made = new Map<Manifest, KubernetesObject>()
    for (const rank of [isKept, isOther, isWorkload]) {
      const dependsOn = [...before, ...made.values()]
      for (const manifest of manifests.filter(rank)) {
        const kept = isKept(manifest) ? { protect, retainOnDelete: true } : {}
        const options = { parent: this, dependsOn, ...kept }
        made.set(manifest, new KubernetesObject(resourceName(prefix, manifest), manifest, options))
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
