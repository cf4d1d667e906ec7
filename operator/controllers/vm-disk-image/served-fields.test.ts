import { expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../test/prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { CUSTOM_RESOURCE_DEFINITION, DATA_VOLUME } from '../../kube/resource-types.ts'
import { RuntimeMetrics } from '../../runtime/metrics.ts'
import { Store, type Stored } from '../../runtime/store.ts'
import { droppedFields, ServedFields } from './served-fields.ts'

const NAME = 'datavolumes.cdi.kubevirt.io'
const text = { type: 'string' }
const schemaOf = (openAPIV3Schema: object | undefined, name = 'v1beta1') => {
  const versions = [{ name, schema: openAPIV3Schema && { openAPIV3Schema } }]
  return { metadata: { name: NAME }, spec: { versions } } as unknown as KubeObject
}
const properties = { a: { properties: { b: text } }, list: { items: { properties: { c: text } } }, blank: {} }

it.each<[string, object | undefined, readonly string[]]>([
  ['what a schema does not have', { properties }, ['a.x', 'list.x', 'blank.x', 'constructor']],
  ['nothing where all is kept', { 'x-kubernetes-preserve-unknown-fields': true }, []],
  ['nothing of a map', { additionalProperties: { properties: { b: {}, c: {}, x: {} } } }, []],
  ['nothing without a schema', undefined, []],
])('%s is dropped', (_name, schema, expected) => {
  const fields = ['a.b', 'a.x', 'list.c', 'list.x', 'blank.x', 'constructor']
  const dropped = droppedFields(schemaOf(schema && { type: 'object', ...schema }), 'v1beta1', fields)
  expect([...dropped].filter((field) => field !== 'constructor' || expected.length > 0)).toEqual(expected)
})

function build() {
  const client = new ScriptedClient()
  const definitions = new Store<Stored>()
  const read: string[] = []
  const fields = new ServedFields({
    ...{ client, clock: client.clock, log: fakeLog(), random: () => 0.5 },
    runtimeMetrics: new RuntimeMetrics(),
    definitions,
    type: DATA_VOLUME,
    fields: ['spec.old', 'spec.new'],
    onRead: () => read.push('read'),
  })
  void fields.run(new AbortController().signal)
  fields.listen()
  const serve = (...names: string[]) => {
    const spec = { properties: Object.fromEntries(names.map((name) => [name, text])) }
    const { spec: definition } = schemaOf({ properties: { spec } }) as unknown as { spec: object }
    client.cluster.admin.mergePatch(CUSTOM_RESOURCE_DEFINITION, { name: NAME }, { spec: definition })
  }
  const seen = (resourceVersion: string) => definitions.put({ metadata: { name: NAME, resourceVersion } })
  return { client, fields, read, serve, seen }
}

it('the fields of a kind are read once for each version of its definition', async () => {
  const { client, fields, read, serve, seen } = build()
  expect(fields.dropped).toEqual(new Set())
  serve('old')
  seen('5')
  expect([fields.dropped, fields.dropped]).toEqual([undefined, undefined])
  await settled()
  expect(fields.dropped).toEqual(new Set(['spec.new']))
  serve('old', 'new')
  seen('6')
  await settled()
  expect(fields.dropped).toEqual(new Set())
  expect(read).toHaveLength(2)
  expect(client.callsOf()).toHaveLength(2)
})

it('what may not be read is taken for complete', async () => {
  const { client, fields, seen } = build()
  client.before = () => {
    throw apiError('Rejected')
  }
  seen('5')
  await settled()
  expect(fields.dropped).toEqual(new Set())
})
