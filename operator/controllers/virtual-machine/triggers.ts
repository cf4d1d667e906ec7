import { vmChildNames } from '@open-terrain/constructs'
import { controllerOf, type KubeObject, keyOf } from '../../kube/kube-object.ts'
import { BY_IMAGE, BY_NAMESPACE, BY_PASSWORD_SECRET, BY_UID, MACHINE, type MachineCaches } from './caches.ts'
import type { MachineView } from './views.ts'

type Change = { readonly key: string; readonly before: KubeObject | undefined; readonly after: KubeObject | undefined }

/** From changes in the caches to machines that they concern. No decision is made here. Returns how to stop listening. */
export function listenForTriggers(caches: MachineCaches, enqueue: (key: string) => void): () => void {
  const { machines, shared, kubevirt, instances } = caches
  const all = (found: Iterable<MachineView>) => {
    for (const vm of found) enqueue(keyOf(vm.metadata))
  }
  /** By owner, and by name in any case: whoever takes or frees a name concerns who needs it. */
  const child = ({ key, before, after }: Change) => {
    for (const object of [before, after]) {
      const owner = object && controllerOf(object)
      if (owner?.kind === MACHINE.kind) all(machines.find(BY_UID, owner.uid))
    }
    all(namesakes(key, machines))
  }
  const stops = [
    machines.onChange(({ key }) => enqueue(key)),
    shared.images.onChange(({ key }) => all(machines.find(BY_IMAGE, key))),
    shared.dataVolumes.onChange(child),
    shared.claims.onChange(child),
    kubevirt.onChange(child),
    instances.onChange(({ key }) => all(namesakes(key, machines))),
    shared.secrets.onChange((change) => {
      child(change)
      all(machines.find(BY_PASSWORD_SECRET, change.key))
    }),
    shared.namespaces.onChange(({ key }) => all(machines.find(BY_NAMESPACE, key))),
    ...caches.reflectors.map((reflector) => reflector.onInstalled(() => all(machines.values()))),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

/** Machines that have, or need, a child of this name. Names are cut only where they are long; those are found by their owner. */
function namesakes(key: string, machines: MachineCaches['machines']): MachineView[] {
  const slash = key.indexOf('/')
  const [namespace, child] = [key.slice(0, slash), key.slice(slash + 1)]
  return ['', '-root', '-cloudinit'].flatMap((suffix) => {
    if (!child.endsWith(suffix)) return []
    const name = child.slice(0, child.length - suffix.length)
    const vm = machines.get(keyOf({ namespace, name }))
    return vm !== undefined && Object.values(vmChildNames(name)).includes(child) ? [vm] : []
  })
}
