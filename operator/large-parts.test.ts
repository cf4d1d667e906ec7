import { dataSync, FINALIZERS, workspace } from '@open-terrain/constructs/operator'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ScriptedClient } from '../test/prepared/kube/scripted-client.ts'
import { scriptedOperator } from '../test/prepared/operator/scripted-operator.ts'
import { MINUTE, SECOND } from '../test/prepared/runtime/times.ts'
import type { KubeObject } from './kube/kube-object.ts'
import { DEPLOYMENT } from './kube/resource-types.ts'

const KEY = `ssh-ed25519 AAAA${'a'.repeat(4_000)}`
const URL = `https://images.example/${'a'.repeat(1_500)}.qcow2`
const KINDS = ['Workspace', 'VirtualMachine', 'DataSync', 'Deployment'] as const
const COUNT = 4

type Told = KubeObject & {
  readonly spec: object
  readonly status?: { readonly reason?: string; readonly message?: string }
}

/** Each of these takes more than a hundred thousand bytes. */
const LARGE: Readonly<Record<string, object>> = {
  Workspace: {
    containerClusters: [
      {
        name: 'app',
        containers: [1, 2].map((at) => ({
          name: `c${at}`,
          image: 'registry.example/app:1',
          env: Array.from({ length: 32 }, (_none, name) => ({ name: `A${name}`, value: 'x'.repeat(2_000) })),
        })),
      },
    ],
  },
  VirtualMachine: {
    users: [{ name: 'demo', lock_passwd: true, ssh_authorized_keys: Array.from({ length: 16 }, () => KEY) }],
    resources: { cpu: '2', memory: '2Gi' },
    vmDiskImageRef: { name: 'img', namespace: 'team' },
  },
  DataSync: {
    workspaceId: '035',
    sourceType: 'http',
    vms: Array.from({ length: 60 }, (_none, at) => ({ name: `vm-${at}`, url: URL })),
  },
}

function objectOf(kind: string, name: string): KubeObject {
  const metadata = {
    name,
    uid: `uid-${kind}-${name}`,
    generation: 1,
    ...(kind !== 'Workspace' && { namespace: 'team' }),
  }
  return { apiVersion: 'pelotech.ot/v1alpha1', kind, metadata, spec: LARGE[kind] } as KubeObject
}

/** A cluster with several large objects of each kind, and an operator with as much room for their specs. */
class Crowd {
  readonly client = new ScriptedClient('sync-operator', 'team')
  readonly #max: number | undefined
  #stop: () => Promise<void> = async () => undefined
  #operator = scriptedOperator(this.client)

  constructor(max?: number) {
    this.#max = max
    for (const kind of Object.keys(LARGE))
      for (let at = 0; at < COUNT; at += 1) this.client.put(objectOf(kind, `large-${at}`))
    onTestFinished(() => this.#stop())
  }

  /** Another process from now on. */
  async start(): Promise<void> {
    await this.#stop()
    const stop = new AbortController()
    this.#operator = scriptedOperator(this.client, this.#max === undefined ? {} : { largePartsMax: this.#max })
    const running = this.#operator.run(stop.signal)
    this.#stop = async () => {
      stop.abort()
      await this.client.clock.advance(10 * SECOND)
      await running
    }
    await this.rest()
  }

  async rest(): Promise<void> {
    for (let left = 5; left > 0; left -= 1) await this.client.clock.advance(MINUTE)
  }

  /** What is told of each object, and what exists for it. */
  told(kinds: readonly string[] = KINDS): object[] {
    const all = kinds.flatMap((kind) => this.client.all(kind)) as Told[]
    return all.map(({ kind, metadata: { name, namespace, labels, annotations }, spec, status }) => {
      return { kind, name, namespace, labels, annotations, spec, reason: status?.reason, message: status?.message }
    })
  }

