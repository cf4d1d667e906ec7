import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { systemClock } from '../../operator/runtime/clock.ts'
import { startSimulators, timedTransfer } from '../../sandbox/simulators/index.ts'
import type { Question, SimulatorPlan } from './simulators-process.ts'

/** Runs the simulators until its parent disconnects, and answers what it asks. */
async function main(plan: SimulatorPlan): Promise<void> {
  const connection = Connection.fromEnvironment(null, plan.kubeconfig)
  const { sizeBytes, durationMs, failing } = plan
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
  process.on('message', (question: Question) => {
    const { bytes, maxImporting } = simulators.cdi.observed
    process.send?.({ id: question.id, bytes, maxImporting, images: simulators.cdi.observed.images() })
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.('ready')
}

await main(JSON.parse(process.argv[2] ?? '{}') as SimulatorPlan)
