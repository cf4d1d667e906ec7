import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { renderInstallation } from '@open-terrain/constructs/platform'
import { describe, expect, it, onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { environmentManifests } from '../../infra/manifests.ts'
import { environmentsIn } from '../../infra/stack-files.ts'
import type { KubeObject, Raw } from '../../operator/kube/kube-object.ts'
import { ApiUser } from '../harness/api-user.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { IMAGE, isForeign, objectsOf, ROOT } from './manifest-objects.ts'

/** The query of `kubectl apply --server-side --validate=strict`. */
const STRICTLY = '?fieldManager=kubectl&fieldValidation=Strict&force=true'
const INSTALLED_BY = 'pelotech.ot/installed-by'

const run = promisify(execFile)

describe('the synthesized manifests', () => {
  const cluster = useOwnCluster({ namespaces: [] })

  // First of all: an earlier release is applied to a cluster without one.
  it.runIf(HAS_KUBECTL)('are applied as a folder, by kubectl, over an earlier release and once more', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'open-terrain-manifests-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const files = environmentManifests({ folder: ROOT, environment: 'production', image: IMAGE })
    for (const [file, content] of files)
      if (!objectsOf(content).some(isForeign)) await writeFile(join(folder, file), content)
    const env = { ...process.env, KUBECONFIG: cluster().controlPlane.kubeconfigPath }
    const apply = () => run('kubectl', ['apply', '-f', folder], { env })
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
  })

  it.each(environmentsIn(ROOT))(
    'of %s are applied in their order, and once more, without a field that is not known',
    async (environment) => {
      await using admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
      for (const time of ['first', 'second']) {
        // To judge a CRD takes an API server longer than all else: it does that for one environment, once. Only their owner differs.
        const isLarge = ({ kind }: KubeObject) =>
          kind === 'CustomResourceDefinition' && (environment !== 'production' || time !== 'first')
        const refused: string[] = []
        const options = { folder: ROOT, environment, image: IMAGE, adopt: true }
        for (const [file, content] of environmentManifests(options)) {
          for (const object of objectsOf(content).filter((one) => !isForeign(one) && !isLarge(one))) {
            const { status, message } = await admin.ask('APPLY', `${pathOf(object)}${STRICTLY}`, object)
            if (status >= 300) refused.push(`${file}: ${object.kind} ${object.metadata.name}: ${message}`)
          }
        }
        expect(refused, `the ${time} time`).toEqual([])
      }
    },
  )

  it('belong to their environment, and nobody else takes them over by mistake: not the CRDs, the policy, nor the operator', async () => {
    await using admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
    const options = { folder: ROOT, image: IMAGE }
    const ofManifests = (environment: string, adopt: boolean) =>
      [...environmentManifests({ ...options, environment, adopt }).values()].flatMap(objectsOf)
    const ofStack = (adopt: boolean) =>
      Object.values(renderInstallation({ image: IMAGE, owner: { name: 'labs/team', adopt } })).flat() as KubeObject[]
    // The dashboard is Grafana's: nobody else minds who has it.
    const isOwned = ({ kind, metadata }: KubeObject) =>
      ['CustomResourceDefinition', 'ConfigMap', 'Deployment'].includes(kind) && !metadata.name.endsWith('-dashboard')
    const apply = (object: KubeObject) => admin.ask('APPLY', `${pathOf(object)}${STRICTLY}`, object)
    /** The policy of a release has no keys: those of the one before are lost unless somebody says that they are theirs. */
    const keepKeys = async (policy: KubeObject) => {
      expect((await apply(policy)).message).toMatch(/this would remove .+apply these keys alone with a --field-manager/)
      const { apiVersion, kind, metadata } = policy
      const { data } = ofStack(true).find((one) => one.kind === kind && one.metadata.name === metadata.name) as Raw
      const own = { apiVersion, kind, metadata: { name: metadata.name, namespace: metadata.namespace }, data }
      await admin.must('APPLY', `${pathOf(policy)}?fieldManager=policy&force=true`, own)
    }
    // The CRDs are those of production already.
    const others = ofManifests('production', true).filter(
      (one) => !isForeign(one) && one.kind !== 'CustomResourceDefinition',
    )
    for (const object of others)
      expect(await apply(object), object.metadata.name).toMatchObject({ status: expect.toBeOneOf([200, 201]) })

    const belongs = (owner: string) =>
      `Open Terrain in this cluster belongs to ${owner}, and two owners would undo what the other one does; if `
    /** One CRD stands for all once they have been refused: to judge one takes an API server longer than all else. */
    const isSmall = ({ kind, metadata }: KubeObject) =>
      kind !== 'CustomResourceDefinition' || metadata.name.startsWith('datasyncs.')
    const isTaken = (object: KubeObject) => isOwned(object) && isSmall(object)
    const isRefused = async (owned: readonly KubeObject[], message: string) => {
      // Nothing shows when a policy takes effect. It does so for all objects of a kind at once.
      for (const object of owned.filter(isSmall))
        await admin.askUntil(/belongs to/, 'APPLY', `${pathOf(object)}${STRICTLY}&dryRun=All`, object)
      for (const object of owned)
        expect(await apply(object)).toMatchObject({ message: expect.stringContaining(message) })
    }
    const all = ofStack(false).filter(isOwned)
    expect(all).toHaveLength(7)
    await isRefused(
      all,
      `${belongs('manifests/production')}labs/team is to take it over: have nobody apply those manifests any more, then pulumi config set open-terrain:adopt true`,
    )
    await isRefused(ofManifests('staging', false).filter(isTaken), `then npm run synth -- staging --adopt`)
    for (const object of ofStack(true).filter(isTaken)) expect((await apply(object)).message).toBe('')
    // Told once to adopt, the stack goes on without it, and the manifests are the strangers.
    for (const object of ofStack(false).filter(isTaken)) expect((await apply(object)).message).toBe('')
    await isRefused(
      ofManifests('production', false).filter(isTaken),
      `${belongs('labs/team')}manifests/production is to take it over: remove the other stack without what it made (pulumi stack rm --force), then npm run synth -- production --adopt`,
    )
    // Who applies a release may have no repository: each refusal names the command that takes over that object.
    const released = ofManifests('release', false).filter(isTaken)
    await isRefused(released, `(pulumi stack rm --force), then kubectl annotate `)
    for (const object of released) {
      const { message } = await apply(object)
      const named = /then (kubectl annotate (\w+) (\S+)(?: -n (\S+))? --overwrite (\S+)=(\S+))$/.exec(message)
      const [, , plural, name, namespace, key = '', value] = named ?? []
      expect([plural, name, namespace], message).toEqual([
        `${object.kind.toLowerCase()}s`,
        object.metadata.name,
        object.metadata.namespace,
      ])
      await admin.must('PATCH', pathOf(object), { metadata: { annotations: { [key]: value } } })
      if (object.kind === 'ConfigMap') await keepKeys(object)
      expect((await apply(object)).message).toBe('')
    }
    for (const object of ofManifests('production', true).filter(isTaken)) expect((await apply(object)).message).toBe('')
  })

  it('would be refused with a field that is not known', async () => {
    await using admin = new ApiUser(cluster().controlPlane.kubeconfigPath)
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' }, spec: { unknown: 1 } }
    const { message } = await admin.ask('APPLY', `${pathOf(namespace)}${STRICTLY}`, namespace)
    expect(message).toContain('.spec.unknown: field not declared in schema')
  })
})

/** Manifests as an earlier release wrote them, which did not say whose they are. */
function earlier(content: string): string {
  const objects = objectsOf(content)
  for (const { metadata } of objects)
    delete (metadata.annotations as Record<string, string> | undefined)?.[INSTALLED_BY]
  return objects.map((object) => stringify(object)).join('---\n')
}

function pathOf({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const plural = `${kind.toLowerCase()}s`.replace(/ys$/, 'ies')
  return `${root}/${namespace === undefined ? '' : `namespaces/${namespace}/`}${plural}/${name}`
}
