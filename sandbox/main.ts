import { systemClock } from '../operator/base/clock.ts'
import { Connection } from '../operator/kube/connection.ts'
import { HttpKubeClient } from '../operator/kube/http-client.ts'
import { commandOptions } from './command-options.ts'
import { OPERATOR_NAMESPACE, startCluster } from './control-plane/cluster.ts'
import { installCrds, ourCrds } from './control-plane/install.ts'
import { ImageServer } from './image-server/image-server.ts'
import { SCRIPTED_PATHS } from './image-server/scripted-paths.ts'
import { CONTROL_PLANE, REGISTRY } from './node/addresses.ts'
import { IMAGES } from './node/images.ts'
import { NodeCluster } from './node/node-cluster.ts'
import { whyNoNodes } from './node/prerequisites.ts'
import { SNAPSHOT_CLASS } from './node/storage.ts'
import { httpTransfer, startSimulators } from './simulators/index.ts'

const USAGE = `usage: npm run sandbox -- [--directory FOLDER | --node]
  A Kubernetes cluster on this machine with simulators of CDI, KubeVirt and the snapshot controller, and the roles,
  admission policies and policy ConfigMap of an installation, until Ctrl-C.
  --node              instead, two nodes that really run pods, with CDI, Multus and snapshots: needs root on Linux (docs/real-node.md)
  --directory FOLDER  keeps its kubeconfig, logs and data there instead of in a temporary folder
`

const { directory, node } = commandOptions(USAGE, { directory: { type: 'string' }, node: { type: 'boolean' } })
if (node === true) await runNodes()
else await run()

async function runNodes(): Promise<void> {
  const reason = await whyNoNodes()
  if (reason !== undefined) throw new Error(reason)
  await using cluster = await NodeCluster.start({ nodes: 2 })
  await installCrds({ kubeconfigYaml: cluster.kubeconfigYaml }, await ourCrds())
  process.stdout.write(
    [
      `Two nodes are up: ${cluster.nodes.map(({ name }) => name).join(', ')}`,
      'Storage class: shared. An image for pods: open-terrain.invalid/busybox:1',
      '',
      `  export KUBECONFIG=${cluster.kubeconfigPath}`,
      '',
      'The scenarios on real nodes take it as a cluster that exists, in another terminal:',
      '',
      `  ${cluster.enclave.networkCommand().join(' ')} env ${await stageEnvironment(cluster)} npm run test:node`,
      '',
      'Ctrl-C ends it.',
      '',
    ].join('\n'),
  )
  process.stdout.write(`${await nextSignal()}: stopping\n`)
}

/** What docs/real-node.md says about a cluster that exists. Pods of this one reach nothing outside of its network. */
async function stageEnvironment(cluster: NodeCluster): Promise<string> {
  const values = {
    NODE_KUBECONFIG: await cluster.kubeconfigInside('admin', ['system:masters']),
    NODE_SOURCE_HOST: CONTROL_PLANE,
    NODE_REGISTRY: REGISTRY.name,
    NODE_STORAGE_CLASS: 'shared',
    NODE_LOCAL_STORAGE_CLASS: 'local',
    NODE_SNAPSHOT_CLASS: SNAPSHOT_CLASS,
    NODE_POD_IMAGE: IMAGES.web,
  }
  return Object.entries(values)
    .map((pair) => pair.join('='))
    .join(' ')
}

async function run(): Promise<void> {
  await using cluster = await startCluster({
    access: true,
    // The values of an installation, except for a retry backoff that is short enough for a person at a terminal.
    policy: {
      concurrency: 4,
      retryLimit: 2,
      retryBackoffDuration: '15s',
      // The Workspace of the examples needs these for its image and its volumes.
      imageUrlTemplate: 'https://images.example.com/{baseVm}/{version}/{name}.qcow2',
      defaultSourceType: 'http',
      defaultDiskSize: '18Gi',
      defaultStorageClass: 'gp3',
      defaultSnapshotClass: 'ebs-snapshot',
      localVolumeRoot: '/var/lib/open-terrain',
    },
    ...(directory !== undefined && { directory, keepDirectory: true }),
  })
  const { controlPlane, foreign } = cluster
  const connection = Connection.fromEnvironment(null, controlPlane.kubeconfigPath)
  const imageServer = await ImageServer.start()
  for (const { rule } of SCRIPTED_PATHS) imageServer.set(rule)
  const simulators = await startSimulators({
    client: new HttpKubeClient({ connection, userAgent: 'open-terrain-sandbox' }),
    clock: systemClock,
    random: Math.random,
    transfer: httpTransfer(imageServer),
  })
  process.stdout.write(
    [
      `The sandbox is up: ${controlPlane.server}`,
      `Every image URL downloads 4 MiB from http://127.0.0.1:${imageServer.port}, whatever its host, but for these paths:`,
      ...SCRIPTED_PATHS.map(({ rule, effect }) => `  https://any.host${`${rule.path}name.qcow2`.padEnd(24)} ${effect}`),
      `CRDs of CDI, KubeVirt and snapshots: ${foreign.source === 'real' ? `the real ones from ${foreign.folder}` : 'our small ones'}`,
      '',
      `  export KUBECONFIG=${controlPlane.kubeconfigPath}`,
      '  kubectl -n sync-operator get configmap sync-operator-policy -o yaml',
      `  npm run operator        # from source, in namespace ${OPERATOR_NAMESPACE}`,
      '',
      'Ctrl-C ends it.',
      '',
    ].join('\n'),
  )
  process.stdout.write(`${await nextSignal()}: stopping\n`)
  await simulators.stop()
  await imageServer.stop()
  await connection.close()
}

/** Resolves at the first SIGINT or SIGTERM. Ignores later signals: the shutdown is already in progress. */
function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    // An unsettled promise does not keep a process alive, but a timer does.
    const alive = setInterval(() => {}, 60_000)
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        clearInterval(alive)
        resolve(signal)
      })
    }
  })
}
