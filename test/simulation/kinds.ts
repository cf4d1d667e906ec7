import { DataSyncs } from './data-syncs/data-syncs.ts'
import { Images } from './images/images.ts'
import type { Kind } from './kind.ts'
import type { World } from './world.ts'

/** The kinds that a schedule is about, in the order in which people delete them. What others need comes last. */
export function kindsOf(world: World): readonly Kind[] {
  return [...(world.schedule.dataSyncs === undefined ? [] : [new DataSyncs(world)]), new Images(world)]
}
