// Serves the files of a folder to importers, with ranges as any web server has them. The first part of a path can ask for trouble:
// see TROUBLE. What was asked and sent is told at /__stats, which is also served on a socket in the file system.

import { once } from 'node:events'
import { createReadStream, rmSync, statSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join, normalize } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const [folder = '', host = '', port = '', socket = ''] = process.argv.slice(2)
const CHUNK_BYTES = 64 * 1024

export interface SourceStats {
  readonly path: string
  readonly method: string
  readonly range: string | null
  sent: number
  isOpen: boolean
}

interface Answer {
  readonly file: string
  readonly status?: number
  /** Body instead of the file. */
  readonly text?: string
  /** Ends the connection after this part of the file. */
  readonly cutAt?: number
  /** Sends nothing more after this part of the file. */
  readonly stallAt?: number
  readonly bytesPerSecond?: number
}

const TROUBLE: Readonly<Record<string, (file: string, size: number) => Answer>> = {
  'status-404': (file) => ({ file, status: 404 }),
  'status-403': (file) => ({ file, status: 403 }),
  'status-503': (file) => ({ file, status: 503 }),
  page: (file) => ({ file, text: '<!DOCTYPE html><html><body>Please sign in</body></html>\n'.repeat(40) }),
  cut: (file, size) => ({ file, cutAt: Math.floor(size / 2) }),
  stall: (file, size) => ({ file, stallAt: Math.floor(size / 2) }),
  slow: (file, size) => ({ file, bytesPerSecond: Math.max(CHUNK_BYTES, Math.floor(size / 20)) }),
}

const stats: SourceStats[] = []

function answerOf(path: string): Answer {
  const [, first = '', ...rest] = normalize(path).split('/')
  const trouble = TROUBLE[first]
  const file = join(folder, ...(trouble === undefined ? [first, ...rest] : rest))
  return trouble === undefined ? { file } : trouble(file, sizeOf(file) ?? 0)
}

function sizeOf(file: string): number | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found?.isFile() ? found.size : undefined
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://source').pathname
  if (path === '/__stats') {
    response.end(JSON.stringify(stats))
    return
  }
  const entry: SourceStats = {
    path,
    method: request.method ?? '',
    range: request.headers.range ?? null,
    sent: 0,
    isOpen: true,
  }
  stats.push(entry)
  response.once('close', () => {
    entry.isOpen = false
  })
  const answer = answerOf(path)
  const size = answer.text === undefined ? sizeOf(answer.file) : answer.text.length
  if (answer.status !== undefined || size === undefined) {
    response.writeHead(answer.status ?? 404).end()
    return
  }
  const [from, to] = rangeOf(request.headers.range, size)
  response.statusCode = request.headers.range === undefined ? 200 : 206
  response.setHeader('content-length', to - from + 1)
  response.setHeader('accept-ranges', 'bytes')
  if (response.statusCode === 206) response.setHeader('content-range', `bytes ${from}-${to}/${size}`)
  if (request.method === 'HEAD') response.end()
  else if (answer.text !== undefined) response.end(answer.text.slice(from, to + 1))
  else await send(answer, from, to, entry, response)
}

function rangeOf(header: string | undefined, size: number): [number, number] {
  const [, from = '0', to = ''] = /^bytes=(\d+)-(\d*)$/.exec(header ?? '') ?? []
  return [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)]
}

async function send(
  answer: Answer,
  from: number,
  to: number,
  entry: SourceStats,
  response: ServerResponse,
): Promise<void> {
  const end = Math.min(to, (answer.cutAt ?? answer.stallAt ?? to + 1) - 1)
  if (end >= from) await sendPart(answer, { start: from, end }, entry, response)
  const isWhole = end >= to
  if (answer.stallAt !== undefined && !isWhole) return
  if (answer.cutAt !== undefined && !isWhole) response.socket?.end()
  else response.end()
}

async function sendPart(
  { file, bytesPerSecond }: Answer,
  part: { readonly start: number; readonly end: number },
  entry: SourceStats,
  response: ServerResponse,
): Promise<void> {
  const closed = once(response, 'close').catch(() => undefined)
  for await (const chunk of createReadStream(file, { ...part, highWaterMark: CHUNK_BYTES })) {
    if (response.destroyed) return
    const bytes = (chunk as Buffer).length
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), closed])
    entry.sent += bytes
    if (bytesPerSecond !== undefined) await sleep((bytes * 1_000) / bytesPerSecond)
  }
}

const listen = () =>
  createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })

rmSync(socket, { force: true })
listen().listen(Number(port), host)
listen().listen(socket)
// The process that started it holds the other end.
process.stdin.on('end', () => process.exit()).resume()
