import { ANNOTATIONS } from '@open-terrain/constructs'
import {
  type KubeVirtVirtualMachineObject,
  namesFromSpec,
  SYSPREP_DISK,
  SYSPREP_FROM_SPEC,
  withMacAddresses,
} from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { type SharedList, sharedList } from '../../../runtime/owned-fields.ts'
import type { KubeVirtView } from '../kubevirt-views.ts'
import type { MachineWorld } from '../world.ts'

/** KubeVirt's machine as wanted, together with what others have added to it. */
export interface SharedMachine {
  readonly wanted: KubeObject
  /** What others have added, as `volume data`. */
  readonly others: readonly string[]
  /** Others have added so much that the caches may have lost a part of it: a write of the lists would take that away. */
  readonly isTooLarge: boolean
  /** Networks that the spec does not name any more, and whose interfaces are taken away. */
  readonly gone: readonly string[]
}

/** Characters of the spec of KubeVirt's machine, as far as it is kept, up to which nothing of it has been cut. Ours alone never has that many. */
const SPEC_MAX = 48_000

interface Lists {
  readonly networks?: unknown
  readonly volumes?: unknown
  readonly domain?: { readonly devices?: { readonly disks?: unknown; readonly interfaces?: unknown } }
}

/**
 * Adds to KubeVirt's machine what others have added to its lists: volumes of `virtctl addvolume`, memory dumps, interfaces. The lists have no owners in
 * the API: a patch replaces the whole list. Of them, the names that we render are ours.
 *
 * An interface that the spec does not name any more must go. It is known by its MAC address, which follows from the machine and the network, or recorded
 * as one whose MAC address the spec gave. So must a disk that the spec does not name any more. It is known by our annotation. Those of every machine always
 * have the same names.
 */
export function withOthers(
  { vm }: Pick<MachineWorld, 'vm'>,
  wanted: KubeVirtVirtualMachineObject,
  machine: KubeVirtView | undefined,
): SharedMachine {
  if (machine === undefined) return { wanted, others: [], gone: [], isTooLarge: false }
  const { spec } = wanted
  const { devices } = spec.template.spec.domain
  const has = listsOf(machine)
  const isFormer = formerNetworks(vm.metadata, machine, has.domain?.devices?.interfaces)
  const isFormerDisk = formerDisks(machine)
  const disks = sharedList(devices.disks, has.domain?.devices?.disks, isFormerDisk)
  const volumes = sharedList(spec.template.spec.volumes, has.volumes, isFormerDisk)
  const interfaces = sharedList(devices.interfaces, has.domain?.devices?.interfaces, isFormer)
  const networks = sharedList(spec.template.spec.networks, has.networks, isFormer)
  const template = {
    ...spec.template,
    spec: {
      ...spec.template.spec,
      domain: {
        ...spec.template.spec.domain,
        devices: { ...devices, disks: disks.items, interfaces: interfaces.items },
      },
      networks: networks.items,
      volumes: volumes.items,
    },
  }
  const others = [...titles('volume', volumes, disks), ...titles('interface', interfaces, networks)]
  return {
    wanted: { ...wanted, spec: { ...spec, template } } as KubeObject,
    others,
    isTooLarge: isCut(machine),
    gone: [...new Set([...interfaces.gone, ...networks.gone])],
  }
}

/** Reports whether the caches may have lost a part of KubeVirt's machine. */
export function isCut({ spec }: Pick<KubeVirtView, 'spec'>): boolean {
  return JSON.stringify(spec).length > SPEC_MAX
}

/** A volume and its disk have the same name, as have an interface and its network. */
function titles(kind: string, ...lists: readonly SharedList[]): string[] {
  return [...new Set(lists.flatMap(({ others }) => others))].map((name) => `${kind} ${name}`)
}

function listsOf({ spec }: KubeVirtView): Lists {
  return (spec as { readonly template?: { readonly spec?: Lists } } | undefined)?.template?.spec ?? {}
}

/** The annotations and the lists are written together. */
function formerDisks({ metadata: { annotations } }: KubeVirtView) {
  const entries = (annotations?.[ANNOTATIONS.disks] ?? '').split(',')
  const names = new Set(entries.map((entry) => entry.split('=')[0]))
  if (namesFromSpec(annotations?.[ANNOTATIONS.fieldsFromSpec]).has(SYSPREP_FROM_SPEC)) names.add(SYSPREP_DISK)
  return (name: string) => name !== '' && names.has(name)
}

/** Two networks of one machine have different addresses, so an address tells its network. */
function formerNetworks(
  { uid = '', name }: MachineWorld['vm']['metadata'],
  { metadata: { annotations } }: KubeVirtView,
  interfaces: unknown,
) {
  const given = annotations?.[ANNOTATIONS.givenMacAddresses]?.split(',') ?? []
  const present = (Array.isArray(interfaces) ? interfaces : []) as readonly { name?: unknown; macAddress?: unknown }[]
  return (network: string) => {
    if (given.includes(network)) return true
    const [ours] = withMacAddresses(uid, name, [{ network }])
    return present.some((one) => one.name === network && one.macAddress === ours?.macAddress)
  }
}
