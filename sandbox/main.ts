import { Connection } from '../operator/kube/connection.ts'
import { HttpKubeClient } from '../operator/kube/http-client.ts'
import { systemClock } from '../operator/runtime/clock.ts'
import { commandOptions } from './command-options.ts'
import { OPERATOR_NAMESPACE, startCluster } from './control-plane/cluster.ts'
import { ImageServer } from './image-server/image-server.ts'
import { SCRIPTED_PATHS } from './image-server/scripted-paths.ts'
import { httpTransfer, startSimulators } from './simulators/index.ts'

const USAGE = `usage: npm run sandbox -- [--directory FOLDER]
  A Kubernetes cluster on this machine with simulators of CDI, KubeVirt and the snapshot controller, and the roles,
  admission policies and policy ConfigMap of an installation, until Ctrl-C.
  --directory FOLDER  keeps its kubeconfig, logs and data there instead of in a temporary folder
`

const { directory } = commandOptions(USAGE, { directory: { type: 'string' } })
await run()

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
