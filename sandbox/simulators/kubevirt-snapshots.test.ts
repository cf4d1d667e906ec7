import { beforeEach, describe, expect, it } from 'vitest'
import { apiVersionOf, type KubeObject } from '../../operator/kube/kube-object.ts'
import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_SNAPSHOT } from '../../operator/kube/resource-types.ts'
import { SimulatedCluster, TEAM } from '../../test/prepared/sandbox/simulated-cluster.ts'

const VM = { namespace: TEAM, name: 'vm' }
const LOCK = 'snapshot.kubevirt.io/snapshot-source-protection'

let world: SimulatedCluster

beforeEach(async () => {
  world = await SimulatedCluster.start()
  await world.runMachine()
})

function take(name: string): void {
  world.cluster.admin.create(VIRTUAL_MACHINE_SNAPSHOT, {
    apiVersion: apiVersionOf(VIRTUAL_MACHINE_SNAPSHOT),
    kind: VIRTUAL_MACHINE_SNAPSHOT.kind,
    metadata: { namespace: TEAM, name },
    spec: { source: { apiGroup: 'kubevirt.io', kind: 'VirtualMachine', name: 'vm' } },
  } as KubeObject)
}

const patch = (spec: object) => world.cluster.admin.mergePatch(KUBEVIRT_VIRTUAL_MACHINE, VM, { spec })
const lock = () => world.machine('vm')?.status?.snapshotInProgress
const isReady = (name: string) => {
  const found = world.cluster.admin.get(VIRTUAL_MACHINE_SNAPSHOT, { namespace: TEAM, name })
  return (found as { readonly status?: { readonly readyToUse?: boolean } }).status?.readyToUse === true
}

describe('a machine whose snapshot is taken', () => {
  it('cannot be switched off or get other volumes, may be changed otherwise, and is free afterwards', async () => {
    take('point')
    await world.until('the lock', () => world.machine('vm')?.metadata.finalizers?.includes(LOCK) === true)
    expect(lock()).toBe('point')
    expect(() => patch({ runStrategy: 'Halted' })).toThrow(
      'Cannot update VM running state until snapshot "point" completes',
    )
    expect(() => patch({ template: { spec: { volumes: [] } } })).toThrow(
      'Cannot update VM disks or volumes until snapshot "point" completes',
    )
    patch({ template: { metadata: { labels: { more: 'yes' } } } })
    await world.until('the snapshot', () => isReady('point'))
    await world.until('no lock', () => lock() === undefined)
    expect(world.machine('vm')?.metadata.finalizers ?? []).not.toContain(LOCK)
    patch({ runStrategy: 'Halted' })
  })

  it('stays until that is over when somebody deletes it', async () => {
    take('point')
    await world.until('the lock', () => world.machine('vm')?.metadata.finalizers?.includes(LOCK) === true)
    world.cluster.admin.delete(KUBEVIRT_VIRTUAL_MACHINE, VM)
    expect(isReady('point')).toBe(false)
    await world.until('no machine', () => world.machine('vm') === undefined)
    expect(isReady('point')).toBe(true)
  })

  it('is snapshotted once at a time, and is free when a snapshot is deleted', async () => {
    take('one')
    take('two')
    await world.until('both', () => isReady('one') && isReady('two'))
    await world.until('no lock', () => lock() === undefined)
    take('three')
    await world.until('the lock', () => lock() === 'three')
    world.cluster.admin.delete(VIRTUAL_MACHINE_SNAPSHOT, { namespace: TEAM, name: 'three' })
    await world.until('no lock', () => lock() === undefined)
  })
})
