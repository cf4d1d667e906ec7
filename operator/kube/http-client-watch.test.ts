import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { respond, useHttpBench } from '../../test/prepared/kube/http-bench.ts'
import { SECRET } from './resource-types.ts'

const bench = useHttpBench()
const WATCH = { watch: '1', allowWatchBookmarks: 'true' }

describe('a watch', () => {
  const line = (type: string, more: object) => `${JSON.stringify({ type, object: more })}\n`
  const watch = async (signal?: AbortSignal) => {
    const events: unknown[] = []
    const options = { resourceVersion: '5', timeoutSeconds: 9, ...(signal && { signal }) }
    try {
      for await (const event of bench.client.watch(SECRET, options)) events.push(event)
    } catch (error) {
      return { events, error }
    }
    return { events, error: undefined }
  }

  it('without a version asks for everything first, and knows when that was all', async () => {
    const marked = { resourceVersion: '8', annotations: { 'k8s.io/initial-events-end': 'true' } }
    bench.answer = (response) =>
      response
        .writeHead(200)
        .end(
          line('BOOKMARK', { metadata: { resourceVersion: '7' } }) +
            line('BOOKMARK', { metadata: marked }) +
            line('BOOKMARK', { metadata: { resourceVersion: '9' } }),
        )
    const events: unknown[] = []
    for await (const event of bench.client.watch(SECRET, {})) events.push(event)
    expect(events).toEqual([
      { type: 'BOOKMARK', resourceVersion: '7' },
      { type: 'BOOKMARK', resourceVersion: '8', endsInitialEvents: true },
      { type: 'BOOKMARK', resourceVersion: '9' },
    ])
    expect(bench.query).toEqual({ ...WATCH, sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' })
  })

  it('gives events and bookmarks, and ends when the server ends it', async () => {
    const metadata = { name: 'x', resourceVersion: '6' }
    bench.answer = (response) =>
      response
        .writeHead(200)
        .end(
          line('ADDED', { metadata }) +
            line('MODIFIED', { metadata }) +
            line('BOOKMARK', { metadata: { resourceVersion: '8' } }) +
            line('DELETED', { metadata }),
        )
    const { events, error } = await watch()
    const named = { apiVersion: 'v1', kind: 'Secret', metadata }
    expect(error).toBeUndefined()
    expect(events).toEqual([
      { type: 'ADDED', object: named },
      { type: 'MODIFIED', object: named },
      { type: 'BOOKMARK', resourceVersion: '8' },
      { type: 'DELETED', object: named },
    ])
    expect(bench.query).toEqual({ ...WATCH, resourceVersion: '5', timeoutSeconds: '9' })
  })

  it('throws what the server reports within it', async () => {
    const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }
    bench.answer = (response) => response.writeHead(200).end(line('ERROR', gone))
    expect((await watch()).error).toMatchObject({ reason: 'Expired', message: 'too old resource version' })
  })

  it.each([
    [410, 'Expired'],
    [404, 'NotFound'],
    [429, 'Unavailable'],
    [500, 'Unavailable'],
  ])('that is answered with %i is %s', async (status, reason) => {
    bench.answer = (response) => respond(response, status, { message: 'm' })
    expect((await watch()).error).toMatchObject({ reason, status })
  })

  it.each<[string, (response: ServerResponse) => void]>([
    ['in the middle of a line', (response) => response.writeHead(200).end('{"type":"ADD')],
    [
      'by a broken connection',
      (response) => {
        response.writeHead(200)
        response.write('\n', () => response.destroy())
      },
    ],
    ['by nonsense', (response) => response.writeHead(200).end('<html>\n')],
  ])('that is cut %s is NoAnswer, never a quiet end', async (_name, cut) => {
    bench.answer = cut
    expect((await watch()).error).toMatchObject({ reason: 'NoAnswer' })
  })

  it('ends quietly when it is stopped', async () => {
    const stop = new AbortController()
    bench.answer = (response) => {
      response.writeHead(200)
      response.write('\n', () => stop.abort())
    }
    expect(await watch(stop.signal)).toEqual({ events: [], error: undefined })
  })

  it('that nobody reads on gives its connection back', async () => {
    const closed = Promise.withResolvers<void>()
    bench.answer = (response) => {
      response.on('close', closed.resolve).writeHead(200)
      response.write(line('ADDED', { metadata: { name: 'x' } }))
    }
    for await (const _event of bench.client.watch(SECRET, { resourceVersion: '1' })) break
    await closed.promise
  })

  it('hands out all of what comes faster than it is read', async () => {
    const note = 'x'.repeat(100_000)
    bench.answer = (response) => {
      response.writeHead(200)
      for (let at = 0; at < 20; at += 1) response.write(line('ADDED', { metadata: { name: `${at}` }, note }))
      response.end()
    }
    const names: string[] = []
    for await (const event of bench.client.watch(SECRET, { resourceVersion: '1' })) {
      await new Promise(setImmediate)
      if (event.type === 'ADDED') names.push(event.object.metadata.name)
    }
    expect(names).toEqual(Array.from({ length: 20 }, (_, at) => `${at}`))
  })

  it('asks for metadata alone', async () => {
    bench.answer = (response) => response.writeHead(200).end()
    for await (const _event of bench.client.watch(SECRET, { resourceVersion: '1', metadataOnly: true }));
    expect(bench.seen[0]?.headers.accept).toBe('application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1')
  })
})
