import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Connection } from './connection.ts'
import { FakeClock } from './fake-clock.fixtures.ts'
import { HttpKubeClient } from './http-client.ts'
import type { RequestReport } from './kube-client.ts'
import type { KubeObject } from './kube-object.ts'
import { RequestBudget } from './request-budget.ts'
import { CONFIG_MAP, DATA_VOLUME, NAMESPACE, SECRET } from './resource-types.ts'

interface Seen {
  readonly method: string | undefined
  readonly url: URL
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

let server: Server
let folder = ''
let connection: Connection
let client: HttpKubeClient
let seen: Seen[] = []
let reports: RequestReport[] = []
let answer: (response: ServerResponse) => void = (response) => json(response, 200, {})

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, headers } = request
      const url = new URL(request.url ?? '/', 'http://server')
      seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
      answer(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  folder = mkdtempSync(join(tmpdir(), 'http-client-'))
  const { port } = server.address() as AddressInfo
  writeFileSync(join(folder, 'config'), kubeconfigFor(`http://127.0.0.1:${port}/prefix/`))
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  seen = []
  reports = []
  connection = Connection.fromEnvironment(4, join(folder, 'config'))
  client = new HttpKubeClient({ connection, userAgent: 'tester', onRequest: (report) => reports.push(report) })
})
afterEach(() => connection.close())

const KEY = { namespace: 'n', name: 'a' }
const object = (more: object = {}): KubeObject =>
  ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...KEY, resourceVersion: '5' }, ...more }) as KubeObject
const request = () => {
  const [first] = seen
  if (first === undefined) throw new Error('no request')
  return `${first.method} ${first.url.pathname}${first.url.search}`
}