  writes(): string[] {
    const writes = this.client.callsOf('create', 'replace', 'status', 'patch', 'delete')
    return writes.filter((call) => !/ ((Lease|ConfigMap) sync-operator|Event [a-z-]+)\//.test(call))
  }

  async metric(name: string): Promise<number> {
    const text = await this.#operator.metrics.render()
    return [...text.matchAll(new RegExp(`^${name}{.*} (.*)$`, 'gm'))].reduce((sum, [, value]) => sum + Number(value), 0)
  }
}

describe('an operator without room for all large specs', { timeout: 60_000 }, () => {
  it.each([0, 500_000])('does the same as one with room for them, with %d bytes for them', async (max) => {
    const [crowd, other] = [new Crowd(max), new Crowd()]
    for (const one of [crowd, other]) await one.start()
    const planned = ['Workspace', 'VirtualMachine', 'Deployment']
    expect(crowd.told(planned)).toEqual(other.told(planned))
    expect(crowd.client.all('Deployment')).toHaveLength(COUNT)
    expect(await crowd.metric('ot_informer_large_bytes')).toBeLessThanOrEqual(max)
    expect(await other.metric('ot_informer_large_bytes')).toBeGreaterThan(3 * COUNT * 100_000)
    expect(await other.metric('ot_informer_partial_objects')).toBe(COUNT)
    await crowd.start()
    crowd.client.calls.length = 0
    await crowd.rest()
    expect(crowd.writes()).toEqual([])
  })

  it('changes what a changed spec asks for, and repairs what somebody else changes', async () => {
    const crowd = new Crowd(0)
    await crowd.start()
    const { admin } = crowd.client.cluster
    const deployment = () => crowd.client.peek<Told>('Deployment', 'large-1/app')
    const texts = () => JSON.stringify(deployment()?.spec)
    const [first] = (LARGE['Workspace'] as { readonly containerClusters: readonly { containers: readonly object[] }[] })
      .containerClusters
    const containers = first?.containers.map((one) => ({ ...one, image: 'registry.example/app:2' }))
    admin.mergePatch(workspace, { name: 'large-1' }, { spec: { containerClusters: [{ ...first, containers }] } })
    await crowd.rest()
    expect(texts()).toContain('app:2')
    const wanted = deployment()?.spec
    admin.replace(DEPLOYMENT, JSON.parse(JSON.stringify(deployment()).replaceAll('app:2', 'app:theirs')))
    await crowd.rest()
    expect(deployment()?.spec).toEqual(wanted)
  })

  it('lets go of what is deleted', async () => {
    const crowd = new Crowd(0)
    await crowd.start()
    expect(crowd.client.peek('Workspace', 'large-2')?.metadata.finalizers).toContain(FINALIZERS.workspace)
    crowd.client.cluster.admin.delete(workspace, { name: 'large-2' })
    await crowd.rest()
    expect(crowd.client.peek('Workspace', 'large-2')).toBeUndefined()
    expect(crowd.client.peek('Deployment', 'large-2/app')).toBeUndefined()
  })

  it('plans a DataSync that it has no room for not at all, says so, and goes on when it is small', async () => {
    const crowd = new Crowd(0)
    await crowd.start()
    const syncs = () => crowd.client.all('DataSync') as Told[]
    expect(syncs().map(({ status }) => status?.reason)).toEqual(Array.from({ length: COUNT }, () => 'TooLarge'))
    expect(syncs()[0]?.status?.message).toContain('resources.limits.memory')
    expect(crowd.client.all('VMDiskImage')).toEqual([])
    const vms = [{ name: 'attacker', url: 'https://images.example/a.qcow2' }]
    crowd.client.cluster.admin.mergePatch(dataSync, { namespace: 'team', name: 'large-1' }, { spec: { vms } })
    await crowd.rest()
    expect(crowd.client.all('VMDiskImage').map(({ metadata }) => metadata.name)).toEqual(['035-attacker'])
  })
})
