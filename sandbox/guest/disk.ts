import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { copyFile, glob, mkdir, mkdtemp, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { cacheFolderOf } from '../cache-folder.ts'
import { holdLock } from '../control-plane/directory-lock.ts'
import { tailOf } from '../control-plane/output-tail.ts'
import { Watchdog } from '../control-plane/watchdog.ts'
import { debianSources, type GuestTools } from './tools.ts'

/** What is in the cloud images of Debian, as far as a login needs it. */
const PACKAGES = [
  ...['linux-image-cloud-amd64', 'initramfs-tools', 'systemd-sysv', 'udev', 'dbus', 'e2fsprogs', 'fdisk'],
  ...['cloud-init', 'cloud-guest-utils', 'netplan.io', 'systemd-resolved'],
  ...['openssh-server', 'sudo', 'iproute2', 'iputils-ping', 'netbase'],
]
/** Runs outside of the new system, whose folder is $1. Each guest makes keys and an ID of its own. */
const FINISH = [
  'rm -f "$1"/etc/ssh/ssh_host_*',
  'truncate -s 0 "$1"/etc/machine-id',
  'ln -sf ../run/systemd/resolve/stub-resolv.conf "$1"/etc/resolv.conf',
  'echo "/dev/vda1 / ext4 errors=remount-ro 0 1" > "$1"/etc/fstab',
  // The default of cloud-init is a locale that would first have to be made.
  'echo "locale: C.UTF-8" > "$1"/etc/cloud/cloud.cfg.d/10_image.cfg',
  'rm -rf "$1"/etc/hostname "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/usr/share/doc "$1"/usr/share/man "$1"/usr/share/locale',
].join('; ')
const SECTOR = 512
const FIRST_SECTOR = 2_048
const DISK_BYTES = 1_536 * 1024 * 1024

export interface GuestDisk {
  /** A qcow2 file with one partition. */
  readonly file: string
  readonly kernel: string
  readonly initrd: string
}

/** Makes a disk with Debian from packages, unless it is there from an earlier run. */
export async function resolveGuestDisk(tools: GuestTools, report: (line: string) => void): Promise<GuestDisk> {
  const folder = await cacheFolder()
  if (!existsSync(folder)) {
    const release = await holdLock(`${folder}.lock`, () =>
      report('another process is making the disk of a guest: waiting'),
    )
    try {
      if (!existsSync(folder)) await make(tools, folder, report)
    } finally {
      await release()
    }
  }
  return { file: join(folder, 'disk.qcow2'), kernel: join(folder, 'vmlinuz'), initrd: join(folder, 'initrd') }
}

async function cacheFolder(): Promise<string> {
  const recipe = createHash('sha256').update(JSON.stringify([PACKAGES, FINISH, FIRST_SECTOR, DISK_BYTES]))
  for (const file of await debianSources()) recipe.update(await readFile(file))
  return join(cacheFolderOf(), 'guest', recipe.digest('hex').slice(0, 12))
}

async function make(tools: GuestTools, folder: string, report: (line: string) => void): Promise<void> {
  report('making the disk of a guest from Debian packages (once)')
  await mkdir(join(folder, '..'), { recursive: true })
  const staging = await mkdtemp(`${folder}.`)
  const result = join(staging, 'result')
  try {
    await mkdir(result)
    const root = join(staging, 'root')
    const { VERSION_CODENAME: suite = '' } = await osRelease()
    await inGroup(tools, staging, 'unshare', [
      // What it mounts in the new system is gone with it, before anybody removes the folder.
      ...['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child=SIGKILL', '--mount-proc', 'perl'],
      ...[tools.command('mmdebstrap'), '--mode=root', '--variant=minbase', `--include=${PACKAGES.join(',')}`],
      ...['--aptopt=APT::Install-Recommends "false"', '--dpkgopt=force-unsafe-io', `--customize-hook=${FINISH}`],
      ...[suite, root, ...(await debianSources())],
    ])
    for (const [name, to] of [
      ['vmlinuz-*', 'vmlinuz'],
      ['initrd.img-*', 'initrd'],
    ] as const) {
      for await (const file of glob(join(root, 'boot', name))) await copyFile(file, join(result, to))
    }
    const raw = join(staging, 'disk.raw')
    await emptyDisk(raw)
    await inGroup(tools, staging, tools.command('sfdisk'), ['--quiet', raw], `label: gpt\nstart=${FIRST_SECTOR}\n`)
    const kib = (DISK_BYTES - 2 * FIRST_SECTOR * SECTOR) / 1024
    const where = ['-E', `offset=${FIRST_SECTOR * SECTOR}`, raw, `${kib}k`]
    await inGroup(tools, staging, tools.command('mke2fs'), ['-q', '-F', '-t', 'ext4', '-d', root, ...where])
    const qcow2 = join(result, 'disk.qcow2')
    await inGroup(tools, staging, tools.command('qemu-img'), ['convert', '-O', 'qcow2', raw, qcow2])
    await rename(result, folder)
    report(
      `the disk of a guest is made: ${Math.round((await stat(join(folder, 'disk.qcow2'))).size / 1024 / 1024)} MiB`,
    )
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

async function osRelease(): Promise<Readonly<Record<string, string>>> {
  const lines = (await readFile('/etc/os-release', 'utf8')).split('\n')
  return Object.fromEntries(lines.map((line) => line.replaceAll('"', '').split('=', 2)))
}

async function emptyDisk(path: string): Promise<void> {
  await using file = await open(path, 'w')
  await file.truncate(DISK_BYTES)
}

/** What mmdebstrap calls, and can be found on this machine, takes libraries of this machine. */
function ofThisMachine(tools: GuestTools): NodeJS.ProcessEnv {
  return { PATH: `${process.env['PATH']}:${dirname(tools.command('mmdebstrap'))}` }
}

/** Runs a command that ends with this process, with all that it starts. Its temporary files are in `folder`. */
async function inGroup(
  tools: GuestTools,
  folder: string,
  command: string,
  args: readonly string[],
  input = '',
): Promise<void> {
  const child = spawn(command, args, {
    env: { ...process.env, ...(command === 'unshare' ? ofThisMachine(tools) : tools.env), TMPDIR: folder, LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const watchdog = new Watchdog()
  if (child.pid !== undefined) watchdog.watch(-child.pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output = tailOf(output + chunk.toString())
    })
  }
  child.stdin.end(input)
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (child.pid !== undefined) watchdog.forget(-child.pid)
  await watchdog.close()
  if (code !== 0) throw new Error(`${command} ended with exit code ${code}:\n${output.trim()}`)
}
