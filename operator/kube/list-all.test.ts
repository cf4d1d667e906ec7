import { describe, expect, it } from 'vitest'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import type { KubeClient, ListOptions, ListPage } from './kube-client.ts'
import type { KubeObject } from './kube-object.ts'
import { listAll } from './list-all.ts'
import { CONFIG_MAP } from './resource-types.ts'

/** Returns a client of an API server that has `count` objects of the same size. */
function stored(count: number, bytesEach: number) {
  const limits: number[] = []
  const client = new ScriptedClient()
  for (let at = 0; at < count; at += 1) {
    client.put({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: String(at).padStart(6, '0'), namespace: 'n' } })
  }
  const list = async (type: typeof CONFIG_MAP, options: ListOptions = {}): Promise<ListPage<KubeObject>> => {
    limits.push(options.limit ?? Number.POSITIVE_INFINITY)
    const page = await client.list(type, options)
    return { ...page, bytes: page.items.length * bytesEach }
  }
  return { limits, client: { list } as unknown as KubeClient }
}

async function names(client: KubeClient): Promise<string[]> {
  const found: string[] = []
  const project = ({ metadata }: KubeObject) => metadata.name
  for await (const name of listAll(client, CONFIG_MAP, { project })) found.push(name)
  return found
}

const MB = 1_000_000

describe('a live list', () => {
  it('has all objects once, whatever their size', async () => {
    for (const [count, size] of [
      [0, 0],
      [1, 1],
      [50, 2_000],
      [777, 2_000],
      [120, 1.5 * MB],
    ] as const) {
      const { client } = stored(count, size)
      const found = await names(client)
      expect([found.length, new Set(found).size]).toEqual([count, count])
    }
  })

  it('of small objects takes as few pages as it can', async () => {
    const { client, limits } = stored(10_000, 2_000)
    await names(client)
    expect(limits.slice(0, 4)).toEqual([50, 200, 500, 500])
    expect(limits).toHaveLength(22)
  })

  it('of large objects takes short pages, of some megabytes after the first one', async () => {
    const { client, limits } = stored(500, 0.25 * MB)
    await names(client)
    expect(limits[0]).toBe(50)
    expect(Math.max(...limits.slice(1)) * 0.25).toBeLessThan(9)
  })

  it('of the largest objects there can be goes on', async () => {
    const { client, limits } = stored(60, 20 * MB)
    expect(await names(client)).toHaveLength(60)
    expect(limits.slice(1)).toEqual(Array.from({ length: 10 }, () => 1))
  })

  it('of a kind that is not installed is empty, and any other error is one', async () => {
    const client = new ScriptedClient()
    client.before = () => {
      throw apiError('NotFound')
    }
    expect(await names(client)).toEqual([])
    client.before = () => {
      throw apiError('Expired')
    }
    await expect(names(client)).rejects.toThrow('Expired')
  })
})
