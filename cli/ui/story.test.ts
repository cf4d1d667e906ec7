import { expect, it } from 'vitest'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { storyOf } from './story.ts'

const ASKED = { kind: 'images', operatorNamespace: 'sync-operator', now: 0 } as const
const KEY = { namespace: 'images', name: 'kali' }

function imageWith(events: number): ScriptedClient {
  const client = new ScriptedClient()
  const { uid } = client.put({
    ...{ apiVersion: 'pelotech.ot/v1alpha1', kind: 'VMDiskImage', spec: {}, status: {} },
    metadata: { ...KEY, uid: 'uid', labels: { course: 'net-1' } },
  } as never)['metadata'] as { uid: string }
  for (let at = 0; at < events; at++)
    client.put({
      ...{ apiVersion: 'v1', kind: 'Event', metadata: { namespace: 'images', name: `e${at}` } },
      ...{ type: 'Normal', reason: 'Told', message: `${at}`, lastTimestamp: '2026-01-01T00:00:00Z' },
      involvedObject: { kind: 'VMDiskImage', ...KEY, uid },
    } as never)
  return client
}

it('tells all Events of an object, page by page', async () => {
  const story = await storyOf(imageWith(450), { ...ASKED, key: KEY })
  expect(story?.timeline).toHaveLength(450)
  expect(story?.hasMoreEvents).toBeUndefined()
  expect(story?.row.labels).toEqual({ course: 'net-1' })
})

it('says so if there are more Events than it tells', async () => {
  const story = await storyOf(imageWith(1_150), { ...ASKED, key: KEY })
  expect(story?.timeline).toHaveLength(1_000)
  expect(story?.hasMoreEvents).toBe(true)
})
