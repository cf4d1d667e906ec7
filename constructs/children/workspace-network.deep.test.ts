import { describe } from 'vitest'
import { workspaceNetworkSuite } from '../../test/prepared/children/workspace-network-suite.ts'

describe('the network configurations of a workspace', () => {
  workspaceNetworkSuite(1_200)
})
