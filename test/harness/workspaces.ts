import type { WorkspaceSpecInput } from '@open-terrain/constructs'
import type { WorkspaceComponent } from '@open-terrain/constructs/operator'
import { isApiError } from '../../operator/kube/api-error.ts'
import { NAMESPACE, STORAGE_CLASS } from '../../operator/kube/resource-types.ts'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { PROPOSED_WORKSPACE } from '../prepared/api/proposed-workspace.ts'
import { ignoreNotFound } from './grounds.ts'
import { WORKSPACE, type Workspace } from './kinds.ts'
import { SNAPSHOTS, STORAGE, World } from './world.ts'
import { WorldObjects } from './world-objects.ts'

/** The storage class of claims that name none. */
const DEFAULT_CLASS = 'usual'
const VM = PROPOSED_WORKSPACE.spec.vms[0] as NonNullable<WorkspaceSpecInput['vms']>[number]

/** The workspace of the proposal, with its machine deployed, so that all kinds of components exist. Passwords and images are those of a sandbox. */
export const DEPLOYED = {
  ...PROPOSED_WORKSPACE.spec,
  vms: [{ ...VM, ignoreOnDeploy: false }],
} satisfies WorkspaceSpecInput

/** Actions of people on Workspaces in a {@link World}, and what they observe. Disposal removes those that a test leaves behind. */
export class Workspaces extends WorldObjects<Workspace> implements AsyncDisposable {
  constructor(world: World) {
    super(world, WORKSPACE, world.mirror.workspaces)
  }

  /**
   * Starts a world with the policy and classes that the proposal's workspace needs. Images are in the world's image namespace.
   * @param idle the test starts the operator
   */
  static async start(
    cluster: Cluster,
    policy: Readonly<Record<string, string>> = {},
    { idle = false }: { readonly idle?: boolean } = {},
  ): Promise<Workspaces> {
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
    if (!idle) world.startOperator()
    return new Workspaces(world)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { client, mirror, operator } = this.world
    await operator?.stop()
    for (const { metadata } of mirror.workspaces.values()) {
      await client.mergePatch(WORKSPACE, metadata, { metadata: { finalizers: null } }).catch(ignoreNotFound)
      await client.delete(WORKSPACE, metadata).catch(ignoreNotFound)
      await client.delete(NAMESPACE, metadata).catch(ignoreNotFound)
    }
    // The next test of a cluster that files share may claim that there is none.
    await client.delete(STORAGE_CLASS, { name: DEFAULT_CLASS }).catch(ignoreNotFound)
    await this.world[Symbol.asyncDispose]()
  }

  /** Returns a name that no other test has. */
  name(short: string): string {
    return `${short}-${this.world.namespace.replace(/^images-/, '')}`
  }

  async create(name: string, spec: WorkspaceSpecInput = DEPLOYED): Promise<Workspace> {
    return await this.createObject(name, spec)
  }

  /** Creates a workspace with a name that no other test has, and resolves when it is Ready. */
  async deploy(short: string, spec?: WorkspaceSpecInput): Promise<Workspace> {
    const { metadata } = await this.create(this.name(short), spec)
    return await this.untilReady(metadata.name)
  }

  /** Resolves when the mirror has the new generation. */
  async patch(name: string, spec: Partial<WorkspaceSpecInput>): Promise<void> {
    const { generation = 0 } = (await this.patchObject(name, { spec })).metadata
    await this.untilSeen(
      `generation ${generation} of ${name}`,
      () => (this.get(name)?.metadata.generation ?? 0) >= generation,
    )
  }

  /** Resolves when the operator has seen that the warning before the end of a workspace is stored. */
  async untilWarned(name: string): Promise<Workspace> {
    return await this.until(name, 'warned', ({ status }) => status?.expiry?.noticeTime !== undefined)
  }

  /** Two hours pass: what is stored of the end of a workspace is as old as it would be then. */
  async letTwoHoursPass(name: string): Promise<void> {
    const { client } = this.world
    const earlier = (text = '') => new Date(Date.parse(text) - 7_200_000).toISOString()
    for (;;) {
      const found = await client.get<Workspace>(WORKSPACE, { name })
      const { expiresAt, expiry } = found.status as Required<NonNullable<Workspace['status']>>
      const older = { expiresAt: earlier(expiresAt), expiry: { ...expiry, noticeTime: earlier(expiry.noticeTime) } }
      try {
        await client.replaceStatus(WORKSPACE, { ...found, status: { ...found.status, ...older } } as Workspace)
        return
      } catch (error) {
        if (!isApiError(error, 'Conflict')) throw error
      }
    }
  }

  /** Returns a component of the current status. */
  component(name: string, kind: string, component: string): WorkspaceComponent | undefined {
    return this.get(name)?.status?.components?.find((one) => one.kind === kind && one.name === component)
  }

  async untilReady(name: string): Promise<Workspace> {
    return await this.until(name, 'Ready', ({ status }) => status?.phase === 'Ready')
  }

  async untilComponent(
    name: string,
    kind: string,
    component: string,
    holds: (component: WorkspaceComponent) => boolean,
  ): Promise<WorkspaceComponent> {
    return await this.untilSeen(`${kind} ${component} of ${name}`, () => {
      const found = this.component(name, kind, component)
      return found !== undefined && holds(found) && found
    })
  }

  /** What of a workspace was deleted, as `group/Kind name` (`v1/Kind name` in the core group), in that order. */
  endsOf(name: string): string[] {
    return this.world.mirror.deleted.flatMap(({ apiVersion, kind, metadata }) => {
      const { namespace = metadata.name } = metadata
      return namespace === name ? [`${apiVersion.split('/')[0]}/${kind} ${metadata.name}`] : []
    })
  }

  /** Also its namespace. */
  protected override isGone(name: string): boolean {
    return super.isGone(name) && this.world.mirror.namespaces.get(name) === undefined
  }

  protected override describe({ metadata, status }: Workspace): string {
    const open = (status?.components ?? []).filter(({ phase }) => phase !== 'Ready')
    const lines = open.map((one) => `    ${one.kind} ${one.name}: ${one.phase} (${one.reason}) ${one.message}`)
    return [`  workspace ${metadata.name}: ${status?.phase} (${status?.reason}) ${status?.message}`, ...lines].join(
      '\n',
    )
  }
}
