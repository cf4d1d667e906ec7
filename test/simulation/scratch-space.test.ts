import { expect, it } from 'vitest'
import { POD } from '../../operator/kube/resource-types.ts'
import type { Pod } from '../../sandbox/simulators/models.ts'
import { FARM, SimulatedOperator } from './simulated-operator.ts'

/** As of a kubelet: it shows the end of the container at once, and the phase Succeeded when it has cleaned up. */
const KUBELET = { phaseLagMs: 2_000 }

it.each([
  ['before its kubelet shows it as Succeeded, as CDI does', 15, 'Running'],
  ['after its kubelet has shown it as Succeeded', 3_000, 'Succeeded'],
] as const)(
  'an importer that asks for scratch space with exit code 0 costs nothing, if it is deleted %s',
  async (_when, scratchMs, phase) => {
    const world = await SimulatedOperator.start({ retryLimit: '0' }, { ...KUBELET, scratchMs })
    const deleted: (string | undefined)[] = []
    world.simulated.cluster.onCommit(({ resource, object }) => {
      const pod = object as Pod
      const isDeleted = resource === POD && pod.metadata.deletionTimestamp !== undefined
      if (isDeleted && deleted.length === 0) deleted.push(pod.status?.phase)
    })
    world.simulated.simulators.cdi.script({ namespace: FARM }, { type: 'scratchSpaceRequired' })
    world.createImage('compressed')
    const status = () => world.image('compressed')?.status
    await world.until('the end', () => status()?.phase === 'Succeeded' || status()?.phase === 'Failed')
    expect(status()).toMatchObject({
      phase: 'Succeeded',
      attempts: [{ number: 1, outcome: 'Succeeded', downloads: 1 }],
    })
    expect(deleted).toEqual([phase])
  },
)
