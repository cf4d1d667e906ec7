import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { useCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { argoHealth, kstatus } from '../harness/gitops-health.ts'
import { DATA_SYNC, IMAGE, MACHINE, WORKSPACE } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { World } from '../harness/world.ts'

/** What Argo CD, and what Flux, shows of an object. */
const shown = (object: KubeObject | undefined) =>
  object === undefined ? [] : [argoHealth(object).status, kstatus(object)]

const GOOD = ['Healthy', 'Current']
const BAD = ['Degraded', 'Failed']
const WORKING = ['Progressing', 'InProgress']

describe('tools that apply from Git', () => {
  const cluster = useCluster()

  it('wait for what the operator has not seen yet, whatever its kind', async () => {
    await using world = await World.start(cluster(), { idle: true })
    const { namespace } = world
    for (const [type, spec, within] of [
      [IMAGE, world.image('image').spec, namespace],
      [MACHINE, { name: 'vm', resources: { cpu: '1', memory: '1Gi' }, vmDiskImageRef: { name: 'golden' } }, namespace],
      [DATA_SYNC, { workspaceId: '035', vms: [{ name: 'vm', url: world.urlOf('vm') }] }, namespace],
      [WORKSPACE, { networks: [{ name: 'control', cidr: '10.10.0.0/24' }] }, undefined],
    ] as const) {
      const key = within === undefined ? { name: namespace } : { name: 'new', namespace: within }
      const { group, version, kind } = type
      await world.client.create(type, { apiVersion: `${group}/${version}`, kind, metadata: key, spec } as KubeObject)
      const object = await world.client.get<KubeObject & { status?: object }>(type, key)
      expect(object.status, kind).toEqual({ observedGeneration: -1 })
      expect(shown(object), kind).toEqual(WORKING)
      expect(argoHealth(object).message).toBe('the operator has not seen this spec yet')
      await world.client.delete(type, key)
    }
    world.startOperator()
    await world.finish()
  })

  it('see that an image waits, is ready, has failed, and is changed while nobody looks', async () => {
    await using world = await World.start(cluster())
    world.imageServer.set({ path: `/${world.namespace}/hopeless.qcow2`, fault: { status: 404 } })
    await world.createImage('hopeless')
    await world.createImage('held', { suspend: true })
    await world.createImage('fine')
    expect(shown(await world.untilPhase('hopeless', 'Failed'))).toEqual(BAD)
    expect(argoHealth(await world.untilPhase('hopeless', 'Failed')).message).toMatch(/^NotFound: .*404/)
    expect(shown(await world.untilPhase('held', 'Queued'))).toEqual(WORKING)
    expect(shown(await world.untilSynced('fine'))).toEqual(GOOD)
    await world.operator?.stop()
    expect(shown(await world.patchImage('fine', { spec: { url: world.urlOf('other') } }))).toEqual(WORKING)
    world.startOperator()
    await world.finish()
  })

  it('see when machines and DataSyncs are ready, and when they have failed', async () => {
    await using world = await World.start(cluster(), { policy: { retryLimit: '0' } })
    const [machines, dataSyncs] = [new Machines(world), new DataSyncs(world)]
    world.imageServer.set({ path: `/${world.namespace}/typo.qcow2`, fault: { status: 404 } })
    await dataSyncs.create('release', ['attacker'])
    await machines.create('vm')
    await dataSyncs.untilSynced('release')
    expect(shown(dataSyncs.get('release'))).toEqual(GOOD)
    expect(shown(await machines.untilReady('vm'))).toEqual(GOOD)
    await dataSyncs.patch('release', { spec: { vms: [dataSyncs.vm('attacker', 'typo')] } })
    const failed = await dataSyncs.until('release', 'Failed', ({ status }) => status?.phase === 'Failed')
    expect(shown(failed)).toEqual(BAD)
    await dataSyncs.delete('release')
    await machines.delete('vm')
    await world.finish()
  })
})
