import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { KUBELET_FINALIZER } from './annotations.ts'
import {
  claimNamesOf,
  type Domain,
  type Instance,
  type InstanceSpec,
  type Machine,
  secretNamesOf,
} from './kubevirt-models.ts'
import { ownedBy, type Pod, type PodVolume, uidOf } from './models.ts'
import { MULTUS_NETWORKS } from './multus/multus.ts'
import { bytesOf, canonicalQuantity } from './quantity.ts'

/** The objects that KubeVirt creates for a virtual machine, with the same names, owners, labels and defaults. */

/** On a virtual machine, and on its instance until the machine has recorded how the instance ended. */
export const MACHINE_FINALIZER = 'kubevirt.io/virtualMachineControllerFinalize'
/** On an instance until its launcher pod has ended. */
export const INSTANCE_FINALIZER = 'foregroundDeleteVirtualMachine'
/** The generation of the virtual machine that an instance was made from. */
export const GENERATION = 'kubevirt.io/vm-generation'
const CREATED_BY = 'kubevirt.io/created-by'
const LAUNCHER_LABEL = 'kubevirt.io'
const LAUNCHER_LABEL_VALUE = 'virt-launcher'
const LAUNCHER_IMAGE = 'registry.example.com/kubevirt/virt-launcher:v1.9.0'
const PCI_TOPOLOGY = 'kubevirt.io/pci-topology-version'
const HOTPLUG_FACTOR = 4
const LONGEST_LABEL = 63
const MEBI = 2 ** 20
const OVERHEAD_MEBI = 296

const API_VERSIONS = {
  'kubevirt.io/latest-observed-api-version': 'v1',
  'kubevirt.io/storage-observed-api-version': 'v1',
}

/**
 * Returns a merge patch with the missing fields of those that KubeVirt sets on every virtual machine; undefined if none is
 * missing. The real one sets spec fields in its webhook, before the object is stored; this one sets them a moment later.
 */
export function completionOf(machine: Machine, random: () => number): object | undefined {
  const { finalizers = [], annotations = {} } = machine.metadata
  const { template } = machine.spec
  const { architecture = 'amd64', domain } = template.spec
  const completed = {
    ...canonical(domain),
    machine: { type: 'q35', ...domain.machine },
    firmware: { uuid: uuidFrom(random), serial: uuidFrom(random), ...domain.firmware },
  }
  const isComplete =
    finalizers.includes(MACHINE_FINALIZER) &&
    Object.keys(API_VERSIONS).every((name) => name in annotations) &&
    template.spec.architecture !== undefined &&
    template.metadata?.annotations?.[PCI_TOPOLOGY] !== undefined &&
    isDeepStrictEqual(quantitiesOf(completed), quantitiesOf(domain)) &&
    domain.machine?.type !== undefined &&
    domain.firmware?.uuid !== undefined &&
    domain.firmware.serial !== undefined
  if (isComplete) return undefined
  return {
    metadata: {
      resourceVersion: machine.metadata.resourceVersion,
      annotations: API_VERSIONS,
      finalizers: [...new Set([...finalizers, MACHINE_FINALIZER])],
    },
    spec: {
      template: { metadata: { annotations: { [PCI_TOPOLOGY]: 'v3' } }, spec: { architecture, domain: completed } },
    },
  }
}

/** Returns the spec of an instance created from a template, with the defaults that only instances get. */
export function instanceSpecFrom(template: InstanceSpec): InstanceSpec {
  const { cpu, memory, devices } = template.domain
  const sockets = cpu?.sockets ?? 1
  const guest = memory?.guest
  return {
    ...template,
    domain: {
      ...template.domain,
      cpu: { model: 'host-model', maxSockets: HOTPLUG_FACTOR * sockets, ...cpu, sockets },
      ...(guest !== undefined && { memory: { maxGuest: multiplied(guest), ...memory } }),
      devices: {
        ...devices,
        ...(devices?.interfaces && {
          interfaces: devices.interfaces.map((one) => ({ model: 'virtio', ...one })),
        }),
      },
    },
  }
}

export function newInstance(machine: Machine): Instance {
  const { name } = machine.metadata
  const { labels, annotations } = machine.spec.template.metadata ?? {}
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: {
      ...inNamespaceOf(machine),
      name,
      ...(labels && { labels }),
      annotations: { ...annotations, [GENERATION]: String(machine.metadata.generation ?? 1) },
      finalizers: [MACHINE_FINALIZER, INSTANCE_FINALIZER],
      ownerReferences: ownedBy(machine),
    },
    spec: instanceSpecFrom(machine.spec.template.spec),
  }
}

