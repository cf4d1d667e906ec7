import { AMOUNT, between, each, fieldsOf, itemsBy, listOf, never, presenceOf, VALUE } from './override-verdicts.ts'

const WORD = (field: string) => never(`spec.${field} says that`)
const DEVICE = never('it takes a device or a privilege of the node')
const LEAVES = never('it decides which networks the guest is on: only those of spec.interfaces keep it in its lab')
const CLAIMS = never('KubeVirt makes claims for it that no lab counts and the operator does not know')
const QUEUE = never('images are only downloaded through the queue of VMDiskImages')
const FOREIGN = never(
  'it names objects that were not made for this machine: Secrets, ConfigMaps, claims or files of the node',
)
const OTHERS = never('it takes from other machines on the node what nobody counts')

const switched = presenceOf({ enabled: VALUE })

const NUMBERS_OF_PROBE = each('failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds')

const clock = fieldsOf({
  timer: fieldsOf({
    hpet: fieldsOf(each('present tickPolicy')),
    hyperv: fieldsOf(each('present')),
    kvm: fieldsOf(each('present')),
    pit: fieldsOf(each('present tickPolicy')),
    rtc: fieldsOf(each('present tickPolicy track')),
  }),
  timezone: VALUE,
  utc: fieldsOf(each('offsetSeconds')),
})

const cpu = fieldsOf({
  ...each('cores maxSockets sockets threads', between(1, 1_024)),
  ...each('dedicatedCpuPlacement isolateEmulatorThread model'),
  features: listOf(fieldsOf(each('name policy'))),
  numa: OTHERS,
  realtime: OTHERS,
})

const disks = itemsBy('name', 'rendered', {
  ...each('bootOrder cache dedicatedIOThread errorPolicy io serial tag'),
  blockSize: fieldsOf({
    custom: fieldsOf(each('discardGranularity logical physical')),
    matchVolume: switched,
  }),
  cdrom: fieldsOf(each('bus readonly tray')),
  disk: fieldsOf(each('bus pciAddress readonly')),
  changedBlockTracking: CLAIMS,
  lun: DEVICE,
  shareable: never('two guests that write to one disk destroy it'),
})

const interfaces = itemsBy('name', 'rendered', {
  ...each('acpiIndex bootOrder model pciAddress tag'),
  dhcpOptions: fieldsOf({
    ...each('bootFileName tftpServerName'),
    ntpServers: listOf(VALUE),
    privateOptions: listOf(fieldsOf(each('option value'))),
  }),
  ports: listOf(fieldsOf(each('name port protocol'))),
  portRanges: listOf(fieldsOf(each('start end protocol'))),
  ...each('binding bridge macvtap masquerade passt passtBinding slirp sriov', LEAVES),
  macAddress: WORD('interfaces[].macAddress'),
  state: WORD('interfaces'),
})

const devices = fieldsOf({
  ...each('autoattachGraphicsDevice autoattachInputDevice autoattachMemBalloon autoattachSerialConsole'),
  ...each('blockMultiQueue logSerialConsole networkInterfaceMultiqueue useVirtioTransitional'),
  disks,
  inputs: listOf(fieldsOf(each('bus name type'))),
  interfaces,
  panicDevices: listOf(fieldsOf(each('model'))),
  rng: presenceOf(),
  sound: fieldsOf(each('model name')),
  video: fieldsOf(each('type')),
  watchdog: fieldsOf({
    name: VALUE,
    diag288: fieldsOf(each('action')),
    i6300esb: fieldsOf(each('action')),
  }),
  autoattachPodInterface: LEAVES,
  autoattachVSOCK: DEVICE,
  clientPassthrough: DEVICE,
  disableHotplug: never('disks and interfaces of a running machine could not be changed any more'),
  downwardMetrics: never('it shows the guest figures of its node'),
  filesystems: FOREIGN,
  gpus: DEVICE,
  hostDevices: DEVICE,
  tpm: WORD('tpm'),
})

