import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  DATA_SOURCE,
  DATA_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { conditionOf, IMAGE, type Image } from '../harness/kinds.ts'
import { HAS_KUBECTL, isThere } from '../harness/kubectl.ts'
import { Machines } from '../harness/machines.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'

const run = promisify(execFile)
const HAS_TOOLS = HAS_KUBECTL && isThere('jq', ['--version'])

/** A backup contains the names of namespaces, so the new cluster has the same ones. */
const NAMES = { images: 'farm', operator: 'operator' }
const OPTIONS = { names: NAMES, policy: { concurrency: '2', imageNamespace: NAMES.images } }
const LAB = { vms: [{ name: 'vm', backingVMDiskImage: 'golden', resources: { cpu: 1, memory: '1Gi' } }] }

async function untilAllReady(world: World): Promise<void> {
  await new Machines(world).untilReady('guest')
  await world.untilSynced('own')
  await new DataSyncs(world).until('release', 'Succeeded', ({ status }) => status?.phase === 'Succeeded')
  await new Workspaces(world).untilReady('lab')
}

describe.skipIf(!HAS_TOOLS)('a backup', () => {
  const old = useOwnCluster()
  const fresh = useOwnCluster()
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'open-terrain-backup-'))
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('has in a new cluster all that people asked for, downloaded again', async () => {
    const env = (world: World) => ({ ...process.env, KUBECONFIG: world.cluster.controlPlane.kubeconfigPath })
    await using before = await World.start(old(), OPTIONS)
    const asked = new Machines(before)
    await asked.create('guest')
    await before.createImage('own', {}, { labels: { team: 'red' } })
    await new DataSyncs(before).create('release', ['attacker'])
    await new Workspaces(before).create('lab', LAB)
    await asked.create('borrower', { vmDiskImageRef: { name: 'own' }, vmDiskImageTemplate: undefined })
    await untilAllReady(before)
    await asked.untilReady('borrower')
    // It stays for as long as something needs it, and so do those who need it in the new cluster.
    await before.client.delete(IMAGE, { name: 'own', namespace: before.namespace })
    await before.untilImage('own', 'still in use', ({ metadata }) => metadata.deletionTimestamp !== undefined)
    const { stdout } = await run(join(EXAMPLES, 'backup.sh'), [], { env: env(before) })
    const { items } = JSON.parse(stdout) as { items: { metadata: { name: string } }[] }
    // Machine and DataSync create their images, and the workspace creates its machine.
    expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      'borrower',
      'guest',
      'lab',
      'own',
      'release',
    ])

    await using after = await World.start(fresh(), OPTIONS)
    const file = join(folder, 'backup.json')
    await writeFile(file, stdout)
    await run('kubectl', ['apply', '-f', file], { env: env(after) })
    await untilAllReady(after)
    const machines = new Machines(after)
    await machines.untilReady('borrower')
    expect(machines.get('guest')?.spec).toEqual(asked.get('guest')?.spec)
    const restored = after.getImage('own')
    expect(restored?.spec).toEqual(before.getImage('own')?.spec)
    expect(restored?.metadata.labels).toEqual({ team: 'red' })
    for (const name of ['own', 'golden', 'attacker']) expect(after.downloads(name)).toBe(1)
    for (const [world, mine] of [
      [before, asked],
      [after, machines],
    ] as const) {
      await new Workspaces(world).delete('lab')
      await new DataSyncs(world).delete('release')
      await mine.delete('guest', 'borrower')
      await world.finish()
    }
  })

  it('with ADOPT=yes has images adopt what is still there, and nothing is downloaded', async () => {
    await using world = await World.start(old())
    const { client, namespace } = world
    const env = { ...process.env, KUBECONFIG: world.cluster.controlPlane.kubeconfigPath, ADOPT: 'yes' }
    await world.syncImage('snapped')
    await world.syncImage('plain', { snapshotClass: undefined })
    const { stdout } = await run(join(EXAMPLES, 'backup.sh'), [], { env })
    const artifacts = ['snapped', 'plain'].map((name) => world.getImage(name)?.status?.artifact)
    expect(artifacts.map((one) => one?.kind)).toEqual(['VolumeSnapshot', 'PersistentVolumeClaim'])
    const [snapshot = '', claim = ''] = artifacts.map((one) => one?.name)
    const things = async () =>
      await Promise.all([
        client.get(VOLUME_SNAPSHOT, { namespace, name: snapshot }),
        client.get(DATA_VOLUME, { namespace, name: claim }),
        client.get(PERSISTENT_VOLUME_CLAIM, { namespace, name: claim }),
      ])
    const uids = async () => (await things()).map(({ metadata }) => [metadata.uid, metadata.deletionTimestamp])
    const before = await uids()

    // The images go without their disks, as with their CRD.
    await world.operator?.stop()
    for (const name of ['snapped', 'plain']) {
      await client.delete(IMAGE, { namespace, name }, { propagationPolicy: 'Orphan' })
      const isFreed = ({ metadata }: Image) => metadata.finalizers?.includes('orphan') === false
      await world.untilImage(
        name,
        'without its disks',
        (image) => image.metadata.deletionTimestamp !== undefined && isFreed(image),
      )
      await world.patchImage(name, { metadata: { finalizers: null } })
      await world.untilGone(name)
    }
    const owners = async () => (await things()).slice(0, 2).flatMap(({ metadata }) => metadata.ownerReferences ?? [])
    expect(await owners()).toEqual([])

    world.startOperator()
    const file = join(folder, 'adopted.json')
    await writeFile(file, stdout)
    await run('kubectl', ['apply', '-f', file], { env })
    for (const [name, object] of [
      ['snapped', `volumesnapshot/${snapshot}`],
      ['plain', `datavolume/${claim}`],
    ] as const) {
      const image = await world.untilSynced(name)
      expect(image.status?.adoption?.object).toBe(object)
      expect(conditionOf(image, 'Adopted')).toMatchObject({ status: 'True' })
      expect([image.status?.attempts, world.downloads(name)]).toEqual([undefined, 1])
      // The DataSource of the earlier image is left too, and is nobody's.
      await world.untilReason(name, 'NameConflict')
      await client.delete(DATA_SOURCE, { namespace, name })
      await world.untilReason(name, 'Synced')
    }
    expect(await uids()).toEqual(before)
    for (const name of ['snapped', 'plain']) {
      await world.deleteImage(name)
      await world.untilGone(name)
    }
    expect(await uids()).toEqual(before)
    await client.delete(VOLUME_SNAPSHOT, { namespace, name: snapshot })
    for (const name of [claim, snapshot]) await client.delete(DATA_VOLUME, { namespace, name })
    await world.finish()
  })
})
