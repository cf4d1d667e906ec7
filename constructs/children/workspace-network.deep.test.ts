import { describe } from 'vitest'
import { workspaceNetworkSuite } from './workspace-network-suite.fixtures.ts'

describe('the network configurations of a workspace', () => {
  workspaceNetworkSuite(4_000)
})
