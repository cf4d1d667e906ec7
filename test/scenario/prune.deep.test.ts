import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'

const OT = join(import.meta.dirname, '../../cli/main.ts')
const run = promisify(execFile)
const cluster = useCluster()

it('a dry run says what a change of the policy would delete or switch off, and Events what it does', async () => {
  await using world = await World.start(cluster(), {})
  await world.syncImage('unused')
  const preview = (...args: readonly string[]) => {
    const { kubeconfigPath: KUBECONFIG } = cluster().controlPlane
    const env = { ...process.env, KUBECONFIG, OPERATOR_NAMESPACE: world.operatorNamespace }
    return run(process.execPath, [OT, 'prune', ...args], { env })
  }
  const key = `${world.namespace}/unused`
  expect((await preview('--dry-run')).stdout).toMatch(new RegExp(`^never +kept .*VMDiskImage ${key} `, 'm'))
  const asIf = ['--set', 'userReclaimPolicy=Delete', '--set', 'userUnreferencedTTL=1h']
  expect((await preview('--dry-run', ...asIf)).stdout).toMatch(
    new RegExp(`^20\\S+Z +deleted .*VMDiskImage ${key}$`, 'm'),
  )
  await expect(preview('--dry-run', '--set', 'unreferencedTTL=soon')).rejects.toThrow(/unreferencedTTL: /)
  await expect(preview()).rejects.toThrow('prune only shows: say --dry-run')
  expect(world.getImage('unused')).toBeDefined()
  const isTold = (why: string, name: string) =>
    world.eventsOf('sync-operator-policy').some(({ reason, message }) => reason === why && message.includes(name))
  await world.setPolicy({ userReclaimPolicy: 'Delete', userUnreferencedTTL: '1s' })
  await world.until('the Event names what the change deletes', () => isTold('ImagesDue', key))

  const labs = new Workspaces(world)
  const lab = labs.name('lab')
  await labs.create(lab, { networks: [{ name: 'inside', cidr: '10.10.0.0/24' }] })
  const end = new RegExp(`^20\\S+Z +switched off +Workspace ${lab}$`, 'm')
  expect((await preview('--dry-run')).stdout).not.toMatch(end)
  expect((await preview('--dry-run', '--set', 'workspaceLifetime=72h')).stdout).toMatch(end)
  await world.setPolicy({ workspaceLifetime: '72h' })
  await world.until('the Event names what the change gives an end', () => isTold('WorkspacesDue', lab))
  await labs.delete(lab)
})
