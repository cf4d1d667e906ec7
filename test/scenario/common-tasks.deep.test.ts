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
  it('find the policy of a sandbox, change the limit, show the queue, refresh and stop a download, and retry what failed', async () => {
    await using world = await World.start(cluster(), { policy: { concurrency: '1', retryLimit: '0' } })
    world.mostDownloads = 8
    for (const { rule } of SCRIPTED_PATHS) world.imageServer.set(rule)
    /** Runs a handle in the namespace of this world, for an image of this name. */
    const run = (purpose: string, name = '') =>
      kubectl(
        world,
        handle(purpose).replace(OPERATOR_NAMESPACE, world.operatorNamespace).replace('NAME', name),
        world.namespace,
      )

    await kubectl(world, handle('change the limit, live'), '')
    const policy = { namespace: OPERATOR_NAMESPACE, name: POLICY_NAME }
    expect(await world.client.get(CONFIG_MAP, policy)).toMatchObject({ data: { concurrency: '8' } })

    const { status } = await world.syncImage('one')
    await run('change the limit, live')
    await world.until('the limit in force', () => world.ledger?.limit === 8)
    expect(handle('see the queue in order')).toContain('--sort-by=.status.queuedAt')
    expect((await run('see the queue in order')).map(({ metadata }) => metadata.name)).toContain('one')
    expect(await run('see who downloads now')).toMatchObject([{ data: { limit: '8' } }])
    expect(await run('see what machines wait for')).toEqual([])

    const release = world.gate.hold(world.urlOf('one'))
    await run('refresh an image', 'one')
    await world.untilDownloading('one', 2)
    await world.untilImage('one', 'another revision', (image) => image.status?.revision !== status?.revision)
    await run('stop a download, hold an image back', 'one')
    await world.untilReason('one', 'Suspended')
    release()

    // One of the paths at which a sandbox fails.
    await world.createImage('failed', { url: 'https://any.host/fails-twice/name.qcow2' })
    for (const attempts of [1, 2]) {
      await world.untilImage('failed', 'Failed', (image) => {
        return image.status?.phase === 'Failed' && image.status.attempts?.length === attempts
      })
      expect(reasonOf(world.getImage('failed'))).toBe('RetryLimitExceeded')
      await run('retry a failed one now', 'failed')
    }
    await world.untilSynced('failed')
    await world.finish()
  })
})

sandboxAccessSuite(cluster)
