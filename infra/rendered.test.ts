import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { plainText, render, VMDiskImage, Workspace } from '@open-terrain/constructs'
import { isSecret, output, RunError, secret } from '@pulumi/pulumi'
import { App, Chart } from 'cdk8s'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runMocked, settledValue } from '../test/prepared/infra/mocked-stack.ts'
import { Rendered, type RenderedArgs } from './rendered.ts'

const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'labs' } }
const OTHER_NAMESPACE = { ...NAMESPACE, metadata: { name: 'others' } }
const CONFIG = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'notes', namespace: 'labs' }, data: { a: 'b' } }
const [IMAGE] = render((chart) => {
  const metadata = { name: 'ubuntu', namespace: 'labs' }
  new VMDiskImage(chart, 'ubuntu', { metadata, url: 'https://images.example/ubuntu.qcow2' })
}) as [object]

const UID = 'of-pulumi'
const TRUE = (type: string) => ({ type, status: 'True' })
const READY = { phase: 'Succeeded', observedGeneration: 1, conditions: [TRUE('Settled'), TRUE('Ready')] }
const SYNCING = { phase: 'Syncing', observedGeneration: 1, conditions: [] }
const FAILED = {
  phase: 'Failed',
  reason: 'NotFound',
  message: 'the source answered 404; correct spec.url',
  observedGeneration: 1,
  conditions: [TRUE('Settled'), { type: 'Ready', status: 'False' }],
}

