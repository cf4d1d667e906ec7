import type { Readable } from 'node:stream'
import { extract, type Header } from 'tar-stream'

/** What is in a tar stream, in its order, with the bytes of files. */
export async function* readTar(tar: Readable): AsyncGenerator<{ readonly header: Header; readonly bytes: Buffer }> {
  const reader = extract()
  tar.once('error', (error) => reader.destroy(error))
  tar.pipe(reader)
  for await (const entry of reader) {
    const chunks: Buffer[] = []
    for await (const chunk of entry) chunks.push(chunk as Buffer)
    yield { header: entry.header, bytes: Buffer.concat(chunks) }
  }
}
