import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONTROL_PLANE, type NodeAddresses, PODS, REGISTRY, SERVICES } from './addresses.ts'
import { Enclave, type Inmate } from './enclave.ts'
import type { GoCommands } from './go-commands.ts'
import { IMAGES } from './images.ts'
import { CSI_DRIVERS, type CsiDriver } from './storage.ts'

export interface NodeOptions {
  readonly cluster: Enclave
  readonly addresses: NodeAddresses
  readonly others: readonly NodeAddresses[]
  /** Folder for its files and logs. */
  readonly directory: string
  readonly commands: GoCommands
  /** Root of the file system with the Debian packages. */
  readonly packages: string
  readonly images: string
  /** Cgroup of all that runs on it, below the root of each hierarchy. */
  readonly cgroup: string
  /** Paths of kubeconfigs. */
  readonly kubeconfigs: {
    readonly kubelet: string
    readonly multus: string
    readonly proxy: string
    readonly policies: string
  }
  readonly ca: string
  /** Folder of the volumes of a driver. */
  readonly volumesOf: (driver: CsiDriver) => string
}

const SOCKET = '/run/containerd/containerd.sock'

/**
 * A node that really runs pods: containerd, kubelet, kube-proxy, Multus, CNI plug-ins, CSI drivers, and what enforces NetworkPolicies, in
 * namespaces of their own.
 */
export class KubernetesNode {
  readonly name: string
  readonly address: string
  readonly #options: NodeOptions
  readonly #agents = new Map<string, Inmate>()
  #enclave: Enclave
  #hasImages = false

  private constructor(options: NodeOptions, enclave: Enclave) {
    this.name = options.addresses.name
    this.address = options.addresses.address
    this.#options = options
    this.#enclave = enclave
  }

  static async start(options: NodeOptions): Promise<KubernetesNode> {
    const node = new KubernetesNode(options, await Enclave.start(options.cluster))
    await node.#boot()
    return node
  }

  get enclave(): Enclave {
    return this.#enclave
  }

  /** As if its power were cut. */
  async stop(): Promise<void> {
    await this.enclave.stop()
  }

  /** As if its power were back: with its files, and without its processes. */
  async startAgain(): Promise<void> {
    this.#enclave = await Enclave.start(this.#options.cluster)
    await this.#boot()
  }

  /** Kills kubelet and containerd, and starts them again. What runs in containers goes on. */
  async restartAgents(): Promise<void> {
    for (const name of ['kubelet', 'containerd']) await this.#agents.get(name)?.stop('SIGKILL')
    await this.#startContainerd()
    this.#startKubelet()
  }

