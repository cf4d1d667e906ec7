import { join } from 'node:path'
import { CONTROL_PLANE, DISK_REGISTRY_PORT, S3_PORT } from '../../sandbox/node/addresses.ts'
import type { NodeCluster } from '../../sandbox/node/node-cluster.ts'
import { ImageLayout } from '../../sandbox/oci/image-layout.ts'
import { RegistryProcess } from '../../sandbox/oci/registry-process.ts'

const BUCKET = 'disks'
const PLATFORM = { os: 'linux', architecture: process.arch === 'arm64' ? 'arm64' : 'amd64' }
/** The user that reads disks in container images, by convention. */
const QEMU = 107

/** Sources of other types than `http`, with the same disks: an S3 server and a registry. */
export class OtherSources {
  /** Without a slash at the end. */
  readonly s3Url = `http://${CONTROL_PLANE}:${S3_PORT}/${BUCKET}`
  /** Has the images `good:1`, with a disk, and `empty:1`, with a file that is none. */
  readonly registryUrl = `docker://${CONTROL_PLANE}:${DISK_REGISTRY_PORT}`
  readonly #registry: RegistryProcess

  private constructor(registry: RegistryProcess) {
    this.#registry = registry
  }

  /** @param folder of the disks */
  static async start(cluster: NodeCluster, folder: string): Promise<OtherSources> {
    const s3 = ['-backend', 'directfs', '-directfs.path', folder, '-directfs.bucket', BUCKET]
    cluster.run('s3', [cluster.commands('gofakes3'), '-quiet', '-host', `${CONTROL_PLANE}:${S3_PORT}`, ...s3])
    const layout = await ImageLayout.open(join(cluster.directory, 'disk-images'))
    const disk = { from: join(folder, 'disk.qcow2') }
    const file = (path: string, content: typeof disk | string) =>
      ({ type: 'file', path, mode: 0o440, uid: QEMU, gid: QEMU, content }) as const
    await layout.add({
      name: 'good:1',
      platform: PLATFORM,
      layers: [[file('/disk/disk.qcow2', disk)]],
      config: {},
    })
    await layout.add({ name: 'empty:1', platform: PLATFORM, layers: [[file('/etc/motd', 'hello')]], config: {} })
    const { folder: images } = layout
    const within = cluster.enclave.networkCommand()
    const at = { folder: images, host: CONTROL_PLANE, port: DISK_REGISTRY_PORT, within }
    return new OtherSources(await RegistryProcess.start(at))
  }

  stop(): void {
    this.#registry.stop()
  }
}
