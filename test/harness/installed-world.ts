import { expect } from 'vitest'
import type { Cluster } from '../../sandbox/control-plane/cluster.ts'
import { operatorAccount } from './operator-account.ts'
import { type FinishOptions, World, type WorldOptions } from './world.ts'

/** A world whose operator has the rights that it is installed with, and no others. */
export async function startInstalled(cluster: Cluster, options: WorldOptions = {}): Promise<World> {
  const world = await World.start(cluster, { policy: { concurrency: '1' }, ...options, idle: true })
  world.startOperator(await operatorAccount(world))
  return world
}

export async function finishInstalled(world: World, options: FinishOptions = {}): Promise<void> {
  await world.finish(options)
  expect(world.operator?.requests.length).toBeGreaterThan(20)
  // In a namespace that is being deleted nobody may create anything.
  const refused = world.operator?.requests.filter(({ code }) => code === '403' || code === '401')
  expect(refused?.filter(({ verb }) => verb !== 'create')).toEqual([])
}
