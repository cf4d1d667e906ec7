// Plain JavaScript without dependencies: it runs before there are any, on Node 18 or newer.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs `npm ci` unless node_modules holds what package-lock.json names. */
export async function installDependencies() {
  if (staleBecause() === undefined) return
  const release = await lock(join(tmpdir(), `open-terrain-install-${digest(root)}`))
  try {
    // Somebody else may have installed while we waited.
    const reason = staleBecause()
    if (reason === undefined) return
    process.stderr.write(`${reason}: installing dependencies (npm ci)\n`)
    await npmCi()
  } finally {
    release()
  }
}

/**
 * Why node_modules has to be installed, or undefined. npm keeps what it installed in node_modules/.package-lock.json;
 * comparing that with package-lock.json sees any change of versions, and does not mind who installed.
 */
export function staleBecause(folder = root) {
  const installed = readJson(join(folder, 'node_modules', '.package-lock.json'))
  if (installed === undefined) return 'node_modules is missing'
  const wanted = readJson(join(folder, 'package-lock.json'))?.packages ?? {}
  for (const [path, entry] of Object.entries(wanted)) {
    if (!path.startsWith('node_modules/') || entry.link) continue
    const present = installed.packages[path]
    if (present === undefined ? !entry.optional && !entry.peer : present.version !== entry.version) {
      return `${path.slice('node_modules/'.length)} ${entry.version} is not in node_modules`
    }
  }
  return undefined
}

function npmCi() {
  // The npm that runs us, else the one on PATH.
  const npm = process.env.npm_execpath?.endsWith('.js')
    ? [process.execPath, process.env.npm_execpath]
    : [process.platform === 'win32' ? 'npm.cmd' : 'npm']
  const [command, ...prefix] = npm
  return new Promise((resolve, reject) => {
    // npm's own output matters only when it fails; engine warnings are about the Node that we are about to replace.
    const child = spawn(command, [...prefix, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    })
    child.on('error', (error) => reject(new Error(`cannot run npm: ${error.message}`)))
    child.on('exit', (code, signal) => {
      if (code === 0) resolve()
      else reject(new Error(`npm ci ended with ${signal ?? `exit code ${code}`}`))
    })
  })
}

/** Holds a folder as a lock; waits while another living process has it. Returns how to let go. */
async function lock(folder) {
  for (;;) {
    try {
      mkdirSync(folder)
      writeFileSync(join(folder, 'pid'), String(process.pid))
      return () => rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    if (isAbandoned(folder)) rmSync(folder, { recursive: true, force: true })
    else await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

function isAbandoned(folder) {
  const owner = Number(readText(join(folder, 'pid')))
  if (owner > 0) return !isAlive(owner)
  // No pid yet: the owner is between making the folder and writing it, unless it died there.
  const made = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()
  return Date.now() - made > 10_000
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

function readText(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function readJson(file) {
  const text = readText(file)
  return text === '' ? undefined : JSON.parse(text)
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
