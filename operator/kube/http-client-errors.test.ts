import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../test/prepared/kube/fake-clock.ts'
import { aConfigMap, KEY, respond, useHttpBench } from '../../test/prepared/kube/http-bench.ts'
import { HttpKubeClient } from './http-client.ts'
import { RequestBudget } from './request-budget.ts'
import { ADMISSION_POLICY, CONFIG_MAP, DATA_VOLUME, SECRET } from './resource-types.ts'

const bench = useHttpBench()

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
    bench.answer = (response) => respond(response, status, { kind: 'Status', message: 'in words', ...body })
    await expect(bench.client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason, status, message: 'in words' })
    expect(bench.reports).toMatchObject([{ verb: 'get', resource: 'configmaps', code: String(status) }])
  })

  it.each(['<html>Bad Gateway</html>', '', 'null', '"text"', '[]', '{"details":{"causes":{}}}'])(
    'of a proxy are understood: %s',
    async (text) => {
      bench.answer = (response) => response.writeHead(502).end(text)
      const error = { reason: 'Unavailable', status: 502, message: expect.stringContaining('502') }
      await expect(bench.client.get(CONFIG_MAP, KEY)).rejects.toMatchObject(error)
    },
  )

  it('have no secret of what was written, in their message or in a warning', async () => {
    const warning = '299 - "hunter2 is weak"'
    bench.answer = (response) => respond(response, 422, { message: '"hunter2" is too simple' }, { warning })
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: KEY, stringData: { password: 'hunter2' } }
    const error = { message: '"…" is too simple' }
    await expect(bench.client.create(SECRET, secret)).rejects.toMatchObject(error)
    await expect(bench.client.mergePatch(SECRET, KEY, secret)).rejects.toMatchObject(error)
    expect(bench.reports.map((one) => one.warning)).toEqual(['… is weak', '… is weak'])
  })

  it.each([
    ['an object that can be read', 200, 'admission webhook "any" denied the request: "…"'],
    [
      'an object that cannot be read',
      403,
      'the API server refused it. What it said is left out: it may quote secrets of the object, and the object cannot be read',
    ],
  ])('have no secret of the object that a patch changes: %s', async (_, status, message) => {
    const data = { password: Buffer.from('hunter2').toString('base64') }
    const items = [{ metadata: KEY, data }]
    bench.answer = (response) => {
      if (bench.seen.at(-1)?.method === 'GET') return respond(response, status, { metadata: {}, items })
      respond(response, 422, { message: 'admission webhook "any" denied the request: "hunter2"' })
    }
    const patch = { metadata: { labels: { a: 'b' } } }
    await expect(bench.client.mergePatch(SECRET, KEY, patch)).rejects.toMatchObject({ message })
    expect(bench.seen).toHaveLength(2)
  })

  it('cost no further request where nothing was found, whatever the kind is called', async () => {
    const message = 'validatingadmissionpolicies.admissionregistration.k8s.io "rule" not found'
    bench.answer = (response) => respond(response, 404, { reason: 'NotFound', message })
    await expect(bench.client.get(ADMISSION_POLICY, KEY)).rejects.toMatchObject({ reason: 'NotFound', message })
    expect(bench.seen).toHaveLength(1)
  })

  it('carry the causes', async () => {
    const details = { causes: [{ reason: 'NamespaceTerminating' }, {}] }
    bench.answer = (response) => respond(response, 403, { reason: 'Forbidden', details })
    await expect(bench.client.create(CONFIG_MAP, aConfigMap())).rejects.toMatchObject({
      causes: ['NamespaceTerminating'],
    })
  })

  it.each<[Record<string, string>, object, number | undefined]>([
    [{ 'retry-after': '3' }, {}, 3_000],
    [{}, { retryAfterSeconds: 4 }, 4_000],
    // Capped, because only one object may have the problem.
    [{}, { retryAfterSeconds: 3_600 }, 10_000],
    [{ 'retry-after': '0' }, {}, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, {}, undefined],
    [{}, {}, undefined],
  ])('say when to come again: %j %j', async (headers, details, retryAfterMs) => {
    bench.answer = (response) => respond(response, 429, { details }, headers)
    await expect(bench.client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ retryAfterMs })
  })

  it('with Retry-After close the budget for everybody', async () => {
    const { clock, limited } = await heldOff(3)
    bench.answer = (response) => respond(response, 200, aConfigMap())
    let isSent = false
    const second = limited.get(CONFIG_MAP, KEY).then(() => {
      isSent = true
    })
    await clock.advance(2_999)
    expect([isSent, bench.seen.length]).toEqual([false, 1])
    await clock.advance(1)
    await second
    expect(bench.seen).toHaveLength(2)
  })

  it('keep back a request that is no longer valid when its turn comes, and say that it was not sent', async () => {
    const { clock, limited } = await heldOff(6)
    bench.answer = (response) => respond(response, 201, aConfigMap())
    const isStillValid = () => clock.monotonic() < 5_000
    const create = limited.create(DATA_VOLUME, aConfigMap(), { isStillValid })
    const kept = expect(create).rejects.toMatchObject({ status: 0, message: expect.stringContaining('not sent') })
    await clock.advance(6_000)
    await kept
    expect(bench.seen.map(({ method }) => method)).toEqual(['GET'])
    await limited.create(DATA_VOLUME, aConfigMap(), { isStillValid: () => true })
    expect(bench.seen.map(({ method }) => method)).toEqual(['GET', 'POST'])
  })

  it('keep back a request that waited too long for a free connection', async () => {
    const one = bench.connectionTo(bench.connection.server.href)
    const client = new HttpKubeClient({ connection: one, userAgent: 'tester' })
    const first = Promise.withResolvers<ServerResponse>()
    bench.answer = first.resolve
    const read = client.get(CONFIG_MAP, KEY)
    const response = await first.promise
    let isValid = true
    const create = client.create(DATA_VOLUME, aConfigMap(), { isStillValid: () => isValid })
    const kept = expect(create).rejects.toMatchObject({ status: 0, message: expect.stringContaining('not sent') })
    await new Promise(setImmediate)
    isValid = false
    respond(response, 200, aConfigMap())
    await Promise.all([read, kept])
    bench.answer = (next) => respond(next, 201, aConfigMap())
    await client.create(DATA_VOLUME, aConfigMap(), { isStillValid: () => true })
    expect(bench.seen.map(({ method }) => method)).toEqual(['GET', 'POST'])
    await one.close()
  })

  it('say that a request was not sent whose time is up before its turn', async () => {
    const { limited } = await heldOff(9)
    const late = limited.get(CONFIG_MAP, KEY, { timeoutMs: 20 })
    await expect(late).rejects.toMatchObject({ status: 0, message: expect.stringContaining('not sent') })
  })

  it('are NoAnswer when the connection breaks, within the answer too', async () => {
    bench.answer = (response) => response.destroy()
    await expect(bench.client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason: 'NoAnswer', status: 0 })
    bench.answer = (response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"a":', () => response.destroy())
    }
    await expect(bench.client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason: 'NoAnswer' })
    bench.answer = (response) => response.writeHead(200).end('{"cut')
    await expect(bench.client.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason: 'NoAnswer' })
    expect(bench.reports[0]?.code).toBe('<error>')
  })

  it('are NoAnswer when there is none in time', async () => {
    bench.answer = () => undefined
    await expect(bench.client.get(CONFIG_MAP, KEY, { timeoutMs: 20 })).rejects.toMatchObject({ reason: 'NoAnswer' })
  })

  it('are NoAnswer when nobody listens', async () => {
    const free = createServer()
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
    const { port } = free.address() as AddressInfo
    await new Promise((resolve) => free.close(resolve))
    const nobody = bench.connectionTo(`http://127.0.0.1:${port}`)
    const lonely = new HttpKubeClient({ connection: nobody, userAgent: 'x' })
    await expect(lonely.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ reason: 'NoAnswer' })
    await nobody.close()
  })
})

