import { vmDiskImage } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import type { KubeClient, ListOptions } from '../../operator/kube/kube-client.ts'
import type { KubeObject, Raw, ResourceType } from '../../operator/kube/kube-object.ts'
import { ScriptedClient } from '../../test/prepared/kube/scripted-client.ts'
import { putAdoptionRule } from '../../test/prepared/vm-disk-image/adoption.ts'
import { type AdoptOptions, adoptImages } from './adopt-images.ts'
import { OLDER_GROUP } from './plan-adoption.ts'

const API = `${OLDER_GROUP}/v1alpha1`
const SIZE = { resources: { requests: { storage: '24Gi' } }, storageClassName: 'gp3' }

const objectOf = (apiVersion: string, kind: string, metadata: object, more: object) =>
  ({ apiVersion, kind, metadata: { namespace: 'farm', ...metadata }, ...more }) as KubeObject
const urlOf = (name: string) => `https://images.example/${name}.qcow2`

/** An object of the older operator. */
function olderImage(name: string, phase = 'Ready'): KubeObject {
  const spec = { name: 'kali-1.0', url: urlOf(name), sourceType: 's3', diskSize: '24Gi', secretRef: 'creds' }
  return objectOf(API, 'VMDiskImage', { name, uid: `older-${name}` }, { spec, status: { phase } })
}

/** A DataVolume that CDI has filled, with its claim. @param owner name of the older VMDiskImage that it is of */
function putVolume(client: ScriptedClient, name: string, owner?: string): void {
  const ownerReferences =
    owner === undefined ? [] : [{ apiVersion: API, kind: 'VMDiskImage', name: owner, uid: `older-${owner}` }]
  const labels = owner === undefined ? {} : { labels: { owner } }
  const source = { s3: { url: urlOf(owner ?? name) } }
  const volume = objectOf(
    'cdi.kubevirt.io/v1beta1',
    'DataVolume',
    { name, uid: `dv-${name}`, ...labels, ownerReferences },
    {
      spec: { source, pvc: SIZE },
      status: { phase: 'Succeeded' },
    },
  )
  const ofVolume = {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'DataVolume',
    name,
    uid: `dv-${name}`,
    controller: true,
  }
  client.put(volume)
  client.put(
    objectOf(
      'v1',
      'PersistentVolumeClaim',
      { name, uid: `pvc-${name}`, ...labels, ownerReferences: [ofVolume] },
      {
        spec: SIZE,
        status: { phase: 'Bound' },
      },
    ),
  )
}

/** The cluster serves the kind of the older operator too, and dry runs, which the memory cluster does not have. */
function withOlder(client: ScriptedClient, older: readonly KubeObject[]): KubeClient {
  const served: Partial<KubeClient> = {
    list: (async (type: ResourceType, options?: ListOptions) =>
      type.group === OLDER_GROUP
        ? { items: older, resourceVersion: '1' }
        : await client.list(type, options)) as KubeClient['list'],
    create: async (type, object, options) =>
      options?.isDryRun === true ? object : await client.create(type, object, options),
  }
  return new Proxy<KubeClient>(client, {
    get: (target, name) => {
      const value: unknown = Reflect.get(served, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function clusterOf(): ScriptedClient {
  const client = new ScriptedClient('farm')
  putAdoptionRule(client)
  return client
}

async function adopt(client: ScriptedClient, older: readonly KubeObject[], options: Partial<AdoptOptions> = {}) {
  let printed = ''
  const print = (text: string) => {
    printed += text
  }
  const around = { client: withOlder(client, older), clock: client.clock, print, tell: print, ask: undefined }
  const given = {
    names: [],
    namespace: undefined,
    isAgreed: false,
    isDryRun: true,
    output: 'json',
    ...options,
  } as const
  const code = await adoptImages(around, given)
  return { code, ended: JSON.parse(printed) as Raw[] }
}

describe('disks of the older operator that have another name than its object', () => {
  const older = [olderImage('kali')]

  it.each(['kali', 'kali-1.0'])('are found by %s, and the image has the name of the DataVolume', async (name) => {
    const client = clusterOf()
    putVolume(client, 'kali-1.0', 'kali')
    putVolume(client, 'hand')
    const { ended } = await adopt(client, older, { names: [name] })
    expect(ended).toMatchObject([
      {
        name: 'kali-1.0',
        madeBy: 'older operator',
        state: 'ready',
        manifest: { metadata: { name: 'kali-1.0' }, spec: { url: urlOf('kali') } },
      },
    ])
    expect(ended[0]?.steps.map(({ what }: Raw) => what)).toEqual(['unlabel', 'release', 'create'])
  })

  it('are released and adopted, and nothing of the older operator is left on them', async () => {
    const client = clusterOf()
    putVolume(client, 'kali-1.0', 'kali')
    const { code, ended } = await adopt(client, older, { isAgreed: true, isDryRun: false })
    expect([code, ended[0]?.error]).toEqual([0, undefined])
    const volume = client.peek('DataVolume', 'farm/kali-1.0')
    const claim = client.peek('PersistentVolumeClaim', 'farm/kali-1.0')
    expect([
      volume?.metadata.ownerReferences ?? [],
      volume?.metadata.labels ?? {},
      claim?.metadata.labels ?? {},
    ]).toEqual([[], {}, {}])
    expect(client.peek('VMDiskImage', 'farm/kali-1.0')?.metadata.annotations).toEqual({
      'pelotech.ot/adopt': 'datavolume/kali-1.0',
    })
  })

  it('are each planned, where one object has more than one', async () => {
    const client = clusterOf()
    for (const name of ['kali-1.0', 'kali-0.9']) putVolume(client, name, 'kali')
    const { ended } = await adopt(client, older)
    expect(ended.map(({ name, madeBy }) => [name, madeBy])).toEqual([
      ['kali-0.9', 'older operator'],
      ['kali-1.0', 'older operator'],
    ])
  })
})

it('a run reads the rule once, and of each disk its claim and its image', async () => {
  const client = clusterOf()
  for (const name of ['a', 'b', 'c']) putVolume(client, name)
  await adopt(client, [])
  const reads = Object.entries(
    Object.groupBy(
      client.calls.filter(({ verb }) => verb === 'get'),
      ({ kind }) => kind,
    ),
  )
  expect(Object.fromEntries(reads.map(([kind, calls]) => [kind, calls?.length]))).toEqual({
    ValidatingAdmissionPolicy: 1,
    ValidatingAdmissionPolicyBinding: 1,
    PersistentVolumeClaim: 3,
    [vmDiskImage.kind]: 3,
  })
})
