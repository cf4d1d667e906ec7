import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { Machines } from '../harness/machines.ts'
import { World } from '../harness/world.ts'

const run = promisify(execFile)
const HAS_TOOLS = await Promise.all([run('kubectl', ['version', '--client']), run('jq', ['--version'])]).then(
  () => true,
  () => false,
)

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
    await using before = await World.start(old())
    const asked = new Machines(before)
    await asked.create('guest')
    await asked.untilReady('guest')
    await before.createImage('own', {}, { labels: { team: 'red' } })
    await before.untilSynced('own')
    const { stdout } = await run(join(EXAMPLES, 'backup.sh'), [], { env: env(before) })
    const { items } = JSON.parse(stdout) as { items: { metadata: { name: string } }[] }
    // The image of the machine is made by its template.
    expect(items.map(({ metadata }) => metadata.name).toSorted()).toEqual(['guest', 'own'])

    await using after = await World.start(fresh())
    await after.createNamespace(before.namespace)
    const file = join(folder, 'backup.json')
    await writeFile(file, stdout)
    await run('kubectl', ['apply', '-f', file], { env: env(after) })
    const machines = new Machines(after, before.namespace)
    const { spec } = await machines.untilReady('guest')
    expect(spec).toEqual(asked.get('guest')?.spec)
    const restored = await after.until('the image is ready again', () => {
      const image = after.getImage('own', before.namespace)
      return image?.status?.phase === 'Succeeded' && image
    })
    expect(restored.spec).toEqual(before.getImage('own')?.spec)
    expect(restored.metadata.labels).toEqual({ team: 'red' })
    for (const name of ['own', 'golden']) expect(after.downloadsOf(before.urlOf(name))).toBe(1)
    for (const [world, mine] of [
      [before, asked],
      [after, machines],
    ] as const) {
      await mine.delete('guest')
      await world.finish()
    }
  })
})
