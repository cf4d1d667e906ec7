import { MACHINE } from '../../operator/controllers/virtual-machine/caches.ts'
import { IMAGE } from '../../operator/controllers/vm-disk-image/caches.ts'
import type { Stage } from '../bench/stage.ts'

const BASE = 'base'
const MACHINES = 3

/** Creates an image that nothing else changes, and virtual machines that run from it for the whole soak. */
export async function startMachines(stage: Stage): Promise<void> {
  await stage.client.create(IMAGE, stage.image(BASE))
  for (let at = 0; at < MACHINES; at += 1) await stage.client.create(MACHINE, stage.machine(`machine-${at}`, BASE))
}
