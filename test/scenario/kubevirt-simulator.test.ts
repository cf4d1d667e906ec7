import { describe } from 'vitest'
import { realCrdsFolder } from '../../sandbox/control-plane/foreign-crds.ts'
import { useCluster } from '../harness/cluster.ts'
import { kubevirtSimulatorSuite } from './kubevirt-simulator-suite.ts'

// With our small ones: own-crds.test.ts.
describe.runIf(realCrdsFolder() !== undefined)('what runs virtual machines here', () => {
  kubevirtSimulatorSuite('real', useCluster())
})