describe('a server that hangs', () => {
  /** Starts a server that accepts connections and never sends anything. Over https, no connection is ever established. */
  const hang = async (scheme: 'http' | 'https') => {
    const sockets: Socket[] = []
    const accepted = Promise.withResolvers<void>()
    const silent = createServer((socket) => {
      sockets.push(socket.on('error', () => undefined))
      accepted.resolve()
    })
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const pool = bench.connectionTo(`${scheme}://127.0.0.1:${(silent.address() as AddressInfo).port}`)
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
    // One request holds the only connection; the others wait for it.
    const requests = Promise.allSettled([
      hanging.get(CONFIG_MAP, KEY, { signal }),
      hanging.list(CONFIG_MAP, { signal }),
      hanging.create(CONFIG_MAP, aConfigMap(), { signal }),
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

/** Returns a client that has received Retry-After with this number of seconds. */
async function heldOff(seconds: number) {
  const clock = new FakeClock()
  const budget = new RequestBudget(clock, 100, 100)
  const limited = new HttpKubeClient({ connection: bench.connection, userAgent: 'x', budget })
  bench.answer = (response) => respond(response, 429, {}, { 'retry-after': String(seconds) })
  await expect(limited.get(CONFIG_MAP, KEY)).rejects.toMatchObject({ retryAfterMs: seconds * 1_000 })
  return { clock, limited }
}
