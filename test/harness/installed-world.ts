import { expect } from 'vitest'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { type FinishOptions, World, type WorldOptions } from './world.ts'

/** Starts a world whose operator runs one download at a time. */
export function startInstalled(cluster: Cluster, options: WorldOptions = {}): Promise<World> {
  return World.start(cluster, { policy: { concurrency: '1' }, ...options })
}

export async function finishInstalled(world: World, options: FinishOptions = {}): Promise<void> {
  await world.finish(options)
  expect(world.operator?.requests.length).toBeGreaterThan(20)
}
