import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_CLASS } from '../simulators/annotations.ts'
import type { RunningCluster } from './running-cluster.ts'

/** Volumes that every node reaches, with snapshots, and volumes that are bound to the node that uses them first. */
export const STORAGE_CLASSES = ['shared', 'local'] as const
export const SNAPSHOT_CLASS = 'snapshots'

export const CSI_DRIVERS = STORAGE_CLASSES.map((storageClass) => ({
  storageClass,
  name: driverOf(storageClass),
  isLocal: storageClass === 'local',
}))

/** Name of the driver of a class. */
export function driverOf(storageClass: (typeof STORAGE_CLASSES)[number]): string {
  return `${storageClass}.csi.open-terrain.invalid`
}

export type CsiDriver = (typeof CSI_DRIVERS)[number]

/** Folder of the volumes and snapshots of a driver, which all nodes see. */
export function volumesOf({ directory }: Pick<RunningCluster, 'directory'>, { name }: Pick<CsiDriver, 'name'>): string {
  return join(directory, 'volumes', name)
}

/** Starts the controllers of volumes and snapshots: Kubernetes's own sidecars in front of our driver. */
export async function startStorage(cluster: RunningCluster): Promise<void> {
  const kubeconfig = await cluster.kubeconfigInside('storage', ['system:masters'])
  for (const driver of CSI_DRIVERS) {
    await startDriver(cluster, driver, kubeconfig)
    await createClasses(cluster, driver)
  }
  cluster.run('snapshot-controller', [cluster.commands('snapshot-controller'), `--kubeconfig=${kubeconfig}`])
}

async function startDriver(cluster: RunningCluster, driver: CsiDriver, kubeconfig: string): Promise<void> {
  const { storageClass, name, isLocal } = driver
  const endpoint = join(cluster.directory, `${storageClass}.sock`)
  const folder = volumesOf(cluster, driver)
  await mkdir(join(folder, 'snapshots'), { recursive: true })
  await mkdir(join(folder, 'volumes'), { recursive: true })
  const flags = [`-name=${name}`, `-data=${folder}`, `-local=${isLocal}`, `-endpoint=${endpoint}`]
  cluster.run(`csi-driver-${storageClass}`, [cluster.commands('csi-driver'), ...flags])
  const sidecar = (command: string, ...further: readonly string[]) => {
    const all = [`--kubeconfig=${kubeconfig}`, `--csi-address=${endpoint}`, ...further]
    cluster.run(`${command}-${storageClass}`, [cluster.commands(command), ...all])
  }
  const topology = isLocal ? ['--feature-gates=Topology=true', '--strict-topology'] : ['--feature-gates=Topology=false']
  sidecar('csi-provisioner', '--extra-create-metadata', ...topology)
  sidecar('csi-snapshotter')
}

async function createClasses(cluster: RunningCluster, { name, isLocal, storageClass }: CsiDriver): Promise<void> {
  await cluster.create('/apis/storage.k8s.io/v1/csidrivers', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name },
    spec: { attachRequired: false, fsGroupPolicy: 'File' },
  })
  await cluster.create('/apis/storage.k8s.io/v1/storageclasses', {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    // Volumes of labs name no class.
    metadata: {
      name: storageClass,
      annotations: { [DEFAULT_CLASS]: String(isLocal) },
    },
    provisioner: name,
    volumeBindingMode: isLocal ? 'WaitForFirstConsumer' : 'Immediate',
  })
  if (isLocal) return
  await cluster.create('/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses', {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotClass',
    metadata: { name: SNAPSHOT_CLASS },
    driver: name,
    deletionPolicy: 'Delete',
  })
}
