import { expect, it } from 'vitest'
import { KUBEVIRT_VIRTUAL_MACHINE, VIRTUAL_MACHINE_INSTANCE } from '../../operator/kube/resource-types.ts'
import { useCluster } from '../harness/cluster.ts'
import { Machines } from '../harness/machines.ts'
import { ONE_AT_A_TIME, World } from '../harness/world.ts'

const cluster = useCluster()
const RETRIED = 'pelotech.ot/retried-at'

it('what KubeVirt could not create is tried again, with the rights that the operator is installed with', async () => {
  await using world = await World.start(cluster(), ONE_AT_A_TIME)
  const { client, namespace, simulators } = world
  const machines = new Machines(world)
  const cases = [
    ['refused', 'instanceRefused', KUBEVIRT_VIRTUAL_MACHINE],
    ['podless', 'podRefused', VIRTUAL_MACHINE_INSTANCE],
  ] as const
  const ends = cases.map(([name, type]) =>
    simulators.kubevirt.script({ namespace, name }, { type, message: 'exceeded quota: small' }),
  )
  for (const [name] of cases) await machines.create(name)
  for (const [name, , type] of cases) {
    const retriedAt = async () => (await client.get(type, { namespace, name })).metadata.annotations?.[RETRIED]
    await expect.poll(retriedAt).toMatch(/^20.*Z$/)
  }
  for (const end of ends) end()
  for (const [name] of cases) await expect.poll(() => machines.get(name)?.status?.phase).toBe('Ready')
  await machines.delete('refused', 'podless')
  await world.finish()
})
