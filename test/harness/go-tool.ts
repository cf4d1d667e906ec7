import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolderOf } from '../../sandbox/cache-folder.ts'
import { holdLock } from '../../sandbox/control-plane/directory-lock.ts'
import { buildGoCommand, findGo } from '../../sandbox/control-plane/go-build.ts'

export interface GoTool {
  readonly name: string
  /** Folder of the go.mod that pins it, and, where it is ours, of its source. */
  readonly source: string
  /** Import path. */
  readonly package: string
}

/**
 * Returns the path of a program that tests alone need, built once from the Go modules that its go.mod pins, and kept in our cache. Needs Go, as other tools
 * of the tests do: the error says so.
 */
export async function goTool({ name, source, package: path }: GoTool): Promise<string> {
  const pinned = await Promise.all(
    ['go.mod', 'main.go'].map((file) => readFile(join(source, file), 'utf8').catch(() => '')),
  )
  const hash = createHash('sha256').update(pinned.join('\0')).digest('hex').slice(0, 12)
  const folder = join(cacheFolderOf(process.env), name, hash)
  const file = join(folder, name)
  if (existsSync(file)) return file
  const report = (line: string) => void process.stderr.write(`${line}\n`)
  const release = await holdLock(`${folder}.lock`, () => report(`another process is building ${name}: waiting`))
  try {
    if (existsSync(file)) return file
    if ((await findGo()) === undefined)
      throw new Error(`${name} is missing: install Go 1.26 or newer, with which it is built from source once`)
    await buildGoCommand({ title: name, source, package: path, linkerFlags: '-s -w', file, report })
    return file
  } finally {
    await release()
  }
}
