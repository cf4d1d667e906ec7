import { createHash, type Hash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Entry, layerTar } from './layer.ts'

export const MEDIA_TYPES = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  statement: 'application/vnd.in-toto+json',
} as const

/** By these, programs find what is said about the image of a platform in the same index. Nothing runs on a platform of this name. */
const ATTACHED = { type: 'vnd.docker.reference.type', to: 'vnd.docker.reference.digest' } as const
const NO_PLATFORM: Platform = { os: 'unknown', architecture: 'unknown' }

/** The name of an image in an index: the first is the standard's, the second containerd's. */
const NAMES = ['org.opencontainers.image.ref.name', 'io.containerd.image.name'] as const
const EPOCH = '1970-01-01T00:00:00Z'

export interface Descriptor {
  readonly mediaType: string
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string
  readonly size: number
  readonly annotations?: Readonly<Record<string, string>>
  readonly platform?: Platform
}

export interface Platform {
  readonly os: string
  readonly architecture: string
}

/** How a container of the image is started: the field `config` of an image's configuration. */
export interface RunConfig {
  readonly User?: string
  readonly Env?: readonly string[]
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
  readonly WorkingDir?: string
  readonly ExposedPorts?: Readonly<Record<string, object>>
  readonly Labels?: Readonly<Record<string, string>>
}

export interface Image {
  /** Registry, repository and tag, such as `registry.example/team/operator:0.1.0`. */
  readonly name: string
  readonly platform: Platform
  /** The lowest layer first. */
  readonly layers: readonly (readonly Entry[])[]
  readonly config: RunConfig
  /** When the image was made, in ISO 8601; the epoch if left out. */
  readonly created?: string
}

/** What is said about an image: a statement of in-toto about its manifest. */
export interface Statement {
  readonly _type: string
  readonly subject: readonly object[]
  readonly predicateType: string
  readonly predicate: object
}

/** The same image for several platforms, by one digest. */
interface ImageIndex {
  /** Registry, repository and tag. */
  readonly name: string
  readonly images: readonly Omit<Image, 'name'>[]
  /** What is said about the image of each platform. It has a place in the index, so it is copied with it. */
  readonly statements: (image: Descriptor) => readonly Statement[]
}

interface Manifest {
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

/** What names other blobs: an index or a manifest. */
type Naming = Partial<Manifest> & { readonly mediaType: string; readonly manifests?: readonly Descriptor[] }

/**
 * An OCI image layout: a folder with `oci-layout`, `index.json` and `blobs/sha256`. An image has the same digest as often as it is added, on
 * machines of one architecture with one version of Node (its zlib compresses the layers).
 */
export class ImageLayout {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Opens a layout, or makes an empty one. */
  static async open(folder: string): Promise<ImageLayout> {
    const layout = new ImageLayout(folder)
    await mkdir(layout.#blobs, { recursive: true })
    await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
    if ((await layout.images().catch(() => undefined)) === undefined) await layout.#write([])
    return layout
  }

  /** Adds an image, in place of one of the same name and platform, and returns the descriptor of its manifest. */
  async add({ name, ...image }: Image): Promise<Descriptor> {
    return await this.#enter(name, await this.#addImage(image))
  }

  /** Adds an index of images, in place of one of the same name, and returns its descriptor. */
  async addIndex({ name, images, statements }: ImageIndex): Promise<Descriptor> {
    const manifests: Descriptor[] = []
    const attached: Descriptor[] = []
    for (const image of images) {
      const descriptor = await this.#addImage(image)
      manifests.push(descriptor)
      attached.push(await this.#addStatements(descriptor, statements(descriptor)))
    }
    const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests: [...manifests, ...attached] }
    return await this.#enter(name, await this.#addJson(MEDIA_TYPES.index, index))
  }

  async #enter(name: string, descriptor: Descriptor): Promise<Descriptor> {
    const added = { ...descriptor, annotations: Object.fromEntries(NAMES.map((key) => [key, name])) }
    const isSame = (one: Descriptor) =>
      nameOf(one) === name && JSON.stringify(one.platform) === JSON.stringify(descriptor.platform)
    await this.#write([...(await this.images()).filter((one) => !isSame(one)), added])
    return added
  }

