import { type OperatorOptions, OperatorReplica } from '../../../operator/operator.ts'
import type { ScriptedClient } from '../kube/scripted-client.ts'
import { fakeLog } from '../runtime/fake-log.ts'

/** Returns a whole operator with the clock of its client and the production lease timings. It does nothing until it is run. */
export function scriptedOperator(
  client: ScriptedClient,
  more: Pick<OperatorOptions, 'largePartsMax' | 'classLabel'> = {},
): OperatorReplica {
  return new OperatorReplica({
    ...more,
    client,
    leaseClient: client,
    clock: client.clock,
    serverNow: () => client.clock.now(),
    random: () => 0.5,
    log: fakeLog(),
    namespace: 'sync-operator',
    identity: 'me',
    lease: { durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 },
  })
}
