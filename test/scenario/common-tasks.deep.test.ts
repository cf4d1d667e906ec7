import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OPERATOR_NAMESPACE, POLICY_NAME } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { KubeObject, ResourceType } from '../../operator/kube/kube-object.ts'
import { CONFIG_MAP } from '../../operator/kube/resource-types.ts'
import { SCRIPTED_PATHS } from '../../sandbox/image-server/scripted-paths.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { IMAGE, MACHINE, reasonOf } from '../harness/kinds.ts'
import { World } from '../harness/world.ts'
import { sandboxAccessSuite } from './sandbox-access-suite.ts'

const OPERATIONS = await readFile(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
const TYPES: Readonly<Record<string, ResourceType>> = { cm: CONFIG_MAP, vmdi: IMAGE, otvm: MACHINE }

/** The first command of a row of the table "Common tasks". */
function handle(purpose: string): string {
  const command = OPERATIONS.split('\n')
    .find((line) => line.startsWith(`| ${purpose} `))
    ?.match(/`(kubectl [^`]+)`/)?.[1]
  if (command === undefined) throw new Error(`docs/operations.md has no handle to "${purpose}"`)
  return command
}

/** Does what kubectl does for the few commands of that table. */
async function kubectl(world: World, command: string, namespace: string): Promise<readonly KubeObject[]> {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')
  const at = words.indexOf('-n')
  const where = at < 0 ? namespace : (words[at + 1] ?? '')
  const [, verb, kind = '', name = '', ...rest] = words.filter(
    (word, index) => !['-A', '--overwrite'].includes(word) && (at < 0 || (index !== at && index !== at + 1)),
  )
  const type = TYPES[kind]
  if (type === undefined) throw new Error(`what is ${kind} in ${command}?`)
  const key = { namespace: where, name }
  if (verb === 'get' && (name === '' || name.startsWith('-'))) return (await world.client.list(type)).items
  if (verb === 'get') return [await world.client.get(type, key)]
  if (verb === 'patch') {
    expect(rest.slice(0, 3)).toEqual(['--type', 'merge', '-p'])
    return [await world.client.mergePatch(type, key, JSON.parse(rest[3] ?? ''))]
  }
  if (verb !== 'annotate') throw new Error(`what does kubectl ${verb}?`)
  const [annotation = '', value = ''] = rest[0]?.split('=') ?? []
  expect(value).toMatch(/^"\$\(date/)
  return [
    await world.client.mergePatch(type, key, { metadata: { annotations: { [annotation]: new Date().toISOString() } } }),
  ]
}

const cluster = useOwnCluster({ access: true, policy: { concurrency: 4 } })

describe('the common tasks of docs/operations.md', () => {
  const start = () => World.start(cluster(), { policy: { concurrency: '1', retryLimit: '0' } })
  /** Runs a handle in the namespace of this world, for an image of this name. */
  const run = (world: World, purpose: string, name = '') =>
    kubectl(
      world,
      handle(purpose).replace(OPERATOR_NAMESPACE, world.operatorNamespace).replace('NAME', name),
      world.namespace,
    )

  it('find the policy of a sandbox', async () => {
    await using world = await World.start(cluster(), { idle: true })
    await kubectl(world, handle('change the limit, live'), '')
    const policy = await world.client.get<KubeObject & { data: object }>(CONFIG_MAP, {
      namespace: OPERATOR_NAMESPACE,
      name: POLICY_NAME,
    })
    expect(policy.data).toMatchObject({ concurrency: '8' })
  })

  it('change the limit, show the queue and who downloads', async () => {
    await using world = await start()
    world.mostDownloads = 8
    await world.syncImage('one')
    await run(world, 'change the limit, live')
    await world.until('the limit in force', () => world.ledger?.limit === 8)
    expect(handle('see the queue in order')).toContain('--sort-by=.status.queuedAt')
    expect((await run(world, 'see the queue in order')).map(({ metadata }) => metadata.name)).toContain('one')
    expect(await run(world, 'see who downloads now')).toMatchObject([{ data: { limit: '8' } }])
    expect(await run(world, 'see what machines wait for')).toEqual([])
    await world.finish()
  })

  it('refresh an image, and stop a download', async () => {
    await using world = await start()
    const { status } = await world.syncImage('one')
    const release = world.gate.hold(world.urlOf('one'))
    await run(world, 'refresh an image', 'one')
    await world.untilDownloading('one', 2)
    await world.untilImage('one', 'another revision', (image) => image.status?.revision !== status?.revision)
    await run(world, 'stop a download, hold an image back', 'one')
    await world.untilReason('one', 'Suspended')
    release()
    await world.finish()
  })

  it('retry a failed image, here one of the paths at which a sandbox fails', async () => {
    await using world = await start()
    for (const { rule } of SCRIPTED_PATHS) world.imageServer.set(rule)
    await world.createImage('one', { url: 'https://any.host/fails-twice/name.qcow2' })
    for (const attempts of [1, 2]) {
      await world.untilImage('one', 'Failed', ({ status }) => {
        return status?.phase === 'Failed' && status.attempts?.length === attempts
      })
      expect(reasonOf(world.getImage('one'))).toBe('RetryLimitExceeded')
      await run(world, 'retry a failed one now', 'one')
    }
    await world.untilSynced('one')
    await world.finish()
  })
})

sandboxAccessSuite(cluster)
