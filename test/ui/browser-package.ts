import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { closureOf, resolveDebianTool } from '../../sandbox/debian-packages.ts'

/** A browser without a screen, with letters to draw. */
const PACKAGES = ['chromium-headless-shell', 'fontconfig-config', 'fonts-dejavu-core']
const INSTALLED = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** How to start a browser. */
export interface BrowserProgram {
  readonly executablePath: string
  readonly env: Readonly<Record<string, string>>
}

/** Returns the Chromium of this machine, or that of the packages of the distribution in our cache. */
export async function resolveBrowser(report: (line: string) => void): Promise<BrowserProgram> {
  return await resolveDebianTool(
    {
      name: 'chromium',
      packages: (apt) => closureOf(apt, ...PACKAGES),
      kept: '',
      findIn: async (cache) => installed() ?? (await unpackedIn(cache)),
      remedy: 'the tests of the page need Chromium, or Debian with apt. Set BROWSER=skip to leave them out.',
    },
    report,
  )
}

function installed(): BrowserProgram | undefined {
  const executablePath = INSTALLED.find((path) => existsSync(path))
  return executablePath === undefined ? undefined : { executablePath, env: {} }
}

/** Programs of packages that are only unpacked have to be told where their libraries and settings are. */
async function unpackedIn(cache: string): Promise<BrowserProgram | undefined> {
  const executablePath = join(cache, 'usr/lib/chromium/chromium-headless-shell')
  if (!existsSync(executablePath)) return undefined
  const folders = ['usr/lib', 'lib'].map((folder) => join(cache, folder))
  const libraries = await Promise.all(folders.map(ofThisMachine))
  return {
    executablePath,
    env: {
      LD_LIBRARY_PATH: libraries.flat().join(':'),
      FONTCONFIG_SYSROOT: cache,
      FONTCONFIG_PATH: '/etc/fonts',
      XDG_DATA_DIRS: join(cache, 'usr/share'),
    },
  }
}

/** A library can need those that its package has in a folder of their own, such as `pulseaudio`: it looks for them where it would be installed. */
async function ofThisMachine(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  const machines = names.filter((name) => name.endsWith('-linux-gnu')).map((name) => join(folder, name))
  const own = await Promise.all(machines.map(foldersOfLibraries))
  return [...machines, ...own.flat()]
}

async function foldersOfLibraries(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true })
  const folders = entries.filter((one) => one.isDirectory()).map(({ name }) => join(folder, name))
  const contents = await Promise.all(folders.map((one) => readdir(one)))
  return folders.filter((_, at) => contents[at]?.some((name) => /[.]so([.]|$)/.test(name)))
}
