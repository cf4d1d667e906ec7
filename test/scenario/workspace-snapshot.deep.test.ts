import { ANNOTATIONS } from '@open-terrain/constructs'
import { virtualMachine } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { ownerIn } from '../../operator/cluster/ownership.ts'
import { isTerminating, type KubeObject } from '../../operator/kube/kube-object.ts'
import {
  DEPLOYMENT,
  KUBEVIRT_VIRTUAL_MACHINE,
  PERSISTENT_VOLUME_CLAIM,
  STORAGE_CLASS,
  VIRTUAL_MACHINE_RESTORE,
  VIRTUAL_MACHINE_SNAPSHOT,
  VOLUME_SNAPSHOT,
} from '../../operator/kube/resource-types.ts'
import type { Machine } from '../../sandbox/simulators/kubevirt-models.ts'
import { useCluster } from '../harness/cluster.ts'
import { conditionOf, WORKSPACE_SNAPSHOT } from '../harness/kinds.ts'
import { Machines } from '../harness/machines.ts'
import { WorkspaceSnapshots } from '../harness/workspace-snapshots.ts'
import { DEPLOYED, Workspaces } from '../harness/workspaces.ts'

const cluster = useCluster()

const [VM] = DEPLOYED.vms as [(typeof DEPLOYED.vms)[number]]
const VICTIM = {
  ...VM,
  name: 'victim',
  interfaces: [{ network: 'control-net', ipAddress: '10.10.0.162/24' }],
}
/** Two machines and a volume. */
const LAB = { ...DEPLOYED, vms: [VM, VICTIM] }

describe('a point in time of a workspace', () => {
  it('has a snapshot of each machine and volume, is limited by the policy, and goes with its snapshots', async () => {
    await using workspaces = await Workspaces.start(cluster(), { workspaceSnapshotLimit: '1' })
    const { world } = workspaces
    const { client } = world
    const { metadata } = await workspaces.deploy('lab', LAB as typeof DEPLOYED)
    const namespace = metadata.name
    const points = new WorkspaceSnapshots(world, namespace)
    await points.create('before-exam', { description: 'before the exam' })
    const done = await points.untilStand('before-exam', 'Succeeded', 'Taken')
    expect(['Ready', 'Settled', 'Stalled'].map((type) => conditionOf(done, type)?.status)).toEqual([
      'True',
      'True',
      'False',
    ])
    const members = done.status?.members ?? []
    expect(members.map(({ kind, ready }) => [kind, ready])).toEqual([
      ['Machine', true],
      ['Machine', true],
      ...LAB.volumes.map(() => ['Volume', true]),
    ])
    for (const { kind, consistency, message } of members)
      expect([consistency, message]).toEqual([kind === 'Machine' ? 'GuestAgent,Online' : undefined, undefined])

    await expect(
      client.mergePatch(WORKSPACE_SNAPSHOT, { namespace, name: 'before-exam' }, { spec: { description: 'another' } }),
    ).rejects.toThrow(/cannot be changed: a point in time is taken once/)

    await points.create('after-exam')
    const refused = await points.untilStand('after-exam', 'Pending', 'LimitReached')
    expect(refused.status?.message).toContain('workspaceSnapshotLimit allows 1: delete one that is not needed')
    expect((await client.list(VIRTUAL_MACHINE_SNAPSHOT, { namespace })).items).toHaveLength(2)

    const end = world.simulators.kubevirt.failSnapshots(VM.name, 'snapshot deadline exceeded')
    await points.delete('before-exam')
    const failed = await points.untilStand('after-exam', 'Failed', 'MemberFailed')
    end()
    expect(failed.status?.message).toContain(`machine ${VM.name}: snapshot deadline exceeded`)
    expect(failed.status?.ready).toBe(`${members.length - 1}/${members.length}`)
    // The garbage collector takes those of the other one.
    const left = async () => (await client.list(VOLUME_SNAPSHOT, { namespace })).items.map((one) => one.metadata.name)
    await expect.poll(async () => (await left()).filter((name) => !name.startsWith('after-exam-'))).toEqual([])

    await workspaces.delete(namespace)
    await points.untilGone('after-exam')
    await world.finish()
  })
})

