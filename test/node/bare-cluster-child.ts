// Starts a cluster with one node and tells where its folder is. The test that started this process then kills it.

import { NodeCluster } from '../../sandbox/node/node-cluster.ts'

const cluster = await NodeCluster.start({ nodes: 1, bare: true })
process.stdout.write(`${cluster.directory}\n`)
setInterval(() => {}, 60_000)
