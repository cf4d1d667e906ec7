import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { useCluster } from '../harness/cluster.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'

const OT = join(import.meta.dirname, '../../cli/main.ts')
const run = promisify(execFile)
const cluster = useCluster()

it('a plan is compared with a lab that runs, and stores nothing; a bundle has the lab, and the version of the API server', async () => {
  await using world = await World.start(cluster(), {})
  const labs = new Workspaces(world)
  const lab = labs.name('lab')
  const folder = mkdtempSync(join(tmpdir(), 'ot-plan-'))
  const file = join(folder, 'lab.json')
  const diff = (spec: object) => {
    const { kubeconfigPath: KUBECONFIG } = cluster().controlPlane
    const env = { ...process.env, KUBECONFIG, OPERATOR_NAMESPACE: world.operatorNamespace }
    const manifest = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', metadata: { name: lab }, spec }
    writeFileSync(file, JSON.stringify(manifest))
    return run(process.execPath, [OT, 'plan', '-f', file, '--diff'], { env })
  }
  const inside = { name: 'inside', cidr: '10.10.0.0/24' }
  const spec = { networks: [inside], volumes: [{ name: 'data', size: '1Gi' }] }
  expect((await diff(spec)).stdout).toMatch(new RegExp(`^created +Namespace ${lab}$`, 'm'))
  await labs.create(lab, spec)
  await labs.untilReady(lab)
  expect((await diff(spec)).stdout).toBe('nothing would change\n')
  const other = (
    await diff({
      ...spec,
      networks: [
        { ...inside, cidr: '10.20.0.0/24' },
        { name: 'more', cidr: '10.30.0.0/24' },
      ],
      volumes: [],
    })
  ).stdout
  expect(other).toMatch(new RegExp(`^changed +ConfigMap ${lab}/${lab}-ansible +.*data.inventory.yaml`, 'm'))
  expect(other).toMatch(new RegExp(`^created +NetworkAttachmentDefinition ${lab}/more$`, 'm'))
  expect(other).toMatch(new RegExp(`^deleted +PersistentVolumeClaim ${lab}/data$`, 'm'))
  // The schema alone knows what is no field: the API server would drop it without a word.
  await expect(diff({ ...spec, powerState: 'Asleep' })).rejects.toThrow(/spec\.powerState: /)
  const report = join(folder, 'report.tar.gz')
  const { kubeconfigPath: KUBECONFIG } = cluster().controlPlane
  const env = { ...process.env, KUBECONFIG, OPERATOR_NAMESPACE: world.operatorNamespace }
  expect((await run(process.execPath, [OT, 'bundle', '-o', report], { env })).stdout).toBe(`${report}\n`)
  const { stdout: bundle } = await run('tar', ['-xzOf', report], { maxBuffer: 2 ** 26 })
  for (const known of [lab, 'NetworkAttachmentDefinition', 'gitVersion', 'sync-operator-slots'])
    expect(bundle).toContain(known)
  await labs.delete(lab)
  rmSync(folder, { recursive: true })
})
