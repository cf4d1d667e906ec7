import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Apt, closureOf, resolveDebianTool } from '../../sandbox/debian-packages.ts'

const run = promisify(execFile)
/** Longer than any command takes on a machine that has what it needs. */
const TIMEOUT_MS = 180_000
const MODULES = 'import jsonschema, yaml, cloudinit.config.schema, cloudinit.net.sysconfig'
const PYTHONS = ['/usr/bin/python3', 'python3']

/** A Python that can import cloud-init and its dependencies. */
export interface CloudInit {
  readonly python: string
  /** Environment of that Python. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Finds or installs cloud-init: from the folder in `CLOUD_INIT`, from this machine, from our cache, or from the distribution's packages. If none
 * works, throws an error that says what to do.
 */
export async function resolveCloudInit(report: (line: string) => void): Promise<CloudInit> {
  const kept = 'usr/lib/python3/dist-packages'
  const remedy =
    'install cloud-init and the jsonschema module for python3, or set CLOUD_INIT=skip to leave out the checks that need it.'
  return await resolveDebianTool({ name: 'cloud-init', packages: withModules, kept, findIn, remedy }, report)
}

async function findIn(cache: string): Promise<CloudInit | undefined> {
  const named = process.env['CLOUD_INIT']
  // Its dependencies may be in the cache.
  const places = named ? [`${named}:${cache}`] : [undefined, cache]
  for (const PYTHONPATH of places) {
    for (const python of PYTHONS) {
      const env = { ...process.env, PYTHONPATH, PYTHONDONTWRITEBYTECODE: '1' }
      const canImport = await run(python, ['-c', MODULES], { env, timeout: TIMEOUT_MS }).then(
        () => true,
        () => false,
      )
      if (canImport) return { python, env }
    }
  }
  return undefined
}

async function withModules(apt: Apt): Promise<readonly string[]> {
  const names = new Set((await closureOf(apt, 'cloud-init')).filter((name) => name.startsWith('python3-')))
  // Compiled for one version of Python only, and nothing that we use needs it.
  names.delete('python3-minimal')
  return ['cloud-init', ...names]
}
