import { expect, it } from 'vitest'
import { ScriptedClient } from '../test/prepared/kube/scripted-client.ts'
import { scriptedOperator } from '../test/prepared/operator/scripted-operator.ts'
import { SECOND } from '../test/prepared/runtime/times.ts'
import type { KubeObject } from './kube/kube-object.ts'

/** Returns the series of classes that an operator serves of labs with these labels. */
async function seriesOf(classLabel: string | undefined, labels: readonly Record<string, string>[]): Promise<string[]> {
  const client = new ScriptedClient('sync-operator')
  for (const [at, own] of labels.entries()) {
    const metadata = { name: `lab-${at}`, labels: own, generation: 1 }
    client.put({ apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata, spec: {} } as KubeObject)
  }
  const stop = new AbortController()
  const operator = scriptedOperator(client, { classLabel })
  const running = operator.run(stop.signal)
  await client.clock.advance(5 * SECOND)
  const text = await operator.metrics.render()
  stop.abort()
  await client.clock.advance(60 * SECOND)
  await running
  return text.split('\n').filter((line) => line.startsWith('ot_class_') && !line.endsWith(' 0'))
}

it('labs are counted by the values of the label that the operator is told, and of no other', async () => {
  const labels: Record<string, string>[] = [
    { 'example.com/course': 'net-1', owner: 'a' },
    { 'example.com/course': 'net-1' },
    { owner: 'b' },
  ]
  expect(await seriesOf('example.com/course', labels)).toEqual(['ot_class_workspaces{class="net-1",state="Ready"} 2'])
  expect(await seriesOf(undefined, labels)).toEqual([])
})
