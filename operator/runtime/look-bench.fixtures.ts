import { onTestFinished } from 'vitest'
import { ScriptedClient } from '../kube/scripted-client.fixtures.ts'
import { fakeLog } from './fake-log.fixtures.ts'
import { RuntimeMetrics } from './metrics.ts'

/** What a loop of live looks is given, and the cluster that it looks at. The loop ends with its test. */
export function aLookBench() {
  const client = new ScriptedClient()
  const { clock } = client
  const news: string[] = []
  const basics = { client, clock, random: () => 0, log: fakeLog(), runtimeMetrics: new RuntimeMetrics() }
  const onNews = (key: string): void => void news.push(key)
  const run = <T extends { run(signal: AbortSignal): Promise<void> }>(loop: T): T => {
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    void loop.run(stop.signal)
    return loop
  }
  return { client, clock, news, basics, onNews, run }
}
