import { ADOPTION_POLICY, ADOPTION_RULE } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { settled } from '../../../test/prepared/kube/fake-clock.ts'
import { ScriptedClient } from '../../../test/prepared/kube/scripted-client.ts'
import { fakeLog } from '../../../test/prepared/runtime/fake-log.ts'
import { putAdoptionRule } from '../../../test/prepared/vm-disk-image/adoption.ts'
import type { KubeObject } from '../../kube/kube-object.ts'
import { RuntimeMetrics } from '../../runtime/metrics.ts'
import { AdoptionReads, isSharedBy, readAdoptionRule } from './adoption-reads.ts'

const { signal } = new AbortController()
const PLACE = { namespace: 'team', name: 'kali' }
const WORKSPACE = { apiVersion: 'pelotech.ot/v1alpha1', kind: 'Workspace', name: 'ws', uid: 'ws' }
const OF_VOLUME = { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', name: 'kali', uid: 'dv' }

const objectOf = (apiVersion: string, kind: string, metadata: object, more: object = {}) =>
  ({ apiVersion, kind, metadata: { ...PLACE, uid: kind, ...metadata }, ...more }) as KubeObject
const dataVolume = (more: object = {}) => objectOf('cdi.kubevirt.io/v1beta1', 'DataVolume', { uid: 'dv', ...more })
const claim = (more: object = {}) => objectOf('v1', 'PersistentVolumeClaim', { ownerReferences: [OF_VOLUME], ...more })
const machine = objectOf(
  'kubevirt.io/v1',
  'VirtualMachine',
  { name: 'desk' },
  {
    spec: { template: { spec: { volumes: [{ dataVolume: { name: 'kali' } }] } } },
  },
)
const pod = objectOf(
  'v1',
  'Pod',
  { name: 'reader' },
  { spec: { volumes: [{ persistentVolumeClaim: { claimName: 'kali' } }] } },
)

describe('a disk that is to be deleted', () => {
  it.each<[string, readonly KubeObject[], boolean]>([
    ["is nobody's", [dataVolume(), claim()], false],
    ['has an owner that is no controller', [dataVolume({ ownerReferences: [WORKSPACE] }), claim()], true],
    ['has a label by which others delete', [dataVolume({ labels: { owner: 'x' } }), claim()], true],
    ['has a claim of something else', [dataVolume(), claim({ ownerReferences: [OF_VOLUME, WORKSPACE] })], true],
    ['is the disk of a machine', [dataVolume(), claim(), machine], true],
    ['is mounted by a pod', [dataVolume(), claim(), pod], true],
  ])('%s', async (_what, objects, expected) => {
    const client = new ScriptedClient()
    for (const one of objects) client.put(one)
    expect(await isSharedBy(client)({ kind: 'DataVolume', ...PLACE }, signal)).toBe(expected)
  })
})

it('is checked since the younger of the rule and its binding is there', async () => {
  const client = new ScriptedClient()
  putAdoptionRule(client)
  expect(await readAdoptionRule(client, signal)).toEqual({
    fault: undefined,
    checkedSince: Date.UTC(2026, 0, 2),
    rule: expect.any(String),
  })
})

it('is checked since the last change of the rule, which may have refused nothing before', async () => {
  const client = new ScriptedClient()
  putAdoptionRule(client)
  const managedFields = [
    { manager: 'pulumi', time: '2026-01-01T00:00:00Z' },
    { manager: 'kubectl', time: '2026-01-03T00:00:00Z' },
    { manager: 'kube-controller-manager', time: '2026-01-04T00:00:00Z', subresource: 'status' },
  ]
  const kind = 'ValidatingAdmissionPolicy'
  const metadata = { name: ADOPTION_RULE, uid: kind, creationTimestamp: '2026-01-01T00:00:00Z', managedFields }
  client.put({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata,
    spec: ADOPTION_POLICY,
  } as unknown as KubeObject)
  expect(await readAdoptionRule(client, signal)).toMatchObject({ checkedSince: Date.UTC(2026, 0, 3) })
})

const wantedOf = (name: string, word = 'dv') => {
  return { value: `${word}/${name}`, adoptable: { kind: 'DataVolume', name }, version: '1' } as const
}

describe('the users of what images are to adopt', () => {
  const look = async (objects: readonly KubeObject[], names: readonly string[]) => {
    const client = new ScriptedClient('team')
    putAdoptionRule(client)
    for (const one of objects) client.put(one)
    const services = { client, clock: client.clock, log: fakeLog(), random: () => 0.5 }
    const options = { runtimeMetrics: new RuntimeMetrics(), isThere: () => true, onChange: () => undefined }
    const reads = new AdoptionReads({ ...services, ...options })
    void reads.run(new AbortController().signal)
    for (const name of names) reads.want(`team/${name}`, wantedOf(name))
    await settled()
    return {
      lists: client.callsOf('list'),
      found: names.map((name) => reads.look(`team/${name}`, wantedOf(name))?.facts),
    }
  }

  it('are listed once for all images of a namespace that wait', async () => {
    const others = [dataVolume({ name: 'b' }), claim({ name: 'b', ownerReferences: [] })]
    const { lists, found } = await look([dataVolume(), claim(), machine, ...others], ['kali', 'b'])
    expect(found.map((facts) => facts?.usedBy)).toEqual(['VirtualMachine desk', undefined])
    expect(lists.length).toBe(2)
  })

  it('are looked for again when the annotation is written in another spelling', async () => {
    const client = new ScriptedClient('team')
    putAdoptionRule(client)
    for (const one of [dataVolume(), claim()]) client.put(one)
    const services = { client, clock: client.clock, log: fakeLog(), random: () => 0.5 }
    const told: string[] = []
    const onChange = (key: string) => told.push(key)
    const options = { runtimeMetrics: new RuntimeMetrics(), isThere: () => true, onChange }
    const reads = new AdoptionReads({ ...services, ...options })
    void reads.run(new AbortController().signal)
    for (const word of ['dv', 'datavolume', 'dv']) {
      reads.want('team/kali', wantedOf('kali', word))
      await settled()
    }
    expect(told, 'the same was found each time').toEqual(['team/kali', 'team/kali', 'team/kali'])
    client.drop('ValidatingAdmissionPolicy', ADOPTION_RULE)
    const again = wantedOf('kali', 'DataVolume')
    expect(reads.look('team/kali', again)).toBeUndefined()
    reads.want('team/kali', again)
    await settled()
    expect(reads.look('team/kali', again)?.facts.fault?.isWrong).toBe(true)
  })

  it('are not listed where something else is wrong already', async () => {
    const { lists, found } = await look(
      [dataVolume({ ownerReferences: [WORKSPACE] }), claim(), machine],
      ['kali', 'gone'],
    )
    expect(found.map((facts) => facts?.object?.owners.length)).toEqual([1, undefined])
    expect(lists).toEqual([])
  })
})
