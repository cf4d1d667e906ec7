import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { isTerminating, type KubeObject } from '../../operator/kube/kube-object.ts'
import { PERSISTENT_VOLUME_CLAIM } from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { buildCommit, EARLIER, hasCommit } from '../harness/earlier-release.ts'
import { Machines } from '../harness/machines.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { runningObjects } from '../harness/running-objects.ts'
import { WorkspaceSnapshots } from '../harness/workspace-snapshots.ts'
import { Workspaces } from '../harness/workspaces.ts'

// A copy without history has nothing to upgrade from, nor to go back to.
describe.runIf(await hasCommit(EARLIER))(`after ${EARLIER}`, () => {
  // The default storage class makes this cluster unsuitable for other tests.
  const cluster = useOwnCluster()
  let bundle = ''
  let folder = ''

  beforeAll(async () => {
    ;({ folder, bundle } = await buildCommit(EARLIER))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it(`a lab, a machine and an image of ${EARLIER} run on unchanged after an upgrade, the way back, and another upgrade`, async () => {
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
  })

  it(`the claims of a lab that was restored to a point in time outlive the way back to ${EARLIER}, and another upgrade`, async () => {
    await using workspaces = await Workspaces.start(cluster(), {}, { idle: true })
    const { world } = workspaces
    const lab = workspaces.name('lab')
    const points = new WorkspaceSnapshots(world, lab)
    const run = (name: string, entry: string) => {
      const operator = new OperatorProcess(world, name, { entry })
      onTestFinished(() => operator[Symbol.asyncDispose]())
      return operator
    }
    const claims = async () => {
      const { items } = await world.client.list<KubeObject>(PERSISTENT_VOLUME_CLAIM, { namespace: lab })
      return items
        .filter((one) => !isTerminating(one))
        .map(({ metadata: { name, uid } }) => `${name} ${uid}`)
        .toSorted()
    }
    const roots = () =>
      [...world.mirror.kubevirtMachines.values()]
        .filter(({ metadata }) => metadata.namespace === lab)
        .flatMap((one) => JSON.stringify(one.spec).match(/"claimName":"restore-[^"]+"/g) ?? [])

    const today = inject('operatorBundle')
    const first = run('first', today)
    await workspaces.create(lab)
    await workspaces.untilReady(lab)
    await points.create('before')
    await points.untilStand('before', 'Succeeded', 'Taken')
    await workspaces.patch(lab, { powerState: 'Halted' })
    await workspaces.untilReason(lab, 'Halted')
    await points.restore('before', 'now', null)
    const { status } = await points.untilRestored('before', 'Succeeded', 'have their restored claims')
    await workspaces.patch(lab, { powerState: 'Running' })
    await workspaces.untilReady(lab)
    const all = await claims()
    const restored = (status?.restore?.volumes ?? []).map(({ claim }) => claim)
    expect(restored.every((claim) => all.some((one) => one.startsWith(`${claim} `)))).toBe(true)
    expect([restored.length > 0, roots().length]).toEqual([true, 1])
    await first.terminate()

    const back = run('back', bundle)
    // It does not know this field.
    await workspaces.until(lab, 'seen by the earlier operator', (one) => one.status?.uncountedReset === undefined)
    await world.syncImage('seen-by-back')
    await workspaces.untilReady(lab)
    // It starts the machine from the disk of before the restore again: docs/installation.md says so.
    expect([await claims(), roots()]).toEqual([all, []])
    await back.terminate()

    const again = run('again', today)
    // The guest has another disk than the one that was recorded, and nothing of either is touched.
    const said = await workspaces.until(lab, 'what the machine says', ({ status: now }) => now?.reason === 'DiskLost')
    expect(said.status?.message).toMatch(/that is PersistentVolumeClaim restore-.*, and it is still there/)
    const mounted = () =>
      [...world.mirror.deployments.values()]
        .filter(({ metadata }) => metadata.namespace === lab)
        .flatMap((one) => JSON.stringify(one).match(/"claimName":"[^"]+"/g) ?? [])
    await workspaces.until(lab, 'the restored volumes again', () => {
      return mounted().length > 0 && mounted().every((one) => restored.some((claim) => one.includes(`"${claim}"`)))
    })
    expect([await claims(), roots()]).toEqual([all, []])
    await again.terminate()
  })
})
