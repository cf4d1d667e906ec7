import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ImageServer } from '../image-server/image-server.ts'
import { httpTransfer } from './http-transfer.ts'
import type { Transfer, TransferJob } from './transfer.ts'

let server: ImageServer
let transfer: Transfer

beforeEach(async () => {
  server = await ImageServer.start({ defaultSizeBytes: 200_000 })
  transfer = httpTransfer(server)
})

afterEach(() => server.stop())

const job = (url: string, extra: Partial<TransferJob> = {}): TransferJob => ({
  url,
  sourceType: 'http',
  onProgress: () => undefined,
  signal: new AbortController().signal,
  ...extra,
})

describe('httpTransfer', () => {
  it.each([
    'http://images.example/a.qcow2?X-Signature=secret',
    'https://s3.us-gov-west-1.amazonaws.com/bucket/key',
    'docker://registry.example.com/org/image:latest',
    'gs://bucket/object',
  ])('downloads %s, and counts it without its query', async (url) => {
    expect(await transfer.start(job(url))).toEqual({ bytes: 200_000 })
    expect(server.statsOf(url)).toEqual({ requests: 1, bytesSent: 200_000, completed: 1, open: 0, maxOpen: 1 })
    expect(JSON.stringify(server.stats())).not.toContain('secret')
  })

  it.each([
    ['http', 'http://h/b/k', 404, 'expected status code 200, got 404. Status: 404 Not Found'],
    [
      's3',
      'https://h/b/k',
      404,
      'could not get s3 object: "b/k": NoSuchKey: The specified key does not exist. \tstatus code: 404',
    ],
    ['s3', 'https://h/b/k', 403, '"b/k": AccessDenied: Access Denied \tstatus code: 403'],
    ['registry', 'docker://h/b:1', 404, 'failed to pull image: reading manifest 1 in h/b: manifest unknown'],
    [
      'registry',
      'docker://h:5000/b',
      403,
      'reading manifest latest in h:5000/b: requested access to the resource is denied',
    ],
    ['gcs', 'gs://b/k', 404, "object doesn't exist"],
  ])('says what the importer says: %s %s %i', async (sourceType, url, status, text) => {
    server.set({ fault: { status } })
    await expect(transfer.start(job(url, { sourceType }))).rejects.toThrow(text)
  })

  it('reports a connection that broke, and gets the whole image once the fault is spent', async () => {
    server.set({ host: 'h', fault: { cutAfterBytes: 70_000 }, times: 1 })
    const seen: number[] = []
    const onProgress = (bytes: number) => seen.push(bytes)
    await expect(transfer.start(job('http://h/i', { onProgress }))).rejects.toThrow('unexpected EOF')
    expect(seen.at(-1)).toBe(70_000)
    expect(await transfer.start(job('http://h/i'))).toEqual({ bytes: 200_000 })
  })

  it('stops at a given byte', async () => {
    expect(await transfer.start(job('http://h/i', { stopAfterBytes: 12_345 }))).toEqual({ bytes: 12_345 })
  })

  it('compares the checksum', async () => {
    const checksum = server.checksum('http://h/i')
    expect(await transfer.start(job('http://h/i', { checksum }))).toEqual({ bytes: 200_000 })
    server.set({ path: '/i', exact: true, fault: { corrupt: true } })
    await expect(transfer.start(job('http://h/i', { checksum }))).rejects.toThrow('checksum mismatch')
  })

  it('ends a stalled download when it is aborted, with its connection', async () => {
    server.set({ fault: { stallAfterBytes: 50_000 } })
    const abort = new AbortController()
    const stalled = Promise.withResolvers<void>()
    const onProgress = (bytes: number) => {
      if (bytes === 50_000) stalled.resolve()
    }
    const running = transfer.start(job('http://h/i', { signal: abort.signal, onProgress }))
    await stalled.promise
    abort.abort(new Error('stopped'))
    await expect(running).rejects.toThrow('stopped')
  })

  it('comes to no end while its source is held, and to its end then', async () => {
    const open = Promise.withResolvers<void>()
    server.set({ hold: { afterBytes: 50_000, until: open.promise } })
    const held = Promise.withResolvers<void>()
    const onProgress = (bytes: number) => {
      if (bytes === 50_000) held.resolve()
    }
    const running = transfer.start(job('http://h/i', { onProgress }))
    await held.promise
    expect(server.statsOf('http://h/i')).toMatchObject({ bytesSent: 50_000, completed: 0, open: 1 })
    open.resolve()
    expect(await running).toEqual({ bytes: 200_000 })
  })

  it('answers its counts over HTTP', async () => {
    await transfer.start(job('http://h/i'))
    const answer = (await (await fetch(`http://127.0.0.1:${server.port}/__stats`)).json()) as { images: object }
    expect(Object.keys(answer.images)).toEqual(['h/i'])
  })
})
