import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { type ImageLayout, nameOf } from './image-layout.ts'

/** `/v2/<repository>/manifests/<tag or digest>` or `/v2/<repository>/blobs/<digest>`. */
const PATH = /^\/v2\/(?<repository>[a-z0-9._/-]+)\/(?<kind>manifests|blobs)\/(?<reference>[A-Za-z0-9._:-]+)$/
const DIGEST = /^sha256:[0-9a-f]{64}$/

export interface Registry {
  /** Host and port, as names of images begin. */
  readonly host: string
  readonly close: () => Promise<void>
}

/**
 * Serves the images of a layout by the pull half of the OCI distribution API, over plain HTTP. Nothing can be pushed: a layout is what a registry
 * would store, so it is served as it lies there.
 */
export async function startRegistry(layout: ImageLayout, address = '127.0.0.1', port = 0): Promise<Registry> {
  const server = createServer((request, response) => {
    answer(layout, request, response).catch((error: Error) => {
      if (response.headersSent) response.destroy(error)
      else refuse(response, 500, 'UNKNOWN', error.message)
    })
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen(port, address, resolve)
  await promise
  const { port: taken } = server.address() as AddressInfo
  return {
    host: `${address}:${taken}`,
    close: async () => {
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      server.closeAllConnections()
      await closed.promise
    },
  }
}

async function answer(layout: ImageLayout, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader('docker-distribution-api-version', 'registry/2.0')
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return refuse(response, 405, 'UNSUPPORTED', 'images can only be pulled here')
  const { pathname } = new URL(request.url ?? '/', 'http://registry')
  if (pathname === '/v2' || pathname === '/v2/') {
    response.end('{}')
    return
  }
  const { repository = '', kind, reference = '' } = PATH.exec(pathname)?.groups ?? {}
  if (kind === undefined) return refuse(response, 404, 'NAME_UNKNOWN', `${pathname} is no manifest and no blob`)
  const found = await find(layout, repository, reference)
  if (found === undefined) {
    const code = kind === 'blobs' ? 'BLOB_UNKNOWN' : 'MANIFEST_UNKNOWN'
    return refuse(response, 404, code, `there is no ${reference} of ${repository} here`)
  }
  response.setHeader(
    'content-type',
    kind === 'manifests' ? await layout.typeOf(found.digest) : 'application/octet-stream',
  )
  response.setHeader('docker-content-digest', found.digest)
  response.setHeader('content-length', found.size)
  if (request.method === 'HEAD') response.end()
  else await pipeline(createReadStream(found.file), response)
}

interface Blob {
  readonly digest: string
  readonly file: string
  readonly size: number
}

async function find(layout: ImageLayout, repository: string, reference: string): Promise<Blob | undefined> {
  const digest = DIGEST.test(reference) ? reference : await tagged(layout, repository, reference)
  if (digest === undefined) return undefined
  const file = layout.blob(digest)
  return await stat(file).then(
    ({ size }) => ({ digest, file, size }),
    () => undefined,
  )
}

async function tagged(layout: ImageLayout, repository: string, tag: string): Promise<string | undefined> {
  const isMeant = (name = '') => name === `${repository}:${tag}` || name.endsWith(`/${repository}:${tag}`)
  return (await layout.images()).find((one) => isMeant(nameOf(one)))?.digest
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  const body = JSON.stringify({ errors: [{ code, message }] })
  response.writeHead(status, { 'content-type': 'application/json' }).end(body)
}
