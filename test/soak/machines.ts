import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import type { Stage } from '../bench/stage.ts'

const BASE = 'base'
const MACHINES = 3

/** An image that nobody else touches, and virtual machines that run from it as long as the soak lasts. */
export async function startMachines(stage: Stage): Promise<void> {
  const image = stage.image(BASE)
  await stage.client.create(IMAGE, image)
  for (let at = 0; at < MACHINES; at += 1) {
    const spec = { resources: { cpu: '1', memory: '1Gi' }, vmDiskImageRef: { name: BASE } }
    const metadata = { namespace: image.metadata.namespace, name: `machine-${at}` }
    await stage.client.create(MACHINE, {
      apiVersion: apiVersionOf(MACHINE),
      kind: MACHINE.kind,
      metadata,
      spec,
    } as KubeObject)
  }
}