  async #boot(): Promise<void> {
    try {
      await this.#mount()
      await this.#connect()
      await this.#configure()
      await this.#startContainerd()
      for (const driver of CSI_DRIVERS) this.#startDriver(driver)
      for (const device of DEVICES.filter(({ path }) => existsSync(path))) this.#startDevice(device)
      this.#startKubelet()
      this.#start('kube-proxy', [
        this.#options.commands('kube-proxy'),
        '--config=/etc/open-terrain-node/kube-proxy.yaml',
      ])
      this.#startPolicies()
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  #startKubelet(): void {
    const { addresses, commands, kubeconfigs } = this.#options
    this.#start('kubelet', [
      commands('kubelet'),
      '--config=/etc/open-terrain-node/kubelet.yaml',
      `--kubeconfig=${kubeconfigs.kubelet}`,
      `--hostname-override=${addresses.name}`,
      `--node-ip=${addresses.address}`,
    ])
  }

  /** Enforces NetworkPolicies, and does nothing else of what it can. */
  #startPolicies(): void {
    const { addresses, commands, kubeconfigs } = this.#options
    this.#start('kube-router', [
      ...ALWAYS,
      commands('kube-router'),
      '--run-firewall=true',
      '--run-router=false',
      '--run-service-proxy=false',
      `--kubeconfig=${kubeconfigs.policies}`,
      `--hostname-override=${addresses.name}`,
      `--service-cluster-ip-range=${SERVICES}`,
      '--health-port=0',
      '--metrics-port=0',
    ])
  }

  /** The first configuration counts: without that of Multus, pods get the network of pods alone. */
  async setMultus(isUsed: boolean): Promise<void> {
    // containerd reads the folder again when a file is written, not when one is moved into it.
    const [file, used] = [join(this.#options.directory, MULTUS), `/etc/cni/net.d/${MULTUS}`]
    await this.enclave.script(isUsed ? `cp '${file}' ${used}` : `rm ${used}`)
  }

  async ctr(...args: readonly string[]): Promise<string> {
    const quoted = args.map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`).join(' ')
    return await this.enclave.script(`'${this.#options.commands('ctr')}' -a ${SOCKET} -n k8s.io ${quoted}`)
  }

  #start(name: string, command: readonly string[]): void {
    const { directory } = this.#options
    this.#agents.set(name, this.enclave.start(command, join(directory, `${name}.log`), { env: ENVIRONMENT }))
  }

  /** What they write to the usual folders lands in `directory`; those of this machine stay as they are. */
  async #mount(): Promise<void> {
    const { directory, packages, cgroup } = this.#options
    for (const name of [
      'containerd',
      'kubelet',
      'sysctl',
      ...OVERLAID.flatMap((one) => [`${one}-upper`, `${one}-work`]),
    ]) {
      await mkdir(join(directory, name), { recursive: true })
    }
    const overlays = OVERLAID.map((one) => {
      const lower = one === 'usr' ? `${packages}/usr:/usr` : `/${one}`
      const [upper, work] = ['upper', 'work'].map((part) => `${directory}/${one}-${part}`)
      return `mount -t overlay overlay -o lowerdir=${lower},upperdir=${upper},workdir=${work} /${one}`
    })
    const sysctls = Object.entries(SYSCTLS).map(([path, value]) => {
      const file = `${directory}/sysctl/${path.replaceAll('/', '.')}`
      return `echo ${value} > ${file}; mount --bind ${file} /proc/sys/${path}`
    })
    await this.enclave.script(
      [
        ...overlays,
        'mount -t tmpfs tmpfs /run',
        'mkdir -p /run/cgroup /run/containerd /run/lock',
        'mount --rbind /sys/fs/cgroup /run/cgroup',
        'mount -t sysfs sysfs /sys',
        'mount --rbind /run/cgroup /sys/fs/cgroup',
        'umount -l /run/cgroup',
        ...['containerd', 'kubelet'].flatMap((name) => [
          `mkdir -p /var/lib/${name}`,
          `mount --bind ${directory}/${name} /var/lib/${name}`,
        ]),
        'ln -sf /usr/sbin/xtables-legacy-multi /usr/sbin/iptables',
        'ln -sf /usr/sbin/xtables-legacy-multi /usr/sbin/ip6tables',
        ...['iptables', 'ip6tables'].flatMap((name) =>
          ['save', 'restore'].map((end) => `ln -sf /usr/sbin/xtables-legacy-multi /usr/sbin/${name}-${end}`),
        ),
        ...sysctls,
        `for hierarchy in /sys/fs/cgroup/*; do [ -d $hierarchy ] && mkdir -p $hierarchy${cgroup} || true; done`,
        'mount --make-rshared /',
      ].join('\n'),
    )
  }

  async #connect(): Promise<void> {
    const { cluster, addresses, others } = this.#options
    await this.enclave.connect(cluster, 'nodes', `to-${addresses.name}`, `${addresses.address}/24`)
    await cluster.script(`ip route replace ${addresses.pods} via ${addresses.address}`)
    await this.enclave.script(
      [
        `ip route add default via ${CONTROL_PLANE}`,
        ...others.map((other) => `ip route add ${other.pods} via ${other.address}`),
        'echo 1 > /proc/sys/net/ipv4/ip_forward',
        'echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables',
        'echo 1 > /proc/sys/net/bridge/bridge-nf-call-ip6tables',
      ].join('\n'),
    )
  }

  async #configure(): Promise<void> {
    const { addresses, commands, ca, cgroup, directory, kubeconfigs } = this.#options
    const files: Record<string, string> = {
      'kubelet.yaml': JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        failCgroupV1: false,
        cgroupDriver: 'cgroupfs',
        cgroupRoot: cgroup,
        enforceNodeAllocatable: ['none'],
        containerRuntimeEndpoint: `unix://${SOCKET}`,
        authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: ca } },
        authorization: { mode: 'Webhook' },
        failSwapOn: false,
        // A full disk of this machine is nobody's business here.
        evictionHard: {
          'memory.available': '0%',
          'nodefs.available': '0%',
          'nodefs.inodesFree': '0%',
          'imagefs.available': '0%',
        },
        imageGCHighThresholdPercent: 100,
        imageGCLowThresholdPercent: 99,
        resolvConf: '',
        volumePluginDir: '/var/lib/kubelet/plugins-exec',
        registerNode: true,
        logging: { verbosity: 2 },
      }),
      'kube-proxy.yaml': JSON.stringify({
        apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
        kind: 'KubeProxyConfiguration',
        mode: 'iptables',
        clientConnection: { kubeconfig: kubeconfigs.proxy },
        hostnameOverride: addresses.name,
        clusterCIDR: PODS,
        // Those of the whole machine stay as they are.
        conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
      }),
      'containerd.toml': CONTAINERD,
      'hosts.toml': `server = "http://${CONTROL_PLANE}:${REGISTRY.port}"\n`,
    }
    const pods = {
      cniVersion: '1.0.0',
      name: 'pods',
      plugins: [
        {
          type: 'bridge',
          bridge: 'cni0',
          isGateway: true,
          hairpinMode: true,
          ipMasq: false,
          ipam: { type: 'host-local', ranges: [[{ subnet: addresses.pods }]], routes: [{ dst: '0.0.0.0/0' }] },
        },
        { type: 'portmap', capabilities: { portMappings: true }, snat: true },
      ],
    }
    const multus = {
      cniVersion: '0.3.1',
      name: 'multus',
      type: 'multus',
      kubeconfig: kubeconfigs.multus,
      capabilities: { portMappings: true },
      delegates: [pods],
      logLevel: 'verbose',
      logFile: join(directory, 'multus.log'),
    }
    const script = [
      'mkdir -p /etc/open-terrain-node /etc/cni/net.d /opt/cni/bin /var/lib/kubelet/plugins /var/lib/kubelet/plugins_registry',
    ]
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(directory, name), text)
      script.push(`cp '${join(directory, name)}' /etc/open-terrain-node/${name}`)
    }
    const registry = `/etc/open-terrain-node/registries/${REGISTRY.name}`
    script.push(`mkdir -p ${registry}`, `mv /etc/open-terrain-node/hosts.toml ${registry}/`)
    for (const [name, config] of Object.entries({ 'pods.conflist': pods, [MULTUS]: multus })) {
      await writeFile(join(directory, name), JSON.stringify(config))
      script.push(`cp '${join(directory, name)}' /etc/cni/net.d/`)
    }
    for (const plugin of CNI_PLUGINS) script.push(`ln -sf '${commands(plugin)}' /opt/cni/bin/${plugin}`)
    await this.enclave.script(script.join('\n'))
  }

  async #startContainerd(): Promise<void> {
    const { commands, images } = this.#options
    // The shim is looked for on the PATH.
    await this.enclave.script(`ln -sf '${commands('containerd-shim-runc-v2')}' /usr/bin/containerd-shim-runc-v2`)
    this.#start('containerd', [commands('containerd'), '--config=/etc/open-terrain-node/containerd.toml'])
    for (let attempt = 0; ; attempt += 1) {
      const isUp = await this.ctr('version').then(
        () => true,
        () => false,
      )
      if (isUp) break
      if (attempt > 120) throw new Error(`containerd of ${this.name} did not start`)
      await sleep(250)
    }
    if (!this.#hasImages) await this.ctr('images', 'import', '--local', images)
    this.#hasImages = true
  }

  /** As virt-handler of KubeVirt offers it. */
  #startDevice({ name, path }: (typeof DEVICES)[number]): void {
    this.#start(`device-${name}`, [
      ...ALWAYS,
      this.#options.commands('device-plugin'),
      `-resource=devices.kubevirt.io/${name}`,
      `-path=${path}`,
      `-endpoint=/var/lib/kubelet/plugins_registry/device-${name}.sock`,
    ])
  }

  #startDriver(driver: CsiDriver): void {
    const { commands, volumesOf } = this.#options
    const { name, isLocal } = driver
    this.#start(name, [
      // It ends when the kubelet could not register it, such as where the Node was made a moment ago.
      ...ALWAYS,
      commands('csi-driver'),
      `-name=${name}`,
      `-node=${this.name}`,
      `-data=${volumesOf(driver)}`,
      `-local=${isLocal}`,
      `-endpoint=/var/lib/kubelet/plugins/${name}.sock`,
      `-register=/var/lib/kubelet/plugins_registry/${name}-reg.sock`,
    ])
  }
}

