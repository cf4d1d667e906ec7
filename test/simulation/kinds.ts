import { Adoptions } from './adoptions/adoptions.ts'
import { DataSyncs } from './data-syncs/data-syncs.ts'
import { Images } from './images/images.ts'
import type { Kind } from './kind.ts'
import { Machines } from './machines/machines.ts'
import { WorkspaceSnapshots } from './workspace-snapshots/workspace-snapshots.ts'
import { Workspaces } from './workspaces/workspaces.ts'
import type { World } from './world.ts'

/** Returns the kinds of a schedule, in the order in which people delete them. What others need comes last. */
export function kindsOf(world: World): readonly Kind[] {
  const { adoptions, dataSyncs, machines, workspaces, points } = world.schedule
  return [
    ...(points === undefined ? [] : [new WorkspaceSnapshots(world)]),
    ...(workspaces === undefined ? [] : [new Workspaces(world)]),
    ...(dataSyncs === undefined ? [] : [new DataSyncs(world)]),
    ...(machines === undefined ? [] : [new Machines(world)]),
    ...(adoptions === undefined ? [] : [new Adoptions(world, adoptions)]),
    new Images(world),
  ]
}
