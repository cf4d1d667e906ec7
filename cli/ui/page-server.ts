import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json as jsonOf } from 'node:stream/consumers'
import { messageOf } from '../../operator/base/messages.ts'
import { isApiError } from '../../operator/kube/api-error.ts'
import type { ObjectKey } from '../../operator/kube/kube-object.ts'
import { type Story, UI_KINDS, type UiKind, type Update, type VerbAnswer, type VerbRequest } from './rows.ts'
import { verbRequestOf } from './verbs.ts'

/** Nobody but this machine reaches it. */
const HOST = '127.0.0.1'
/** As much as nobody guesses. */
const SECRET_BYTES = 32
const MAX_BODY_BYTES = 1_048_576
/** Ends what nobody reads any more. A browser asks again by itself. */
const MAX_UNSENT_BYTES = 64 * 1_048_576

/** Nothing from elsewhere is loaded, nothing that an object says can run, and no other page can hold this one in a frame. */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const

/** The files that a browser loads. */
export interface PageAssets {
  readonly html: string
  readonly js: string
  readonly css: string
}

/** What the page asks for. */
export interface PageSource {
  readonly everything: () => Update
  readonly subscribe: (listener: (update: Update) => void) => () => void
  readonly story: (kind: UiKind, key: ObjectKey) => Promise<Story | undefined>
  readonly carryOut: (request: VerbRequest) => Promise<VerbAnswer>
}

export interface RunningPage {
  /** What to open: it has the token, which no other program of this machine knows. */
  readonly url: string
  readonly close: () => Promise<void>
}

/** @param port 0: any that is free. Throws an Error if it is taken. */
export async function servePage(assets: PageAssets, source: PageSource, port: number): Promise<RunningPage> {
  const [token, folder] = [secret(), secret()]
  const server = createServer()
  await listening(server, port)
  const { port: own } = server.address() as AddressInfo
  const gate = new Gate({ token, folder, port: own })
  server.on('request', (request, response) => {
    const failed = (error: unknown) => answer(response, isApiError(error) ? 502 : 500, messageOf(error))
    handle({ assets, source, gate }, request, response).catch(failed)
  })
  return {
    url: `http://${HOST}:${own}${gate.root}?token=${token}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

function secret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

async function listening(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, HOST, resolve)
  })
}

/** Who may ask: whoever has the token, from the page itself. Other programs of this machine and pages of other origins have not. */
class Gate {
  readonly #token: Buffer
  readonly #hosts: readonly string[]
  readonly #cookie: string
  /**
   * Everything of the page is below this path. Cookies do not know ports: a browser would send one of the path `/` to every other server on this machine.
   * None of them knows this path.
   */
  readonly root: string

  constructor({ token, folder, port }: { readonly token: string; readonly folder: string; readonly port: number }) {
    this.#token = Buffer.from(token)
    this.#hosts = [`${HOST}:${port}`, `localhost:${port}`]
    this.#cookie = `ot-ui-${port}`
    this.root = `/${folder}/`
  }

  /** A name of another host that points to this machine would make a page of that host the same origin. */
  isOwnHost({ headers }: IncomingMessage): boolean {
    return headers.host !== undefined && this.#hosts.includes(headers.host)
  }

  isOwnOrigin({ headers }: IncomingMessage): boolean {
    return headers.origin !== undefined && this.#hosts.some((host) => headers.origin === `http://${host}`)
  }

  isToken(given: string | null): boolean {
    const bytes = Buffer.from(given ?? '')
    return bytes.length === this.#token.length && timingSafeEqual(bytes, this.#token)
  }

  hasCookie({ headers }: IncomingMessage): boolean {
    const cookies = (headers.cookie ?? '').split(';').map((one) => one.trim())
    const own = cookies.find((one) => one.startsWith(`${this.#cookie}=`))
    return own !== undefined && this.isToken(own.slice(this.#cookie.length + 1))
  }

  get cookie(): string {
    return `${this.#cookie}=${this.#token}; HttpOnly; SameSite=Strict; Path=${this.root}`
  }
}

interface Serving {
  readonly assets: PageAssets
  readonly source: PageSource
  readonly gate: Gate
}

async function handle(
  { assets, source, gate }: Serving,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!gate.isOwnHost(request)) return answer(response, 403, 'this page is asked for as 127.0.0.1 or localhost alone')
  const { pathname, searchParams } = new URL(request.url ?? '/', `http://${HOST}`)
  if (!pathname.startsWith(gate.root)) return denied(response)
  const path = pathname.slice(gate.root.length)
  if (path === '' && searchParams.has('token')) {
    if (!gate.isToken(searchParams.get('token'))) return denied(response)
    // The token does not stay in the address, where people would copy it.
    response.writeHead(303, { ...SECURITY_HEADERS, location: gate.root, 'set-cookie': gate.cookie }).end()
    return
  }
  if (!gate.hasCookie(request)) return denied(response)
  const route = `${request.method} /${path}`
  if (route === 'GET /') return answer(response, 200, assets.html, 'text/html; charset=utf-8')
  if (route === 'GET /page.js') return answer(response, 200, assets.js, 'text/javascript; charset=utf-8')
  if (route === 'GET /page.css') return answer(response, 200, assets.css, 'text/css; charset=utf-8')
  if (route === 'GET /api/updates') return stream(source, request, response)
  if (route === 'GET /api/story') return await tellStory(source, searchParams, response)
  if (route === 'POST /api/verbs') return await doVerb({ source, gate }, request, response)
  answer(response, 404, 'there is nothing at this address')
}

function denied(response: ServerResponse): void {
  answer(response, 401, 'open the address that ot ui has printed: it has the token of this page')
}

function answer(response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void {
  if (response.headersSent) return void response.destroy()
  response.writeHead(status, { ...SECURITY_HEADERS, 'content-type': type }).end(body)
}

function answerJson(response: ServerResponse, status: number, body: unknown): void {
  answer(response, status, JSON.stringify(body), 'application/json')
}

/** Server-sent events: all that is known first, then what changes. */
function stream(source: PageSource, request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': 'text/event-stream' })
  const send = (update: Update): void => {
    response.write(`data: ${JSON.stringify(update)}\n\n`)
    if (response.writableLength > MAX_UNSENT_BYTES) response.destroy()
  }
  send(source.everything())
  const unsubscribe = source.subscribe(send)
  response.on('close', unsubscribe)
  request.on('close', unsubscribe)
}

async function tellStory(source: PageSource, query: URLSearchParams, response: ServerResponse): Promise<void> {
  const kind = UI_KINDS.find((one) => one === query.get('kind'))
  const [name = '', namespace] = (query.get('key') ?? '').split('/').reverse()
  if (kind === undefined || name === '') return answer(response, 400, 'kind and key must name an object')
  const story = await source.story(kind, { name, ...(namespace !== undefined && { namespace }) })
  if (story === undefined) return answer(response, 404, 'it does not exist any more')
  answerJson(response, 200, story)
}

async function doVerb(
  { source, gate }: Pick<Serving, 'source' | 'gate'>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // A form of another page could send text, but neither this type nor this origin.
  const isJson = request.headers['content-type'] === 'application/json'
  if (!gate.isOwnOrigin(request) || !isJson) return answer(response, 403, 'only the page itself may ask for this')
  if (Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) > MAX_BODY_BYTES)
    return answer(response, 413, 'the request is too long')
  const body = await jsonOf(request).catch(() => undefined)
  const verb = verbRequestOf(body)
  if (typeof verb === 'string') return answer(response, 400, verb)
  answerJson(response, 200, await source.carryOut(verb))
}