/** An API server that has one image with this status, or none, and nothing else. */
async function serving(status?: object) {
  const paths: string[] = []
  const server = createServer(({ url = '', headers }, response) => {
    paths.push(url)
    const isFound = status !== undefined && url === '/apis/pelotech.ot/v1alpha1/namespaces/labs/vmdiskimages/ubuntu'
    const mayRead = headers.authorization === 'Bearer of-the-test'
    response.statusCode = mayRead ? (isFound ? 200 : 404) : 401
    response.end(JSON.stringify({ metadata: { uid: UID, generation: 1 }, status, message: 'no such object' }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const kubeconfig = `
clusters: [{ name: one, cluster: { server: "http://127.0.0.1:${port}/", insecure-skip-tls-verify: true } }]
users: [{ name: one, user: { token: of-the-test } }]
contexts: [{ name: here, context: { cluster: one, user: one } }]
`
  return { kubeconfig, paths, [Symbol.asyncDispose]: async () => void server.close() }
}

async function applied(args: RenderedArgs, isPreview = false) {
  let rendered: Rendered | undefined
  const stack = await runMocked(
    async () => {
      rendered = new Rendered('team', args)
    },
    { uidOf: (kind) => (kind === 'VMDiskImage' && args.kubeconfig !== undefined ? UID : undefined), isPreview },
  )
  return { ...stack, ready: (rendered as Rendered).ready }
}

describe('Rendered', () => {
  const errors: unknown[] = []
  const keep = (error: unknown) => errors.push(error)
  const others = process.listeners('unhandledRejection')

  // A Pulumi program that learns of a failure from a resource fails this way: Pulumi's own runner listens here.
  beforeAll(() => {
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', keep)
  })
  beforeEach(async () => {
    // Node tells of rejections that nobody handles after the test that made them.
    await setImmediate()
    errors.length = 0
  })
  afterAll(() => {
    process.off('unhandledRejection', keep)
    for (const other of others) process.on('unhandledRejection', other)
  })

  it.each([
    [[NAMESPACE, OTHER_NAMESPACE, CONFIG, IMAGE]],
    [[CONFIG, NAMESPACE, IMAGE, OTHER_NAMESPACE]],
    [[IMAGE, CONFIG, OTHER_NAMESPACE, NAMESPACE]],
  ])('makes namespaces before all else, wherever they are in the list: %#', async (list) => {
    const { objects } = await applied({ objects: list })
    const isNamespace = ({ type }: (typeof objects)[number]) => type.endsWith(':Namespace')
    const namespaces = objects.filter(isNamespace).map(({ urn }) => urn)
    expect(namespaces).toHaveLength(2)
    for (const one of objects) expect(one.dependsOn.toSorted()).toEqual(isNamespace(one) ? [] : namespaces.toSorted())
  })

  it('makes a resource of each object, in its namespace when that is there', async () => {
    const { objects } = await applied({ objects: [NAMESPACE, CONFIG, IMAGE] })
    expect(objects.map(({ type, name }) => [type, name])).toEqual([
      ['kubernetes:core/v1:Namespace', 'team/namespace/labs'],
      ['kubernetes:core/v1:ConfigMap', 'team/configmap/labs/notes'],
      ['kubernetes:pelotech.ot/v1alpha1:VMDiskImage', 'team/vmdiskimage/labs/ubuntu'],
    ])
    const [namespace, ...inside] = objects
    for (const { dependsOn } of inside) expect(dependsOn).toContain(namespace?.urn)
  })

  it('waits for objects of our kinds alone, which the provider does not, and says which are ready', async () => {
    await using server = await serving(READY)
    const access = { kubeconfig: secret(server.kubeconfig), context: 'here' }
    const { objects, ready } = await applied({ objects: [CONFIG, IMAGE], timeout: '20m', ...access })
    const annotations = objects.map(({ inputs }) => (inputs['metadata'] as { annotations?: object }).annotations)
    expect(annotations).toEqual([undefined, { 'pulumi.com/skipAwait': 'true' }])
    expect(await settledValue(ready)).toEqual(['labs/ubuntu'])
    expect(await isSecret(ready)).toBe(false)
    expect(server.paths).toHaveLength(1)
    expect(errors).toEqual([])
  })

  it.each<[string, Partial<RenderedArgs>, boolean]>([
    ['in a preview', {}, true],
    ['where nobody waits', { isAwaited: false }, false],
  ])('asks no API server %s', async (_, args, isPreview) => {
    await using server = await serving(FAILED)
    const { kubeconfig } = server
    const { objects } = await applied({ objects: [IMAGE], kubeconfig, context: 'here', ...args }, isPreview)
    if (args.isAwaited === false) expect(objects.map(({ inputs }) => inputs)).toEqual([IMAGE])
    expect(server.paths).toEqual([])
    expect(errors).toEqual([])
  })

  it('asks none about objects that the provider did not apply', async () => {
    const { ready } = await applied({ objects: [IMAGE] })
    expect(await settledValue(ready)).toEqual(['labs/ubuntu'])
  })

  it('fails with the message of the one that is lost, and does not wait for others then', async () => {
    await using here = await serving(SYNCING)
    await using there = await serving()
    const args = { objects: [IMAGE], context: 'here' }
    await runMocked(
      async () => {
        new Rendered('waits', { ...args, kubeconfig: here.kubeconfig })
        new Rendered('fails', { ...args, kubeconfig: there.kubeconfig })
      },
      { uidOf: () => UID },
    )
    // Several outputs may throw the same error; Pulumi reports it once.
    expect([...new Set(errors)].map(String)).toEqual([
      expect.stringContaining('VMDiskImage labs/ubuntu of http://127.0.0.1:'),
    ])
    expect(here.paths.length).toBeGreaterThan(0)
  })

  it.each<[string, Partial<RenderedArgs>, string]>([
    ['without that context', { context: 'there' }, 'the kubeconfig has no context there, so objects cannot be awaited'],
    ['that is none', { kubeconfig: '{ hush\n', context: 'here' }, 'the kubeconfig cannot be read'],
  ])('fails at once with a kubeconfig %s, and shows nothing of it', async (_, args, message) => {
    await using server = await serving(READY)
    await applied({ objects: [IMAGE], kubeconfig: server.kubeconfig, ...args })
    await expect.poll(() => [...new Set(errors)].map(String)).toEqual([expect.stringContaining(message)])
    expect(errors.map(String).join()).not.toContain('hush')
  })

  it.each<[string, unknown, string]>([
    ['without a name', [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }], 'an object (kind ConfigMap) lacks'],
    ['whose name is an output', [{ ...CONFIG, metadata: { name: output('a') } }], 'an object (kind ConfigMap) lacks'],
    ['that are outputs', [output(CONFIG)], 'an object lacks apiVersion'],
    ['in an output', output([CONFIG]), 'objects is no list that is known at once'],
    ['that are nothing', undefined, 'objects is no list that is known at once'],
  ])('refuses objects %s', (_, objects, message) => {
    const build = () => new Rendered('team', { objects: objects as object[] })
    expect(build).toThrow(`team: ${message}`)
    expect(build).toThrow(RunError)
  })

  it('renders constructs, and tells every problem of their app', async () => {
    const chart = new Chart(new App(), 'labs')
    const image = new VMDiskImage(chart, 'ubuntu', {
      metadata: { name: 'ubuntu', namespace: 'labs' },
      url: 'https://images.example/ubuntu.qcow2',
    })
    const { objects } = await applied({ objects: [image], isAwaited: false })
    expect(objects.map(({ inputs }) => inputs)).toEqual([IMAGE])
    const one = new Workspace(chart, 'one', { powerState: 'Off' as 'Halted' })
    new Workspace(chart, 'Two')
    const build = () => new Rendered('team', { objects: [one] })
    expect(build).toThrow(/^labs\/one: [\s\S]*spec.powerState: [\s\S]*labs\/Two: /)
    expect(build).toThrow(RunError)
  })

  it('takes outputs of other resources in all other fields', async () => {
    const { objects } = await applied({ objects: [{ ...CONFIG, data: { a: output(Promise.resolve('late')) } }] })
    expect(objects.map(({ inputs }) => inputs['data'])).toEqual([{ a: 'late' }])
  })

  it('takes them by a text that stands for each, which constructs can check', async () => {
    const url = 'https://of-another-resource.example/disk.qcow2'
    const [image] = render((chart) => new VMDiskImage(chart, 'a', { metadata: { name: 'a', namespace: 'labs' }, url }))
    const outputs = { [url]: secret('https://images.example/late.qcow2'), other: output('text') }
    const { objects } = await applied({
      objects: [image as object, { ...CONFIG, data: { a: ['other', 'others'] } }],
      outputs,
    })
    const [late, config] = ['vmdiskimage/labs/a', 'configmap/labs/notes'].map((name) =>
      objects.find((one) => one.name === `team/${name}`),
    )
    const encrypted = {
      '4dabf18193072939515e22adb298388d': expect.any(String),
      value: 'https://images.example/late.qcow2',
    }
    expect(late).toMatchObject({ sent: { spec: { url: encrypted } }, secretOutputs: ['spec', '__inputs'] })
    expect(config?.inputs['data']).toEqual({ a: ['text', 'others'] })
    expect(() => new Rendered('team', { objects: [CONFIG], outputs })).toThrow(
      `team: outputs has "${url}", and no field`,
    )
  })

  it('refuses a timeout that is none', () => {
    expect(() => new Rendered('team', { objects: [], timeout: '6 hours' })).toThrow(
      'team: timeout 6 hours is no duration',
    )
  })

  it('begins when what is given to it is there', async () => {
    const events: string[] = []
    const { objects } = await runMocked(async () => {
      const first = new Rendered('first', { objects: [NAMESPACE] })
      const later = first.ready.apply(() => {
        events.push('ready')
        return first.resources
      })
      new Rendered('second', { objects: [CONFIG], after: later })
    })
    expect(events).toEqual(['ready'])
    expect(objects.map(({ name, dependsOn }) => [name, dependsOn])).toEqual([
      ['first/namespace/labs', []],
      ['second/configmap/labs/notes', [objects[0]?.urn]],
    ])
  })
})

it('an Output in a construct is one sentence with its place and what to do', () => {
  const build = (chart: Chart) => {
    const lab = new Workspace(chart, 'lab')
    const users = [{ name: 'u', password: plainText(secret('hush') as never) }]
    lab.addVm('v', { image: output('x') as never, cpu: 1, memory: output('1Gi') as never, users })
    lab.addContainers('c').add('x', { image: 'web:1', env: { A: secret('hush') as never } })
  }
  let lines: string[] = []
  try {
    render(build)
  } catch (error) {
    lines = String(error).split('\n  ').slice(1)
  }
  expect(
    lines.map((line) =>
      line
        .match(/\((spec\S+)\): is an Output|(spec\S+): is an Output/)
        ?.slice(1)
        .join(''),
    ),
  ).toEqual([
    'spec.vms[0].backingVMDiskImage',
    'spec.vms[0].resources.memory',
    'spec.vms[0].users[0].plain_text_passwd',
    'spec.containerClusters[0].containers[0].env[0].valueFrom',
  ])
  expect(lines[0]).toContain('give the Output by that text in outputs of Rendered')
})
