import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { World } from '../harness/world.ts'

const PRUNE = join(import.meta.dirname, '../../tooling/prune.ts')
const run = promisify(execFile)
const cluster = useCluster()

it('a dry run says which images a change of the policy would delete, and an Event what it does delete', async () => {
  await using world = await World.start(cluster(), {})
  await world.syncImage('unused')
  const preview = (...args: readonly string[]) => {
    const { kubeconfigPath: KUBECONFIG } = cluster().controlPlane
    const env = { ...process.env, KUBECONFIG, OPERATOR_NAMESPACE: world.operatorNamespace }
    return run(process.execPath, [PRUNE, ...args], { env })
  }
  const key = `${world.namespace}/unused`
  expect((await preview('--dry-run')).stdout).not.toContain(key)
  const asIf = ['--set', 'userReclaimPolicy=Delete', '--set', 'userUnreferencedTTL=1h']
  expect((await preview('--dry-run', ...asIf)).stdout).toMatch(new RegExp(`^20.*Z\t${key}$`, 'm'))
  await expect(preview('--dry-run', '--set', 'unreferencedTTL=soon')).rejects.toThrow(/unreferencedTTL: /)
  await expect(preview()).rejects.toThrow('only --dry-run exists')
  expect(world.getImage('unused')).toBeDefined()
  await world.setPolicy({ userReclaimPolicy: 'Delete', userUnreferencedTTL: '1s' })
  await world.until('the Event names what the change deletes', () =>
    world
      .eventsOf('sync-operator-policy')
      .some(({ reason, message }) => reason === 'ImagesDue' && message.includes(key)),
  )
})
