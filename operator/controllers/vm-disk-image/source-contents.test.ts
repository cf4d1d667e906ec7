import { describe, expect, it } from 'vitest'
import { apiError } from '../../../test/prepared/kube/api-error.ts'
import { settled } from '../../../test/prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { SECRET } from '../../kube/resource-types.ts'
import { RuntimeMetrics } from '../../runtime/metrics.ts'
import { Store, type Stored } from '../../runtime/store.ts'
import { SourceContents, viewCertificates, viewSecretContent } from './source-contents.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')
const secret = (data: Record<string, string>, type = 'Opaque') =>
  ({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'team', name: 's' }, type, data }) as KubeObject
const configMap = (content: object) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, ...content })
const PEM = 'A certificate:\n-----BEGIN CERTIFICATE-----\nMIIB+/=\n-----END CERTIFICATE-----\n'

describe('the content of a Secret', () => {
  it('is which keys it has, and what their values are', () => {
    const data = { accessKeyId: '', secretKey: base64('abc'), 'credentials.json': base64(' {"a": 1}'), other: 'eA==' }
    const keys = { accessKeyId: 'empty', secretKey: 'text', 'credentials.json': 'JSON' }
    expect(viewSecretContent(secret(data))).toEqual({ isPullSecret: false, keys })
  })

  it.each(['{"a": ', '[1]', 'abc'])('has no JSON object in %s', (text) => {
    expect(viewSecretContent(secret({ 'credentials.json': base64(text) }))).toMatchObject({
      keys: { 'credentials.json': 'text' },
    })
  })

  it.each(['kubernetes.io/dockerconfigjson', 'kubernetes.io/dockercfg'])('is a pull secret, of type %s', (type) => {
    expect(viewSecretContent(secret({}, type))).toEqual({ isPullSecret: true, keys: {} })
  })
})

describe('the certificates of a ConfigMap', () => {
  it.each<[string, object, string]>([
    ['none, where there is no content', {}, 'none'],
    ['none, where only a key is', { data: { 'ca.crt': PEM.replaceAll('CERTIFICATE', 'PRIVATE KEY') } }, 'none'],
    ['none, under a hidden key', { data: { '.ca.crt': PEM } }, 'none'],
    ['unnamed, under any other key', { data: { bundle: PEM } }, 'unnamed'],
    ['named, under a key of a registry', { data: { bundle: PEM, 'ca.pem': PEM } }, 'named'],
    ['named, in binary data', { binaryData: { 'ca.crt': base64(PEM) } }, 'named'],
  ])('are %s', (_name, content, expected) => {
    expect(viewCertificates(configMap(content))).toBe(expected)
  })
})

/** A Secret in the cache, as the watch of metadata brings it. */
const seen = (resourceVersion: string): Stored => ({ metadata: { namespace: 'team', name: 's', resourceVersion } })

function build() {
  const client = new ScriptedClient('team')
  const secrets = new Store<Stored>()
  const read: string[] = []
  const services = { client, clock: client.clock, log: fakeLog(), random: () => 0.5 }
  const contents = new SourceContents({
    ...services,
    runtimeMetrics: new RuntimeMetrics(),
    secrets,
    configMaps: new Store<Stored>(),
    onRead: ({ kind }, key) => read.push(`${kind} ${key}`),
  })
  void contents.run(new AbortController().signal)
  return { client, contents, secrets, read }
}

describe('a Secret that an image names', () => {
  it('is read when asked for, once for each of its versions, by name, and is not known in between', async () => {
    const { client, contents, secrets, read } = build()
    client.put(secret({}))
    expect(contents.secret('team/s')).toBe('missing')
    secrets.put(seen('5'))
    await settled()
    expect([contents.secret('team/s'), client.callsOf()]).toEqual(['pending', []])
    for (const _again of [1, 2]) contents.read('Secret', 'team/s')
    await settled()
    expect(contents.secret('team/s')).toEqual({ isPullSecret: false, keys: {} })
    client.cluster.admin.mergePatch(SECRET, { namespace: 'team', name: 's' }, { data: { secretKey: base64('k') } })
    secrets.put(seen('6'))
    expect(contents.secret('team/s')).toBe('pending')
    contents.read('Secret', 'team/s')
    await settled()
    expect(contents.secret('team/s')).toEqual({ isPullSecret: false, keys: { secretKey: 'text' } })
    await settled()
    expect(read).toEqual(['Secret team/s', 'Secret team/s'])
    expect(client.callsOf('get')).toEqual(['get Secret team/s', 'get Secret team/s'])
  })

  it.each(['Rejected', 'NotFound'] as const)('does not hold up its image where the answer is %s', async (reason) => {
    const { client, contents, secrets } = build()
    client.before = () => {
      throw apiError(reason)
    }
    secrets.put(seen('5'))
    contents.read('Secret', 'team/s')
    await settled()
    expect(contents.secret('team/s')).toBe('unread')
  })
})
