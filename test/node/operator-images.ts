import { join } from 'node:path'
import { ImageLayout } from '../../sandbox/oci/image-layout.ts'
import { type RegistryOptions, RegistryProcess } from '../../sandbox/oci/registry-process.ts'
import { architectureHere } from '../../tooling/image/locked-packages.ts'
import { addOperatorImage } from '../../tooling/image/operator-image.ts'

const ROOT = join(import.meta.dirname, '../..')

interface OperatorImagesOptions extends RegistryOptions {
  /** The registry in names of images. */
  readonly name: string
}

/** Images of operators, as `npm run image` makes them, in a registry of its own that nodes pull from. Starts when the first one is needed. */
export class OperatorImages {
  readonly #options: OperatorImagesOptions
  readonly #made = new Map<string, Promise<string>>()
  #registry: RegistryProcess | undefined

  constructor(options: OperatorImagesOptions) {
    this.#options = options
  }

  /** Returns the name of the image, by digest. @param bundle of the operator */
  async of(bundle: string, tag: string): Promise<string> {
    const made = this.#made.get(tag) ?? this.#make(bundle, tag)
    this.#made.set(tag, made)
    return await made
  }

  stop(): void {
    this.#registry?.stop()
  }

  async #make(bundle: string, tag: string): Promise<string> {
    const repository = `${this.#options.name}/open-terrain-operator`
    const layout = await ImageLayout.open(this.#options.folder)
    const files = [bundle, join(ROOT, 'LICENSE')]
    // An index, as of a release, with what is said about the image beside it.
    const { digest } = await addOperatorImage(layout, {
      name: `${repository}:${tag}`,
      revision: tag,
      files,
      sbom: { specVersion: '1.5', metadata: { component: { 'bom-ref': 'open-terrain-operator' } } },
      architectures: [architectureHere()],
    })
    this.#registry ??= await RegistryProcess.start(this.#options)
    return `${repository}@${digest}`
  }
}
