import { describe, expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { waitSettled } from '../harness/wait-settled.ts'
import { Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

describe.skipIf(!HAS_KUBECTL)('a pipeline that waits with examples/wait-settled.sh', () => {
  it('goes on when a Workspace is ready, and its machines with it', async () => {
    await using workspaces = await Workspaces.start(cluster())
    const { world } = workspaces
    const name = workspaces.name('lab')
    await workspaces.create(name)
    const ready = { code: 0, output: expect.stringMatching(/^Ready: /) }
    expect(await waitSettled(world, `otws/${name}`)).toEqual(ready)
    const machines = [...world.mirror.machines.values()].filter(({ metadata }) => metadata.namespace === name)
    expect(machines).toHaveLength(1)
    for (const { metadata } of machines)
      expect(await waitSettled(world, `otvm/${metadata.name}`, { within: name })).toEqual(ready)
    await workspaces.delete(name)
    await world.finish()
  })
})
