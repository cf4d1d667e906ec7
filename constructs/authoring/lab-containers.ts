import type { Size } from 'cdk8s'
import type { Construct } from 'constructs'
import type { WorkspaceSpecInput } from '../api/workspace.ts'
import { LabMember } from './lab-member.ts'
import { type SecretKey, secretKeyRef } from './lab-secret.ts'
import type { LabMount } from './lab-volume.ts'
import { quantityOf } from './quantity-of.ts'

type ClusterSpec = NonNullable<WorkspaceSpecInput['containerClusters']>[number]
type ContainerSpec = ClusterSpec['containers'][number]
type InitContainerSpec = NonNullable<ClusterSpec['initContainers']>[number]
type EnvSpec = NonNullable<ContainerSpec['env']>[number]
type PortSpec = NonNullable<ContainerSpec['portMappings']>[number]
type FileSpec = NonNullable<ContainerSpec['files']>[number]

/** A value of an environment variable: a text, a number or a boolean that is written as one, a key of a Secret, or another source. */
export type LabEnvValue = string | number | boolean | SecretKey | NonNullable<EnvSpec['valueFrom']>

/** A file in a container: its content, a key of a Secret, or any other source with its permissions. */
export type LabFile = string | SecretKey | Omit<FileSpec, 'path'>

/** What else may be said of an interface of containers. */
export interface PodInterfaceOptions {
  /** MAC address such as 52:54:00:12:34:56. Default: one that follows from pod and network, and stays. */
  readonly macAddress?: string
}

interface ProgramProps {
  /** Container image, such as registry.example.com/app:1.4. */
  readonly image: string
  /** CPUs that are reserved, such as 128m or 2. Default: none. */
  readonly cpu?: number | string
  /** Memory that is reserved, and the most that the container may use: a quantity such as 256Mi, bytes, or a Size. Default: none. */
  readonly memory?: Size | string | number
  /** Most that the container may use, where that differs. */
  readonly limits?: { readonly cpu?: number | string; readonly memory?: string | number }
  /** Environment variables by name. Default: none. */
  readonly env?: Readonly<Record<string, LabEnvValue>>
  /** Volumes of the lab at paths of the container, as `volume.at('/config')`. Default: none. */
  readonly mounts?: readonly LabMount[]
  /** Files by path, read-only. Default: none. */
  readonly files?: Readonly<Record<string, LabFile>>
}

type Reshaped = 'name' | 'image' | 'resources' | 'env' | 'volumeMounts' | 'files' | 'portMappings'

export interface LabContainerProps extends ProgramProps, Omit<ContainerSpec, Reshaped> {
  /** Ports that may be reached from outside the lab: a number for TCP, or all of a mapping. Default: none. */
  readonly ports?: readonly (number | PortSpec)[]
}

export interface LabInitContainerProps extends ProgramProps, Omit<InitContainerSpec, Reshaped> {}

export interface LabContainersProps
  extends Omit<ClusterSpec, 'name' | 'interfaces' | 'containers' | 'initContainers' | 'dependsOn'> {
  /** Members that must be Ready before this one is made. Default: none. */
  readonly dependsOn?: readonly { readonly memberName: string }[]
}

/** Containers of a lab that share one host name and its interfaces: one pod. Made by `Workspace.addContainers`. */
export class LabContainers extends LabMember<PodInterfaceOptions> {
  readonly #props: LabContainersProps
  readonly #containers: ContainerSpec[] = []
  readonly #initContainers: InitContainerSpec[] = []

  constructor(scope: Construct, name: string, props: LabContainersProps) {
    super(scope, 'containerClusters', name)
    this.#props = props
  }

  /** Adds a container. @returns the member itself */
  add(name: string, props: LabContainerProps): this {
    const { ports, ...program } = props
    const portMappings = ports?.map((port) => (typeof port === 'number' ? { containerPort: port } : { ...port }))
    this.#containers.push({ ...programSpec(name, program), ...(portMappings && { portMappings }) } as ContainerSpec)
    return this
  }

  /** Adds a container that runs to its end before the others start, after those that were added before. @returns the member itself */
  addInit(name: string, props: LabInitContainerProps): this {
    this.#initContainers.push(programSpec(name, props) as InitContainerSpec)
    return this
  }

  toSpec(): ClusterSpec {
    const { dependsOn, ...rest } = this.#props
    const interfaces = this.connections()
    return this.patched({
      name: this.memberName,
      ...rest,
      ...(dependsOn && { dependsOn: dependsOn.map(({ memberName }) => memberName) }),
      ...(interfaces.length > 0 && { interfaces }),
      ...(this.#initContainers.length > 0 && { initContainers: this.#initContainers }),
      containers: this.#containers,
    } as ClusterSpec)
  }
}

function programSpec(name: string, props: ProgramProps): object {
  const { cpu, memory, limits, env, mounts, files, ...rest } = props
  const resources = {
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory: quantityOf(memory) }),
    ...(limits && { limits }),
  }
  return {
    name,
    ...rest,
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(env && { env: Object.entries(env).map(([variable, value]) => ({ name: variable, ...envSource(value) })) }),
    ...(mounts && { volumeMounts: mounts.map((mount) => ({ ...mount })) }),
    ...(files && { files: Object.entries(files).map(([path, file]) => ({ path, ...fileSource(file) })) }),
  }
}

function envSource(value: LabEnvValue): Omit<EnvSpec, 'name'> {
  if (typeof value !== 'object') return { value: String(value) }
  return { valueFrom: 'secretName' in value ? { secretKeyRef: secretKeyRef(value) } : value }
}

function fileSource(file: LabFile): Omit<FileSpec, 'path'> {
  if (typeof file === 'string') return { content: file }
  return 'secretName' in file ? { secretKeyRef: secretKeyRef(file) } : file
}
