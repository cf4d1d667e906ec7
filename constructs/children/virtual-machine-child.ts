import { LABELS, MANAGER } from '../api/labels.ts'
import { childName, labelName, labelValue } from '../api/names.ts'
import { virtualMachine } from '../api/virtual-machine.ts'
import type { ChildMetadata } from './image-child.ts'

/** The Open Terrain VirtualMachine that a child is for. */
export interface VMRef {
  readonly name: string
  readonly namespace: string
  readonly uid: string
}

export interface VMChildNames {
  /** DataVolume of the first root disk. Its claim has the same name. Later ones are named by `rootDiskName`. */
  readonly clone: string
  /** Secret with the cloud-init data. */
  readonly cloudInit: string
  /** KubeVirt's VirtualMachine. */
  readonly machine: string
}

/**
 * Returns the names of a machine's children. All are DNS-1123 labels of at most 63 characters: KubeVirt truncates a longer host name and cannot
 * create a pod for a much longer name, and reports neither until it is too late.
 */
export function vmChildNames(vmName: string): VMChildNames {
  return {
    clone: childName(vmName, 'root'),
    cloudInit: childName(vmName, 'cloudinit'),
    machine: labelName(vmName),
  }
}

/**
 * Returns the name of the DataVolume of a root disk, and of its claim. Each disk that replaces another one has the next generation, so that both can be
 * there at the same time, and no name is ever used for another disk.
 * @param generation from 1, which is the disk that a machine is made with
 */
export function rootDiskName(vmName: string, generation: number): string {
  return childName(vmName, generation === 1 ? 'root' : `root-g${generation}`)
}

/** Returns the generation of a root disk by its name; undefined if the name is none that `rootDiskName` gives to a disk of that machine. */
export function rootDiskGeneration(vmName: string, name: string): number | undefined {
  const generation = Number(/-root-g([1-9]\d{0,8})$/.exec(name)?.[1] ?? 1)
  return rootDiskName(vmName, generation) === name ? generation : undefined
}

/** The labels by which a machine's children, its pod and its claim are found. */
export function vmLabels(vm: VMRef): Readonly<Record<string, string>> {
  return { [LABELS.vmUid]: vm.uid, [LABELS.vmName]: labelValue(vm.name) }
}

/** Metadata of a machine's child. As on an image's child, nothing is copied from the user's object. */
export function vmChildMetadata(child: {
  readonly vm: VMRef
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}): ChildMetadata {
  const { vm, name, labels, annotations } = child
  return {
    name,
    namespace: vm.namespace,
    labels: { ...vmLabels(vm), ...labels, [LABELS.managedBy]: MANAGER },
    annotations: { ...annotations },
    ownerReferences: [
      {
        apiVersion: virtualMachine.apiVersion,
        kind: virtualMachine.kind,
        name: vm.name,
        uid: vm.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  }
}
