import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { posix } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Pack, pack } from 'tar-stream'

/** A file, folder or link of an image. Paths are absolute in the image, such as `/usr/bin/node`. */
export type Entry = FileEntry | FolderEntry | LinkEntry

interface FileEntry extends Owner {
  readonly type: 'file'
  readonly mode: number
  /** The bytes, or the path of a file on this machine that has them. */
  readonly content: Uint8Array | string | { readonly from: string }
}

interface FolderEntry extends Owner {
  readonly type: 'directory'
  readonly mode: number
}

interface LinkEntry extends Owner {
  readonly type: 'symlink'
  readonly target: string
}

interface Owner {
  readonly path: string
  /** Root if left out. */
  readonly uid?: number
  readonly gid?: number
}

const EPOCH = new Date(0)
const FOLDER_MODE = 0o755

/**
 * The entries as a tar stream. It depends on nothing but their names, modes, owners and bytes: they are sorted, all times are the epoch, and
 * folders that no entry names are made with mode 0755 and owner root. Throws if a path is named twice, or lies below a file or a link.
 */
export function layerTar(entries: Iterable<Entry>): Readable {
  const tar = pack()
  pour(tar, arranged(entries)).then(
    () => tar.finalize(),
    (error: Error) => tar.destroy(error),
  )
  return tar as unknown as Readable
}

/** Sorted so that a folder comes before what is in it, with all folders above. */
function arranged(entries: Iterable<Entry>): Entry[] {
  const byPath = new Map<string, Entry>()
  for (const entry of entries) {
    const path = posix.resolve('/', entry.path)
    if (path === '/') throw new Error('an image has its root anyway: name what is in it')
    if (byPath.has(path)) throw new Error(`${path} is twice in a layer`)
    byPath.set(path, { ...entry, path })
  }
  for (const path of [...byPath.keys()]) {
    for (let above = posix.dirname(path); above !== '/'; above = posix.dirname(above)) {
      const folder = byPath.get(above)
      if (folder === undefined) byPath.set(above, { type: 'directory', path: above, mode: FOLDER_MODE })
      else if (folder.type !== 'directory') throw new Error(`${path} lies below ${above}, which is a ${folder.type}`)
    }
  }
  return [...byPath.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

async function pour(tar: Pack, entries: readonly Entry[]): Promise<void> {
  for (const entry of entries) {
    const about = { name: entry.path.slice(1), uid: entry.uid ?? 0, gid: entry.gid ?? 0, mtime: EPOCH }
    if (entry.type === 'symlink') tar.entry({ ...about, type: 'symlink', mode: 0o777, linkname: entry.target })
    else if (entry.type === 'directory') tar.entry({ ...about, type: 'directory', mode: entry.mode })
    else await pourFile(tar, { ...about, type: 'file', mode: entry.mode }, entry.content)
  }
}

async function pourFile(
  tar: Pack,
  header: { readonly name: string; readonly mode: number; readonly type: 'file' },
  content: FileEntry['content'],
): Promise<void> {
  if (typeof content === 'string' || content instanceof Uint8Array) {
    tar.entry(header, Buffer.from(content as Uint8Array))
    return
  }
  const { size } = await stat(content.from)
  await pipeline(createReadStream(content.from), tar.entry({ ...header, size }))
}
