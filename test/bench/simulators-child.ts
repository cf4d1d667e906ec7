import { systemClock } from '../../operator/base/clock.ts'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { startSimulators, timedTransfer } from '../../sandbox/simulators/index.ts'
import { planOf, serveParent } from './child.ts'
import type { EgressReport, SimulatorPlan } from './simulators-process.ts'

/** Runs the simulators, and reports what was downloaded. */
async function main({ kubeconfig, sizeBytes, durationMs, failing }: SimulatorPlan): Promise<void> {
  const connection = Connection.fromEnvironment(null, kubeconfig)
  const simulators = await startSimulators({
    client: new HttpKubeClient({ connection, userAgent: 'open-terrain-simulators' }),
    clock: systemClock,
    random: Math.random,
    transfer: timedTransfer(systemClock, () => ({ durationMs, sizeBytes })),
  })
  if (failing !== undefined) {
    const isFailing = ({ metadata }: { metadata: { name: string } }) => metadata.name.startsWith(failing.namePrefix)
    simulators.cdi.script(isFailing, {
      type: 'error',
      after: failing.afterBytes,
      message: 'Unable to process data: unexpected EOF',
    })
  }
  serveParent(async (): Promise<EgressReport> => {
    const { bytes, maxImporting } = simulators.cdi.observed
    return { bytes, maxImporting, images: simulators.cdi.observed.images() }
  })
}

await main(planOf<SimulatorPlan>())
