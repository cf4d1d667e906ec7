import type { Size } from 'cdk8s'
import type { Construct } from 'constructs'
import { eachAs, entriesAs, hasFields, isGiven, itemsOf, namesOf, requireProps } from './given-values.ts'
import { keepInside, type PartInside } from './inside.ts'
import { LabMember } from './lab-member.ts'
import { joinLab, requireOwn } from './lab-part.ts'
import { type SecretKey, secretKeyRef } from './lab-secret.ts'
import type { LabMount } from './lab-volume.ts'
import { TakenNames } from './made-at.ts'
import { wordsOfMember } from './member-words.ts'
import { quantityOf } from './plain-values.ts'
import type {
  WorkspaceContainerClusterProps,
  WorkspaceContainerPortMappingProps,
  WorkspaceContainerProps,
  WorkspaceEnvProps,
  WorkspaceFileProps,
  WorkspaceInitContainerProps,
} from './spec-props.ts'

/** A value of an environment variable: a text, a number or a boolean that is written as one, a key of a Secret, or another source. */
export type LabEnvValue = string | number | boolean | SecretKey | NonNullable<WorkspaceEnvProps['valueFrom']>

/** A file in a container: its content, a key of a Secret, or any other source with its permissions. */
export type LabFile = string | SecretKey | Omit<WorkspaceFileProps, 'path'>

/** What else may be said of an interface of containers. */
export interface PodInterfaceOptions {
  /** MAC address such as 52:54:00:12:34:56. Default: one that follows from pod and network, and stays. */
  readonly macAddress?: string
}

/** What is in a container: an image, and what its program is given. */
export interface LabProgramProps {
  /** Container image, such as registry.example.com/app:1.4. */
  readonly image: string
  /** CPUs that are reserved, such as 128m or 2. Default: none. */
  readonly cpu?: number | string
  /** Memory that is reserved, and the most that the container may use: a quantity such as 256Mi, a number of bytes, or a Size. Default: none. */
  readonly memory?: Size | string | number
  /** Most that the container may use, where that differs, such as { cpu: 2, memory: '1Gi' }. Default: memory, and as much CPU as is free. */
  readonly limits?: { readonly cpu?: number | string; readonly memory?: Size | string | number }
  /** Environment variables by name, such as { LOG_LEVEL: 'debug' }. Default: none. */
  readonly env?: Readonly<Record<string, LabEnvValue>>
  /** Volumes of the lab at paths of the container, as `volume.at('/config')`. Default: none. */
  readonly mounts?: readonly LabMount[]
  /** Files by path, read-only, such as { '/etc/motd': 'hello' }. Default: none. */
  readonly files?: Readonly<Record<string, LabFile>>
}

/** What a container is: its program, and all fields of a container in the spec that have no other form here. */
export interface LabContainerProps
  extends LabProgramProps,
    Omit<WorkspaceContainerProps, 'name' | 'image' | 'resources' | 'env' | 'volumeMounts' | 'files' | 'portMappings'> {
  /** Ports that may be reached from outside the lab: a number for TCP, or all of a mapping. Default: none. */
  readonly ports?: readonly (number | WorkspaceContainerPortMappingProps)[]
}

/** What a container is that runs to its end before the others start. */
export interface LabInitContainerProps
  extends LabProgramProps,
    Omit<WorkspaceInitContainerProps, 'name' | 'image' | 'resources' | 'env' | 'volumeMounts' | 'files'> {}

/** What the containers of a member share: all fields of a container cluster in the spec that have no other form here. */
export interface LabContainersProps
  extends Omit<WorkspaceContainerClusterProps, 'name' | 'interfaces' | 'containers' | 'initContainers' | 'dependsOn'> {
  /** Members that must be Ready before this one is made. Default: none. */
  readonly dependsOn?: readonly { readonly memberName: string }[]
}