describe('a restore of a point in time', () => {
  it('is refused while the lab is on, and puts the machines of one that is off back, which a reset replaces again', async () => {
    await using workspaces = await Workspaces.start(cluster(), { resetGrace: '0s' })
    const { world } = workspaces
    const { client } = world
    const { metadata } = await workspaces.deploy('lab', LAB as typeof DEPLOYED)
    const namespace = metadata.name
    const names = LAB.vms.map(({ name }) => name)
    const machines = new Machines(world, namespace)
    const points = new WorkspaceSnapshots(world, namespace)
    const kubevirtOf = async (name: string) => await client.get<Machine>(KUBEVIRT_VIRTUAL_MACHINE, { namespace, name })
    const rootOf = async (name: string) => (await kubevirtOf(name)).spec.template.spec.volumes?.[0]
    const interfacesOf = async (name: string) => (await kubevirtOf(name)).spec.template.spec.domain?.devices?.interfaces
    await points.create('before-exam')
    await points.untilStand('before-exam', 'Succeeded', 'Taken')
    const interfaces = await Promise.all(names.map(interfacesOf))

    await points.restore('before-exam', 'while it runs')
    const running = await points.untilRestored('before-exam', 'Refused', 'switched off')
    expect(running.status?.restore?.message).toContain('set its spec.powerState to Halted')
    await workspaces.patch(namespace, { powerState: 'Halted' })
    await workspaces.untilReason(namespace, 'Halted')
    await points.restore('before-exam', 'the machines')
    const done = await points.untilRestored('before-exam', 'Succeeded', 'start from their restored disks')
    const members = done.status?.restore?.members ?? []
    expect(members.map(({ name, phase }) => [name, phase])).toEqual(names.map((name) => [name, 'Succeeded']))
    for (const { name, claim } of members)
      expect(await rootOf(name)).toEqual({ name: 'rootdisk', persistentVolumeClaim: { claimName: claim } })
    await expect.poll(async () => (await client.list(VIRTUAL_MACHINE_RESTORE, { namespace })).items).toEqual([])

    await workspaces.patch(namespace, { powerState: 'Running' })
    await workspaces.untilReady(namespace)
    for (const { name, claim = '' } of members) {
      const vm = await machines.until(name, 'restored', (one) => conditionOf(one, 'DiskRestored') !== undefined)
      expect(vm.status?.restoredClaim).toBe(claim)
      expect(await rootOf(name)).toEqual({ name: 'rootdisk', persistentVolumeClaim: { claimName: claim } })
    }
    expect(await Promise.all(names.map(interfacesOf))).toEqual(interfaces)

    const annotations = { [ANNOTATIONS.resetRequestedAt]: '2026-01-02T12:00:00Z' }
    await client.mergePatch(virtualMachine, { namespace, name: VICTIM.name }, { metadata: { annotations } })
    const root = `${VICTIM.name}-root-g2`
    await machines.until(
      VICTIM.name,
      'reset',
      ({ status }) => status?.clone?.name === root && status.diskUID !== undefined,
    )
    await machines.untilReady(VICTIM.name, 'Running')
    expect(await rootOf(VICTIM.name)).toEqual({ name: 'rootdisk', dataVolume: { name: root } })
    await workspaces.delete(namespace)
    await world.finish()
  })

  it('puts machines and volumes back, and leaves the claims from before', async () => {
    await using workspaces = await Workspaces.start(cluster(), { resetGrace: '0s' })
    const { world } = workspaces
    const { client } = world
    const { metadata } = await workspaces.deploy('lab-volumes', LAB as typeof DEPLOYED)
    const namespace = metadata.name
    const points = new WorkspaceSnapshots(world, namespace)
    await points.create('before-exam')
    await points.untilStand('before-exam', 'Succeeded', 'Taken')
    await workspaces.patch(namespace, { powerState: 'Halted' })
    await workspaces.untilReason(namespace, 'Halted')
    const first = LAB.volumes.map(({ name }) => name).toSorted()

    await points.restore('before-exam', 'all of it', null)
    const done = await points.untilRestored('before-exam', 'Succeeded', 'have their restored claims')
    const volumes = done.status?.restore?.volumes ?? []
    expect(volumes.map(({ name, phase }) => [name, phase])).toEqual(first.map((name) => [name, 'Succeeded']))
    expect(done.status?.restore?.members?.every(({ phase }) => phase === 'Succeeded')).toBe(true)
    const claims = volumes.map(({ claim }) => claim)
    const claimsNow = async () => {
      const { items } = await client.list(PERSISTENT_VOLUME_CLAIM, { namespace })
      const ofVolumes = items.filter((one) => ownerIn(one.metadata)?.kind === 'Workspace' && !isTerminating(one))
      return ofVolumes.map((one) => one.metadata.name).toSorted()
    }
    const all = [...first, ...claims].toSorted()
    expect(await claimsNow()).toEqual(all)

    // What goes with the point in time is nothing that the lab uses.
    await points.delete('before-exam')
    await workspaces.patch(namespace, { powerState: 'Running' })
    await workspaces.untilReady(namespace)
    const { items: deployments } = await client.list(DEPLOYMENT, { namespace })
    const mounted = deployments.flatMap((one) => JSON.stringify(one).match(/"claimName":"[^"]+"/g) ?? [])
    expect(mounted.length).toBeGreaterThan(0)
    expect(mounted.every((one) => claims.some((claim) => one.includes(`"${claim}"`)))).toBe(true)
    expect(await claimsNow()).toEqual(all)

    await points.create('after-exam')
    await points.untilStand('after-exam', 'Succeeded', 'Taken')
    const taken = (await client.list(VOLUME_SNAPSHOT, { namespace })).items
    const sources = taken.flatMap((one) => JSON.stringify(one).match(/"persistentVolumeClaimName":"[^"]+"/g) ?? [])
    expect(claims.every((claim) => sources.some((one) => one.includes(`"${claim}"`)))).toBe(true)
    await workspaces.delete(namespace)
    await world.finish()
  })

  it('whose restored volumes have no data before their first pod is held until they have', async () => {
    await using workspaces = await Workspaces.start(cluster())
    const { world } = workspaces
    const { client } = world
    const [usual] = (await client.list(STORAGE_CLASS, {})).items.filter(
      ({ metadata }) => metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true',
    )
    if (usual === undefined) throw new Error('there is no default StorageClass')
    const { name: className, annotations = {} } = usual.metadata
    await client.delete(STORAGE_CLASS, { name: className })
    await client.create(STORAGE_CLASS, {
      ...usual,
      metadata: { name: className, annotations },
      volumeBindingMode: 'WaitForFirstConsumer',
    } as KubeObject)
    const { metadata } = await workspaces.deploy('lab-late', { ...DEPLOYED, vms: [] })
    const namespace = metadata.name
    const points = new WorkspaceSnapshots(world, namespace)
    await points.create('before-exam')
    await points.untilStand('before-exam', 'Succeeded', 'Taken')
    await workspaces.patch(namespace, { powerState: 'Halted' })
    await workspaces.untilReason(namespace, 'Halted')

    await points.restore('before-exam', 'now', null)
    const done = await points.untilRestored('before-exam', 'WaitForFirstConsumer', 'have none yet')
    const claims = (done.status?.restore?.volumes ?? []).map(({ claim }) => claim)
    expect(done.status?.restore?.unfilled).toEqual(claims.toSorted())
    await client.delete(WORKSPACE_SNAPSHOT, { namespace, name: 'before-exam' })
    await points.untilStand('before-exam', 'Succeeded', 'DeletionBlocked')
    expect((await client.list(VOLUME_SNAPSHOT, { namespace })).items).toHaveLength(claims.length)

    await workspaces.patch(namespace, { powerState: 'Running' })
    await workspaces.untilReady(namespace)
    await points.untilGone('before-exam')
    await workspaces.delete(namespace)
    await world.finish()
  })
})
