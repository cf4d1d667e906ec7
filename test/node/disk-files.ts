import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const DISK_BYTES = 32 * 1024 * 1024

/** Writes one disk in each form in which images are published. The content is random, so nothing of it can be compressed. */
export async function writeDiskFiles(folder: string, packages: string): Promise<void> {
  const raw = join(folder, 'disk.raw')
  const file = await open(raw, 'w')
  await file.truncate(DISK_BYTES)
  await file.write(randomBytes(DISK_BYTES / 2), 0)
  await file.close()
  const library = join(packages, 'usr/lib/x86_64-linux-gnu')
  const image = (...args: string[]) =>
    run(join(packages, 'usr/bin/qemu-img'), args, { env: { ...process.env, LD_LIBRARY_PATH: library } })
  await image('convert', '-O', 'qcow2', raw, join(folder, 'disk.qcow2'))
  await image('create', '-f', 'qcow2', join(folder, 'larger.qcow2'), '256M')
  // The importer has this file, and it is no disk of ours.
  await image('create', '-f', 'qcow2', '-u', '-b', '/etc/passwd', '-F', 'raw', join(folder, 'backed.qcow2'), '1M')
  await run('gzip', ['--keep', '--fast', raw])
  await run('xz', ['--keep', '-0', raw])
  await writeFile(join(folder, 'empty.qcow2'), '')
}
