import { heapFlag } from '@open-terrain/constructs/infra'
import { MEMORY_LIMIT } from '@open-terrain/constructs/platform'
import { expect, inject, it } from 'vitest'
import { CONTROLLERS } from '../../sandbox/control-plane/control-plane.ts'
import { useOwnCluster } from '../harness/cluster.ts'
import { storeLargeObjects } from '../harness/large-objects.ts'
import { OperatorProcess } from '../harness/operator-process.ts'
import { World } from '../harness/world.ts'

/** Nobody makes ReplicaSets, as large again, of the tenant's Deployments: they are only stored. */
const IDLE: readonly string[] = ['deployment-controller', 'replicaset-controller']
const cluster = useOwnCluster({ controllers: CONTROLLERS.filter((name) => !IDLE.includes(name)) })

it('a tenant who stores more than the operator has memory ends no process, takes it no Lease, and costs no write twice', async () => {
  await using world = await World.start(cluster(), { idle: true })
  const tenant = `${world.namespace}-tenant`
  await world.createNamespace(tenant)
  await storeLargeObjects(world.client, tenant)
  /** Resolves with the versions of the tenant's objects when the operator has told of each, and changes none any more. */
  const rest = async () => {
    for (;;) {
      const before = toldOf(world)
      await world.untilRenewed(3)
      if (!before.includes('untold') && before === toldOf(world)) return before
    }
  }
  let told = ''
  {
    const options = { entry: inject('operatorBundle'), lease: null, env: { NODE_OPTIONS: heapFlag(MEMORY_LIMIT) } }
    await using operator = new OperatorProcess(world, 'first', options)
    await world.syncImage('before')
    const { holderIdentity, leaseTransitions } = leaseOf(world)
    expect(holderIdentity).toContain('first')
    told = await rest()
    await world.syncImage('after')
    expect(leaseOf(world)).toMatchObject({ holderIdentity, leaseTransitions })
    expect(await operator.terminate()).toBe(0)
  }
  world.startOperator()
  await world.syncImage('next')
  await world.untilQuiet()
  expect(toldOf(world)).toBe(told)
  await world.finish()
})

function leaseOf({ mirror, operatorNamespace }: World) {
  return mirror.leases.get(`${operatorNamespace}/sync-operator`)?.spec ?? {}
}

/** Returns the version of each Workspace and machine, or `untold` for those without a condition. */
function toldOf({ mirror }: World): string {
  return [...mirror.workspaces.values(), ...mirror.machines.values()]
    .map(({ metadata, status }) => (status?.conditions?.length ? metadata.resourceVersion : 'untold'))
    .join(' ')
}
