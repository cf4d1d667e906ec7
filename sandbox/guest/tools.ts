import { execFile } from 'node:child_process'
import { constants, existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { closureOf, resolveDebianTool } from '../debian-packages.ts'

const run = promisify(execFile)

/** What makes a disk, starts a guest from it, and logs in to it. */
const PACKAGES = ['qemu-system-x86', 'qemu-utils', 'xorriso', 'openssh-client', 'mmdebstrap', 'fdisk', 'e2fsprogs']
const FOLDERS = ['usr/bin', 'usr/sbin', 'bin', 'sbin']
const LIBRARIES = ['usr/lib/x86_64-linux-gnu', 'lib/x86_64-linux-gnu']
const FIRMWARE = ['usr/share/qemu', 'usr/share/seabios']

/** Commands from Debian packages that are not installed on this machine. */
export interface GuestTools {
  readonly env: Readonly<Record<string, string>>
  /** Where QEMU looks for what a guest starts with. */
  readonly firmware: readonly string[]
  /** Returns the path of a command. */
  command(name: string): string
}

/** Returns why no guest can be started here, as the end of a sentence, or undefined if one can. */
export async function whyNoGuests(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'a guest needs Linux on x86-64.'
  if (process.getuid?.() !== 0) return 'a guest needs root, for its networks.'
  if (!(await isUsable('/dev/net/tun'))) return 'a guest needs /dev/net/tun.'
  if (!(await hasKvm()) && process.env['NODE_GUEST'] !== 'emulate') {
    return 'KVM runs no guests on this machine. With NODE_GUEST=emulate QEMU emulates its CPUs, which takes 6 minutes or more.'
  }
  const isDebian = await debianSources().then(
    (files) => files.length > 0,
    () => false,
  )
  return isDebian ? undefined : 'the disk of a guest is made from packages of Debian, which apt does not know here.'
}

/**
 * Reports whether KVM runs guests here. It needs the support of the CPU: what stands in for it on some hosted machines has the device too,
 * but runs only kernels that were made for it.
 */
export async function hasKvm(): Promise<boolean> {
  const isSupported = ['kvm_intel', 'kvm_amd'].some((module) => existsSync(join('/sys/module', module)))
  return isSupported && (await isUsable('/dev/kvm'))
}

function isUsable(device: string): Promise<boolean> {
  return access(device, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
}

export async function resolveGuestTools(report: (line: string) => void): Promise<GuestTools> {
  const root = await resolveDebianTool(
    {
      name: 'guest-packages',
      packages: (apt) => closureOf(apt, ...PACKAGES),
      kept: '',
      findIn: async (cache) => (existsSync(join(cache, 'usr/bin/qemu-system-x86_64')) ? cache : undefined),
      remedy: 'a guest needs Debian with apt.',
    },
    report,
  )
  const within = (paths: readonly string[]) => paths.map((path) => join(root, path))
  return {
    env: { PATH: `${within(FOLDERS).join(':')}:${process.env['PATH']}`, LD_LIBRARY_PATH: within(LIBRARIES).join(':') },
    firmware: within(FIRMWARE),
    command: (name) => {
      const found = within(FOLDERS)
        .map((folder) => join(folder, name))
        .find((path) => existsSync(path))
      if (found === undefined) throw new Error(`no package of a guest's tools has the command ${name}`)
      return found
    },
  }
}

/** The files in which apt is told of Debian's archive. */
export async function debianSources(): Promise<string[]> {
  const wanted = ['--format', '$(SOURCESENTRY)', 'Created-By: Packages', 'Origin: Debian']
  const { stdout } = await run('apt-get', ['indextargets', ...wanted])
  return [...new Set(stdout.split('\n').map((line) => line.replace(/:\d+$/, '')))].filter((file) => file !== '')
}
