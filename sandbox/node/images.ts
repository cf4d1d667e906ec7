import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { copyFile, link, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import type { GoCommands } from './go-commands.ts'

const run = promisify(execFile)
const REGISTRY = 'open-terrain.invalid'

/** Images that every node has. They are made here; nothing is pulled. */
export const IMAGES = {
  pause: `${REGISTRY}/pause:1`,
  /** A shell with the small tools of busybox. */
  busybox: `${REGISTRY}/busybox:1`,
  /** The same, with a web server on port 80 that tells its host name. It ends when it is told to. */
  web: `${REGISTRY}/web:1`,
  /** The same again, but it does not end when it is told to. */
  stubbornWeb: `${REGISTRY}/stubborn-web:1`,
  /** A shell and `nft`, for the rules of `labIsolation`. */
  isolation: `${REGISTRY}/lab-isolation:1`,
  importer: `${REGISTRY}/cdi-importer:1`,
} as const

/** CDI looks into a disk with its importer's image. */
const CDI = ['cdi-importer', 'cdi-image-size-detection']
const SERVE = 'mkdir -p /tmp/www; hostname > /tmp/www/index.html; httpd -f -p 80 -h /tmp/www & while :; do wait; done'

interface Image {
  readonly reference: string
  readonly layers: readonly string[]
  readonly entrypoint: readonly string[]
}

/** Writes an archive of all images, as `ctr image import` takes it, unless it is there from an earlier run. Returns its path. */
export async function imageArchive(packages: string, commands: GoCommands): Promise<string> {
  const importer = commands('cdi-importer')
  const source = createHash('sha256')
    .update(await readFile(import.meta.filename))
    .digest('hex')
    .slice(0, 12)
  const name = `images-${basename(packages)}-${basename(join(importer, '..'))}-${source}.tar`
  const archive = join(packages, '..', name)
  if (existsSync(archive)) return archive
  const folder = await mkdtemp(`${archive}.`)
  try {
    const layer = async (name: string, from: string, ...paths: readonly string[]) => {
      const file = join(folder, `${name}.tar`)
      await run('tar', [...REPRODUCIBLE, '-C', from, '-cf', file, ...paths])
      return file
    }
    const tree = async (name: string, files: Readonly<Record<string, string>>) => {
      const root = join(folder, name)
      for (const [path, source] of Object.entries(files)) {
        await mkdir(join(root, path, '..'), { recursive: true })
        await copyFile(source, join(root, path))
      }
      return root
    }
    const pause = await layer('pause', await tree('pause-root', { pause: commands('pause') }), '.')
    const shell = await tree('busybox-root', { 'bin/busybox': join(packages, 'usr/bin/busybox') })
    for (const applet of (await run(join(shell, 'bin/busybox'), ['--list'])).stdout.trim().split('\n')) {
      if (applet !== 'busybox') await link(join(shell, 'bin/busybox'), join(shell, 'bin', applet))
    }
    await mkdir(join(shell, 'tmp'), { mode: 0o1777 })
    const busybox = await layer('busybox', shell, '.')
    const debian = await layer('debian', packages, ...['usr', 'bin', 'sbin', 'lib', 'lib64', 'etc'])
    const own = await tree('cdi-root', Object.fromEntries(CDI.map((name) => [`usr/bin/${name}`, commands(name)])))
    // No /scratch: by its absence the importer sees that it has no scratch space.
    await mkdir(join(own, 'tmp'))
    await run('chmod', ['1777', join(own, 'tmp')])
    const cdiLayer = await layer('cdi', own, '.')
    const images: readonly Image[] = [
      { reference: IMAGES.pause, layers: [pause], entrypoint: ['/pause'] },
      { reference: IMAGES.busybox, layers: [busybox], entrypoint: [] },
      { reference: IMAGES.web, layers: [busybox], entrypoint: ['/bin/sh', '-c', `trap 'exit 0' TERM; ${SERVE}`] },
      { reference: IMAGES.stubbornWeb, layers: [busybox], entrypoint: ['/bin/sh', '-c', `trap '' TERM; ${SERVE}`] },
      { reference: IMAGES.isolation, layers: [debian, busybox], entrypoint: [] },
      { reference: IMAGES.importer, layers: [debian, cdiLayer], entrypoint: ['/usr/bin/cdi-importer'] },
    ]
    await pack(folder, images, archive)
    return archive
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Writes an archive of one image whose layers are folders, the lowest first. Does nothing if the archive is there from an earlier run. */
export async function writeImage(reference: string, layers: Readonly<Record<string, string>>, archive: string) {
  if (existsSync(archive)) return
  const folder = await mkdtemp(`${archive}.`)
  try {
    const files: string[] = []
    for (const [name, from] of Object.entries(layers)) {
      const file = join(folder, `${name}.tar`)
      await run('tar', [...REPRODUCIBLE, '-C', from, '-cf', file, '.'])
      files.push(file)
    }
    await pack(folder, [{ reference, layers: files, entrypoint: [] }], archive)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Puts images, whose layers are in the folder, into an archive. */
async function pack(folder: string, images: readonly Image[], archive: string): Promise<void> {
  await writeManifest(folder, images)
  const members = [...new Set(images.flatMap((image) => image.layers))].map((file) => basename(file))
  const configs = images.map((image) => configFile(image))
  await run('tar', ['-C', folder, '-cf', `${folder}.tar`, 'manifest.json', ...configs, ...members])
  await rename(`${folder}.tar`, archive)
}

const REPRODUCIBLE = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner']

/** The form of `docker save`: no digests but those of the layers. */
async function writeManifest(folder: string, images: readonly Image[]): Promise<void> {
  for (const image of images) {
    const diffs = await Promise.all(image.layers.map(async (file) => `sha256:${await digestOf(file)}`))
    const config = {
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Env: ['PATH=/usr/sbin:/usr/bin:/sbin:/bin'], Entrypoint: image.entrypoint, WorkingDir: '/' },
      rootfs: { type: 'layers', diff_ids: diffs },
      history: [],
    }
    await writeFile(join(folder, configFile(image)), JSON.stringify(config))
  }
  const manifest = images.map((image) => ({
    Config: configFile(image),
    RepoTags: [image.reference],
    Layers: image.layers.map((file) => basename(file)),
  }))
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest))
}

function configFile({ reference }: Image): string {
  return `${basename(reference).replace(':', '-')}.json`
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash)
  return hash.digest('hex')
}
