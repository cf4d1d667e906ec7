import fc from 'fast-check'
import { MINUTE, SECOND } from '../../prepared/runtime/times.ts'
import { duration, maybe } from '../arbitraries.ts'
import type { DataSyncAction, DataSyncPlan } from './data-sync-schedule.ts'

const dataSyncNumber = fc.nat(9)
const source = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 2 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3, max: 4 }) },
)
const snapshotClass = maybe(fc.nat(1), 4)

export const dataSyncAction: fc.Arbitrary<DataSyncAction> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('setVm' as const), dataSync: dataSyncNumber, vm: fc.nat(3), source }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('deleteDataSync', 'recreateDataSync', 'askForSync', 'askForRetry'),
      dataSync: dataSyncNumber,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('removeVm', 'deleteVmImage', 'takeVmName'),
      dataSync: dataSyncNumber,
      vm: fc.nat(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('setVersion' as const), dataSync: dataSyncNumber, version: fc.nat(2) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('setDefault' as const), dataSync: dataSyncNumber, snapshotClass }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('editVmImage' as const), dataSync: dataSyncNumber, vm: fc.nat(3), source }),
  },
)

export function dataSync(vms: number): fc.Arbitrary<DataSyncPlan> {
  return fc.record({
    namespace: fc.nat(1),
    workspace: fc.nat(1),
    version: fc.nat(2),
    vms: fc.array(fc.record({ vm: fc.nat(3), source }), { minLength: 1, maxLength: vms, size: 'max' }),
    snapshotClass,
    createdAtMs: duration(3 * SECOND, MINUTE),
  })
}
