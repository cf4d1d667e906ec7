import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { environmentManifests } from '../../infra/manifests.ts'
import { EXAMPLES } from '../../sandbox/demo/manifests.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { FIRST_RELEASE, Installation } from '../harness/installation.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { Machines } from '../harness/machines.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'

const ROOT = join(import.meta.dirname, '../..')
/** As in `Pulumi.production.yaml`. */
const REPLICAS = 3
const FILES = ['1-crds.yaml', '2-namespaces.yaml', '3-install.yaml'].flatMap((file) => [
  '-f',
  `dist/production/${file}`,
])
const run = promisify(execFile)
const DOCS = await readFile(join(ROOT, 'docs/installation.md'), 'utf8')
const README = await readFile(join(ROOT, 'README.md'), 'utf8')

/** The blocks of commands below a heading, up to the next one. */
function blocksBelow(heading: string): string[] {
  const section = DOCS.split(/^(?=##)/m).find((text) => text.split('\n')[0] === heading)
  const blocks = [...(section ?? '').matchAll(/^ *```sh\n(.*?)```/gms)].map(([, block = '']) => block)
  if (blocks.length === 0) throw new Error(`docs/installation.md has no commands below ${heading}`)
  return blocks
}

describe.skipIf(!HAS_KUBECTL)('removing everything by the commands of the docs', () => {
  const cluster = useOwnCluster({ namespaces: [] })
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'open-terrain-docs-'))
    await mkdir(join(folder, 'dist/production'), { recursive: true })
    const manifests = environmentManifests({ folder: ROOT, environment: 'production', image: FIRST_RELEASE })
    // The cluster does not have the Prometheus operator.
    for (const [file, content] of manifests)
      if (file !== '4-monitoring.yaml') await writeFile(join(folder, 'dist/production', file), content)
    await symlink(EXAMPLES, join(folder, 'examples'))
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  const shell = (commands: string) => {
    const env = { ...process.env, KUBECONFIG: cluster().controlPlane.kubeconfigPath }
    return run('sh', ['-ec', commands], { cwd: folder, env })
  }

  it('leaves nothing, while the operator runs and when it is gone already', async () => {
    const names = { images: 'vmdi-farm', operator: 'sync-operator' }
    // A watcher notices a kind that is installed later only after a while.
    await shell('kubectl apply -f dist/production/1-crds.yaml; kubectl wait --for=condition=Established crd --all')
    await using world = await World.start(cluster(), { idle: true, names })
    await using installation = await Installation.start(world)
    const { mirror } = world
    const kinds = [mirror.images, mirror.machines, mirror.dataSyncs, mirror.workspaces, mirror.kubevirtMachines]
    const isEmpty = () => kinds.every((store) => [...store.values()].length === 0)
    await shell([...README.matchAll(/^kubectl apply -f dist\S+/gm)].map(([command]) => command).join('\n'))
    await installation.untilRolledOut(FIRST_RELEASE, REPLICAS)

    const [made = '', rest = ''] = blocksBelow('## Removing everything')
    await furnish(world)
    await shell(made)
    await world.until('nothing that people made is left', isEmpty)
    await world.until('the lab is gone', () => mirror.namespaces.get('lab') === undefined)

    await furnish(world)
    await shell(blocksBelow('## Removing the operator, and coming back').join('\n'))
    await shell(blocksBelow('### When the operator is gone already').join('\n'))
    await shell(rest)
    const { stdout } = await shell(`kubectl get ${FILES.join(' ')} --ignore-not-found -o name`)
    expect(stdout).toBe('')
    await world.until('nothing of them is left', isEmpty)
    await world.until('the namespaces are gone', () => {
      return ['vmdi-farm', 'sync-operator', 'lab'].every((name) => mirror.namespaces.get(name) === undefined)
    })
  })
})

/** Creates an object of each kind, while the operator runs. */
async function furnish(world: World): Promise<void> {
  const machines = new Machines(world)
  await machines.create('guest')
  await new DataSyncs(world).create('release', ['attacker'])
  const labs = new Workspaces(world)
  await labs.create('lab', {
    vms: [{ name: 'vm', backingVMDiskImage: 'golden', resources: { cpu: 1, memory: '1Gi' } }],
  })
  await machines.untilReady('guest')
  await labs.untilReady('lab')
  await world.untilSynced('035-attacker')
}
