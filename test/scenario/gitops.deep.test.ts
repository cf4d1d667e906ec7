import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { useCluster } from '../harness/cluster.ts'
import { DataSyncs } from '../harness/data-syncs.ts'
import { argoHealth, kstatus } from '../harness/gitops-health.ts'
import { DATA_SYNC, IMAGE, MACHINE, WORKSPACE } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { Workspaces } from '../harness/workspaces.ts'
import { World } from '../harness/world.ts'

/** What Argo CD, and what Flux, shows of an object. */
const shown = (object: KubeObject | undefined) =>
  object === undefined ? [] : [argoHealth(object).status, kstatus(object)]

const GOOD = ['Healthy', 'Current']
const BAD = ['Degraded', 'Failed']
/** A container that the policy does not allow. */
const PRIVILEGED = {
  name: 'app',
  containers: [{ name: 'app', image: 'registry.example/app:1', privileged: true }],
}
const WORKING = ['Progressing', 'InProgress']

describe('tools that apply from Git', () => {
  const cluster = useCluster()

  it('wait for what the operator has not seen yet, whatever its kind, and see that an image waits, is ready, has failed, and is changed while nobody looks', async () => {
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

  it('see machines, DataSyncs and Workspaces that wait, are ready, have failed, and are being deleted', async () => {
    await using workspaces = await Workspaces.start(cluster(), { retryLimit: '0' })
    const { world } = workspaces
    const [machines, dataSyncs] = [new Machines(world), new DataSyncs(world)]
    // Both slots are taken, so the Workspace has no image either.
    const release = world.gate.hold(world.urlOf('golden'))
    await machines.create('vm')
    await dataSyncs.create('sync', [], { vms: [dataSyncs.vm('vm', 'golden')] })
    await machines.until('vm', 'Provisioning', ({ status }) => status?.phase === 'Provisioning')
    await dataSyncs.until('sync', 'Syncing', ({ status }) => status?.phase === 'Syncing')
    const lab = workspaces.name('lab')
    await workspaces.create(lab)
    await workspaces.until(lab, 'Provisioning', ({ status }) => status?.phase === 'Provisioning')
    const all = () => [machines.get('vm'), dataSyncs.get('sync'), workspaces.get(lab)].map(shown)
    expect(all()).toEqual([WORKING, WORKING, WORKING])

    release()
    await machines.untilReady('vm')
    await dataSyncs.untilSynced('sync')
    await workspaces.untilReady(lab)
    expect(all()).toEqual([GOOD, GOOD, GOOD])

    world.imageServer.set({ path: `/${world.namespace}/typo.qcow2`, fault: { status: 404 } })
    await machines.create('broken', {
      vmDiskImageRef: { name: 'broken' },
      vmDiskImageTemplate: { ...world.image('broken').spec, url: world.urlOf('typo') } as never,
    })
    await dataSyncs.patch('sync', { spec: { vms: [dataSyncs.vm('vm', 'typo')] } })
    await workspaces.patch(lab, { containerClusters: [PRIVILEGED] })
    const isFailed = ({ status }: { readonly status?: { readonly phase?: string | undefined } }) =>
      status?.phase === 'Failed'
    const failed = [
      await machines.until('broken', 'Failed', isFailed),
      await dataSyncs.until('sync', 'Failed', isFailed),
      await workspaces.until(lab, 'Failed', isFailed),
    ]
    expect(failed.map(shown)).toEqual([BAD, BAD, BAD])
    expect(failed.map((one) => argoHealth(one).message.split(':')[0])).toEqual([
      'ImageFailed',
      'ImageFailed',
      'PrivilegedNotAllowed',
    ])

    await machines.delete('broken')
    await world.operator?.stop()
    const going = [
      [MACHINE, { namespace: world.namespace, name: 'vm' }],
      [DATA_SYNC, { namespace: world.namespace, name: 'sync' }],
      [WORKSPACE, { name: lab }],
    ] as const
    for (const [type, key] of going) {
      // A DataSync has nothing that outlives it.
      if (type === DATA_SYNC) await world.client.mergePatch(type, key, { metadata: { finalizers: ['example.com/a'] } })
      await world.client.delete(type, key)
      expect(shown(await world.client.get(type, key))).toEqual(['Progressing', 'Terminating'])
    }
    await world.client.mergePatch(DATA_SYNC, going[1][1], { metadata: { finalizers: null } })
    world.startOperator()
    const isGone = () => machines.get('vm') === undefined && workspaces.get(lab) === undefined
    await world.until('all of them are gone', isGone)
    await world.finish()
  })
})
