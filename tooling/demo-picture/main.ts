/** Draws `docs/demo.svg` from a run of the demo. Not a part of `npm run gen`: each run is another one. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Recording } from '../../sandbox/demo/recorder.ts'
import { animatedPicture } from './animated-picture.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACE = { speed: 2, frameMs: 1_500, summaryMs: 6_000, still: 'lowered concurrency' }
/** It is loaded with the README. */
const LARGEST_BYTES = 150_000

const folder = await mkdtemp(join(tmpdir(), 'open-terrain-recording-'))
try {
  const file = join(folder, 'recording.json')
  const demo = spawn(process.execPath, ['sandbox/demo/main.ts', '--record', file], { cwd: ROOT, stdio: 'inherit' })
  const [code] = await once(demo, 'exit')
  if (code !== 0) throw new Error(`the demo has ended with ${code}: nothing was drawn`)
  const picture = animatedPicture(JSON.parse(await readFile(file, 'utf8')) as Recording, PACE)
  const size = Buffer.byteLength(picture)
  if (size > LARGEST_BYTES)
    throw new Error(`the picture has ${size} bytes, more than ${LARGEST_BYTES}: draw fewer frames`)
  const path = join(ROOT, 'docs/demo.svg')
  await writeFile(path, picture)
  console.log(`wrote ${path}, ${size} bytes`)
} finally {
  await rm(folder, { recursive: true })
}