const features = fieldsOf({
  ...each('acpi hypervPassthrough pvspinlock smm', switched),
  apic: presenceOf(each('enabled endOfInterrupt')),
  hyperv: fieldsOf({
    ...each('evmcs frequencies ipi reenlightenment relaxed reset runtime synic vapic vpindex', switched),
    spinlocks: fieldsOf(each('enabled spinlocks')),
    synictimer: fieldsOf({ enabled: VALUE, direct: switched }),
    tlbflush: fieldsOf({ enabled: VALUE, direct: switched, extended: switched }),
    vendorid: fieldsOf(each('enabled vendorid')),
  }),
  kvm: fieldsOf(each('hidden')),
})

const firmware = fieldsOf({
  serial: VALUE,
  bootloader: fieldsOf({
    bios: presenceOf(each('useSerial')),
    efi: presenceOf({ secureBoot: VALUE, persistent: CLAIMS }),
  }),
  acpi: FOREIGN,
  kernelBoot: QUEUE,
  uuid: never('cloud-init sets up a guest again, as another machine, when it changes'),
})

const amounts = fieldsOf({ ...each('cpu memory', AMOUNT), '*': DEVICE })

const domain = fieldsOf({
  chassis: fieldsOf(each('asset manufacturer serial sku version')),
  clock,
  cpu,
  devices,
  features,
  firmware,
  ioThreads: fieldsOf(each('supplementalPoolThreadCount')),
  ...each('ioThreadsPolicy rebootPolicy'),
  machine: fieldsOf(each('type')),
  memory: fieldsOf({
    hugepages: OTHERS,
    maxGuest: AMOUNT,
    guest: WORD('resources.memory'),
    reservedOverhead: fieldsOf({ addedOverhead: AMOUNT, memLock: OTHERS }),
  }),
  resources: fieldsOf({
    limits: amounts,
    requests: fieldsOf({ cpu: AMOUNT, memory: OTHERS, '*': DEVICE }),
    overcommitGuestOverhead: OTHERS,
  }),
  launchSecurity: DEVICE,
})

const livenessProbe = fieldsOf({
  ...NUMBERS_OF_PROBE,
  exec: fieldsOf({ command: listOf(VALUE) }),
  guestAgentPing: presenceOf(),
  httpGet: fieldsOf({
    ...each('path port scheme'),
    httpHeaders: listOf(fieldsOf(each('name value'))),
    host: never('the node would call any address'),
  }),
  tcpSocket: fieldsOf({ port: VALUE, host: never('the node would call any address') }),
})

const guest = fieldsOf({
  ...each('architecture dnsPolicy subdomain'),
  terminationGracePeriodSeconds: between(0, 3_600),
  dnsConfig: fieldsOf({
    nameservers: listOf(VALUE),
    options: listOf(fieldsOf(each('name value'))),
    searches: listOf(VALUE),
  }),
  domain,
  livenessProbe,
  accessCredentials: FOREIGN,
  affinity: never('it keeps the members of a lab on one node where their networks need it'),
  evictionStrategy: never('it can keep a node from being drained'),
  hostname: WORD('name'),
  networks: LEAVES,
  nodeSelector: WORD('nodeSelector'),
  priorityClassName: never('machines of others would make way'),
  readinessProbe: WORD('readiness'),
  resourceClaims: DEVICE,
  schedulerName: never('only the scheduler of the cluster holds the rules for nodes'),
  serviceAccountName: never('the machine would have the rights of a ServiceAccount'),
  startStrategy: WORD('runStrategy'),
  tolerations: WORD('tolerations'),
  topologySpreadConstraints: never('it keeps the members of a lab on one node where their networks need it'),
  utilityVolumes: FOREIGN,
  volumes: never(
    'spec.disks says that, so that images are downloaded through the queue and no volume is one of somebody else',
  ),
})

/** Verdicts on every field of `spec` of KubeVirt's VirtualMachine, `kubevirt.io/v1`. */
export const MACHINE_OVERRIDES = fieldsOf({
  template: fieldsOf({
    metadata: never('labels and annotations decide which networks, policies and owners count'),
    spec: guest,
  }),
  dataVolumeTemplates: QUEUE,
  instancetype: WORD('instancetype'),
  preference: WORD('preference'),
  runStrategy: WORD('runStrategy'),
  running: WORD('runStrategy'),
  updateVolumesStrategy: never('it moves the disks of the machine'),
})