  async #addImage({ platform, layers, config, created = EPOCH }: Omit<Image, 'name'>): Promise<Descriptor> {
    const written: { readonly layer: Descriptor; readonly diffId: string }[] = []
    for (const entries of layers) written.push(await this.#addLayer(entries))
    const rootfs = { type: 'layers', diff_ids: written.map(({ diffId }) => diffId) }
    const history = layers.map(() => ({ created, created_by: 'open-terrain' }))
    const manifest = await this.#addJson(MEDIA_TYPES.manifest, {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config: await this.#addJson(MEDIA_TYPES.config, { created, ...platform, config, rootfs, history }),
      layers: written.map(({ layer }) => layer),
    })
    return { ...manifest, platform }
  }

  /** A manifest whose layers are the statements. It also names the image as its subject, for registries that list what refers to it. */
  async #addStatements({ mediaType, digest, size }: Descriptor, statements: readonly Statement[]): Promise<Descriptor> {
    const layers: Descriptor[] = []
    for (const statement of statements) {
      const annotations = { 'in-toto.io/predicate-type': statement.predicateType }
      layers.push({ ...(await this.#addJson(MEDIA_TYPES.statement, statement)), annotations })
    }
    const rootfs = { type: 'layers', diff_ids: layers.map((layer) => layer.digest) }
    const manifest = await this.#addJson(MEDIA_TYPES.manifest, {
      schemaVersion: 2,
      mediaType: MEDIA_TYPES.manifest,
      config: await this.#addJson(MEDIA_TYPES.config, { created: EPOCH, ...NO_PLATFORM, config: {}, rootfs }),
      layers,
      subject: { mediaType, digest, size },
    })
    const annotations = { [ATTACHED.type]: 'attestation-manifest', [ATTACHED.to]: digest }
    return { ...manifest, platform: NO_PLATFORM, annotations }
  }

  /** The images of the layout: what its file `index.json` names. */
  async images(): Promise<readonly Descriptor[]> {
    return JSON.parse(await readFile(join(this.folder, 'index.json'), 'utf8')).manifests
  }

  /** The path of the file with these bytes. */
  blob(digest: string): string {
    if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${digest} is no sha256 digest`)
    return join(this.#blobs, digest.slice('sha256:'.length))
  }

  async manifest(digest: string): Promise<Manifest> {
    return JSON.parse(await readFile(this.blob(digest), 'utf8'))
  }

  /** The images of an index, and what is said about them. */
  async index(digest: string): Promise<readonly Descriptor[]> {
    return JSON.parse(await readFile(this.blob(digest), 'utf8')).manifests
  }

  /** The media type of a manifest or an index. */
  async typeOf(digest: string): Promise<string> {
    return (await this.#naming(digest)).mediaType
  }

  /** Writes the layout as one tar file: an OCI archive, for programs that take no folder. Blobs of images that were replaced are left out. */
  async writeArchive(file: string): Promise<void> {
    const used = new Set<string>()
    for (const { digest } of await this.images())
      for (const one of await this.#blobsOf(digest)) used.add(this.blob(one))
    const files = [join(this.folder, 'oci-layout'), join(this.folder, 'index.json'), ...used]
    const entries = files.map(
      (from): Entry => ({ type: 'file', path: `/${relative(this.folder, from)}`, mode: 0o644, content: { from } }),
    )
    const draft = `${file}.${process.pid}.tmp`
    await pipeline(layerTar(entries), createWriteStream(draft))
    await rename(draft, file)
  }

  /** An index or a manifest, and every blob below it. */
  async #blobsOf(digest: string): Promise<string[]> {
    const { config, layers = [], manifests = [] } = await this.#naming(digest)
    const below = await Promise.all(manifests.map((one) => this.#blobsOf(one.digest)))
    return [digest, ...[...(config === undefined ? [] : [config]), ...layers].map((one) => one.digest), ...below.flat()]
  }

  async #naming(digest: string): Promise<Naming> {
    return JSON.parse(await readFile(this.blob(digest), 'utf8'))
  }

  get #blobs(): string {
    return join(this.folder, 'blobs/sha256')
  }

  async #write(manifests: readonly Descriptor[]): Promise<void> {
    const index = { schemaVersion: 2, mediaType: MEDIA_TYPES.index, manifests }
    await writeFile(join(this.folder, 'index.json'), JSON.stringify(index))
  }

  async #addJson(mediaType: string, value: object): Promise<Descriptor> {
    const bytes = Buffer.from(JSON.stringify(value))
    const digest = digestOf(createHash('sha256').update(bytes))
    await writeFile(this.blob(digest), bytes)
    return { mediaType, digest, size: bytes.length }
  }

  async #addLayer(entries: readonly Entry[]): Promise<{ readonly layer: Descriptor; readonly diffId: string }> {
    // Not among the blobs, where nothing is that is not complete.
    const draft = join(this.folder, `.layer.${randomUUID()}`)
    try {
      const [plain, packed] = [new Measure(), new Measure()]
      await pipeline(layerTar(entries), plain, createGzip(), packed, createWriteStream(draft))
      await rename(draft, this.blob(packed.digest))
      const layer = { mediaType: MEDIA_TYPES.layer, digest: packed.digest, size: packed.size }
      return { layer, diffId: plain.digest }
    } finally {
      await rm(draft, { force: true })
    }
  }
}

/** The name that an image has in an index. */
export function nameOf({ annotations }: Descriptor): string | undefined {
  return annotations?.[NAMES[0]]
}

/** Passes bytes on, and counts and hashes them. */
class Measure extends Transform {
  readonly #hash = createHash('sha256')
  #digest: string | undefined
  size = 0

  get digest(): string {
    this.#digest ??= digestOf(this.#hash)
    return this.#digest
  }

  override _transform(chunk: Buffer, _encoding: string, done: (error: Error | null, chunk: Buffer) => void): void {
    this.#hash.update(chunk)
    this.size += chunk.length
    done(null, chunk)
  }
}

function digestOf(hash: Hash): string {
  return `sha256:${hash.digest('hex')}`
}
