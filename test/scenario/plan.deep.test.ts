import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { otHere } from '../harness/ot-here.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'

const OT = join(import.meta.dirname, '../../cli/main.ts')
const run = promisify(execFile)
const cluster = useCluster()

it('ot says what a lab or another policy would change, and stores nothing; a bundle has the lab, and the version of the API server', async () => {
  await using world = await World.start(cluster(), {})
  const { client, operatorNamespace } = world
  await world.syncImage('unused')
  const labs = new Workspaces(world)
  const lab = labs.name('lab')
  const place = ['--operator-namespace', operatorNamespace]
  const diff = (spec: object) => {
    const manifest = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata: { name: lab }, spec }
    return otHere(client, ['plan', '-f', 'lab.json', '--diff', ...place], { 'lab.json': JSON.stringify(manifest) })
  }
  const inside = { name: 'inside', cidr: '10.10.0.0/24' }
  const spec = { networks: [inside], volumes: [{ name: 'data', size: '1Gi' }] }
  expect((await diff(spec)).printed).toMatch(new RegExp(`^created +Namespace ${lab}$`, 'm'))
  await labs.create(lab, spec)
  await labs.untilReady(lab)
  expect(await diff(spec)).toMatchObject({ code: 0, printed: 'nothing would change\n' })
  const more = [
    { ...inside, cidr: '10.20.0.0/24' },
    { name: 'more', cidr: '10.30.0.0/24' },
  ]
  const { printed: other } = await diff({ ...spec, networks: more, volumes: [] })
  expect(other).toMatch(new RegExp(`^changed +ConfigMap ${lab}/${lab}-ansible +.*data.inventory.yaml`, 'm'))
  expect(other).toMatch(new RegExp(`^created +NetworkAttachmentDefinition ${lab}/more$`, 'm'))
  expect(other).toMatch(new RegExp(`^deleted +PersistentVolumeClaim ${lab}/data$`, 'm'))
  // The schema alone knows what is no field: the API server would drop it without a word.
  expect((await diff({ ...spec, powerState: 'Asleep' })).told).toMatch(/spec\.powerState: /)

  const preview = async (...sets: readonly string[]) => {
    return await otHere(client, ['prune', '--dry-run', ...sets.flatMap((set) => ['--set', set]), ...place])
  }
  const image = `${world.namespace}/unused`
  const isDeleted = new RegExp(`^20\\S+Z +deleted .*VMDiskImage ${image}$`, 'm')
  expect((await preview()).printed).toMatch(new RegExp(`^never +kept .*VMDiskImage ${image} `, 'm'))
  expect((await preview('userReclaimPolicy=Delete', 'userUnreferencedTTL=1h')).printed).toMatch(isDeleted)
  expect((await preview('unreferencedTTL=soon')).told).toMatch(/unreferencedTTL: /)
  expect((await otHere(client, ['prune', ...place])).told).toContain('prune only shows: say --dry-run')
  const isSwitchedOff = new RegExp(`^20\\S+Z +switched off +Workspace ${lab}$`, 'm')
  expect((await preview()).printed).not.toMatch(isSwitchedOff)
  expect((await preview('workspaceLifetime=72h')).printed).toMatch(isSwitchedOff)
  expect(world.getImage('unused')).toBeDefined()
  const isTold = (why: string, name: string) =>
    world.eventsOf('sync-operator-policy').some(({ reason, message }) => reason === why && message.includes(name))
  await world.setPolicy({ userReclaimPolicy: 'Delete', userUnreferencedTTL: '1s', workspaceLifetime: '72h' })
  await world.until('the Event names what the change deletes', () => isTold('ImagesDue', image))
  await world.until('the Event names what the change gives an end', () => isTold('WorkspacesDue', lab))

  // As people run it.
  const folder = mkdtempSync(join(tmpdir(), 'ot-bundle-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const report = join(folder, 'report.tar.gz')
  const { kubeconfigPath: KUBECONFIG } = cluster().controlPlane
  const env = { ...process.env, KUBECONFIG, OPERATOR_NAMESPACE: operatorNamespace }
  expect((await run(process.execPath, [OT, 'bundle', '-o', report], { env })).stdout).toBe(`${report}\n`)
  const { stdout: bundle } = await run('tar', ['-xzOf', report], { maxBuffer: 2 ** 26 })
  for (const known of [lab, 'NetworkAttachmentDefinition', 'gitVersion', 'sync-operator-slots'])
    expect(bundle).toContain(known)
  await labs.delete(lab)
  await world.finish()
})