describe('requests', () => {
  it.each<[string, (one: HttpKubeClient) => Promise<unknown>, string]>([
    ['get', (one) => one.get(CONFIG_MAP, KEY), 'GET /prefix/api/v1/namespaces/n/configmaps/a'],
    ['get without a namespace', (one) => one.get(NAMESPACE, { name: 'n' }), 'GET /prefix/api/v1/namespaces/n'],
    [
      'get of a group',
      (one) => one.get(DATA_VOLUME, KEY),
      'GET /prefix/apis/cdi.kubevirt.io/v1beta1/namespaces/n/datavolumes/a',
    ],
    ['create', (one) => one.create(CONFIG_MAP, object()), 'POST /prefix/api/v1/namespaces/n/configmaps'],
    ['replace', (one) => one.replace(CONFIG_MAP, object()), 'PUT /prefix/api/v1/namespaces/n/configmaps/a'],
    [
      'replaceStatus',
      (one) => one.replaceStatus(CONFIG_MAP, object()),
      'PUT /prefix/api/v1/namespaces/n/configmaps/a/status',
    ],
    [
      'a name that is no path',
      (one) => one.get(CONFIG_MAP, { namespace: 'n', name: '../b' }),
      'GET /prefix/api/v1/namespaces/n/configmaps/..%2Fb',
    ],
  ])('%s', async (_name, call, expected) => {
    answer = (response) => json(response, 200, object())
    await call(client)
    expect(request()).toBe(expected)
    expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer the-token', 'user-agent': 'tester' })
  })

  it('patch by merging', async () => {
    answer = (response) => json(response, 200, object())
    await client.mergePatch(CONFIG_MAP, KEY, { data: { a: null } })
    expect(request()).toBe('PATCH /prefix/api/v1/namespaces/n/configmaps/a')
    expect(seen[0]).toMatchObject({
      headers: { 'content-type': 'application/merge-patch+json' },
      body: '{"data":{"a":null}}',
    })
  })

  it('delete with preconditions', async () => {
    answer = (response) => json(response, 200, {})
    await client.delete(CONFIG_MAP, KEY, { uid: 'u', resourceVersion: '5', propagationPolicy: 'Foreground' })
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Foreground',
      preconditions: { uid: 'u', resourceVersion: '5' },
    })
  })

  it('delete without conditions', async () => {
    answer = (response) => json(response, 202, {})
    await client.delete(CONFIG_MAP, KEY)
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ apiVersion: 'v1', kind: 'DeleteOptions' })
  })

  it('never replace without a version', () => {
    const blind = { ...object(), metadata: KEY }
    expect(() => client.replace(CONFIG_MAP, blind)).toThrow('resourceVersion')
    expect(seen).toEqual([])
  })

  it('list pages, and name what lists leave out', async () => {
    answer = (response) =>
      json(response, 200, {
        metadata: { resourceVersion: '7', continue: 'more' },
        items: [{ metadata: { name: 'x' } }],
      })
    const page = await client.list(DATA_VOLUME, { labelSelector: 'a=b', limit: 3, continueToken: 'c' })
    expect(request()).toBe(
      'GET /prefix/apis/cdi.kubevirt.io/v1beta1/datavolumes?labelSelector=a%3Db&limit=3&continue=c',
    )
    expect(page).toEqual({
      items: [{ apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata: { name: 'x' } }],
      resourceVersion: '7',
      continueToken: 'more',
      bytes: 90,
    })
  })

  it('keep of each object of a list what is asked for, before the next one is read', async () => {
    const items = Array.from({ length: 20 }, (_, at) => ({ metadata: { name: `${at}` }, data: 'x'.repeat(100_000) }))
    answer = (response) => json(response, 200, { metadata: { resourceVersion: '7' }, items })
    const project = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.name}`
    const page = await client.list(CONFIG_MAP, { project })
    expect(page.items).toEqual(items.map((_, at) => `ConfigMap ${at}`))
    expect(page.bytes).toBeGreaterThan(2_000_000)
  })

  it('have no answer where a list is cut', async () => {
    answer = (response) => {
      response.writeHead(200).end('{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"meta')
    }
    await expect(client.list(CONFIG_MAP)).rejects.toMatchObject({ reason: 'NoAnswer' })
  })

  it('are refused in words of any length, of which no more is read than any object has', async () => {
    answer = (response) => json(response, 403, { message: 'a.'.repeat(3_000_000), reason: 'Forbidden' })
    const refused = await client.get(CONFIG_MAP, KEY).catch((error: Error) => error)
    expect(refused).toMatchObject({ reason: 'Rejected', status: 403 })
    expect((refused as Error).message).toBe('get configmaps: the API server answered 403')
  })

  it.each([null, undefined])('list nothing: items %s, the last page', async (items) => {
    answer = (response) => json(response, 200, { metadata: { resourceVersion: '7', continue: '' }, items })
    expect(await client.list(CONFIG_MAP)).toMatchObject({ items: [], resourceVersion: '7' })
  })

  it('ask for metadata alone, and name the kind as it is', async () => {
    const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'x' } }
    answer = (response) => json(response, 200, { metadata: { resourceVersion: '7' }, items: [partial] })
    const { items } = await client.list(SECRET, { metadataOnly: true })
    expect(seen[0]?.headers.accept).toBe('application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1')
    expect(items).toEqual([{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }])
  })
})

describe('a request that is taken with warnings', () => {
  it('reports their texts', async () => {
    const texts = ['299 - "unknown field \\"spec.a\\""', '299 - "v1beta1 is deprecated"']
    answer = (response) => json(response.setHeader('warning', texts), 201, object())
    await client.create(CONFIG_MAP, object())
    expect(reports).toMatchObject([{ code: '201', warning: 'unknown field "spec.a"; v1beta1 is deprecated' }])
  })

  it('reports none where there is none', async () => {
    answer = (response) => json(response, 201, object())
    await client.create(CONFIG_MAP, object())
    expect(reports[0]).not.toHaveProperty('warning')
  })
})

describe('errors', () => {
  it.each([
    [404, { reason: 'NotFound' }, 'NotFound'],
    [409, { reason: 'AlreadyExists' }, 'AlreadyExists'],
    [409, { reason: 'Conflict' }, 'Conflict'],
    [410, { reason: 'Expired' }, 'Expired'],
    [403, { reason: 'Forbidden' }, 'Rejected'],
    [422, {}, 'Rejected'],
    [429, { reason: 'TooManyRequests' }, 'Unavailable'],
    [500, {}, 'Unavailable'],
  ])('%i %j is %s, in the words of the server', async (status, body, reason) => {
    answer = (response) => json(response, status, { kind: 'Status', message: 'in words', ...body })
    await expect(client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason, status, message: 'in words' })
    expect(reports).toMatchObject([{ verb: 'get', resource: 'configmaps', code: String(status) }])
  })

  it.each(['<html>Bad Gateway</html>', '', 'null', '"text"', '[]'])('of a proxy are understood: %s', async (text) => {
    answer = (response) => response.writeHead(502).end(text)
    const error = { reason: 'Unavailable', status: 502, message: expect.stringContaining('502') }
    await expect(client.get(CONFIG_MAP, KEY)).rejects.toMatchObject(error)
  })

  it('carry the causes', async () => {
    const details = { causes: [{ reason: 'NamespaceTerminating' }, {}] }
    answer = (response) => json(response, 403, { reason: 'Forbidden', details })
    await expect(client.create(CONFIG_MAP, object())).rejects.toMatchObject({ causes: ['NamespaceTerminating'] })
  })

  it.each<[Record<string, string>, object, number | undefined]>([
    [{ 'retry-after': '3' }, {}, 3_000],
    [{}, { retryAfterSeconds: 4 }, 4_000],
    [{ 'retry-after': '0' }, {}, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, {}, undefined],
    [{}, {}, undefined],
  ])('say when to come again: %j %j', async (headers, details, retryAfterMs) => {
    answer = (response) => json(response, 429, { details }, headers)
    await expect(client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ retryAfterMs })
  })

  it('with Retry-After close the budget for everybody', async () => {
    const clock = new FakeClock()
    const budget = new RequestBudget(clock, 100, 100)
    const limited = new HttpKubeClient({ connection, userAgent: 'x', budget })
    answer = (response) => json(response, 429, {}, { 'retry-after': '3' })
    await expect(limited.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ retryAfterMs: 3_000 })
    answer = (response) => json(response, 200, object())
    let isSent = false
    const second = limited.get(CONFIG_MAP, KEY).then(() => {
      isSent = true
    })
    await clock.advance(2_999)
    expect([isSent, seen.length]).toEqual([false, 1])
    await clock.advance(1)
    await second
    expect(seen).toHaveLength(2)
  })

  it('keep back a request that is no longer valid when its turn comes, and say that it was not sent', async () => {
    const clock = new FakeClock()
    const budget = new RequestBudget(clock, 100, 100)
    const limited = new HttpKubeClient({ connection, userAgent: 'x', budget })
    answer = (response) => json(response, 429, {}, { 'retry-after': '6' })
    await expect(limited.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ retryAfterMs: 6_000 })
    answer = (response) => json(response, 201, object())
    const isStillValid = () => clock.monotonic() < 5_000
    const create = limited.create(DATA_VOLUME, object(), { isStillValid })
    const kept = expect(create).rejects.toMatchObject({ status: 0, message: expect.stringContaining('not sent') })
    await clock.advance(6_000)
    await kept
    expect(seen.map(({ method }) => method)).toEqual(['GET'])
    await limited.create(DATA_VOLUME, object(), { isStillValid: () => true })
    expect(seen.map(({ method }) => method)).toEqual(['GET', 'POST'])
  })

  it('are NoAnswer when the connection breaks, within the answer too', async () => {
    answer = (response) => response.destroy()
    await expect(client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason: 'NoAnswer', status: 0 })
    answer = (response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"a":', () => response.destroy())
    }
    await expect(client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason: 'NoAnswer' })
    answer = (response) => response.writeHead(200).end('{"cut')
    await expect(client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason: 'NoAnswer' })
    expect(reports[0]?.code).toBe('<error>')
  })

  it('are NoAnswer when there is none in time', async () => {
    answer = () => undefined
    await expect(client.get(CONFIG_MAP, KEY, { timeoutMs: 20 })).rejects.toMatchObject({ reason: 'NoAnswer' })
  })

  it('are NoAnswer when nobody listens', async () => {
    const free = createServer()
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
    const { port } = free.address() as AddressInfo
    await new Promise((resolve) => free.close(resolve))
    const file = join(folder, 'nobody')
    const cluster = { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true }
    const config = { 'current-context': 'c', clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user: {} }] }
    writeFileSync(file, JSON.stringify({ ...config, contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }] }))
    const nobody = Connection.fromEnvironment(1, file)
    const lonely = new HttpKubeClient({ connection: nobody, userAgent: 'x' })
    await expect(lonely.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason: 'NoAnswer' })
    await nobody.close()
  })
})

describe('a watch', () => {
  const line = (type: string, more: object) => `${JSON.stringify({ type, object: more })}\n`
  const watch = async (signal?: AbortSignal) => {
    const events: unknown[] = []
    const options = { resourceVersion: '5', timeoutSeconds: 9, ...(signal && { signal }) }
    try {
      for await (const event of client.watch(SECRET, options)) events.push(event)
    } catch (error) {
      return { events, error }
    }
    return { events, error: undefined }
  }

  it('without a version asks for everything first, and knows when that was all', async () => {
    const marked = { resourceVersion: '8', annotations: { 'k8s.io/initial-events-end': 'true' } }
    answer = (response) =>
      response
        .writeHead(200)
        .end(
          line('BOOKMARK', { metadata: { resourceVersion: '7' } }) +
            line('BOOKMARK', { metadata: marked }) +
            line('BOOKMARK', { metadata: { resourceVersion: '9' } }),
        )
    const events: unknown[] = []
    for await (const event of client.watch(SECRET, {})) events.push(event)
    expect(events).toEqual([
      { type: 'BOOKMARK', resourceVersion: '7' },
      { type: 'BOOKMARK', resourceVersion: '8', endsInitialEvents: true },
      { type: 'BOOKMARK', resourceVersion: '9' },
    ])
    expect(Object.fromEntries(seen[0]?.url.searchParams ?? [])).toEqual({
      watch: '1',
      allowWatchBookmarks: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
    })
  })

  it('gives events and bookmarks, and ends when the server ends it', async () => {
    const metadata = { name: 'x', resourceVersion: '6' }
    answer = (response) =>
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
    expect(Object.fromEntries(seen[0]?.url.searchParams ?? [])).toEqual({
      watch: '1',
      allowWatchBookmarks: 'true',
      resourceVersion: '5',
      timeoutSeconds: '9',
    })
  })

  it('throws what the server reports within it', async () => {
    const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }
    answer = (response) => response.writeHead(200).end(line('ERROR', gone))
    expect((await watch()).error).toMatchObject({ reason: 'Expired', message: 'too old resource version' })
  })

  it.each([
    [410, 'Expired'],
    [404, 'NotFound'],
    [429, 'Unavailable'],
    [500, 'Unavailable'],
  ])('that is answered with %i is %s', async (status, reason) => {
    answer = (response) => json(response, status, { message: 'm' })
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
    answer = cut
    expect((await watch()).error).toMatchObject({ reason: 'NoAnswer' })
  })

  it('ends quietly when it is stopped', async () => {
    const stop = new AbortController()
    answer = (response) => {
      response.writeHead(200)
      response.write('\n', () => stop.abort())
    }
    expect(await watch(stop.signal)).toEqual({ events: [], error: undefined })
  })

  it('asks for metadata alone', async () => {
    answer = (response) => response.writeHead(200).end()
    for await (const _event of client.watch(SECRET, { resourceVersion: '1', metadataOnly: true }));
    expect(seen[0]?.headers.accept).toBe('application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1')
  })
})

describe('a server that hangs', () => {
  /** Accepts connections, and never says a word. Over https that means: no connection is ever established. */
  const hang = async (scheme: 'http' | 'https') => {
    const sockets: Socket[] = []
    const accepted = Promise.withResolvers<void>()
    const silent = createTcpServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      accepted.resolve()
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const config = join(folder, scheme)
    writeFileSync(config, kubeconfigFor(`${scheme}://127.0.0.1:${(silent.address() as AddressInfo).port}`))
    const pool = Connection.fromEnvironment(1, config)
    const close = async () => {
      await pool.close()
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => silent.close(resolve))
    }
    return { hanging: new HttpKubeClient({ connection: pool, userAgent: 'tester' }), accepted: accepted.promise, close }
  }

  it.each([
    ['never answers', 'http'],
    ['never gets as far as a connection', 'https'],
  ] as const)('and %s lets go of requests and watches as soon as they are stopped', async (_name, scheme) => {
    const { hanging, accepted, close } = await hang(scheme)
    const stop = new AbortController()
    const { signal } = stop
    const why = new Error('stopping')
    const events = hanging.watch(CONFIG_MAP, { resourceVersion: '1', signal })[Symbol.asyncIterator]()
    // One has the only connection, the others wait for it.
    const requests = Promise.allSettled([
      hanging.get(CONFIG_MAP, KEY, { signal }),
      hanging.list(CONFIG_MAP, { signal }),
      hanging.create(CONFIG_MAP, object(), { signal }),
    ])
    const watching = events.next()
    await accepted
    stop.abort(why)
    for (const result of await requests) {
      expect(result).toMatchObject({ status: 'rejected', reason: { reason: 'NoAnswer', cause: why } })
    }
    expect(await watching).toMatchObject({ done: true })
    await close()
  })
})

function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: { token: 'the-token' } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
  })
}
