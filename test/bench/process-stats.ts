import { readdir, readFile, readlink } from 'node:fs/promises'

/** Linux reports process times in units of `USER_HZ`, which is 100 wherever Node runs. */
const TICKS_PER_SECOND = 100

/** Bytes. */
export interface Memory {
  /** All resident pages, those of the executable file included. */
  readonly resident: number
  /** Of these, pages that belong to no file: heap, stacks, buffers. */
  readonly anonymous: number
  /** Peak of the resident memory. */
  readonly peak: number
}

/**
 * Memory of a process, from `smaps_rollup`, which walks its page table. `VmRSS` in `status` is a sum of per-core
 * counters, and may be off by a few MB. Throws if the process is gone.
 */
export async function memoryOf(pid: number): Promise<Memory> {
  const [rollup, status] = await Promise.all([
    readFile(`/proc/${pid}/smaps_rollup`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
  ])
  return {
    resident: bytesOf(rollup, 'Rss'),
    anonymous: bytesOf(rollup, 'Anonymous'),
    peak: bytesOf(status, 'VmHWM'),
  }
}

/** Seconds of processor time that the process has used, in user and kernel mode. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The name of the program is in parentheses and may contain blanks.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

/** Number of open sockets of a process. */
export async function socketsOf(pid: number): Promise<number> {
  const folder = `/proc/${pid}/fd`
  const links = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')))
  return links.filter((link) => link.startsWith('socket:')).length
}

function bytesOf(text: string, name: string): number {
  const value = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]
  if (value === undefined) throw new Error(`/proc says nothing about ${name}`)
  return Number(value) * 1024
}
