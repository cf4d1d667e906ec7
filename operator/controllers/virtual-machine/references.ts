import { LABELS, vmChildNames } from '@open-terrain/constructs'
import type { KubeClient, RequestOptions } from '../../kube/kube-client.ts'
import { controllerOf, isControlledBy, type KubeObject, keyOf, type ObjectKey } from '../../kube/kube-object.ts'
import { listAll } from '../../kube/list-all.ts'
import { DATA_VOLUME } from '../../kube/resource-types.ts'
import { isSame } from '../../runtime/owned-fields.ts'
import { BY_IMAGE, imageOf, MACHINE, type MachineCaches } from './caches.ts'
import { type MachineView, viewMachine } from './views.ts'

const NAMES_SHOWN = 10

/** How machines count as references to an image: each one that names it, and as users those that have, or are making, a disk of it. */
export class MachineReferences {
  readonly #client: KubeClient
  readonly #caches: MachineCaches

  constructor(client: KubeClient, caches: MachineCaches) {
    this.#client = client
    this.#caches = caches
  }

  cached(image: ObjectKey) {
    const { machines, shared } = this.#caches
    const found = machines.find(BY_IMAGE, keyOf(image))
    return count(found, (vm) => hasDisk(vm, shared.dataVolumes.get(diskKeyOf(vm))))
  }

  /** Throws ApiError. */
  async live(image: ObjectKey, options: RequestOptions) {
    const machines: MachineView[] = []
    for await (const object of listAll(this.#client, MACHINE, options)) {
      const vm = viewMachine(object)
      if (imageOf(vm).includes(keyOf(image))) machines.push(vm)
    }
    const disks = new Map<string, KubeObject>()
    for await (const disk of listAll(this.#client, DATA_VOLUME, { ...options, labelSelector: LABELS.vmUid }))
      disks.set(keyOf(disk.metadata), disk)
    return count(machines, (vm) => hasDisk(vm, disks.get(diskKeyOf(vm))))
  }

  /** Calls back with the `<namespace>/<name>` of each image whose references may have changed; returns how to stop that. */
  onChange(listener: (imageKey: string) => void): () => void {
    const { machines, shared } = this.#caches
    const stops = [
      machines.onChange(({ before, after }) => {
        if (isSame(named(before), named(after))) return
        const keys = [before, after].flatMap((vm) => (vm === undefined ? [] : imageOf(vm)))
        for (const key of new Set(keys)) listener(key)
      }),
      shared.dataVolumes.onChange(({ before, after }) => {
        // A disk that came or went makes its machine a user, or one no more.
        if ((before === undefined) === (after === undefined)) return
        const object = after ?? before
        const owner = object && controllerOf(object)
        const { namespace = '' } = object?.metadata ?? {}
        const vm = owner?.kind !== MACHINE.kind ? undefined : machines.get(keyOf({ namespace, name: owner.name }))
        if (vm !== undefined) for (const key of imageOf(vm)) listener(key)
      }),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }
}

function diskKeyOf({ metadata: { namespace = '', name } }: MachineView): string {
  return keyOf({ namespace, name: vmChildNames(name).clone })
}

function hasDisk({ metadata: { uid } }: MachineView, disk: KubeObject | undefined): boolean {
  return disk !== undefined && isControlledBy(disk, uid)
}

function count(machines: readonly MachineView[], isUser: (vm: MachineView) => boolean) {
  const nameOf = ({ kind, metadata }: MachineView) => `${kind}/${metadata.namespace}/${metadata.name}`
  const names = machines.map(nameOf).sort()
  return { count: names.length, names: names.slice(0, NAMES_SHOWN), users: machines.filter(isUser).map(nameOf).sort() }
}

/** What makes a machine a reference to its image. */
function named(vm: MachineView | undefined): unknown {
  return vm && [vm.metadata.uid, imageOf(vm)]
}
