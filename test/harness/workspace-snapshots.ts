import { ANNOTATIONS, type WorkspaceSnapshotSpecInput } from '@open-terrain/constructs'
import { WORKSPACE_SNAPSHOT, type WorkspaceSnapshot } from './kinds.ts'
import type { World } from './world.ts'
import { WorldObjects } from './world-objects.ts'

/** Actions of people on the WorkspaceSnapshots of one workspace, and what they observe. */
export class WorkspaceSnapshots extends WorldObjects<WorkspaceSnapshot> {
  /** @param workspace its name, which is that of its namespace */
  constructor(world: World, workspace: string) {
    super(world, WORKSPACE_SNAPSHOT, world.mirror.workspaceSnapshots, workspace)
  }

  async create(name: string, spec: WorkspaceSnapshotSpecInput = {}): Promise<WorkspaceSnapshot> {
    return await this.createObject(name, spec)
  }

  async untilStand(name: string, phase: string, reason: string): Promise<WorkspaceSnapshot> {
    return await this.until(
      name,
      `${phase}, ${reason}`,
      ({ status }) => status?.phase === phase && status.reason === reason,
    )
  }

  /** Somebody asks for a restore, of the machines alone unless they say something else. */
  async restore(name: string, value: string, scope: string | null = 'Machines'): Promise<void> {
    const annotations = { [ANNOTATIONS.restoreRequestedAt]: value, [ANNOTATIONS.restoreScope]: scope }
    await this.patchObject(name, { metadata: { annotations } })
  }

  /** @param text a part of its message */
  async untilRestored(name: string, phase: string, text: string): Promise<WorkspaceSnapshot> {
    return await this.until(
      name,
      `restore ${phase}, ${text}`,
      ({ status }) => status?.restore?.phase === phase && status.restore.message.includes(text),
    )
  }

  protected override describe({ status }: WorkspaceSnapshot): string {
    return JSON.stringify(status)
  }
}
