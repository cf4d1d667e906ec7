import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { IMAGE } from '../harness/kinds.ts'
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
})
