import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { INSTALLATION_PARTS, renderInstallation } from '@open-terrain/constructs/platform'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { CHART } from './chart.ts'
import { installationProps, parseConfig } from './config.ts'
import { environmentManifests, leftOut, RELEASE, RELEASED_FILE, releasedManifest } from './manifests.ts'
import about from './package.json' with { type: 'json' }
import { readStackFile } from './stack-files.ts'

const ROOT = join(import.meta.dirname, '..')
const IMAGE = `registry.example/open-terrain/operator@sha256:${'a'.repeat(64)}`
const FILES = ['1-crds.yaml', '2-namespaces.yaml', '3-install.yaml']
/** Tools and people have to read them. The API server takes 3 MB, and `kubectl apply` without `--server-side` 256 KiB. */
const CRD_BYTES_MAX = 200_000
/** The limit of Kubernetes for all annotations of an object together, keys and values. */
const ANNOTATIONS_BYTES_MAX = 262_144
/** Files of an environment of ours: in dev nobody is to be alerted. */
const filesOf = (environment: string) => (environment === 'dev' ? FILES : [...FILES, '4-monitoring.yaml'])

interface KubeManifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: object }
  readonly spec?: { readonly names?: { readonly kind: string } }
  readonly data?: object
}

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'open-terrain-synth-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function synth(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { OPERATOR_IMAGE: _image, CDK8S_OUTDIR: _outdir, ...rest } = process.env
  const command = [join(import.meta.dirname, 'synth.ts'), ...args, '--output', join(folder, 'dist')]
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    env: { ...rest, ...env },
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

/** Returns the .yaml files in a folder and its subfolders, by path. */
function contents(name: string): Record<string, string> {
  const paths = readdirSync(join(folder, name), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.yaml'),
  )
  return Object.fromEntries(paths.sort().map((path) => [path, readFileSync(join(folder, name, path), 'utf8')]))
}

const objectsOf = (content = '') => parseAllDocuments(content).map((document) => document.toJS())

