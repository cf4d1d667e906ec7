import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { environmentManifests } from '../../infra/manifests.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { IMAGE, isForeign, objectsOf, ROOT } from './manifest-objects.ts'

const INSTALLED_BY = 'pelotech.ot/installed-by'

const run = promisify(execFile)

describe('the synthesized manifests', () => {
  const cluster = useOwnCluster({ namespaces: [] })

  it.runIf(HAS_KUBECTL)('are applied as a folder, by kubectl in both ways, in each order', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-manifests-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const files = environmentManifests({ folder: ROOT, environment: 'production', image: IMAGE })
    for (const [file, content] of files)
      if (!objectsOf(content).some(isForeign)) await writeFile(join(folder, file), content)
    const env = { ...process.env, KUBECONFIG: cluster().controlPlane.kubeconfigPath }
    const apply = (...ways: readonly string[]) => run('kubectl', ['apply', ...ways, '-f', folder], { env })
    const names = await readdir(folder)
    for (const file of names) await writeFile(join(folder, file), earlier(files.get(file) ?? ''))
    await apply()
    for (const file of names) await writeFile(join(folder, file), files.get(file) ?? '')
    await apply()
    const { stdout } = await apply()
    // kubectl always writes the selector of a PodDisruptionBudget again.
    const isUsual = (line: string) =>
      line === '' || line.endsWith(' unchanged') || line.startsWith('poddisruptionbudget')
    expect(stdout.split('\n').filter((line) => !isUsual(line))).toEqual([])
    await apply('--server-side')
    await apply('--server-side')
    await apply()
  })
})

/** Manifests as an earlier release wrote them, which did not say whose they are. */
function earlier(content: string): string {
  const objects = objectsOf(content)
  for (const { metadata } of objects)
    delete (metadata.annotations as Record<string, string> | undefined)?.[INSTALLED_BY]
  return objects.map((object) => stringify(object)).join('---\n')
}
