import { render, VMDiskImage } from '@open-terrain/constructs'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { runMocked, settledValue } from './mocked-stack.fixtures.ts'
import { Rendered, type RenderedArgs } from './rendered.ts'
import { failureOf } from './settled.ts'

const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'labs' } }
const OTHER_NAMESPACE = { ...NAMESPACE, metadata: { name: 'others' } }
const CONFIG = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'notes', namespace: 'labs' }, data: { a: 'b' } }
const [IMAGE] = render((chart) => {
  const metadata = { name: 'ubuntu', namespace: 'labs' }
  new VMDiskImage(chart, 'ubuntu', { metadata, url: 'https://images.example/ubuntu.qcow2' })
}) as [object]

const TRUE = (type: string) => ({ type, status: 'True' })
const READY = { phase: 'Succeeded', conditions: [TRUE('Settled'), TRUE('Ready')] }
const FAILED = {
  phase: 'Failed',
  reason: 'NotFound',
  message: 'the source answered 404; correct spec.url',
  conditions: [TRUE('Settled'), { type: 'Ready', status: 'False' }],
}

async function applied(args: RenderedArgs, status?: unknown) {
  let rendered: Rendered | undefined
  const stack = await runMocked(
    async () => {
      rendered = new Rendered('team', args)
    },
    (kind) => (kind === 'VMDiskImage' ? status : undefined),
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
  beforeEach(() => {
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
    const { objects } = await applied({ objects: list }, READY)
    const isNamespace = ({ type }: (typeof objects)[number]) => type.endsWith(':Namespace')
    const namespaces = objects.filter(isNamespace).map(({ urn }) => urn)
    expect(namespaces).toHaveLength(2)
    for (const one of objects) expect(one.dependsOn.toSorted()).toEqual(isNamespace(one) ? [] : namespaces.toSorted())
  })

  it('makes a resource of each object, in its namespace when that is there', async () => {
    const { objects } = await applied({ objects: [NAMESPACE, CONFIG, IMAGE] }, READY)
    expect(objects.map(({ type, name }) => [type, name])).toEqual([
      ['kubernetes:core/v1:Namespace', 'team/namespace/labs'],
      ['kubernetes:core/v1:ConfigMap', 'team/configmap/labs/notes'],
      ['kubernetes:pelotech.ot/v1alpha1:VMDiskImage', 'team/vmdiskimage/labs/ubuntu'],
    ])
    const [namespace, ...inside] = objects
    for (const { dependsOn } of inside) expect(dependsOn).toContain(namespace?.urn)
  })

  it('waits for objects of our kinds alone, and says which are ready', async () => {
    const { objects, ready } = await applied({ objects: [CONFIG, IMAGE], timeout: '20m' }, READY)
    const waits = objects.map(({ inputs, createTimeout }) => {
      const { annotations } = inputs['metadata'] as { annotations?: object }
      return [annotations, createTimeout]
    })
    expect(waits).toEqual([
      [undefined, undefined],
      [{ 'pulumi.com/waitFor': 'condition=Settled' }, '20m'],
    ])
    expect(await settledValue(ready)).toEqual(['labs/ubuntu'])
    expect(errors).toEqual([])
  })

  it('leaves them as they are where nobody waits', async () => {
    const { objects } = await applied({ objects: [IMAGE], isAwaited: false }, FAILED)
    expect(objects.map(({ inputs }) => inputs)).toEqual([IMAGE])
    expect(errors).toEqual([])
  })

  it('fails with the message of what has failed', async () => {
    await applied({ objects: [IMAGE] }, FAILED)
    const message = 'VMDiskImage labs/ubuntu has failed: NotFound: the source answered 404; correct spec.url'
    // Several outputs may throw the same error; Pulumi reports it once.
    await vi.waitFor(() => expect([...new Set(errors)].map(String)).toEqual([expect.stringContaining(message)]))
  })

  it('refuses objects without a name', () => {
    const build = () => new Rendered('team', { objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }] })
    expect(build).toThrow('team: an object (kind ConfigMap) lacks apiVersion, kind or metadata.name')
  })
})

describe('failureOf', () => {
  const object = { ...NAMESPACE, apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace' }

  it.each<[string, unknown, RegExp | undefined]>([
    ['nothing yet', undefined, undefined],
    ['what is not settled', { ...FAILED, conditions: [{ type: 'Ready', status: 'False' }] }, undefined],
    ['what is ready', READY, undefined],
    [
      'a refresh that failed while the disk of before serves',
      { ...READY, phase: 'Failed' },
      /^Workspace labs has failed: /,
    ],
    ['a failure without words', { conditions: [TRUE('Settled')] }, /^Workspace labs has failed: it does not say why/],
  ])('judges %s', (_, status, failure) => {
    if (failure === undefined) expect(failureOf(object, status)).toBeUndefined()
    else expect(failureOf(object, status)).toMatch(failure)
  })
})
