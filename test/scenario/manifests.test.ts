import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { environmentManifests } from '../../infra/manifests.ts'
import { environmentsIn } from '../../infra/stack-files.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { ApiUser } from '../harness/api-user.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'

const ROOT = join(import.meta.dirname, '../..')
const IMAGE = `registry.example/open-terrain/operator@sha256:${'a'.repeat(64)}`
/** The query of `kubectl apply --server-side --validate=strict`. */
const STRICTLY = '?fieldManager=kubectl&fieldValidation=Strict&force=true'
/** Objects of the Prometheus operator, which the cluster of this test does not have. */
const isForeign = ({ apiVersion }: KubeObject) => apiVersion.startsWith('monitoring.coreos.com/')

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

  it.each(environmentsIn(ROOT))(
    'of %s are applied in their order, and once more, without a field that is not known',
    async (environment) => {
      await using admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
      for (const time of ['first', 'second']) {
        const refused: string[] = []
        for (const [file, content] of environmentManifests({ folder: ROOT, environment, image: IMAGE })) {
          for (const object of objectsOf(content).filter((one) => !isForeign(one))) {
            const { status, message } = await admin.ask('APPLY', `${pathOf(object)}${STRICTLY}`, object)
            if (status >= 300) refused.push(`${file}: ${object.kind} ${object.metadata.name}: ${message}`)
          }
        }
        expect(refused, `the ${time} time`).toEqual([])
      }
    },
  )

  it('would be refused with a field that is not known', async () => {
    await using admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' }, spec: { unknown: 1 } }
    const { message } = await admin.ask('APPLY', `${pathOf(namespace)}${STRICTLY}`, namespace)
    expect(message).toContain('.spec.unknown: field not declared in schema')
  })
})

function objectsOf(content: string): KubeObject[] {
  return parseAllDocuments(content).map((document) => document.toJS() as KubeObject)
}

function pathOf({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies')
  return `${root}/${namespace === undefined ? '' : `namespaces/${namespace}/`}${plural}/${name}`
}
