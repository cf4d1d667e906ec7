import { describe, expect, it } from 'vitest'
import { VIRTUAL_MACHINE_SNAPSHOT, VOLUME_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { conditionOf, WORKSPACE_SNAPSHOT } from '../harness/kinds.ts'
import { WorkspaceSnapshots } from '../harness/workspace-snapshots.ts'
import { DEPLOYED, Workspaces } from '../harness/workspaces.ts'

// The default storage class makes this cluster unsuitable for other tests.
const cluster = useOwnCluster()

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
    for (const { kind, consistency } of members)
      expect(consistency).toBe(kind === 'Machine' ? 'Online,GuestAgent' : undefined)

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
    const left = (await client.list(VOLUME_SNAPSHOT, { namespace })).items
    expect(left.every(({ metadata: one }) => one.name.startsWith('after-exam-'))).toBe(true)

    await workspaces.delete(namespace)
    expect(points.get('after-exam')).toBeUndefined()
    await world.finish()
  })
})