describe('npm run synth', () => {
  it('writes the same bytes for every environment each time, and for cdk8s a second time, beside the built operator', () => {
    const outdir = join(folder, 'cdk8s')
    expect(synth([], { OPERATOR_IMAGE: IMAGE })).toMatchObject({ status: 0, stderr: '' })
    const first = contents('dist')
    const folders = ['dev', 'production', RELEASE, 'staging'].flatMap((name) =>
      filesOf(name).map((file) => join(name, file)),
    )
    const chart = join('chart', CHART)
    expect(Object.keys(first).filter((path) => !path.startsWith(chart))).toEqual([...folders, RELEASED_FILE].sort())
    expect(first[join(chart, 'Chart.yaml')]).toContain(`version: ${about.version}`)
    writeFileSync(join(folder, 'dist/operator.mjs'), 'built')
    expect(synth([], { OPERATOR_IMAGE: IMAGE, CDK8S_OUTDIR: outdir }).status).toBe(0)
    expect(contents('dist')).toEqual(first)
    expect(contents('cdk8s')).toEqual(first)
    expect(readFileSync(join(folder, 'dist/operator.mjs'), 'utf8')).toBe('built')
  })

  it('removes what an earlier version wrote under another name, and nothing else', () => {
    expect(synth(['dev'], { OPERATOR_IMAGE: IMAGE }).status).toBe(0)
    const written = contents('dist')
    const [older, own] = ['install.yaml', 'own.yaml'].map((name) => join(folder, 'dist/dev', name)) as [string, string]
    writeFileSync(older, written['dev/3-install.yaml'] ?? '')
    writeFileSync(own, 'kind: ConfigMap')
    expect(synth(['dev'], { OPERATOR_IMAGE: IMAGE }).status).toBe(0)
    expect(contents('dist')).toEqual({ ...written, 'dev/own.yaml': 'kind: ConfigMap' })
  })

  it('writes the environments that are named alone, and that they take over what another owner installed', () => {
    expect(synth(['staging'], { OPERATOR_IMAGE: IMAGE }).status).toBe(0)
    expect(readdirSync(join(folder, 'dist'))).toEqual(['staging'])
    expect(JSON.stringify(contents('dist'))).not.toContain('adopted-by: ')
    expect(synth(['staging', '--adopt'], { OPERATOR_IMAGE: IMAGE }).status).toBe(0)
    expect(JSON.stringify(contents('dist'))).toContain('pelotech.ot/adopted-by: manifests/staging')
  })

  it.each([
    [
      [],
      {},
      /^dev: the operator's container image is not named: run OPERATOR_IMAGE=.* npm run synth, or set open-terrain:image in Pulumi[.]dev[.]yaml\n$/,
    ],
    [['production'], { OPERATOR_IMAGE: '' }, /^production: the operator's container image is not named/],
    [
      ['dev'],
      { OPERATOR_IMAGE: 'open-terrain:1' },
      /^dev: .*\n {2}open-terrain:image: "open-terrain:1" must name its registry/,
    ],
    [
      ['prod'],
      { OPERATOR_IMAGE: IMAGE },
      /^prod: there is no Pulumi[.]prod[.]yaml, name one of dev, production, staging, release\n$/,
    ],
  ])('with %j and %j says what to do, and writes nothing', (args, env, message) => {
    const { status, stderr } = synth(args, env)
    expect(status).toBe(1)
    expect(stderr).toMatch(message)
    expect(readdirSync(folder)).toEqual([])
  })
})

describe('environmentManifests', () => {
  it.each(['dev', 'staging', 'production'])('are the objects that Pulumi applies: %s', (environment) => {
    const files = environmentManifests({ folder: ROOT, environment, image: IMAGE })
    expect([...files.keys()]).toEqual(filesOf(environment))
    const values = { ...readStackFile(ROOT, environment), image: IMAGE }
    const owner = { name: `manifests/${environment}` }
    const installation = renderInstallation({ ...installationProps(parseConfig(values)), owner })
    expect([...files.values()].flatMap(objectsOf)).toEqual(INSTALLATION_PARTS.flatMap((part) => installation[part]))
  })

  it('say on the CRDs, the policy and the operator whose they are, and differ in nothing else if they take it over', () => {
    const of = (adopt: boolean) =>
      [...environmentManifests({ folder: ROOT, environment: 'staging', image: IMAGE, adopt }).values()].flatMap(
        objectsOf,
      )
    const marked = of(false).filter(({ metadata }) => metadata.annotations?.['pelotech.ot/installed-by'] !== undefined)
    const crds = Array<string>(5).fill('CustomResourceDefinition')
    expect(marked.map(({ kind }) => kind)).toEqual([...crds, 'ConfigMap', 'Deployment'])
    expect(new Set(marked.map(({ metadata }) => metadata.annotations['pelotech.ot/installed-by']))).toEqual(
      new Set(['manifests/staging']),
    )
    const taken = of(true)
    const adopted = taken.filter(({ metadata }) => metadata.annotations?.['pelotech.ot/adopted-by'] !== undefined)
    expect(adopted.map(({ kind }) => kind)).toEqual(marked.map(({ kind }) => kind))
    for (const { metadata } of adopted) {
      expect(metadata.annotations['pelotech.ot/adopted-by']).toBe('manifests/staging')
      delete metadata.annotations['pelotech.ot/adopted-by']
    }
    expect(taken).toEqual(of(false))
  })

  it('have CRDs of less than 200 KB each', () => {
    const crds =
      environmentManifests({ folder: ROOT, environment: 'production', image: IMAGE }).get('1-crds.yaml') ?? ''
    const sizes = crds.split('---\n').map((one) => Buffer.byteLength(one))
    expect(sizes.length).toBeGreaterThan(4)
    expect(Math.max(...sizes)).toBeLessThan(CRD_BYTES_MAX)
  })

  it('keep what is to stay apart from what is removed with the operator', () => {
    const files = environmentManifests({ folder: ROOT, environment: 'production', image: IMAGE })
    const kinds = FILES.map((file) => new Set(objectsOf(files.get(file)).map(({ kind }) => kind)))
    // Together with the policies that refuse their deletion.
    const guard = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding']
    expect(kinds[0]).toEqual(new Set(['CustomResourceDefinition', ...guard]))
    expect(kinds[1]).toEqual(new Set(['Namespace', ...guard]))
    expect([...(kinds[2] ?? [])]).not.toEqual(expect.arrayContaining(['Namespace']))
    expect([...(kinds[2] ?? [])]).not.toEqual(expect.arrayContaining(['CustomResourceDefinition']))
  })

  it('take the image of the stack file where none is given, with the Secrets to pull it, and say their version', () => {
    writeFileSync(join(folder, 'Pulumi.yaml'), 'name: open-terrain\n')
    const pull = 'open-terrain:imagePullSecrets: [registry]'
    writeFileSync(join(folder, 'Pulumi.lab.yaml'), `config:\n  open-terrain:image: ${IMAGE}\n  ${pull}\n`)
    const install = objectsOf(environmentManifests({ folder, environment: 'lab' }).get('3-install.yaml'))
    const deployment = install.find(({ kind }) => kind === 'Deployment')
    expect(deployment.spec.template.spec.containers[0].image).toBe(IMAGE)
    expect(deployment.spec.template.spec.imagePullSecrets).toEqual([{ name: 'registry' }])
    expect(deployment.metadata.labels['app.kubernetes.io/version']).toBe(about.version)
  })

  it('leave images and Secrets of a stack out, and say so', () => {
    const [images, secrets] = ['open-terrain:images: { a: { url: b } }', 'open-terrain:secrets: { c: { secure: d } }']
    writeFileSync(join(folder, 'Pulumi.yaml'), 'name: open-terrain\n')
    writeFileSync(join(folder, 'Pulumi.lab.yaml'), `config:\n  ${images}\n  ${secrets}\n`)
    expect(leftOut(folder, 'lab')).toMatch(/^the files have nothing of open-terrain:images and open-terrain:secrets, /)
    writeFileSync(join(folder, 'Pulumi.lab.yaml'), 'config:\n  open-terrain:images: {}\n')
    expect(leftOut(folder, 'lab')).toBeUndefined()
  })

  it('have a file of their own for scraping and alerts, where a stack asks for them', () => {
    const monitoring = 'open-terrain:monitoring: { enabled: true }'
    writeFileSync(join(folder, 'Pulumi.yaml'), 'name: open-terrain\n')
    writeFileSync(join(folder, 'Pulumi.lab.yaml'), `config:\n  open-terrain:image: ${IMAGE}\n  ${monitoring}\n`)
    const files = environmentManifests({ folder, environment: 'lab' })
    expect([...files.keys()]).toEqual([...FILES, '4-monitoring.yaml'])
    const kinds = objectsOf(files.get('4-monitoring.yaml')).map(({ kind }) => kind)
    expect(kinds).toEqual(expect.arrayContaining(['PodMonitor', 'PrometheusRule']))
  })
})

describe('what is released', () => {
  const files = environmentManifests({ folder: ROOT, environment: RELEASE, image: IMAGE })
  const objects: KubeManifest[] = objectsOf(releasedManifest(files))
  const nameOf = ({ kind, metadata }: KubeManifest) => `${kind} ${metadata.name}`

  it('is in one file what its folder has, in the same order, without what needs the Prometheus operator', () => {
    expect([...files.keys()]).toEqual([...FILES, '4-monitoring.yaml'])
    expect(objects).toEqual(FILES.flatMap((file) => objectsOf(files.get(file))))
    expect(releasedManifest(files).split('\n')[0]).toMatch(/Do not delete by it: use 3-install[.]yaml[.]/)
  })

  it('is the installation with the defaults of every key, but the policy has none, stays when Argo CD or Flux removes the rest, and comes last', () => {
    const owner = { name: 'manifests/release' }
    const installation = renderInstallation({ ...installationProps(parseConfig({ image: IMAGE })), owner })
    const [policy] = installation.policy
    const { data, metadata, ...rest } = policy as KubeManifest
    expect(Object.keys(data ?? {})).not.toEqual([])
    const parts = (['crds', 'namespaces', 'access', 'operator'] as const).flatMap((part) => installation[part])
    const kept = {
      'argocd.argoproj.io/sync-options': 'Prune=false,Delete=false',
      'kustomize.toolkit.fluxcd.io/prune': 'disabled',
    }
    const annotations = { ...metadata.annotations, ...kept }
    expect(objects).toEqual([...parts, { ...rest, metadata: { ...metadata, annotations } }])
  })

  it('has no object whose kind it installs, or that a cluster may not serve, and each after its namespace', () => {
    const own = objects.flatMap(({ kind, spec }) => (kind === 'CustomResourceDefinition' ? [spec?.names?.kind] : []))
    expect(own).toHaveLength(5)
    const groups = objects.map(({ apiVersion }) => apiVersion.split('/')[0] ?? '')
    expect(groups.filter((group) => /[.]/.test(group) && !group.endsWith('.k8s.io'))).toEqual([])
    expect(objects.map(({ kind }) => kind)).not.toEqual(expect.arrayContaining(own))
    const names = objects.map(nameOf)
    for (const [at, { metadata }] of objects.entries())
      if (metadata.namespace !== undefined)
        expect(names.slice(0, at), nameOf(objects[at] as KubeManifest)).toContain(`Namespace ${metadata.namespace}`)
    expect(new Set(names.map((name, at) => `${name} ${objects[at]?.metadata.namespace}`)).size).toBe(names.length)
  })

  it('fits, object by object, into the annotation in which kubectl keeps what it applied last', () => {
    for (const object of objects) {
      const { annotations = {} } = object.metadata
      // kubectl writes JSON and a line end.
      const kept = ['kubectl.kubernetes.io/last-applied-configuration', `${JSON.stringify(object)}\n`]
      const bytes = Buffer.byteLength([...Object.entries(annotations).flat(), ...kept].join(''))
      expect(bytes, nameOf(object)).toBeLessThan(ANNOTATIONS_BYTES_MAX)
    }
  })
})

describe('cdk8s.yaml', () => {
  it('has a folder of its own, which the cdk8s command may empty', () => {
    const { app, output } = parse(readFileSync(join(ROOT, 'cdk8s.yaml'), 'utf8'))
    expect({ app, output }).toEqual({ app: 'node tooling/run.mjs synth', output: 'dist/cdk8s' })
  })
})
