import { LABELS, type ParsedVirtualMachineSpec, parseVirtualMachineSpec, vmChildNames } from '@open-terrain/constructs'
import { isControlledBy, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { DATA_VOLUME, KUBEVIRT_VIRTUAL_MACHINE } from '../../kube/resource-types.ts'
import { imageOf, type MachineCaches } from './caches.ts'
import type { CloneFacts, MachineView } from './views.ts'
import type { World } from './world.ts'

/** All but the cloud-init data comes from caches. */
export function observeMachine(
  vm: MachineView,
  caches: MachineCaches,
  more: Pick<World, 'policy' | 'cloudInit' | 'refusal'>,
): World {
  const { shared } = caches
  const { namespace = '', name, uid } = vm.metadata
  const names = vmChildNames(name)
  const key = (child: string) => keyOf({ namespace, name: child })
  const ours = <T extends KubeObject>(object: T | undefined) =>
    object !== undefined && isControlledBy(object, uid) ? object : undefined
  const [imageKey] = imageOf(vm)
  const clone = ours(shared.dataVolumes.get(key(names.clone)))
  const machine = ours(caches.kubevirt.get(key(names.machine)))
  const instance = caches.instances.get(key(names.machine))
  return {
    vm,
    spec: parsedSpec(vm),
    ...more,
    namespaceTerminating: isTerminating(shared.namespaces.get(namespace)),
    hasDataVolumes: caches.isInstalled(DATA_VOLUME),
    hasKubeVirt: caches.isInstalled(KUBEVIRT_VIRTUAL_MACHINE),
    image: imageKey === undefined ? undefined : shared.images.get(imageKey),
    imageNamespace: namespaceState(imageKey?.split('/')[0] ?? '', caches),
    clone,
    hasCloneSource: clone === undefined || sourceExists(clone, caches),
    hasClaim: shared.claims.get(key(names.clone)) !== undefined,
    secret: ours(shared.secrets.get(key(names.cloudInit))),
    machine,
    instance:
      machine !== undefined && instance !== undefined && isControlledBy(instance, machine.metadata.uid)
        ? instance
        : undefined,
    conflict: conflictOf(vm, caches),
  }
}

/** What has a name that the machine needs, and is not ours. */
function conflictOf(
  { metadata: { namespace = '', name, uid } }: MachineView,
  { shared, kubevirt }: MachineCaches,
): string | undefined {
  const names = vmChildNames(name)
  const key = (child: string) => keyOf({ namespace, name: child })
  const dataVolume = shared.dataVolumes.get(key(names.clone))
  const claim = shared.claims.get(key(names.clone))
  const isClaimOurs =
    claim === undefined || (dataVolume !== undefined && isControlledBy(claim, dataVolume.metadata.uid))
  const taken = [dataVolume, shared.secrets.get(key(names.cloudInit)), kubevirt.get(key(names.machine))].find(
    (object) => object !== undefined && !isControlledBy(object, uid),
  )
  if (taken !== undefined)
    return `${taken.kind} ${taken.metadata.name}${taken.kind === 'VirtualMachine' ? ' of KubeVirt' : ''}`
  // A claim without its DataVolume is either of a machine that was, and goes, or somebody's.
  const isStrange =
    !isClaimOurs &&
    dataVolume === undefined &&
    claim?.metadata.ownerReferences === undefined &&
    claim?.metadata.labels?.[LABELS.vmUid] !== uid
  return isStrange ? `PersistentVolumeClaim ${names.clone}` : undefined
}

function sourceExists({ cloneOf }: CloneFacts, { shared }: MachineCaches): boolean {
  if (cloneOf === undefined) return true
  const key = keyOf({ namespace: cloneOf.namespace, name: cloneOf.name })
  switch (cloneOf.kind) {
    case 'VolumeSnapshot':
      return shared.snapshots.get(key) !== undefined
    case 'PersistentVolumeClaim':
      return shared.claims.get(key) !== undefined
    default:
      return shared.dataSources.get(key) !== undefined
  }
}

function namespaceState(name: string, { shared }: MachineCaches): World['imageNamespace'] {
  const namespace = shared.namespaces.get(name)
  if (namespace === undefined) return 'missing'
  return isTerminating(namespace) ? 'terminating' : 'there'
}

function isTerminating(object: KubeObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined
}

/** A spec is parsed once per generation of an object. */
const parsedSpecs = new WeakMap<object, ParsedVirtualMachineSpec>()

export function parsedSpec({ spec }: MachineView): ParsedVirtualMachineSpec {
  if (typeof spec !== 'object' || spec === null) return parseVirtualMachineSpec(spec)
  const known = parsedSpecs.get(spec)
  if (known !== undefined) return known
  const parsed = parseVirtualMachineSpec(spec)
  parsedSpecs.set(spec, parsed)
  return parsed
}
