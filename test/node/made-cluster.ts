import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { installCrds, ourCrds, readCrds } from '../../sandbox/control-plane/install.ts'
import { CONTROL_PLANE, REGISTRY } from '../../sandbox/node/addresses.ts'
import { IMAGES } from '../../sandbox/node/images.ts'
import { NodeCluster } from '../../sandbox/node/node-cluster.ts'
import { Sources } from '../../sandbox/node/sources.ts'
import { SNAPSHOT_CLASS } from '../../sandbox/node/storage.ts'
import { writeDiskFiles } from './disk-files.ts'
import { InsideNodes } from './inside-nodes.ts'
import { OperatorImages } from './operator-images.ts'
import { OtherSources } from './other-sources.ts'
import type { RealCluster } from './real-cluster.ts'

const FOREIGN = join(import.meta.dirname, '../../sandbox/foreign-crds')
/** Nothing of KubeVirt runs here. The operator and the tests only have to find its kinds. */
const REAL = /[.](cdi[.]kubevirt|snapshot[.]storage[.]k8s|k8s[.]cni[.]cncf)[.]io$/

/** Two nodes on this machine, with CDI, snapshots and Multus. */
export async function madeCluster(): Promise<RealCluster> {
  const cluster = await NodeCluster.start({ nodes: 2 })
  const folder = join(cluster.directory, 'sources')
  await mkdir(folder)
  await writeDiskFiles(folder, cluster.packages)
  const [host, socket] = [CONTROL_PLANE, join(cluster.directory, 'sources.sock')]
  const within = cluster.enclave.networkCommand()
  const sources = await Sources.start({ folder, host, socket, within })
  const others = await OtherSources.start(cluster, folder)
  const layout = join(cluster.directory, 'operator-images')
  const operatorImages = new OperatorImages({ ...REGISTRY, folder: layout, host, within })
  const foreign = (await readCrds(FOREIGN)).filter(({ metadata }) => !REAL.test(metadata?.name ?? ''))
  await installCrds({ kubeconfigYaml: cluster.kubeconfigYaml }, [...(await ourCrds()), ...foreign])
  return {
    client: cluster.client,
    controlPlane: cluster,
    sourceUrl: sources.url,
    storageClass: 'shared',
    localStorageClass: 'local',
    snapshotClass: SNAPSHOT_CLASS,
    podImage: IMAGES.web,
    inside: new InsideNodes(cluster),
    operatorImages,
    others,
    requests: () => sources.requests(),
    stop: async () => {
      others.stop()
      sources.stop()
      operatorImages.stop()
      await cluster.stop()
    },
  }
}
