import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { CHART, chartFiles } from '../../infra/chart.ts'
import { environmentManifests, RELEASE, RELEASED_FILE, releasedManifest } from '../../infra/manifests.ts'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { ControlPlane } from '../../sandbox/control-plane/control-plane.ts'
import { goTool } from '../harness/go-tool.ts'
import { HAS_KUBECTL } from '../harness/kubectl.ts'
import { IMAGE, objectsOf, ROOT } from './manifest-objects.ts'

const run = promisify(execFile)
const OTHER_IMAGE = IMAGE.replaceAll('a'.repeat(64), 'b'.repeat(64))
const MANIFESTS = environmentManifests({ folder: ROOT, environment: RELEASE, image: IMAGE })
const KEEP = 'helm.sh/resource-policy'
const RELEASED_AS = ['open-terrain', '--namespace', 'default']
const POLICY = '/api/v1/namespaces/sync-operator/configmaps/sync-operator-policy'
const DEPLOYMENT = '/apis/apps/v1/namespaces/sync-operator/deployments/open-terrain-operator'
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/datasyncs.pelotech.ot'

const nameOf = ({ kind, metadata }: KubeObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`

describe('the chart of a release', () => {
  let helm: (...args: readonly string[]) => Promise<string>
  let folder: string
  let chart: string
  const controlPlane = new ControlPlane({ crds: [] })

  beforeAll(async () => {
    const source = join(ROOT, 'test/toolchain/helm')
    const program = await goTool({ name: 'helm', source, package: 'helm.sh/helm/v4/cmd/helm' })
    folder = await mkdtemp(join(tmpdir(), 'open-terrain-chart-'))
    chart = await written('chart', chartFiles(MANIFESTS, IMAGE))
    await controlPlane.start()
    const home = Object.fromEntries(['CACHE', 'CONFIG', 'DATA'].map((name) => [`HELM_${name}_HOME`, folder]))
    const env = { ...process.env, ...home, KUBECONFIG: controlPlane.kubeconfigPath }
    helm = async (...args) => (await run(program, args, { env, maxBuffer: 64 * 1024 * 1024 })).stdout
  })
  afterAll(async () => {
    await controlPlane.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function written(name: string, files: ReadonlyMap<string, string>): Promise<string> {
    const path = join(folder, name, CHART)
    for (const [file, content] of files) {
      await mkdir(dirname(join(path, file)), { recursive: true })
      await writeFile(join(path, file), content)
    }
    return path
  }

  const refusalOf = (action: Promise<string>) =>
    action.then(
      () => '',
      (error: Error) => error.message,
    )
  const stored = async (path: string) => {
    const { status, text } = await controlPlane.request('GET', path)
    expect(status, path).toBe(200)
    return JSON.parse(text)
  }

  it('renders what the manifests have, with what the values say, and a word that Helm keeps what is to stay', async () => {
    const values = [
      '--set',
      `image=${OTHER_IMAGE},replicas=3,monitoring=true,imagePullSecrets={one,two}`,
      '--set-string',
      'policy.concurrency=8',
    ]
    const rendered = parseAllDocuments(await helm('template', ...RELEASED_AS, chart, ...values)).flatMap((document) =>
      document.contents === null ? [] : [document.toJS() as KubeObject],
    )
    const wanted = [...MANIFESTS.values()].flatMap(objectsOf)
    expect(rendered.map(nameOf).sort()).toEqual(wanted.map(nameOf).sort())
    const kept: string[] = []
    for (const object of rendered) {
      if (object.metadata.annotations?.[KEEP] === 'keep') kept.push(object.kind)
      delete (object.metadata.annotations as Record<string, string> | undefined)?.[KEEP]
    }
    const differing = rendered.filter((object) => {
      const same = wanted.find((one) => nameOf(one) === nameOf(object))
      return !isDeepStrictEqual(withoutEmpty(object), withoutEmpty(same as KubeObject))
    })
    expect(differing.map(({ kind }) => kind).sort()).toEqual(['ConfigMap', 'Deployment'])
    const [deployment, policy] = ['Deployment', 'ConfigMap'].map((kind) => differing.find((one) => one.kind === kind))
    expect(policy).toMatchObject({ data: { concurrency: '8' } })
    const spec = { containers: [{ image: OTHER_IMAGE }], imagePullSecrets: [{ name: 'one' }, { name: 'two' }] }
    expect(deployment).toMatchObject({ spec: { replicas: 3, template: { spec } } })
    const counts = Object.entries(Object.groupBy(kept, (kind) => kind)).map(([kind, all = []]) => [kind, all.length])
    expect(Object.fromEntries(counts)).toEqual({
      CustomResourceDefinition: 5,
      Namespace: 2,
      ConfigMap: 1,
      ValidatingAdmissionPolicy: 3,
      ValidatingAdmissionPolicyBinding: 3,
    })
  })

  it('refuses a value that it does not know, and the namespace that it makes itself', async () => {
    expect(await refusalOf(helm('template', ...RELEASED_AS, chart, '--set', 'relicas=3'))).toMatch(/relicas/)
    expect(await refusalOf(helm('template', ...RELEASED_AS, chart, '--set', 'image=operator'))).toMatch(/image/)
    const there = ['open-terrain', '--namespace', 'sync-operator']
    expect(await refusalOf(helm('template', ...there, chart))).toMatch(
      /makes its namespace sync-operator itself: install the release in another one/,
    )
  })

  it('is installed, upgraded with its kinds, removed without data, and installed again', async () => {
    await helm('install', ...RELEASED_AS, chart, '--dry-run=server')
    await helm('install', ...RELEASED_AS, chart, '--set-string', 'policy.concurrency=8')
    // A key that the values no longer have goes, also the last one.
    expect((await stored(POLICY)).data).toEqual({ concurrency: '8' })
    await helm('upgrade', ...RELEASED_AS, chart, '--reset-values')
    expect((await stored(POLICY)).data).toBeUndefined()
    const first = await stored(CRD)
    const edited = { ...(await stored(POLICY)), data: { concurrency: '6' } }
    expect((await controlPlane.request('PUT', POLICY, edited)).status).toBe(200)

    const later = [...chartFiles(MANIFESTS, IMAGE)].map(
      ([file, text]) => [file, text.replaceAll('maxLength: 253', 'maxLength: 250')] as const,
    )
    const next = await written('next', new Map(later))
    await helm('upgrade', ...RELEASED_AS, next, '--set', `image=${OTHER_IMAGE}`)
    expect((await stored(CRD)).metadata).toMatchObject({ uid: first.metadata.uid, generation: 2 })
    expect((await stored(POLICY)).data).toEqual({ concurrency: '6' })
    expect((await stored(DEPLOYMENT)).spec.template.spec.containers[0].image).toBe(OTHER_IMAGE)

    await helm('uninstall', ...RELEASED_AS)
    expect((await controlPlane.request('GET', DEPLOYMENT)).status).toBe(404)
    expect((await stored(CRD)).metadata).toEqual(expect.objectContaining({ uid: first.metadata.uid }))
    expect((await stored(CRD)).metadata.deletionTimestamp).toBeUndefined()
    expect((await stored(POLICY)).data).toEqual({ concurrency: '6' })
    for (const name of ['sync-operator', 'vmdi-farm'])
      expect((await stored(`/api/v1/namespaces/${name}`)).status.phase).toBe('Active')

    await helm('install', ...RELEASED_AS, chart)
    expect((await stored(CRD)).metadata.uid).toBe(first.metadata.uid)
    expect((await stored(DEPLOYMENT)).spec.template.spec.containers[0].image).toBe(IMAGE)
  })

  it.runIf(HAS_KUBECTL)('takes over what the file of the release has installed, where it is told to', async () => {
    await helm('uninstall', ...RELEASED_AS)
    const file = join(folder, RELEASED_FILE)
    await writeFile(file, releasedManifest(MANIFESTS))
    const env = { ...process.env, KUBECONFIG: controlPlane.kubeconfigPath }
    await run('kubectl', ['apply', '-f', file], { env, maxBuffer: 64 * 1024 * 1024 })
    expect(await refusalOf(helm('install', ...RELEASED_AS, chart))).toMatch(/invalid ownership metadata/)
    const { uid } = (await stored(DEPLOYMENT)).metadata
    await helm('install', ...RELEASED_AS, chart, '--take-ownership')
    expect((await stored(DEPLOYMENT)).metadata.uid).toBe(uid)
    const upgrade = ['upgrade', ...RELEASED_AS, chart, '--set', `image=${OTHER_IMAGE}`]
    expect(await refusalOf(helm(...upgrade))).toMatch(/conflict with "kubectl-client-side-apply"/)
    await helm(...upgrade, '--force-conflicts')
    expect((await stored(DEPLOYMENT)).spec.template.spec.containers[0].image).toBe(OTHER_IMAGE)
  })
})

/** Without annotations that are none. */
function withoutEmpty(object: KubeObject): unknown {
  return JSON.parse(
    JSON.stringify(object, (key, value) =>
      key === 'annotations' && Object.keys(value ?? {}).length === 0 ? undefined : value,
    ),
  )
}
