// Plain JavaScript without dependencies, because it runs before any are installed, on Node 18 or newer.

import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs `npm ci` unless node_modules contains what package-lock.json names. */
export async function installDependencies() {
  if (staleBecause() === undefined) return
  const release = await lock(join(tmpdir(), `open-terrain-install-${digest(root)}.lock`))
  try {
    // Another process may have installed while this one waited.
    const reason = staleBecause()
    if (reason === undefined) return
    process.stderr.write(`${reason}: installing dependencies (npm ci)\n`)
    await npmCi()
  } finally {
    release()
  }
}

/**
 * Returns why node_modules must be installed, or undefined. npm records what it installed in node_modules/.package-lock.json.
 * Comparing that with package-lock.json detects any change of versions, whoever installed.
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
  // The npm that runs this process, else the one on PATH.
  const npm = process.env.npm_execpath?.endsWith('.js')
    ? [process.execPath, process.env.npm_execpath]
    : [process.platform === 'win32' ? 'npm.cmd' : 'npm']
  const [command, ...prefix] = npm
  return new Promise((resolve, reject) => {
    // npm's own output matters only when it fails. Engine warnings are about the Node that is about to be replaced.
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

/** Takes a file as a lock. Waits while another living process holds it. Returns a function that releases it. */
export async function lock(file) {
  const owner = `${process.pid} ${randomUUID()}`
  while (!isCreated(file, owner)) {
    const other = readText(file)
    if (other !== '' && !isAlive(Number.parseInt(other, 10))) await discard(file, other)
    else await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return () => rmSync(file, { force: true })
}

/** Creates the file with its content in one step, so that nobody sees it without. Returns false if it exists. */
function isCreated(file, content) {
  const draft = `${file}.${digest(content)}.draft`
  writeFileSync(draft, content)
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Removes the lock of a dead owner. Others may try the same, so each looks again while it holds a lock for this one removal. */
async function discard(file, owner) {
  const release = await lock(`${file}.${digest(owner)}`)
  if (readText(file) === owner) rmSync(file, { force: true })
  release()
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Returns '' if there is no such file. */
function readText(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return ''
    throw error
  }
}

function readJson(file) {
  const text = readText(file)
  return text === '' ? undefined : JSON.parse(text)
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
