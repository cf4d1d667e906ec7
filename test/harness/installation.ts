import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  INSTALLATION_PARTS,
  type InstallationPart,
  type InstallationProps,
  type Manifest,
  renderInstallation,
} from '@open-terrain/constructs/platform'
import { expect, inject } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { type ContainerImage, OperatorPods } from '../../sandbox/simulators/operator-pods/operator-pods.ts'
import { InstalledOperator, pathOf } from './installed-operator.ts'
import type { World } from './world.ts'

const DOCKERFILE = join(import.meta.dirname, '../../Dockerfile')
const REPOSITORY = 'images.example.com/open-terrain-operator'
export const FIRST_RELEASE = `${REPOSITORY}:1.0.0`
export const NEXT_RELEASE = `${REPOSITORY}:1.1.0`

/** The CRDs that each cluster has, as they were applied last. */
const KINDS = new WeakMap<object, Map<string, string>>()

/** A line of an operator's log. */
export interface LogLine {
  readonly pod: string
  readonly line: string
}

/**
 * The manifests of an installation, applied to a world as a platform engineer does it, and a simulated node that runs the pods of
 * its Deployment. The node can pull two releases.
 */
export class Installation extends InstalledOperator {
  readonly logLines: LogLine[] = []
  readonly #world: World
  #pods: OperatorPods | undefined

  private constructor(world: World) {
    super(world)
    this.#world = world
  }

  static async start(world: World): Promise<Installation> {
    const installation = new Installation(world)
    const entry = await entryOf(inject('operatorBundle'))
    installation.#pods = await OperatorPods.start({
      client: world.client,
      controlPlane: world.cluster.controlPlane,
      imageOf: (image) => (image === FIRST_RELEASE || image === NEXT_RELEASE ? entry : undefined),
      log: world.logs.log,
      onLine: (pod, line) => {
        installation.logLines.push({ pod: pod.metadata.name, line })
        world.logs.lines.push(`${pod.metadata.name}: ${line}`)
        world.mirror.nudge()
      },
    })
    return installation
  }

  render(props: Partial<InstallationProps> = {}): ReturnType<typeof renderInstallation> {
    return renderInstallation({ image: FIRST_RELEASE, namespace: this.#world.operatorNamespace, ...props })
  }

  /** Applies all parts in order, or only `parts`. */
  async apply(props: Partial<InstallationProps> = {}, parts: readonly InstallationPart[] = INSTALLATION_PARTS) {
    const installation = this.render(props)
    for (const part of parts) for (const object of installation[part]) await this.applyObject(object)
  }

  /** To judge a CRD takes an API server longer than all else. One that is there as it is to be is not applied again: nothing would change. */
  override async applyObject(object: Manifest): Promise<void> {
    if (object.kind !== 'CustomResourceDefinition') return await super.applyObject(object)
    const text = JSON.stringify(object)
    if (this.#kinds.get(object.metadata.name) === text) return
    await super.applyObject(object)
    this.#kinds.set(object.metadata.name, text)
  }

  override async remove(object: Manifest): Promise<{ status: number; message: string }> {
    const answer = await super.remove(object)
    if (answer.status < 300) this.#kinds.delete(object.metadata.name)
    return answer
  }

  get #kinds(): Map<string, string> {
    const { cluster } = this.#world
    const kinds = KINDS.get(cluster) ?? new Map<string, string>()
    KINDS.set(cluster, kinds)
    return kinds
  }

  /** Waits until deletion is refused: nothing shows when an admission policy takes effect. */
  async untilRefused(object: Manifest): Promise<void> {
    await this.admin.askUntil(/allow-deletion/, 'DELETE', `${pathOf(object)}?dryRun=All`)
  }

  /** Does what the message of the refusal says. */
  async allowDeletion(object: Manifest): Promise<void> {
    const annotations = { 'pelotech.ot/allow-deletion': 'true' }
    await this.admin.must('PATCH', pathOf(object), { metadata: { annotations } })
  }

  override untilRolledOut(image = FIRST_RELEASE, replicas = 2): Promise<void> {
    return super.untilRolledOut(image, replicas)
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    // The node must still run: only it removes the pods, and their namespace waits for them.
    await this.removeOperator().catch(() => undefined)
    await this.#pods?.stop()
    await super[Symbol.asyncDispose]()
  }
}

/** UIDs, by kind and name, of the objects that removing the operator must not touch. Throws if one of them is being deleted. */
export function belongings({ mirror, namespace }: World): Record<string, string | undefined> {
  const { images, snapshots, dataSources, machines, kubevirtMachines, instances, dataVolumes, claims } = mirror
  const stores = [images, snapshots, dataSources, machines, kubevirtMachines, instances, dataVolumes, claims]
  const namespaced = stores
    .flatMap((store) => [...(store.values() as IterableIterator<KubeObject>)])
    // CDI deletes its own claims when a download is over.
    .filter(({ metadata }) => metadata.namespace === namespace && !metadata.name.startsWith('prime-'))
  const ours = [...mirror.definitions.values()].filter(({ metadata }) => metadata.name.endsWith('.pelotech.ot'))
  const kept = [...namespaced, ...ours, ...[mirror.namespaces.get('vmdi-farm') ?? []].flat()]
  expect(kept.filter(({ metadata }) => metadata.deletionTimestamp !== undefined)).toEqual([])
  return Object.fromEntries(
    kept.map(({ apiVersion, kind, metadata }) => [
      `${kind}.${apiVersion.split('/')[0]} ${metadata.name}`,
      metadata.uid,
    ]),
  )
}

/** The entry point and environment of the Dockerfile, with `bundle` in place of the bundle in the image. */
export async function entryOf(bundle: string): Promise<ContainerImage> {
  const text = await readFile(DOCKERFILE, 'utf8')
  const words = JSON.parse(text.match(/^ENTRYPOINT (\[.*\])$/m)?.[1] ?? '[]') as string[]
  const entrypoint = words.map((word, at) => (at === 0 ? process.execPath : word.endsWith('.mjs') ? bundle : word))
  if (!entrypoint.includes(bundle)) throw new Error('the ENTRYPOINT of the Dockerfile does not start the operator')
  const env = [...text.matchAll(/^ENV (\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value])
  return { entrypoint, env: Object.fromEntries(env) }
}
