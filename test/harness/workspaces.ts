import type { WorkspaceComponent, WorkspaceSpecInput } from '@open-terrain/constructs'
import { PROPOSED_WORKSPACE } from '../../constructs/api/proposed-workspace.fixtures.ts'
import { apiVersionOf } from '../../operator/kube/kube-object.ts'
import { NAMESPACE } from '../../operator/kube/resource-types.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { ignoreNotFound } from './grounds.ts'
import { currentIf, reasonOf, WORKSPACE, type Workspace } from './kinds.ts'
import { SNAPSHOTS, STORAGE, World } from './world.ts'

/** The storage class of claims that name none. */
const DEFAULT_CLASS = 'usual'
const VM = PROPOSED_WORKSPACE.spec.vms[0] as NonNullable<WorkspaceSpecInput['vms']>[number]

/** The workspace of the proposal, with its machine deployed, so that all kinds of components exist. Passwords and images are those of a sandbox. */
export const DEPLOYED = {
  ...PROPOSED_WORKSPACE.spec,
  vms: [{ ...VM, ignoreOnDeploy: false }],
} satisfies WorkspaceSpecInput

/** Actions of people on Workspaces in a {@link World}, and what they observe. Disposal removes those that a test leaves behind. */
export class Workspaces implements AsyncDisposable {
  readonly world: World
  readonly #world: World

  constructor(world: World) {
    this.world = world
    this.#world = world
  }

  /** Starts a world with the policy and classes that the proposal's workspace needs. Images are in the world's image namespace. */
  static async start(cluster: Cluster, policy: Readonly<Record<string, string>> = {}): Promise<Workspaces> {
    const world = await World.start(cluster, { idle: true, mostDownloads: 2 })
    await world.createStorageClass(DEFAULT_CLASS, { 'storageclass.kubernetes.io/is-default-class': 'true' })
    await world.setPolicy({
      concurrency: '2',
      imageNamespace: world.namespace,
      imageUrlTemplate: `https://images.example.com/${world.namespace}/{name}.qcow2`,
      defaultSourceType: 'http',
      defaultDiskSize: '16Mi',
      defaultStorageClass: STORAGE,
      defaultSnapshotClass: SNAPSHOTS,
      reclaimPolicy: 'Delete',
      unreferencedTTL: '1s',
      ...policy,
    })
    world.startOperator()
    return new Workspaces(world)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { client, mirror, operator } = this.#world
    await operator?.stop()
    for (const { metadata } of mirror.workspaces.values()) {
      await client.mergePatch(WORKSPACE, metadata, { metadata: { finalizers: null } }).catch(ignoreNotFound)
      await client.delete(WORKSPACE, metadata).catch(ignoreNotFound)
      await client.delete(NAMESPACE, metadata).catch(ignoreNotFound)
    }
    await this.#world[Symbol.asyncDispose]()
  }

  /** Returns a name that no other test has. */
  name(short: string): string {
    return `${short}-${this.#world.namespace.replace(/^images-/, '')}`
  }

  async create(name: string, spec: WorkspaceSpecInput = DEPLOYED): Promise<Workspace> {
    const object = { apiVersion: apiVersionOf(WORKSPACE), kind: WORKSPACE.kind, metadata: { name }, spec }
    return await this.#world.client.create<Workspace>(WORKSPACE, object)
  }

  /** Resolves when the mirror has the new generation. */
  async patch(name: string, spec: Partial<WorkspaceSpecInput>): Promise<void> {
    const { generation = 0 } = (await this.#world.client.mergePatch(WORKSPACE, { name }, { spec })).metadata
    await this.#until(
      `generation ${generation} of ${name}`,
      () => (this.get(name)?.metadata.generation ?? 0) >= generation,
    )
  }

  /** Resolves when the workspaces and their namespaces are gone. */
  async delete(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.#world.client.delete(WORKSPACE, { name })
    const { workspaces, namespaces } = this.#world.mirror
    await this.#until(`${names} are gone`, () =>
      names.every((name) => workspaces.get(name) === undefined && namespaces.get(name) === undefined),
    )
  }

  get(name: string): Workspace | undefined {
    return this.#world.mirror.workspaces.get(name)
  }

  /** Returns a component of the current status. */
  component(name: string, kind: string, component: string): WorkspaceComponent | undefined {
    return this.get(name)?.status?.components?.find((one) => one.kind === kind && one.name === component)
  }

  async untilReady(name: string): Promise<Workspace> {
    return await this.until(name, 'Ready', ({ status }) => status?.phase === 'Ready')
  }

  async untilReason(name: string, reason: string): Promise<Workspace> {
    return await this.until(name, reason, (workspace) => reasonOf(workspace) === reason)
  }

  async untilComponent(
    name: string,
    kind: string,
    component: string,
    holds: (component: WorkspaceComponent) => boolean,
  ): Promise<WorkspaceComponent> {
    return await this.#until(`${kind} ${component} of ${name}`, () => {
      const found = this.component(name, kind, component)
      return found !== undefined && holds(found) && found
    })
  }

  /** Ignores a status that does not reflect the current generation. */
  async until(name: string, what: string, holds: (workspace: Workspace) => boolean): Promise<Workspace> {
    return await this.#until(`workspace ${name}: ${what}`, () => currentIf(this.get(name), holds))
  }

  /** What of a workspace was deleted, as `group/Kind name` (`v1/Kind name` in the core group), in that order. */
  endsOf(name: string): string[] {
    return this.#world.mirror.deleted.flatMap(({ apiVersion, kind, metadata }) => {
      const { namespace = metadata.name } = metadata
      return namespace === name ? [`${apiVersion.split('/')[0]}/${kind} ${metadata.name}`] : []
    })
  }

  async #until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    const seen = () => {
      const told = [...this.#world.mirror.workspaces.values()].map(({ metadata, status }) => {
        const open = (status?.components ?? []).filter(({ phase }) => phase !== 'Ready')
        const lines = open.map((one) => `    ${one.kind} ${one.name}: ${one.phase} (${one.reason}) ${one.message}`)
        return [`  workspace ${metadata.name}: ${status?.phase} (${status?.reason}) ${status?.message}`, ...lines].join(
          '\n',
        )
      })
      return `${told.join('\n')}\n${this.#world.describe()}`
    }
    return await this.#world.mirror.until(what, look, seen)
  }
}