/**
 * Containers of a lab that share one host name and its interfaces: one pod. Made by `Workspace.addContainers`, or in a construct below the lab.
 * @example
 * ```ts
 * import { Workspace } from '@open-terrain/constructs'
 *
 * const lab = new Workspace(chart, 'redblue')
 * const lan = lab.addNetwork('lan', { cidr: '10.10.0.0/24' })
 * const data = lab.addVolume('data', { size: '1Gi' })
 * lab
 *   .addContainers('web')
 *   .connect(lan, 80)
 *   .add('nginx', { image: 'docker.io/library/nginx:1.29', mounts: [data.at('/data')], ports: [80] })
 * ```
 */
export class LabContainers extends LabMember<PodInterfaceOptions> {
  readonly #props: LabContainersProps
  readonly #containers: WorkspaceContainerProps[] = []
  readonly #initContainers: WorkspaceInitContainerProps[] = []
  readonly #names = new TakenNames()

  constructor(scope: Construct, name: string, props: LabContainersProps) {
    super(scope, 'containerClusters', name)
    this.#props = props
    requireProps(this, props, "{ hostname: 'dns' }")
    requireOwn(this, 'member', ...itemsOf(props.dependsOn))
    const inside: PartInside = { toSpec: () => wordsOfMember(this).patched(this.#toSpec()) }
    keepInside(this, inside)
    joinLab(this, 'containerClusters', new.target)
  }

  /** Adds a container. @returns the member itself */
  add(name: string, props: LabContainerProps): this {
    this.#names.take(this, name, { what: 'a container', hidden: this.add })
    requireProps(this, props, "{ image: 'registry.example.com/app:1.4' }")
    const { ports, ...program } = props
    this.#requireOwn(props)
    const portMappings = Array.isArray(ports)
      ? ports.map((port) => (typeof port === 'number' ? { containerPort: port } : port))
      : ports
    this.#containers.push({
      ...programSpec(name, program),
      ...(isGiven(portMappings) && { portMappings }),
    } as WorkspaceContainerProps)
    return this
  }

  /** Adds a container that runs to its end before the others start, after those that were added before. @returns the member itself */
  addInit(name: string, props: LabInitContainerProps): this {
    this.#names.take(this, name, { what: 'a container', hidden: this.addInit })
    requireProps(this, props, "{ image: 'registry.example.com/app:1.4' }")
    this.#requireOwn(props)
    this.#initContainers.push(programSpec(name, props) as WorkspaceInitContainerProps)
    return this
  }

  #requireOwn({ mounts = [], env = {}, files = {} }: LabProgramProps): void {
    requireOwn(this, 'volume', ...itemsOf(mounts))
    requireOwn(this, 'Secret', ...Object.values(env ?? {}), ...Object.values(files ?? {}))
  }

  #toSpec(): object {
    const { dependsOn, ...rest } = this.#props
    const interfaces = wordsOfMember(this).interfaces()
    return {
      name: this.memberName,
      ...rest,
      ...(isGiven(dependsOn) && { dependsOn: namesOf(dependsOn) }),
      ...(interfaces.length > 0 && { interfaces }),
      ...(this.#initContainers.length > 0 && { initContainers: this.#initContainers }),
      containers: this.#containers,
    }
  }
}

function programSpec(name: string, props: LabProgramProps): object {
  const { cpu, memory, limits, env, mounts, files, ...rest } = props
  const resources = {
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory: quantityOf(memory) }),
    ...(isGiven(limits) && { limits }),
  }
  return {
    name,
    ...rest,
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(isGiven(env) && { env: entriesAs(env, (variable, value) => ({ name: variable, ...envSource(value) })) }),
    ...(isGiven(mounts) && { volumeMounts: eachAs(mounts, (mount) => ({ ...mount })) }),
    ...(isGiven(files) && { files: entriesAs(files, (path, file) => ({ path, ...fileSource(file) })) }),
  }
}

function envSource(value: LabEnvValue): Omit<WorkspaceEnvProps, 'name'> {
  if (!hasFields(value)) return { value: value === null ? value : String(value) }
  return { valueFrom: 'secretName' in value ? { secretKeyRef: secretKeyRef(value) } : value }
}

function fileSource(file: LabFile): Omit<WorkspaceFileProps, 'path'> {
  if (!hasFields(file)) return { content: file }
  return 'secretName' in file ? { secretKeyRef: secretKeyRef(file) } : file
}
