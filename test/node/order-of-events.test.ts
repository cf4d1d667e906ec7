import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NodeStage } from './node-stage.ts'
import { type Entry, factsOnAnyNode, Recorder } from './recorder.ts'
import { useRealCluster } from './shared-cluster.ts'

/** What the importer of CDI and a kubelet did in one import. `NODE_RECORD=1` writes it anew. */
const RECORDED = join(import.meta.dirname, 'recorded/http-qcow2.json')

describe('the order of events of an import over http', () => {
  const cluster = useRealCluster()

  it('is as recorded: the importer ends to ask for scratch space, is made again, and no container is restarted', async () => {
    await using stage = await NodeStage.start(cluster())
    const recorder = new Recorder(cluster().client, stage.namespace)
    await stage.createImage('one', 'disk.qcow2')
    expect(await stage.untilDecided('one')).toBe('Synced')
    const entries = await recorder.whole()
    if (process.env['NODE_RECORD']) await writeFile(RECORDED, `${JSON.stringify(entries, undefined, 2)}\n`)
    const recorded = JSON.parse(await readFile(RECORDED, 'utf8')) as Entry[]
    expect(factsOnAnyNode(entries)).toEqual(factsOnAnyNode(recorded))
    await stage.finish()
  })
})
