import { rm } from 'node:fs/promises'
import { expect, inject, it, onTestFinished } from 'vitest'
import { useOwnCluster } from '../harness/cluster.ts'
import { buildCommit, EARLIER, hasCommit } from '../harness/earlier-release.ts'
import { Machines } from '../harness/machines.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { runningObjects } from '../harness/running-objects.ts'
import { Workspaces } from '../harness/workspaces.ts'

// The default storage class makes this cluster unsuitable for other tests.
const cluster = useOwnCluster()

// A copy without history has nothing to upgrade from.
it.runIf(await hasCommit(EARLIER))(
  `a lab, a machine and an image of ${EARLIER} run on unchanged after an upgrade, the way back, and another upgrade`,
  async () => {
    const { folder, bundle } = await buildCommit(EARLIER)
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await using workspaces = await Workspaces.start(
      cluster(),
      { reclaimPolicy: 'Retain', localVolumeRoot: '/srv/labs' },
      { idle: true },
    )
    const { world } = workspaces
    const machines = new Machines(world)
    const lab = workspaces.name('lab')

    const runs = () => runningObjects(world.client, [lab, world.namespace])
    /** Resolves when an operator has served what was there before, and a new image after it. */
    const serve = async (entry: string, name: string) => {
      const operator = new OperatorProcess(world, name, { entry })
      onTestFinished(() => operator[Symbol.asyncDispose]())
      await world.syncImage(`seen-by-${name}`)
      await workspaces.untilReady(lab)
      await machines.untilReady('guest')
      return operator
    }

    const first = new OperatorProcess(world, 'first', { entry: bundle })
    onTestFinished(() => first[Symbol.asyncDispose]())
    await world.syncImage('golden')
    await machines.create('guest')
    await machines.untilReady('guest')
    await workspaces.create(lab)
    await workspaces.untilReady(lab)
    const before = await runs()
    expect(Object.keys(before).filter((name) => name.startsWith('Pod '))).not.toEqual([])
    await first.terminate()

    const today = inject('operatorBundle')
    for (const [name, entry] of [
      ['upgraded', today],
      ['back', bundle],
      ['again', today],
    ] as const) {
      const operator = await serve(entry, name)
      expect(await runs(), name).toMatchObject(before)
      await operator.terminate()
    }
  },
)
