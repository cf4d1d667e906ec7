import { ANNOTATIONS, type WorkspaceSpecInput } from '@open-terrain/constructs'
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
import { Workspaces } from '../harness/workspaces.ts'
import type { World } from '../harness/world.ts'

const cluster = useCluster()

const machine = (name: string, at: number) => ({
  name,
  backingVMDiskImage: 'shared',
  resources: { cpu: '1', memory: '1Gi' },
  interfaces: [{ network: 'net', ipAddress: `10.9.0.${at}/24` }],
})
const VM = machine('server', 161)
const VICTIM = machine('victim', 162)
const VOLUMES = ['data', 'more']
const LAB = {
  networks: [{ name: 'net', cidr: '10.9.0.0/24' }],
  volumes: VOLUMES.map((name) => ({ name, size: '1Gi' })),
  containerClusters: [
    {
      name: 'store',
      containers: [
        {
          name: 'main',
          image: 'registry.example.com/store:1',
          volumeMounts: VOLUMES.map((name) => ({ name, containerPath: `/${name}` })),
        },
      ],
    },
  ],
  vms: [VM, VICTIM],
} satisfies WorkspaceSpecInput
const MACHINES = LAB.vms.map(({ name }) => name)

const rootOn = (claimName = '') => ({ name: 'rootdisk', persistentVolumeClaim: { claimName } })

/** Returns the values of a field, wherever it is in these objects. */
function valuesOf(field: string, objects: readonly KubeObject[]): string[] {
  return [...JSON.stringify(objects).matchAll(new RegExp(`"${field}":"([^"]+)"`, 'g'))].map(([, value = '']) => value)
}

/** What of a lab a restore changes. */
class RestoredLab {
  readonly #world: World
  readonly #namespace: string

  constructor(world: World, namespace: string) {
    this.#world = world
    this.#namespace = namespace
  }

