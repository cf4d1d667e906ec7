import { useAdmissionCluster } from '../harness/admission-cluster.ts'
import { sourceUrlSuite } from './source-url-suite.ts'

sourceUrlSuite(useAdmissionCluster(), { every: 1 })
