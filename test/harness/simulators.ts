import { systemClock } from '../../operator/base/clock.ts'
import type { KubeClient } from '../../operator/kube/kube-client.ts'
import type { ImageServer } from '../../sandbox/image-server/image-server.ts'
import {
  httpTransfer,
  type SimulatorOptions,
  type Simulators,
  startSimulators,
} from '../../sandbox/simulators/index.ts'
import type { Gate } from './gate.ts'

/** Starts the simulators of a sandbox, with shorter times. Not the wait before a restart: in it, an operator on a busy machine stops a failed importer. */
export function simulatorsFor(
  client: KubeClient,
  imageServer: ImageServer,
  gate: Gate,
  pace: Partial<SimulatorOptions> = {},
): Promise<Simulators> {
  return startSimulators({
    client,
    clock: systemClock,
    random: Math.random,
    transfer: gate.through(httpTransfer(imageServer)),
    options: { progressMs: 200, scratchMs: 200, primeLingerMs: 50, snapshotMs: 50, ...pace },
  })
}