  readonly rootOf = async (name: string) => (await this.#templateOf(name)).volumes?.[0]
  readonly interfacesOf = async (name: string) => (await this.#templateOf(name)).domain?.devices?.interfaces

  /** Names of the claims of its volumes. */
  async claims(): Promise<string[]> {
    const { items } = await this.#world.client.list(PERSISTENT_VOLUME_CLAIM, { namespace: this.#namespace })
    const ofVolumes = items.filter((one) => ownerIn(one.metadata)?.kind === 'Workspace' && !isTerminating(one))
    return ofVolumes.map((one) => one.metadata.name).toSorted()
  }

  async #templateOf(name: string) {
    const key = { namespace: this.#namespace, name }
    return (await this.#world.client.get<Machine>(KUBEVIRT_VIRTUAL_MACHINE, key)).spec.template.spec
  }
}

describe('a point in time of a workspace', () => {
  it('has a snapshot of each machine and volume, puts all of them back once the lab is off, and goes without them; a reset begins anew', async () => {
    await using workspaces = await Workspaces.start(cluster(), { resetGrace: '0s', workspaceSnapshotLimit: '1' })
    const { world } = workspaces
    const { client } = world
    const { metadata } = await workspaces.deploy('lab', LAB)
    const namespace = metadata.name
    const points = new WorkspaceSnapshots(world, namespace)
    const lab = new RestoredLab(world, namespace)
    await points.create('before-exam', { description: 'before the exam' })
    const taken = await points.untilStand('before-exam', 'Succeeded', 'Taken')
    expect(['Ready', 'Settled', 'Stalled'].map((type) => conditionOf(taken, type)?.status)).toEqual([
      'True',
      'True',
      'False',
    ])
    expect(taken.status?.members?.map(({ kind, ready }) => [kind, ready])).toEqual([
      ...MACHINES.map(() => ['Machine', true]),
      ...VOLUMES.map(() => ['Volume', true]),
    ])
    for (const { kind, consistency, message } of taken.status?.members ?? [])
      expect([consistency, message]).toEqual([kind === 'Machine' ? 'GuestAgent,Online' : undefined, undefined])
    await expect(
      client.mergePatch(WORKSPACE_SNAPSHOT, { namespace, name: 'before-exam' }, { spec: { description: 'another' } }),
    ).rejects.toThrow(/cannot be changed: a point in time is taken once/)

    await points.create('after-exam')
    const limited = await points.untilStand('after-exam', 'Pending', 'LimitReached')
    expect(limited.status?.message).toContain('workspaceSnapshotLimit allows 1: delete one that is not needed')
    expect((await client.list(VIRTUAL_MACHINE_SNAPSHOT, { namespace })).items).toHaveLength(MACHINES.length)

    const interfaces = await Promise.all(MACHINES.map(lab.interfacesOf))
    await points.restore('before-exam', 'while it runs', null)
    const running = await points.untilRestored('before-exam', 'Refused', 'switched off')
    expect(running.status?.restore?.message).toContain('set its spec.powerState to Halted')
    await workspaces.patch(namespace, { powerState: 'Halted' })
    await workspaces.untilReason(namespace, 'Halted')
    await points.restore('before-exam', 'all of it', null)
    const { status } = await points.untilRestored('before-exam', 'Succeeded', 'have their restored claims')
    const { members = [], volumes: restored = [] } = status?.restore ?? {}
    expect(members.map(({ name, phase }) => [name, phase])).toEqual(MACHINES.map((name) => [name, 'Succeeded']))
    for (const { name, claim } of members) expect(await lab.rootOf(name)).toEqual(rootOn(claim))
    await expect.poll(async () => (await client.list(VIRTUAL_MACHINE_RESTORE, { namespace })).items).toEqual([])
    expect(restored.map(({ name, phase }) => [name, phase])).toEqual(VOLUMES.map((name) => [name, 'Succeeded']))
    const claims = restored.map(({ claim }) => claim)
    // Those from before stay.
    const all = [...VOLUMES, ...claims].toSorted()
    expect(await lab.claims()).toEqual(all)

    // What goes with the point in time is nothing that the lab uses.
    const end = world.simulators.kubevirt.failSnapshots(VM.name, 'snapshot deadline exceeded')
    await points.delete('before-exam')
    const failed = await points.untilStand('after-exam', 'Failed', 'MemberFailed')
    end()
    expect(failed.status?.message).toContain(`machine ${VM.name}: snapshot deadline exceeded`)
    const count = MACHINES.length + VOLUMES.length
    expect(failed.status?.ready).toBe(`${count - 1}/${count}`)
    const snapshots = async () => (await client.list(VOLUME_SNAPSHOT, { namespace })).items
    // The garbage collector takes those of the other one.
    const isOfOther = ({ metadata: { name } }: KubeObject) => !name.startsWith('after-exam-')
    await expect.poll(async () => (await snapshots()).filter(isOfOther)).toEqual([])
    expect(valuesOf('persistentVolumeClaimName', await snapshots())).toEqual(expect.arrayContaining(claims))

    await workspaces.patch(namespace, { powerState: 'Running' })
    await workspaces.untilReady(namespace)
    const mounted = valuesOf('claimName', (await client.list(DEPLOYMENT, { namespace })).items)
    expect(mounted.length).toBeGreaterThan(0)
    expect(claims).toEqual(expect.arrayContaining(mounted))
    expect(await lab.claims()).toEqual(all)
    const machines = new Machines(world, namespace)
    for (const { name, claim = '' } of members) {
      const vm = await machines.until(name, 'restored', (one) => conditionOf(one, 'DiskRestored') !== undefined)
      expect([vm.status?.restoredClaim, await lab.rootOf(name)]).toEqual([claim, rootOn(claim)])
    }
    expect(await Promise.all(MACHINES.map(lab.interfacesOf))).toEqual(interfaces)

    const annotations = { [ANNOTATIONS.resetRequestedAt]: '2026-01-02T12:00:00Z' }
    await client.mergePatch(virtualMachine, { namespace, name: VICTIM.name }, { metadata: { annotations } })
    const root = `${VICTIM.name}-root-g2`
    await machines.until(
      VICTIM.name,
      'reset',
      ({ status }) => status?.clone?.name === root && status.diskUID !== undefined,
    )
    await machines.untilReady(VICTIM.name, 'Running')
    expect(await lab.rootOf(VICTIM.name)).toEqual({ name: 'rootdisk', dataVolume: { name: root } })
    await workspaces.delete(namespace)
    await points.untilGone('after-exam')
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
    const { metadata } = await workspaces.deploy('lab-late', { ...LAB, vms: [] })
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