export function launcherPod(instance: Instance, random: () => number): Pod {
  const { name, labels } = instance.metadata
  const { hostname = name.split('.')[0] ?? name, terminationGracePeriodSeconds: grace = 30 } = instance.spec
  const claims: PodVolume[] = claimNamesOf(instance.spec).map((claimName, at) => ({
    name: `disk-${at}`,
    persistentVolumeClaim: { claimName },
  }))
  const secrets: PodVolume[] = secretNamesOf(instance.spec).map((secretName, at) => ({
    name: `cloud-init-${at}`,
    secret: { secretName },
  }))
  const networks = multusNetworks(instance)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...inNamespaceOf(instance),
      name: `virt-launcher-${name}-${suffix(random)}`,
      labels: {
        ...labels,
        [LAUNCHER_LABEL]: LAUNCHER_LABEL_VALUE,
        [CREATED_BY]: uidOf(instance),
        'vm.kubevirt.io/name': hostname.slice(0, LONGEST_LABEL),
        'vmi.kubevirt.io/id': instanceId(name),
      },
      annotations: {
        'kubevirt.io/domain': name,
        ...(networks !== undefined && { [MULTUS_NETWORKS]: networks }),
      },
      finalizers: [KUBELET_FINALIZER],
      ownerReferences: ownedBy(instance),
    },
    spec: {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: grace + 30,
      automountServiceAccountToken: false,
      ...(instance.spec.affinity && { affinity: instance.spec.affinity }),
      ...(instance.spec.nodeSelector && { nodeSelector: instance.spec.nodeSelector }),
      volumes: [...claims, ...secrets],
      containers: [{ name: 'compute', image: LAUNCHER_IMAGE, resources: { requests: requestsOf(instance) } }],
    },
  }
}

/** Requests a tenth of a CPU for each virtual CPU, and the guest's memory plus what KubeVirt adds. */
function requestsOf({ spec: { domain } }: Instance): Readonly<Record<string, string>> {
  const { sockets = 1, cores = 1, threads = 1 } = domain.cpu ?? {}
  const guest = bytesOf(domain.memory?.guest ?? String(domain.resources?.requests?.['memory'] ?? '')) ?? 0
  const { cpu = `${sockets * cores * threads * 100}m` } = domain.resources?.requests ?? {}
  return { cpu: String(cpu), memory: `${Math.ceil(guest / MEBI) + OVERHEAD_MEBI}Mi` }
}

export function isLauncher(pod: Pod | undefined): boolean {
  return pod?.metadata.labels?.[LAUNCHER_LABEL] === LAUNCHER_LABEL_VALUE
}

/** Returns the networks that Multus must attach. Without addresses: the guest sets them itself. */
function multusNetworks({ metadata, spec }: Instance): string | undefined {
  const attached = (spec.networks ?? []).flatMap(({ name, multus }) => {
    if (multus === undefined) return []
    const [attachment = '', namespace = metadata.namespace] = multus.networkName.split('/').reverse()
    const mac = spec.domain.devices?.interfaces?.find((one) => one.name === name)?.macAddress
    const device = `pod${createHash('sha256').update(name).digest('hex').slice(0, 11)}`
    return [{ name: attachment, namespace, ...(mac !== undefined && { mac }), interface: device }]
  })
  return attached.length === 0 ? undefined : JSON.stringify(attached)
}

/** Returns a name that fits into a label. The launcher is found by it. */
function instanceId(name: string): string {
  if (name.length <= LONGEST_LABEL) return name
  return `${name.slice(0, 54)}-${createHash('sha1').update(name).digest('hex').slice(0, 8)}`
}

function canonical(domain: Domain): Domain {
  const { memory, resources } = domain
  const rewrite = (quantities: NonNullable<Domain['resources']>['requests']) =>
    quantities && Object.fromEntries(Object.entries(quantities).map(([name, one]) => [name, rewritten(one)]))
  const { requests, limits } = resources ?? {}
  return {
    ...domain,
    ...(memory && { memory: rewrite(memory) as NonNullable<Domain['memory']> }),
    ...(resources && {
      resources: { ...(requests && { requests: rewrite(requests) }), ...(limits && { limits: rewrite(limits) }) },
    }),
  } as Domain
}

/** Huge pages are not a quantity. */
function rewritten<T>(value: T): T | string {
  return typeof value === 'string' || typeof value === 'number' ? canonicalQuantity(value) : value
}

function quantitiesOf({ memory, resources }: Domain): unknown {
  return [memory, resources?.requests, resources?.limits]
}

function multiplied(guest: string): string {
  const [, digits = '', unit = ''] = /^([\d.]+)(.*)$/.exec(guest) ?? []
  return canonicalQuantity(`${Number(digits) * HOTPLUG_FACTOR}${unit}`)
}

function suffix(random: () => number): string {
  return Math.floor(random() * 36 ** 5)
    .toString(36)
    .padStart(5, '0')
}

function uuidFrom(random: () => number): string {
  const hex = createHash('sha256').update(String(random())).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

function inNamespaceOf({ metadata: { namespace } }: Machine | Instance): { namespace?: string } {
  return namespace === undefined ? {} : { namespace }
}
