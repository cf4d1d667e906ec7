import { onTestFinished } from 'vitest'
import { RuntimeMetrics } from '../../../operator/runtime/metrics.ts'
import { ScriptedClient } from '../kube/scripted-client.ts'
import { fakeLog } from './fake-log.ts'

/** The dependencies of a loop of live reads, and the cluster that it reads. The loop ends with its test. */
export function aLiveReadBench() {
  const client = new ScriptedClient()
  const { clock } = client
  const changed: string[] = []
  const basics = { client, clock, random: () => 0, log: fakeLog(), runtimeMetrics: new RuntimeMetrics() }
  const onChange = (key: string): void => void changed.push(key)
  const run = <T extends { run(signal: AbortSignal): Promise<void> }>(loop: T): T => {
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    void loop.run(stop.signal)
    return loop
  }
  return { client, clock, changed, basics, onChange, run }
}