/** What pods of a node may have of it, where this machine has it. */
export const DEVICES = [
  { name: 'kvm', path: '/dev/kvm' },
  { name: 'tun', path: '/dev/net/tun' },
  { name: 'vhost-net', path: '/dev/vhost-net' },
] as const
/** As in a pod: what follows is started again when it ends. */
const ALWAYS = ['sh', '-c', 'while :; do "$@"; sleep 1; done', 'sh']
const OVERLAID = ['usr', 'etc', 'opt', 'var'] as const
const CNI_PLUGINS = ['bridge', 'loopback', 'macvlan', 'host-local', 'static', 'portmap', 'tuning', 'multus']
/** Before the network of pods in the alphabet, so that the container runtime takes it. */
const MULTUS = '00-multus.conf'
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' }
/** The kubelet sets these for the whole machine. Here it finds them set, in files that only it sees. */
const SYSCTLS: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
}

const CONTAINERD = `
version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "${IMAGES.pause}"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "/etc/open-terrain-node/registries"
[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true
  # A process that may not lower the score of others (in a container, for instance) can run a node too.
  restrict_oom_score_adj = true
  device_ownership_from_security_context = true
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["/opt/cni/bin"]
  conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.cri.v1.runtime".containerd]
  default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  BinaryName = "/usr/sbin/runc"
  SystemdCgroup = false
[plugins."io.containerd.nri.v1.nri"]
  disable = true
`
