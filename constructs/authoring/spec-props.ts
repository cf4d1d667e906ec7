/**
 * The specs of Open Terrain kinds as people write them. What authors read of a field in the editor is what its schema says.
 * Generated from constructs/ by `npm run gen`; do not edit.
 */
import type { Duration, Size } from 'cdk8s'

/** What image is wanted, and how it is stored. */
export interface VMDiskImageSpecInput {
  /**
   * Storage class of the volume. Where nothing names one, it is the default class of the cluster. Must be the name of a Kubernetes object: lower-case
   * letters, digits, "-" and ".", with a letter or digit at both ends. At most 253 characters.
   * @default the policy key defaultStorageClass
   * @example 'gp3'
   */
  readonly storageClass?: string
  /**
   * Volume snapshot class. With one, the artifact is a VolumeSnapshot; where nothing names one, it is the volume itself. A new value takes a new
   * snapshot without a download. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both
   * ends. At most 253 characters.
   * @default the policy key defaultSnapshotClass
   * @example 'ebs-snapshot'
   */
  readonly snapshotClass?: string
  /**
   * Name of a Secret in the same namespace with the credentials of the source. Its keys depend on sourceType. s3: accessKeyId (the access key ID) and
   * secretKey (the secret access key); http and registry: accessKeyId (the user name) and secretKey (the password); gcs: credentials.json (the JSON
   * key file of a service account). Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both
   * ends. At most 253 characters.
   * @default the policy key defaultSecretRef
   * @example 'images-s3'
   */
  readonly secretRef?: string
  /**
   * Where the image is. Needed unless sourceType is blank. s3 and http: https:// or http:// (S3 in path style); gcs: gs://, https:// or http://;
   * registry: docker:// or oci-archive://. Must start with https://, http://, gs://, docker:// or oci-archive:// in lower case; an S3 object is
   * written https://s3.<region>.amazonaws.com/<bucket>/<key>. Must not contain a user or password (nor an "@" before the path): put credentials in a
   * Secret and name it in secretRef. Must be <scheme>://<host>[:<port>]/<path> in printable ASCII without blanks and backslashes (escape others as
   * %XX). Must write an IPv4 address as four decimal numbers without leading zeros, or use a host name. Must not point to a loopback, link-local or
   * metadata address. At most 2048 characters.
   * @default none
   * @example 'https://s3.us-gov-west-1.amazonaws.com/images/redblue/1.4.0/kali.qcow2'
   */
  readonly url?: string
  /**
   * What kind of server url points to; blank is an empty disk.
   * @default the policy key defaultSourceType
   */
  readonly sourceType?: 's3' | 'http' | 'registry' | 'gcs' | 'blank'
  /**
   * Size of the disk, at least the virtual size of the image, as a quantity such as 24Gi. Must be a quantity such as 24Gi or 500M. Must be between
   * 1Mi and 1Pi.
   * @default the policy key defaultDiskSize
   */
  readonly diskSize?: number | string | Size
  /**
   * Name of a ConfigMap in the same namespace with the certificates that the server is trusted by (s3, http and registry), in PEM. For registry, its
   * keys end in .crt or .pem. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends.
   * At most 253 characters.
   * @default the policy key defaultCertConfigMap
   * @example 'site-ca'
   */
  readonly certConfigMap?: string
  /**
   * Checksum of the file as <algorithm>:<lower-case hexadecimal>, with md5, sha1, sha256 or sha512. Only for sourceType http. Must be md5:, sha1:,
   * sha256: or sha512: and the lower-case hexadecimal digest in full. At most 135 characters.
   * @default none
   * @example 'md5:9e107d9d372bb6826bd81d3542a419d6'
   */
  readonly checksum?: string
  /**
   * Display name, for example the name of the machine that uses the image. It is a column of kubectl get -o wide, and the label pelotech.ot/name of
   * the objects that are created for the image. It has no other effect. Must have at most 253 characters.
   * @default none
   * @example 'kali'
   */
  readonly name?: string
  /**
   * What happens to the image when nothing refers to it any more.
   * @default the policy key reclaimPolicy for images that the operator made for a virtual machine, a Workspace or a DataSync, userReclaimPolicy (Retain, where it is not set) for all others
   */
  readonly reclaimPolicy?: 'Retain' | 'Delete'
  /**
   * Only with reclaimPolicy Delete: how long the image is kept after the last reference was removed, such as 72h, whatever its phase. 0s deletes it
   * at that moment. For an image that nothing has referred to yet the time begins when its download is over, and 0s never deletes it. Must be a
   * duration such as 72h, 1h30m, 45s or 500ms: numbers with h, m, s or ms behind each. At most 48 characters.
   * @default the policy key unreferencedTTL, or userUnreferencedTTL
   */
  readonly unreferencedTTL?: string | Duration
  /**
   * True: start no download and stop a running one. The artifact stays.
   * @default false
   */
  readonly suspend?: boolean
}

/** What machine is wanted, and which image its disk is cloned from. */
export interface VirtualMachineSpecInput {
  /**
   * Machine that this one is derived from, such as ubuntu_2004_lts_en-us_x64. A label of KubeVirt's machine, its instance and its pod. Must be
   * letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends.
   * @default none
   */
  readonly baseVm?: string
  /**
   * Version of that machine, such as 2.1.2; quote a number. A label of KubeVirt's machine, its instance and its pod. Must be letters, digits, "-",
   * "_" and ".", at most 63, with a letter or digit at both ends.
   * @default none
   */
  readonly baseVmVersion?: string
  /**
   * Version of this machine, such as 2.1.0; quote a number. A label of KubeVirt's machine, its instance and its pod. Must be letters, digits, "-",
   * "_" and ".", at most 63, with a letter or digit at both ends.
   * @default none
   */
  readonly version?: string
  /**
   * Host name of the guest. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @default the name of the virtual machine
   * @example 'kali'
   */
  readonly name?: string
  /**
   * True: only the image is ensured, no machine is created; one that exists stays.
   * @default false
   */
  readonly ignoreOnDeploy?: boolean
  /**
   * When the guest runs. Always: it is started again whenever it ends. Halted: it is off, and its disk stays. Manual: people start and stop it with
   * virtctl, and it is left as they leave it.
   * @default Always
   */
  readonly runStrategy?: 'Always' | 'Halted' | 'Manual'
  /**
   * Halted: the guest is off, and its disk stays, whatever runStrategy says. Running: runStrategy counts. A Workspace sets it for its machines.
   * @default Running
   */
  readonly powerState?: 'Running' | 'Halted'
  /**
   * System of the guest. windows: cloudbase-init sets it up in place of cloud-init, and it gets the hardware that KubeVirt has for Windows.
   * @default linux
   */
  readonly os?: 'linux' | 'windows'
  /**
   * Answer file for the setup of Windows, on a CD-ROM.
   * @default none
   */
  readonly sysprepSecretRef?: SysprepSecretRefProps
  /**
   * How the guest starts. bios. uefi. uefi-secure: with Secure Boot. An image that was installed with one of bios and uefi does not start with the
   * other. A change takes effect at the next start.
   * @default as KubeVirt has it, which is bios
   */
  readonly firmware?: 'bios' | 'uefi' | 'uefi-secure'
  /**
   * True: the guest has a TPM 2.0, as Windows 11 needs it. What is in it does not outlive a stop.
   * @default none
   */
  readonly tpm?: boolean
  /**
   * Labels of the nodes that the machine may run on: a node must have all of them. A change takes effect at the next start. Every key must have 1 to
   * 317 characters. Every value must be letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends, or empty.
   * @default any node
   * @example { 'topology.kubernetes.io/zone': 'a' }
   */
  readonly nodeSelector?: Readonly<Record<string, string>>
  /**
   * Taints of nodes that the machine tolerates, as Kubernetes has them. A change takes effect at the next start. At most 16 items.
   * @default none
   */
  readonly tolerations?: readonly TolerationProps[]
  /**
   * How the guest shows that it is ready for use: the machine is Ready only while it does. A change takes effect at the next start.
   * @default the machine is Ready as soon as it runs
   */
  readonly readiness?: ReadinessProps
  /**
   * Users of the guest, in addition to the default user of the image. Must have different names: name every user only once. At most 16 items.
   * @default none
   */
  readonly users?: readonly GuestUserProps[]
  /**
   * Data for cloud-init in the guest (cloudbase-init with os: windows), beside that of the operator: a cloud-config, a script, a MIME archive, or
   * anything else that it knows by its first line. For users, host name and network, the other fields hold. Read at the first start. Everyone who may
   * read the object can read it. Must have at most 65536 characters.
   * @default none
   * @example '#cloud-config\npackages: [tmux]\n'
   */
  readonly userData?: string
  /**
   * Where the data for cloud-init is, instead of userData.
   * @default none
   */
  readonly userDataSecretRef?: UserDataSecretRefProps
  /**
   * Instance type of KubeVirt. It gives the machine CPU and memory, in place of resources.
   * @default none
   */
  readonly instancetype?: InstancetypeProps
  /**
   * Preference of KubeVirt. It gives the machine what the spec does not say.
   * @default none
   */
  readonly preference?: PreferenceProps
  /**
   * CPU, memory and disk of the machine. With instancetype only diskSize.
   * @default none
   */
  readonly resources?: VirtualMachineResourcesProps
  /**
   * Disks beside the root disk, in the order of the guest. A disk that is taken out keeps its data until the machine is deleted. Must each have a
   * volume of their own: name every volume only once. At most 16 items.
   * @default none
   */
  readonly disks?: readonly VirtualMachineDiskProps[]
  /**
   * Network interfaces, in the order of the guest. Must each have a network of their own: name every network only once. Must each have a MAC address
   * of their own. At most 32 items.
   * @default one on the pod network, with DHCP; with any, the machine is on it only if one names it
   */
  readonly interfaces?: readonly VirtualMachineInterfaceProps[]
  /**
   * A part of spec of KubeVirt's VirtualMachine, merged over what the operator renders, such as template.spec.domain.cpu.model. The policy key
   * allowedOverrides must list each path.
   * @default none
   */
  readonly overrides?: Readonly<Record<string, unknown>>
  /**
   * Lines that cloud-init adds to /etc/hosts at each start of the guest. What the guest has there stays. A change restarts nothing: the guest reads
   * it at its next start. At most 512 items.
   * @default none
   */
  readonly hostAliases?: readonly HostAliasProps[]
  /**
   * Machines and pods of the namespace with the same node group run on one node, as networks that are Linux bridges of a node need it. Must be
   * lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @default none, any node will do
   * @example 'redblue'
   */
  readonly nodeGroup?: string
  /** The VMDiskImage that the root disk is cloned from. */
  readonly vmDiskImageRef: VirtualMachineDiskVmDiskImageRefProps
  /**
   * The VMDiskImage to create where the one in vmDiskImageRef does not exist: the fields of its spec.
   * @default none
   */
  readonly vmDiskImageTemplate?: VMDiskImageSpecInput
  /**
   * What happens where the image does not exist. CreateIfNotExist: it is created from the template, or waited for without one. FailIfNotExist: the
   * virtual machine is Failed until it appears.
   * @default CreateIfNotExist
   */
  readonly vmDiskImageMode?: 'CreateIfNotExist' | 'FailIfNotExist'
}

/** Answer file for the setup of Windows, on a CD-ROM. */
export interface SysprepSecretRefProps {
  /**
   * Name of the Secret, with the key Autounattend.xml or Unattend.xml. At most 253 characters.
   * @example 'answers'
   */
  readonly name: string
}

/** One taint that is tolerated. */
export interface TolerationProps {
  /**
   * Key of the taint. Must be the key of a taint such as example.com/lab: letters, digits, "-", "_" and ".", with a DNS name and "/" before it or
   * without. At most 317 characters.
   * @default every key, which needs operator Exists
   * @example 'dedicated'
   */
  readonly key?: string
  /**
   * Exists: whatever the value of the taint is. Equal: only that value.
   * @default Equal
   */
  readonly operator?: 'Exists' | 'Equal'
  /**
   * Value of the taint. Not with operator Exists. Must be letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends, or
   * empty.
   * @default the empty one
   * @example 'labs'
   */
  readonly value?: string
  /**
   * Effect of the taint.
   * @default every effect
   */
  readonly effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute'
  /**
   * Seconds that the taint is tolerated. Only with effect NoExecute. From 0 to 2147483647.
   * @default for ever
   * @example 300
   */
  readonly tolerationSeconds?: number
}

/** How the guest shows that it is ready for use: the machine is Ready only while it does. A change takes effect at the next start. */
export interface ReadinessProps {
  /**
   * True: the QEMU guest agent answers. It has to be in the image.
   * @default false
   */
  readonly guestAgent?: boolean
  /**
   * Port on which the guest takes TCP connections on the pod network, such as 22. With interfaces, one of them has to be network: pod. From 1 to
   * 65535.
   * @default none
   */
  readonly tcpPort?: number
  /**
   * True: cloud-init has done all its work without an error, as cloud-init status says in the guest. The guest agent has to be in the image, and
   * allowed to run programs.
   * @default false
   */
  readonly cloudInit?: boolean
  /**
   * Seconds that the guest has until it answers, from its start or from when it last did. Then the machine is Failed until it answers; it is not
   * restarted. From 1 to 86400.
   * @default the policy key vmProvisionTimeout
   * @example 600
   */
  readonly timeoutSeconds?: number
}

/** One user of the guest, in the terms of cloud-init. */
export interface GuestUserProps {
  /**
   * Name of the user. If Linux does not accept it as a login, as with demo user, the login is derived from it (demo-user), and the name becomes the
   * full name. The same applies to names that images have for system users and groups, such as sudo (user-sudo), and to default (user-default), the
   * name that cloud-init has for the default user of the image. Must have at most 64 characters. Must be one line without control characters. Must
   * not contain ":", which ends a field in the list of users of the guest.
   */
  readonly name: string
  /**
   * Password. Everyone who may read the virtual machine can read it: prefer passwordSecretRef. Must have at most 256 characters. Must be one line
   * without control characters.
   * @default none
   * @example 'Summer-2026'
   */
  readonly plain_text_passwd?: string
  /**
   * Where the password is, instead of plain_text_passwd.
   * @default none
   */
  readonly passwordSecretRef?: PasswordSecretRefProps
  /**
   * True: no login with a password. Set it to false together with a password.
   * @default true, as in cloud-init
   */
  readonly lock_passwd?: boolean
  /**
   * Rule for sudo, such as ALL=(ALL) NOPASSWD:ALL. Must have at most 512 characters. Must be one line without control characters.
   * @default none
   */
  readonly sudo?: string
  /**
   * Further groups of the user with commas between them, such as sudo,docker. Must be names of groups with commas between them, such as sudo,docker:
   * each of lower-case letters, digits, "-" and "_", at most 32, with a letter or "_" first.
   * @default none
   */
  readonly groups?: string
  /**
   * Public keys that the user may log in with. At most 16 items. Each: One public key, as in the file authorized_keys. Must hold public keys in one
   * line of ASCII each, such as ssh-ed25519 AAAA... comment. At most 4096 characters.
   * @default none
   * @example ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO alice']
   */
  readonly ssh_authorized_keys?: readonly string[]
}

/** Where the password is, instead of plain_text_passwd. */
export interface PasswordSecretRefProps {
  /**
   * Name of the Secret, in the namespace of the virtual machine. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".",
   * with a letter or digit at both ends. At most 253 characters.
   * @example 'students'
   */
  readonly name: string
  /**
   * Key in the Secret whose value is the password. Must be a key of a Secret: letters, digits, "-", "_" and ".". At most 253 characters.
   * @example 'alice'
   */
  readonly key: string
}

/** Where the data for cloud-init is, instead of userData. */
export interface UserDataSecretRefProps {
  /**
   * Name of the Secret, in the namespace of the machine. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a
   * letter or digit at both ends. At most 253 characters.
   * @example 'first-start'
   */
  readonly name: string
  /**
   * Key in the Secret whose value is the data. Must be a key of a Secret: letters, digits, "-", "_" and ".". At most 253 characters.
   * @example 'user-data'
   */
  readonly key: string
}

/** Instance type of KubeVirt. It gives the machine CPU and memory, in place of resources. */
export interface InstancetypeProps {
  /**
   * Its name. At most 253 characters.
   * @example 'u1.medium'
   */
  readonly name: string
  /**
   * VirtualMachineInstancetype is one of the namespace of the machine.
   * @default VirtualMachineClusterInstancetype
   */
  readonly kind?: 'VirtualMachineClusterInstancetype' | 'VirtualMachineInstancetype'
}

/** Preference of KubeVirt. It gives the machine what the spec does not say. */
export interface PreferenceProps {
  /**
   * Its name. At most 253 characters.
   * @example 'u1.medium'
   */
  readonly name: string
  /**
   * VirtualMachinePreference is one of the namespace of the machine.
   * @default VirtualMachineClusterPreference
   */
  readonly kind?: 'VirtualMachineClusterPreference' | 'VirtualMachinePreference'
}

/** CPU, memory and disk of the machine. With instancetype only diskSize. */
export interface VirtualMachineResourcesProps {
  /**
   * Virtual CPUs, at most 512. A fraction such as 500m or '1.5' (in quotes: YAML takes it for a number otherwise, which is refused) gives the guest
   * the next whole number of them and reserves only the fraction on the node. Must be a number of CPUs such as 2, '1.5' (in quotes) or 500m. Must be
   * between 1m and 512.
   * @default none
   */
  readonly cpu?: number | string
  /**
   * Memory of the guest as a quantity such as 2Gi, between 64Mi and 16Ti. Must be a quantity such as 2Gi or 512M. Must be between 64Mi and 16Ti.
   * @default none
   */
  readonly memory?: number | string | Size
  /**
   * Size of the root disk as a quantity such as 24Gi. A disk is never smaller than its image. Must be a quantity such as 24Gi or 500M. Must be
   * between 1Mi and 1Pi.
   * @default the size of the image
   */
  readonly diskSize?: number | string | Size
}

/** One disk. */
export interface VirtualMachineDiskProps {
  /**
   * Name of the disk. The guest sees it as its serial number: on Linux it is /dev/disk/by-id/virtio-<name>. Must be lower-case letters, digits and
   * "-", at most 20, with a letter or digit at both ends. Must not be rootdisk, cloudinit, sysprep: these are disks of the operator.
   * @example 'data'
   */
  readonly name: string
  /**
   * Size as a quantity such as 20Gi: an empty disk that is made with the machine and deleted with it; beside vmDiskImageRef, the size of the clone. A
   * disk keeps the size that it was made with, and is never smaller than its image. Must be a quantity such as 24Gi or 500M. Must be between 1Mi and
   * 1Pi.
   * @default none
   */
  readonly size?: number | string | Size
  /**
   * Name of a PersistentVolumeClaim in the namespace of the virtual machine: the disk is what is in it. The machine waits for it. Must be the name of
   * a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends. At most 253 characters.
   * @default none
   * @example 'evidence'
   */
  readonly volume?: string
  /**
   * A VMDiskImage: the disk is a clone of it. The machine waits for the image, which must exist.
   * @default none
   */
  readonly vmDiskImageRef?: VirtualMachineDiskVmDiskImageRefProps
  /**
   * True: the image in vmDiskImageRef is a CD-ROM, which the guest cannot write to, and boots from if it cannot boot from the root disk.
   * @default false
   */
  readonly readOnly?: boolean
  /**
   * How the guest sees the disk. The guest needs a driver for virtio and scsi.
   * @default virtio, and sata for a CD-ROM
   */
  readonly bus?: 'virtio' | 'sata' | 'scsi' | 'usb'
}

/** A VMDiskImage: the disk is a clone of it. The machine waits for the image, which must exist. */
export interface VirtualMachineDiskVmDiskImageRefProps {
  /**
   * Name of the VMDiskImage. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends.
   * At most 253 characters.
   * @example 'redblue-1.4.0-kali'
   */
  readonly name: string
  /**
   * Its namespace. Another one needs the right to use the image there. Must be lower-case letters, digits and "-", at most 63, with a letter or digit
   * at both ends.
   * @default that of the virtual machine
   * @example 'vmdi-farm'
   */
  readonly namespace?: string
}

/** One network interface. */
export interface VirtualMachineInterfaceProps {
  /**
   * Name of the NetworkAttachmentDefinition in the namespace of the virtual machine, or, without an address, pod: the pod network of Kubernetes. Must
   * be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @example 'mgmt'
   */
  readonly network: string
  /**
   * An existing NetworkAttachmentDefinition, also of another namespace, in place of the one that network names. network is then only the name of the
   * interface. The policy key attachableNetworks must list it. Must be the namespace and the name of a NetworkAttachmentDefinition, such as
   * vlans/vlan-100. At most 317 characters.
   * @default none
   * @example 'vlans/vlan-100'
   */
  readonly attach?: string
  /**
   * Static address of the guest in CIDR form, IPv4 or IPv6, such as 10.10.0.161/24: the address, then the length of its network. Must be an address
   * with the length of its network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128). Must not be an unspecified, loopback, link-local,
   * multicast or reserved address. At most 64 characters.
   * @default none
   */
  readonly ipAddress?: string
  /**
   * Static addresses of the guest in place of ipAddress, such as one of IPv4 and one of IPv6. At most 4 items. Each: One address in CIDR form.
   * IpAddress must be an address with the length of its network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128). IpAddress must not
   * be an unspecified, loopback, link-local, multicast or reserved address. At most 64 characters.
   * @default none
   * @example ['10.10.0.161/24']
   */
  readonly ipAddresses?: readonly string[]
  /**
   * How the guest gets its addresses. static: those of ipAddress or ipAddresses. dhcp: from a DHCP server on the network, which is a member of it, or
   * Kubernetes on the pod network. none: it gets none.
   * @default static with an address, dhcp without
   */
  readonly addressing?: 'static' | 'dhcp' | 'none'
  /**
   * MAC address of the card. Must be six pairs of lower-case hexadecimal digits with ":" between them, the second digit even, such as
   * 52:54:00:12:34:56.
   * @default one that follows from the machine and the network, and stays
   * @example '52:54:00:12:34:56'
   */
  readonly macAddress?: string
  /**
   * Network card that the guest finds. Guests without drivers for virtio, such as older systems, need another.
   * @default virtio
   */
  readonly model?: 'virtio' | 'e1000' | 'e1000e' | 'ne2k_pci' | 'pcnet' | 'rtl8139'
  /**
   * Largest packet that the guest sends, in bytes, such as 1400. It is not more than the network has. From 576 to 9216.
   * @default what the network says
   */
  readonly mtu?: number
  /**
   * Routes over this interface, which needs a static address. The first one to a network counts. Where several interfaces have a default route, that
   * of the first of them counts. At most 33 items.
   * @default none
   */
  readonly routes?: readonly VirtualMachineInterfaceRouteProps[]
  /**
   * Name servers that the guest asks over this interface, which needs a static address. At most 8 items. Each: Address of one name server. A name
   * server must be an IPv4 or IPv6 address such as 10.10.0.1, without the length of a network. At most 45 characters.
   * @default none
   * @example ['10.10.0.7']
   */
  readonly nameservers?: readonly string[]
}

/** One route. */
export interface VirtualMachineInterfaceRouteProps {
  /**
   * Network that the route leads to, in CIDR form, such as 172.26.0.0/15; 0.0.0.0/0 and ::/0 are all. Must be a network in CIDR form such as
   * 172.26.0.0/15 or 0.0.0.0/0. At most 49 characters.
   */
  readonly to: string
  /**
   * Address that packets are sent to. A route over an address that is not in the network of the interface, or is its own, is left out. Must be an
   * IPv4 or IPv6 address such as 10.10.0.1, without the length of a network. At most 45 characters.
   * @example '10.10.0.1'
   */
  readonly via: string
}

/** One line of /etc/hosts. */
export interface HostAliasProps {
  /**
   * IPv4 or IPv6 address. Must be an address such as 10.10.0.1 or fd00:10::1, without the length of a network. Must be written in the usual short
   * way. At most 45 characters.
   * @example '10.10.0.11'
   */
  readonly ip: string
  /**
   * Names of that address. At most 4 items. Each: One host name. Must be a host name: lower-case letters, digits, "-" and ".", with a letter or digit
   * at both ends. At most 253 characters.
   * @example ['dc1.example.com']
   */
  readonly hostnames: readonly string[]
}

/** Which images a workspace needs, and where they come from. */
export interface DataSyncSpecInput {
  /**
   * Identifier of the workspace, such as "035": the first part of the names of its images. A text: quote a number, or it loses its zeros. Must have
   * at most 63 characters.
   */
  readonly workspaceId: string
  /**
   * Version of the workspace, such as 1.0.0: the second part of the names of its images. Images of different versions are kept beside each other.
   * Must have at most 63 characters.
   * @default none
   */
  readonly version?: string
  /** The vms of the workspace: each has one VMDiskImage. At most 100 items. */
  readonly vms: readonly DataSyncVmProps[]
  /**
   * Storage class of the volume. Where nothing names one, it is the default class of the cluster. Used for vms that do not set it. Must be the name
   * of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends. At most 253 characters.
   * @default the policy key defaultStorageClass
   * @example 'gp3'
   */
  readonly storageClass?: string
  /**
   * Volume snapshot class. With one, the artifact is a VolumeSnapshot; where nothing names one, it is the volume itself. A new value takes a new
   * snapshot without a download. Used for vms that do not set it. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".",
   * with a letter or digit at both ends. At most 253 characters.
   * @default the policy key defaultSnapshotClass
   * @example 'ebs-snapshot'
   */
  readonly snapshotClass?: string
  /**
   * Name of a Secret in the same namespace with the credentials of the source. Its keys depend on sourceType. s3: accessKeyId (the access key ID) and
   * secretKey (the secret access key); http and registry: accessKeyId (the user name) and secretKey (the password); gcs: credentials.json (the JSON
   * key file of a service account). Used for vms that do not set it. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and
   * ".", with a letter or digit at both ends. At most 253 characters.
   * @default the policy key defaultSecretRef
   * @example 'images-s3'
   */
  readonly secretRef?: string
  /**
   * What kind of server url points to; blank is an empty disk. Used for vms that do not set it.
   * @default the policy key defaultSourceType
   */
  readonly sourceType?: 's3' | 'http' | 'registry' | 'gcs' | 'blank'
  /**
   * Size of the disk, at least the virtual size of the image, as a quantity such as 24Gi. Used for vms that do not set it. Must be a quantity such as
   * 24Gi or 500M. Must be between 1Mi and 1Pi.
   * @default the policy key defaultDiskSize
   */
  readonly diskSize?: number | string | Size
  /**
   * Name of a ConfigMap in the same namespace with the certificates that the server is trusted by (s3, http and registry), in PEM. For registry, its
   * keys end in .crt or .pem. Used for vms that do not set it. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with
   * a letter or digit at both ends. At most 253 characters.
   * @default the policy key defaultCertConfigMap
   * @example 'site-ca'
   */
  readonly certConfigMap?: string
}

/** One vm of the workspace, and where its disk image comes from. */
export interface DataSyncVmProps {
  /** Name of the vm, such as attacker: the last part of the name of its image, and spec.name of it. Must have at most 63 characters. */
  readonly name: string
  /**
   * Storage class of the volume. Where nothing names one, it is the default class of the cluster. Must be the name of a Kubernetes object: lower-case
   * letters, digits, "-" and ".", with a letter or digit at both ends. At most 253 characters.
   * @default spec.storageClass
   * @example 'gp3'
   */
  readonly storageClass?: string
  /**
   * Volume snapshot class. With one, the artifact is a VolumeSnapshot; where nothing names one, it is the volume itself. A new value takes a new
   * snapshot without a download. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both
   * ends. At most 253 characters.
   * @default spec.snapshotClass
   * @example 'ebs-snapshot'
   */
  readonly snapshotClass?: string
  /**
   * Name of a Secret in the same namespace with the credentials of the source. Its keys depend on sourceType. s3: accessKeyId (the access key ID) and
   * secretKey (the secret access key); http and registry: accessKeyId (the user name) and secretKey (the password); gcs: credentials.json (the JSON
   * key file of a service account). Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both
   * ends. At most 253 characters.
   * @default spec.secretRef
   * @example 'images-s3'
   */
  readonly secretRef?: string
  /**
   * Where the image is. Needed unless sourceType is blank. s3 and http: https:// or http:// (S3 in path style); gcs: gs://, https:// or http://;
   * registry: docker:// or oci-archive://. Must start with https://, http://, gs://, docker:// or oci-archive:// in lower case; an S3 object is
   * written https://s3.<region>.amazonaws.com/<bucket>/<key>. Must not contain a user or password (nor an "@" before the path): put credentials in a
   * Secret and name it in secretRef. Must be <scheme>://<host>[:<port>]/<path> in printable ASCII without blanks and backslashes (escape others as
   * %XX). Must write an IPv4 address as four decimal numbers without leading zeros, or use a host name. Must not point to a loopback, link-local or
   * metadata address. At most 2048 characters.
   * @default none
   * @example 'https://s3.us-gov-west-1.amazonaws.com/images/redblue/1.4.0/kali.qcow2'
   */
  readonly url?: string
  /**
   * What kind of server url points to; blank is an empty disk.
   * @default spec.sourceType
   */
  readonly sourceType?: 's3' | 'http' | 'registry' | 'gcs' | 'blank'
  /**
   * Size of the disk, at least the virtual size of the image, as a quantity such as 24Gi. Must be a quantity such as 24Gi or 500M. Must be between
   * 1Mi and 1Pi.
   * @default spec.diskSize
   */
  readonly diskSize?: number | string | Size
  /**
   * Name of a ConfigMap in the same namespace with the certificates that the server is trusted by (s3, http and registry), in PEM. For registry, its
   * keys end in .crt or .pem. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends.
   * At most 253 characters.
   * @default spec.certConfigMap
   * @example 'site-ca'
   */
  readonly certConfigMap?: string
  /**
   * Checksum of the file as <algorithm>:<lower-case hexadecimal>, with md5, sha1, sha256 or sha512. Only for sourceType http. Must be md5:, sha1:,
   * sha256: or sha512: and the lower-case hexadecimal digest in full. At most 135 characters.
   * @default none
   * @example 'md5:9e107d9d372bb6826bd81d3542a419d6'
   */
  readonly checksum?: string
}

/** What the workspace is made of. */
export interface WorkspaceSpecInput {
  /**
   * Virtual machines of the workspace. At most 100 items.
   * @default none
   */
  readonly vms?: readonly WorkspaceVmProps[]
  /**
   * Container clusters of the workspace. At most 50 items.
   * @default none
   */
  readonly containerClusters?: readonly WorkspaceContainerClusterProps[]
  /**
   * Volumes of the workspace. One that no container mounts is made too. At most 64 items.
   * @default none
   */
  readonly volumes?: readonly WorkspaceVolumeProps[]
  /**
   * Networks of the workspace. One that no interface names is made too. At most 64 items.
   * @default none
   */
  readonly networks?: readonly WorkspaceNetworkProps[]
  /**
   * Who works in the workspace. They may see what is in its namespace, use consoles and shells, have its machines and containers started again, and
   * create and delete Secrets there. Of those who may write workspaces, only they and administrators may then change or delete this one. At most 32
   * items.
   * @default nobody gets rights
   */
  readonly owners?: readonly WorkspaceOwnerProps[]
  /**
   * Ports of members that are reached from outside of the workspace, over the pod network. At most 16 items.
   * @default none
   */
  readonly services?: readonly WorkspaceServiceProps[]
  /**
   * Secrets that the operator makes in the namespace of the workspace, before the members that name them. At most 16 items.
   * @default none
   */
  readonly secrets?: readonly WorkspaceSecretProps[]
  /**
   * Enabled: members on the pod network reach public addresses. The policy key allowInternetAccess must be true.
   * @default Disabled
   */
  readonly internetAccess?: 'Disabled' | 'Enabled'
  /**
   * Who plays the roles of the machines, and how.
   * @default see image
   */
  readonly ansible?: WorkspaceAnsibleProps
  /**
   * Halted: all machines and container clusters are off. Disks, volumes, addresses, networks, Services and Secrets stay, and images stay in use.
   * @default Running
   */
  readonly powerState?: 'Running' | 'Halted'
  /**
   * How long the workspace lasts, from its creation, or from a later change of this. expiresAt comes first. Must be a duration such as 72h, 1h30m,
   * 45s or 500ms: numbers with h, m, s or ms behind each. At most 48 characters.
   * @default the policy key workspaceLifetime
   * @example '72h'
   */
  readonly lifetime?: string | Duration
  /**
   * When the workspace ends, such as 2026-01-31T18:00:00Z. A later time extends it. Must be a time such as 2026-01-31T18:00:00Z. At most 40
   * characters.
   * @default none
   */
  readonly expiresAt?: string | Date
  /**
   * What happens at the end that lifetime or expiresAt gives. Halt: it is switched off, as by powerState. Delete: it is deleted with its disks and
   * volumes.
   * @default Halt
   */
  readonly onExpiry?: 'Halt' | 'Delete'
  /**
   * How a new version reaches machines that exist.
   * @default OnRequest
   */
  readonly updateStrategy?: WorkspaceUpdateStrategyProps
  /**
   * hosts: containers and Linux machines have the static addresses of all members on their networks in /etc/hosts, by their names, as they are when
   * they start.
   * @default not set
   */
  readonly names?: 'hosts'
}

/** One virtual machine. */
export interface WorkspaceVmProps {
  /**
   * Name of the machine: of its VirtualMachine and its host name. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at
   * both ends. Must not be all or ungrouped: these are groups of every Ansible inventory.
   * @example 'kali'
   */
  readonly name: string
  /**
   * Further names that it is known by with names: hosts. At most 3 items. Each: Host name. At most 253 characters.
   * @default none
   * @example ['www']
   */
  readonly aliases?: readonly string[]
  /**
   * Machine that this one is derived from, such as ubuntu_2004_lts_en-us_x64. A label, and {baseVm} of the policy key imageUrlTemplate. Must be
   * letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends.
   * @default none
   */
  readonly baseVm?: string
  /**
   * Version of that machine, such as 2.1.2; quote a number. A label, and {baseVmVersion} of the policy key imageUrlTemplate. Must be letters, digits,
   * "-", "_" and ".", at most 63, with a letter or digit at both ends.
   * @default none
   */
  readonly baseVmVersion?: string
  /**
   * Version of this machine, such as 2.1.0; quote a number. A label, and {version} of the policy key imageUrlTemplate. Must be letters, digits, "-",
   * "_" and ".", at most 63, with a letter or digit at both ends.
   * @default none
   */
  readonly version?: string
  /**
   * True: only the image is ensured, no machine is created; one that exists stays.
   * @default false
   */
  readonly ignoreOnDeploy?: boolean
  /**
   * When the guest runs while the workspace is Running: Always, Halted or Manual, as of a VirtualMachine.
   * @default as people set it there, else Always
   */
  readonly runStrategy?: 'Always' | 'Halted' | 'Manual'
  /**
   * Members that must be Ready before it is created. At most 8 items. Each: Its name. At most 63 characters.
   * @default none
   * @example ['router']
   */
  readonly dependsOn?: readonly string[]
  /**
   * Name of the VMDiskImage that the disk is cloned from, in the namespace that the policy key imageNamespace names. If it does not exist, it is
   * created from vmDiskImageTemplate, or from the policy key imageUrlTemplate. Without either, the workspace waits for it. Must be the name of a
   * Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends. At most 253 characters.
   * @example 'redblue-1.4.0-kali'
   */
  readonly backingVMDiskImage: string
  /**
   * The VMDiskImage to create if the one that backingVMDiskImage names does not exist: the fields of its spec.
   * @default none
   */
  readonly vmDiskImageTemplate?: VMDiskImageSpecInput
  /**
   * CPU and memory of the machine.
   * @default none
   */
  readonly resources?: WorkspaceVmResourcesProps
  /**
   * Instance type of KubeVirt. It gives the machine CPU and memory, in place of resources.
   * @default none
   */
  readonly instancetype?: InstancetypeProps
  /**
   * Preference of KubeVirt. It gives the machine what the spec does not say.
   * @default none
   */
  readonly preference?: PreferenceProps
  /**
   * Size of the root disk as a quantity such as 18Gi. A disk is never smaller than its image. Must be a quantity such as 24Gi or 500M. Must be
   * between 1Mi and 1Pi.
   * @default the size of the image
   */
  readonly diskSize?: number | string | Size
  /**
   * Disks beside the root disk, in the order of the guest. A disk that is taken out keeps its data until the machine is deleted. Must each have a
   * volume of their own: name every volume only once. At most 8 items.
   * @default none
   */
  readonly disks?: readonly WorkspaceVmDiskProps[]
  /**
   * System of the guest. windows: cloudbase-init sets it up in place of cloud-init, and it gets the hardware that KubeVirt has for Windows.
   * @default linux
   */
  readonly os?: 'linux' | 'windows'
  /**
   * Answer file for the setup of Windows, on a CD-ROM.
   * @default none
   */
  readonly sysprepSecretRef?: SysprepSecretRefProps
  /**
   * How the guest starts. bios. uefi. uefi-secure: with Secure Boot. An image that was installed with one of bios and uefi does not start with the
   * other. A change takes effect at the next start.
   * @default as KubeVirt has it, which is bios
   */
  readonly firmware?: 'bios' | 'uefi' | 'uefi-secure'
  /**
   * True: the guest has a TPM 2.0, as Windows 11 needs it. What is in it does not outlive a stop.
   * @default none
   */
  readonly tpm?: boolean
  /**
   * Labels of the nodes that the machine may run on: a node must have all of them. A change takes effect at the next start. Every key must have 1 to
   * 317 characters. Every value must be letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends, or empty.
   * @default any node
   * @example { 'topology.kubernetes.io/zone': 'a' }
   */
  readonly nodeSelector?: Readonly<Record<string, string>>
  /**
   * Taints of nodes that the machine tolerates, as Kubernetes has them. A change takes effect at the next start. At most 16 items.
   * @default none
   */
  readonly tolerations?: readonly TolerationProps[]
  /**
   * How the guest shows that it is ready for use: the machine is Ready only while it does. A change takes effect at the next start.
   * @default the machine is Ready as soon as it runs
   */
  readonly readiness?: ReadinessProps
  /**
   * Users of the guest, in addition to the default user of the image. Must have different names: name every user only once. At most 4 items.
   * @default none
   */
  readonly users?: readonly WorkspaceVmUserProps[]
  /**
   * Data for cloud-init in the guest (cloudbase-init with os: windows), beside that of the operator: a cloud-config, a script, a MIME archive, or
   * anything else that it knows by its first line. For users, host name and network, the other fields hold. Read at the first start. Everyone who may
   * read the object can read it. Must have at most 65536 characters.
   * @default none
   * @example '#cloud-config\npackages: [tmux]\n'
   */
  readonly userData?: string
  /**
   * Where the data for cloud-init is, instead of userData.
   * @default none
   */
  readonly userDataSecretRef?: UserDataSecretRefProps
  /**
   * Network interfaces of the machine, in its order, each on another network. Must each have a network of their own. At most 8 items.
   * @default one on the pod network, with DHCP
   */
  readonly interfaces?: readonly WorkspaceVmInterfaceProps[]
  /**
   * A part of spec of KubeVirt's VirtualMachine, merged over what the operator renders, such as template.spec.domain.cpu.model. The policy key
   * allowedOverrides must list each path.
   * @default none
   */
  readonly overrides?: Readonly<Record<string, unknown>>
  /**
   * What Ansible does with the machine: it becomes a part of the plays that containers can mount as volume ansible.
   * @default none
   */
  readonly ansible?: WorkspaceVmAnsibleProps
}

/** CPU and memory of the machine. */
export interface WorkspaceVmResourcesProps {
  /**
   * Virtual CPUs, at most 512. A fraction such as 500m or '1.5' (in quotes) gives the guest the next whole number of them and reserves only the
   * fraction on the node. Must be a number of CPUs such as 2, '1.5' (in quotes) or 500m. Must be between 1m and 512.
   */
  readonly cpu: number | string
  /** Memory of the guest as a quantity such as 2Gi, between 64Mi and 16Ti. Must be a quantity such as 2Gi or 512M. Must be between 64Mi and 16Ti. */
  readonly memory: number | string | Size
}

/** One disk. */
export interface WorkspaceVmDiskProps {
  /**
   * Name of the disk. The guest sees it as its serial number: on Linux it is /dev/disk/by-id/virtio-<name>. Must be lower-case letters, digits and
   * "-", at most 20, with a letter or digit at both ends. Must not be rootdisk, cloudinit, sysprep: these are disks of the operator.
   * @example 'data'
   */
  readonly name: string
  /**
   * Size as a quantity such as 20Gi: an empty disk that is made with the machine and deleted with it; beside backingVMDiskImage, the size of the
   * clone. A disk keeps the size that it was made with, and is never smaller than its image. Must be a quantity such as 24Gi or 500M. Must be between
   * 1Mi and 1Pi.
   * @default none
   */
  readonly size?: number | string | Size
  /**
   * Name of one of spec.volumes: the disk is what is in it. It cannot be in two machines that run at once. At most 63 characters.
   * @default none
   * @example 'evidence'
   */
  readonly volume?: string
  /**
   * Name of a VMDiskImage in the namespace of the policy key imageNamespace: the disk is a clone of it. The machine waits until it exists. Must be
   * the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends. At most 253 characters.
   * @default none
   * @example 'redblue-1.4.0-tools'
   */
  readonly backingVMDiskImage?: string
  /**
   * True: the image in backingVMDiskImage is a CD-ROM, which the guest cannot write to, and boots from if it cannot boot from the root disk.
   * @default false
   */
  readonly readOnly?: boolean
  /**
   * How the guest sees the disk. The guest needs a driver for virtio and scsi.
   * @default virtio, and sata for a CD-ROM
   */
  readonly bus?: 'virtio' | 'sata' | 'scsi' | 'usb'
}

/** One user of the guest, in the terms of cloud-init. */
export interface WorkspaceVmUserProps {
  /**
   * Name of the user. If Linux does not accept it as a login, as with demo user, the login is derived from it (demo-user), and the name becomes the
   * full name. The same applies to names that images have for system users and groups, such as sudo (user-sudo), and to default (user-default), the
   * name that cloud-init has for the default user of the image. Must have at most 64 characters. Must be one line without control characters. Must
   * not contain ":", which ends a field in the list of users of the guest.
   */
  readonly name: string
  /**
   * Password. Everyone who may read the virtual machine can read it: prefer passwordSecretRef. Must have at most 256 characters. Must be one line
   * without control characters.
   * @default none
   * @example 'Summer-2026'
   */
  readonly plain_text_passwd?: string
  /**
   * Where the password is, instead of plain_text_passwd.
   * @default none
   */
  readonly passwordSecretRef?: PasswordSecretRefProps
  /**
   * True: no login with a password. Set it to false together with a password.
   * @default true, as in cloud-init
   */
  readonly lock_passwd?: boolean
  /**
   * Rule for sudo, such as ALL=(ALL) NOPASSWD:ALL. Must have at most 512 characters. Must be one line without control characters.
   * @default none
   */
  readonly sudo?: string
  /**
   * Further groups of the user with commas between them, such as sudo,docker. Must be names of groups with commas between them, such as sudo,docker:
   * each of lower-case letters, digits, "-" and "_", at most 32, with a letter or "_" first.
   * @default none
   */
  readonly groups?: string
  /**
   * Public keys that the user may log in with. At most 2 items. Each: One public key, as in the file authorized_keys. Must hold public keys in one
   * line of ASCII each, such as ssh-ed25519 AAAA... comment. At most 1024 characters.
   * @default none
   * @example ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIO alice']
   */
  readonly ssh_authorized_keys?: readonly string[]
}

/** One network interface. */
export interface WorkspaceVmInterfaceProps {
  /**
   * Name of one of spec.networks, or, without an address, pod: the pod network of Kubernetes. Must be lower-case letters, digits and "-", at most 63,
   * with a letter or digit at both ends.
   * @example 'mgmt'
   */
  readonly network: string
  /**
   * Static address in CIDR form, such as 10.10.0.161/24: the address, then the length of its network. Must be an address with the length of its
   * network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128). Must be written in the usual short way. Must not be an unspecified,
   * loopback, link-local, multicast or reserved address. Must be neither the first address of its network nor the last one, which is its broadcast
   * address. At most 49 characters.
   * @default the guest asks a DHCP server on the network, see addressing
   */
  readonly ipAddress?: string
  /**
   * Static addresses in place of ipAddress. At most 4 items. Each: One address in CIDR form. IpAddress must be an address with the length of its
   * network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128). IpAddress must be written in the usual short way. IpAddress must not be
   * an unspecified, loopback, link-local, multicast or reserved address. IpAddress must be neither the first address of its network nor the last one,
   * which is its broadcast address. At most 49 characters.
   * @default none
   * @example ['10.10.0.161/24']
   */
  readonly ipAddresses?: readonly string[]
  /**
   * How the guest gets its addresses. static: those of ipAddress or ipAddresses. dhcp: from a DHCP server on the network, which is a member of it, or
   * Kubernetes on the pod network. none: it gets none.
   * @default static with an address, dhcp without
   */
  readonly addressing?: 'static' | 'dhcp' | 'none'
  /**
   * MAC address of the card. Must be six pairs of lower-case hexadecimal digits with ":" between them, the second digit even, such as
   * 52:54:00:12:34:56.
   * @default one that follows from the machine and the network, and stays
   * @example '52:54:00:12:34:56'
   */
  readonly macAddress?: string
  /**
   * Network card that the guest finds. Guests without drivers for virtio, such as older systems, need another.
   * @default virtio
   */
  readonly model?: 'virtio' | 'e1000' | 'e1000e' | 'ne2k_pci' | 'pcnet' | 'rtl8139'
}

/** What Ansible does with the machine: it becomes a part of the plays that containers can mount as volume ansible. */
export interface WorkspaceVmAnsibleProps {
  /**
   * Roles of the machine.
   * @default none
   */
  readonly roles?: WorkspaceVmAnsibleRolesProps
}

/** Roles of the machine. */
export interface WorkspaceVmAnsibleRolesProps {
  /**
   * Roles that are played when the machine is built, in this order. At most 32 items.
   * @default none
   */
  readonly build?: readonly WorkspaceRoleProps[]
  /**
   * Roles that are played when the machine is deployed, in this order. At most 32 items.
   * @default none
   */
  readonly deploy?: readonly WorkspaceRoleProps[]
}

/** One role. */
export interface WorkspaceRoleProps {
  /**
   * Name of the role, such as linuxRouter. Must be the name of an Ansible role: letters, digits, "_", "-" and ".", such as linuxRouter or
   * lab.net.router. At most 64 characters.
   */
  readonly role: string
  /**
   * Variables of the role: any fields with any values, which are kept as they are.
   * @default none
   * @example { forward: true }
   */
  readonly variables?: Readonly<Record<string, unknown>>
}

/** Containers that share one host name and its interfaces. */
export interface WorkspaceContainerClusterProps {
  /**
   * Name of the cluster: of its Deployment, and its host name. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both
   * ends. Must not be all or ungrouped: these are groups of every Ansible inventory.
   * @example 'dns'
   */
  readonly name: string
  /**
   * Host name of its containers. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @default name
   * @example 'ns1'
   */
  readonly hostname?: string
  /**
   * Further names that it is known by with names: hosts. At most 3 items. Each: Host name. At most 253 characters.
   * @default none
   * @example ['www']
   */
  readonly aliases?: readonly string[]
  /**
   * True: its containers are not created; what exists stays.
   * @default false
   */
  readonly ignoreOnDeploy?: boolean
  /**
   * Members that must be Ready before it is created. At most 8 items. Each: Its name. At most 63 characters.
   * @default none
   * @example ['router']
   */
  readonly dependsOn?: readonly string[]
  /**
   * Secrets of type kubernetes.io/dockerconfigjson, in the namespace of the workspace, with the logins for private images. At most 4 items. Each:
   * Name of one Secret. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a letter or digit at both ends. At
   * most 253 characters.
   * @default none
   * @example ['registry-login']
   */
  readonly pullSecrets?: readonly string[]
  /**
   * Labels of the nodes that the pod may run on: a node must have all of them. A change takes effect at the next start. Every key must have 1 to 317
   * characters. Every value must be letters, digits, "-", "_" and ".", at most 63, with a letter or digit at both ends, or empty.
   * @default any node
   * @example { 'topology.kubernetes.io/zone': 'a' }
   */
  readonly nodeSelector?: Readonly<Record<string, string>>
  /**
   * Taints of nodes that the pod tolerates, as Kubernetes has them. A change takes effect at the next start. At most 16 items.
   * @default none
   */
  readonly tolerations?: readonly TolerationProps[]
  /**
   * Group id that can write to the volumes. From 0 to 2147483647.
   * @default they belong to root
   * @example 1000
   */
  readonly fsGroup?: number
  /**
   * Network interfaces of the containers, which they share, in their order, each on another network. Must each have a network of their own. At most 8
   * items.
   * @default the pod network alone, which they are always on
   */
  readonly interfaces?: readonly WorkspaceContainerClusterInterfaceProps[]
  /**
   * Containers that run one after the other, each to its end, before the others start: each time that the pod starts. They have its interfaces,
   * volumes and files too. At most 2 items.
   * @default none
   */
  readonly initContainers?: readonly WorkspaceInitContainerProps[]
  /** Containers of the cluster: one pod. At most 4 items. */
  readonly containers: readonly WorkspaceContainerProps[]
  /**
   * A part of the pod template, merged over what the operator renders, such as spec.hostAliases. The policy key allowedOverrides must list each path.
   * A change replaces the pod.
   * @default none
   */
  readonly overrides?: Readonly<Record<string, unknown>>
}

/** One network interface. */
export interface WorkspaceContainerClusterInterfaceProps {
  /**
   * Name of one of spec.networks. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @example 'mgmt'
   */
  readonly network: string
  /**
   * Static address in CIDR form, such as 10.10.0.161/24: the address, then the length of its network. Must be an address with the length of its
   * network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128). Must be written in the usual short way. Must not be an unspecified,
   * loopback, link-local, multicast or reserved address. Must be neither the first address of its network nor the last one, which is its broadcast
   * address. At most 49 characters.
   * @default none, what runs in the containers gives the interface one
   */
  readonly ipAddress?: string
  /**
   * Static addresses in place of ipAddress. At most 4 items. Each: One address in CIDR form. IpAddress must be an address with the length of its
   * network, such as 10.10.0.161/24 (8 to 32) or fd00:10::a1/64 (16 to 128). IpAddress must be written in the usual short way. IpAddress must not be
   * an unspecified, loopback, link-local, multicast or reserved address. IpAddress must be neither the first address of its network nor the last one,
   * which is its broadcast address. At most 49 characters.
   * @default none
   * @example ['10.10.0.161/24']
   */
  readonly ipAddresses?: readonly string[]
  /**
   * MAC address of the card. Must be six pairs of lower-case hexadecimal digits with ":" between them, the second digit even, such as
   * 52:54:00:12:34:56.
   * @default one that follows from the machine and the network, and stays
   * @example '52:54:00:12:34:56'
   */
  readonly macAddress?: string
}

/** One container that runs to its end before the containers of the cluster start. */
export interface WorkspaceInitContainerProps {
  /**
   * Name of the container. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @example 'bind'
   */
  readonly name: string
  /**
   * Container image, such as ghcr.io/demo/demo-containers/demo-app:1.0.2. Must be the reference of a container image such as ghcr.io/demo/app:1.0.2,
   * without blanks. At most 512 characters.
   */
  readonly image: string
  /**
   * What the container needs.
   * @default nothing in particular
   */
  readonly resources?: WorkspaceContainerResourcesProps
  /**
   * Program to run, instead of the entrypoint of the image. At most 64 items. Each: One word. $(NAME) is replaced by the value of the variable NAME.
   * At most 32768 characters.
   * @default that of the image
   * @example ['--verbose']
   */
  readonly command?: readonly string[]
  /**
   * Its arguments. At most 64 items. Each: One word. $(NAME) is replaced by the value of the variable NAME. At most 32768 characters.
   * @default those of the image, unless command is set
   * @example ['--verbose']
   */
  readonly args?: readonly string[]
  /**
   * Directory in which the program starts. Must be an absolute path such as /app. At most 256 characters.
   * @default that of the image
   * @example '/app'
   */
  readonly workingDir?: string
  /**
   * User id of the program. From 0 to 2147483647.
   * @default that of the image
   * @example 1000
   */
  readonly runAsUser?: number
  /**
   * Group id of the program. From 0 to 2147483647.
   * @default that of the user
   * @example 1000
   */
  readonly runAsGroup?: number
  /**
   * True: the container has all rights and devices of its node. The policy key allowPrivileged must be true.
   * @default false
   */
  readonly privileged?: boolean
  /**
   * Linux capabilities of the container.
   * @default those of the runtime
   */
  readonly capabilities?: WorkspaceContainerCapabilitiesProps
  /**
   * Environment variables. Everyone who may read the workspace can read each value: take passwords from a Secret with valueFrom. At most 32 items.
   * @default none
   */
  readonly env?: readonly WorkspaceEnvProps[]
  /**
   * Objects whose keys are variables, too. The last of a name counts, and env before all. At most 8 items.
   * @default none
   */
  readonly envFrom?: readonly WorkspaceEnvFromProps[]
  /**
   * Volumes in the container. At most 8 items.
   * @default none
   */
  readonly volumeMounts?: readonly WorkspaceVolumeMountProps[]
  /**
   * Files that are written into the container, read-only. A change replaces the pod. At most 8 items.
   * @default none
   */
  readonly files?: readonly WorkspaceFileProps[]
}

/** What the container needs. */
export interface WorkspaceContainerResourcesProps {
  /**
   * CPUs that are reserved, at most 512, such as 128m, 2 or '1.5' (in quotes). Must be a number of CPUs such as 2, '1.5' (in quotes) or 500m. Must be
   * between 1m and 512.
   * @default none
   */
  readonly cpu?: number | string
  /**
   * Memory that is reserved, such as 256Mi, and most that the container may use, unless limits.memory is set. Must be a quantity such as 256Mi or 2G.
   * Must be between 4Mi and 16Ti.
   * @default none
   */
  readonly memory?: number | string | Size
  /**
   * Most that the container may use. Where nothing is reserved, Kubernetes reserves as much.
   * @default none
   */
  readonly limits?: WorkspaceContainerResourcesLimitsProps
}

/** Most that the container may use. Where nothing is reserved, Kubernetes reserves as much. */
export interface WorkspaceContainerResourcesLimitsProps {
  /**
   * Most CPUs that it may use, such as 2 or 500m. Must be a number of CPUs such as 2, '1.5' (in quotes) or 500m. Must be between 1m and 512.
   * @default as many as are free
   */
  readonly cpu?: number | string
  /**
   * Most memory that it may use, such as 1Gi. A container that uses more is ended. Must be a quantity such as 256Mi or 2G. Must be between 4Mi and
   * 16Ti.
   * @default memory
   */
  readonly memory?: number | string | Size
}

/** Linux capabilities of the container. */
export interface WorkspaceContainerCapabilitiesProps {
  /**
   * Capabilities to add to those of the runtime. The policy key allowedCapabilities must name each. At most 16 items. Each: One capability, such as
   * NET_BIND_SERVICE. Must be a capability of Linux in upper case without CAP_, such as NET_BIND_SERVICE, or ALL. At most 32 characters.
   * @default none
   */
  readonly add?: readonly string[]
  /**
   * Capabilities to remove. ALL removes all that add does not name. At most 16 items. Each: One capability, such as NET_BIND_SERVICE. Must be a
   * capability of Linux in upper case without CAP_, such as NET_BIND_SERVICE, or ALL. At most 32 characters.
   * @default none
   */
  readonly drop?: readonly string[]
}

/** One environment variable. */
export interface WorkspaceEnvProps {
  /**
   * Name of the variable. Must be the name of an environment variable: letters, digits, "_", "-" and ".", with no digit first. At most 128
   * characters.
   * @example 'LOG_LEVEL'
   */
  readonly name: string
  /**
   * Its value: a text, so quote numbers, true and false. At most 4096 characters.
   * @default the empty text
   * @example 'debug'
   */
  readonly value?: string
  /**
   * Where the value comes from, instead of value.
   * @default none
   */
  readonly valueFrom?: WorkspaceEnvValueFromProps
}

/** Where the value comes from, instead of value. */
export interface WorkspaceEnvValueFromProps {
  /**
   * A key of a Secret in the namespace of the workspace.
   * @default none
   */
  readonly secretKeyRef?: WorkspaceEnvValueFromSecretKeyRefProps
  /**
   * A key of a ConfigMap in the namespace of the workspace.
   * @default none
   */
  readonly configMapKeyRef?: WorkspaceEnvValueFromConfigMapKeyRefProps
  /**
   * A field of the pod.
   * @default none
   */
  readonly fieldRef?: WorkspaceEnvValueFromFieldRefProps
}

/** A key of a Secret in the namespace of the workspace. */
export interface WorkspaceEnvValueFromSecretKeyRefProps {
  /**
   * Name of the Secret, in the namespace of the workspace. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both
   * ends.
   * @example 'settings'
   */
  readonly name: string
  /**
   * Key whose value is the value of the variable. Must be a key of a Secret: letters, digits, "-", "_" and ".". At most 63 characters.
   * @example 'password'
   */
  readonly key: string
}

/** A key of a ConfigMap in the namespace of the workspace. */
export interface WorkspaceEnvValueFromConfigMapKeyRefProps {
  /**
   * Name of the ConfigMap, in the namespace of the workspace. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both
   * ends.
   * @example 'settings'
   */
  readonly name: string
  /**
   * Key whose value is the value of the variable. Must be a key of a ConfigMap: letters, digits, "-", "_" and ".". At most 63 characters.
   * @example 'password'
   */
  readonly key: string
}

/** A field of the pod. */
export interface WorkspaceEnvValueFromFieldRefProps {
  /** One of metadata.name, metadata.namespace, spec.nodeName, status.hostIP, status.podIP. */
  readonly fieldPath: 'metadata.name' | 'metadata.namespace' | 'spec.nodeName' | 'status.hostIP' | 'status.podIP'
}

/** One Secret or ConfigMap. */
export interface WorkspaceEnvFromProps {
  /**
   * A Secret in the namespace.
   * @default none
   */
  readonly secretRef?: WorkspaceEnvFromSecretRefProps
  /**
   * A ConfigMap in the namespace.
   * @default none
   */
  readonly configMapRef?: WorkspaceEnvFromSecretRefProps
  /**
   * Text before each key. Must begin the name of a variable, such as DB_. At most 63 characters.
   * @default none
   * @example 'DB_'
   */
  readonly prefix?: string
}

/** A Secret in the namespace. */
export interface WorkspaceEnvFromSecretRefProps {
  /**
   * Its name. At most 63 characters.
   * @example 'app'
   */
  readonly name: string
}

/** One volume in a container. */
export interface WorkspaceVolumeMountProps {
  /**
   * Name of one of spec.volumes, or ansible: the inventory and the plays of the workspace. At most 63 characters.
   * @example 'config'
   */
  readonly name: string
  /**
   * Where the volume is in the container, such as /config. Must be an absolute path such as /config/dns, without "..", of folders with letters,
   * digits, ".", "_", "-", "+" and "@". At most 256 characters.
   */
  readonly containerPath: string
  /**
   * True: the container cannot write to it.
   * @default false; ansible is always read-only
   */
  readonly readOnly?: boolean
  /**
   * Folder or file of the volume that is there instead of all of it, such as db/data. Must be a path in the volume such as db/data, without "/" at
   * the beginning and without "..". At most 128 characters.
   * @default all
   */
  readonly subPath?: string
}

/** One file, or folder, in a container. */
export interface WorkspaceFileProps {
  /**
   * Where the file is in the container, such as /etc/app/app.conf. A folder where all keys are files. Must be an absolute path such as /config/dns,
   * without "..", of folders with letters, digits, ".", "_", "-", "+" and "@". At most 256 characters.
   */
  readonly path: string
  /**
   * What is in the file. Everyone who may read the workspace can read it. At most 32768 characters.
   * @default none
   * @example 'listen 53\n'
   */
  readonly content?: string
  /**
   * A key of a Secret in the namespace of the workspace, instead of content.
   * @default none
   */
  readonly secretKeyRef?: WorkspaceFileSecretKeyRefProps
  /**
   * A Secret in the namespace.
   * @default none
   */
  readonly secretRef?: WorkspaceEnvFromSecretRefProps
  /**
   * A ConfigMap in the namespace.
   * @default none
   */
  readonly configMapRef?: WorkspaceEnvFromSecretRefProps
  /**
   * Permissions of the file, in quotes, such as '0755'. Must be three octal digits in quotes, such as '0644'. At most 4 characters.
   * @default '0644'
   */
  readonly mode?: string
}

/** A key of a Secret in the namespace of the workspace, instead of content. */
export interface WorkspaceFileSecretKeyRefProps {
  /**
   * Name of the Secret, in the namespace of the workspace. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both
   * ends.
   * @example 'settings'
   */
  readonly name: string
  /**
   * Key whose value is the content of the file. Must be a key of a Secret: letters, digits, "-", "_" and ".". At most 63 characters.
   * @example 'password'
   */
  readonly key: string
}

/** One container. */
export interface WorkspaceContainerProps {
  /**
   * Name of the container. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @example 'bind'
   */
  readonly name: string
  /**
   * Container image, such as ghcr.io/demo/demo-containers/demo-app:1.0.2. Must be the reference of a container image such as ghcr.io/demo/app:1.0.2,
   * without blanks. At most 512 characters.
   */
  readonly image: string
  /**
   * What the container needs.
   * @default nothing in particular
   */
  readonly resources?: WorkspaceContainerResourcesProps
  /**
   * Program to run, instead of the entrypoint of the image. At most 64 items. Each: One word. $(NAME) is replaced by the value of the variable NAME.
   * At most 32768 characters.
   * @default that of the image
   * @example ['--verbose']
   */
  readonly command?: readonly string[]
  /**
   * Its arguments. At most 64 items. Each: One word. $(NAME) is replaced by the value of the variable NAME. At most 32768 characters.
   * @default those of the image, unless command is set
   * @example ['--verbose']
   */
  readonly args?: readonly string[]
  /**
   * Directory in which the program starts. Must be an absolute path such as /app. At most 256 characters.
   * @default that of the image
   * @example '/app'
   */
  readonly workingDir?: string
  /**
   * User id of the program. From 0 to 2147483647.
   * @default that of the image
   * @example 1000
   */
  readonly runAsUser?: number
  /**
   * Group id of the program. From 0 to 2147483647.
   * @default that of the user
   * @example 1000
   */
  readonly runAsGroup?: number
  /**
   * Devices of the node. The policy key allowedDevices must name each. At most 3 items. Each: tun is /dev/net/tun.
   * @default none
   */
  readonly devices?: readonly ('kvm' | 'tun' | 'vhost-net')[]
  /**
   * True: the program has an input, so that kubectl attach -i can write to it.
   * @default false
   */
  readonly stdin?: boolean
  /**
   * True: the program has a terminal, as a shell needs it: kubectl attach -it. Needs stdin.
   * @default false
   */
  readonly tty?: boolean
  /**
   * Until it succeeds, the other probes wait, and its failure restarts the container.
   * @default none
   */
  readonly startupProbe?: WorkspaceProbeProps
  /**
   * While it fails, the container cluster is not Ready.
   * @default the container is ready as soon as it runs
   */
  readonly readinessProbe?: WorkspaceProbeProps
  /**
   * Its failure restarts the container.
   * @default none
   */
  readonly livenessProbe?: WorkspaceProbeProps
  /**
   * True: the container has all rights and devices of its node. The policy key allowPrivileged must be true.
   * @default false
   */
  readonly privileged?: boolean
  /**
   * Linux capabilities of the container.
   * @default those of the runtime
   */
  readonly capabilities?: WorkspaceContainerCapabilitiesProps
  /**
   * Environment variables. Everyone who may read the workspace can read each value: take passwords from a Secret with valueFrom. At most 32 items.
   * @default none
   */
  readonly env?: readonly WorkspaceEnvProps[]
  /**
   * Objects whose keys are variables, too. The last of a name counts, and env before all. At most 8 items.
   * @default none
   */
  readonly envFrom?: readonly WorkspaceEnvFromProps[]
  /**
   * Volumes in the container. At most 8 items.
   * @default none
   */
  readonly volumeMounts?: readonly WorkspaceVolumeMountProps[]
  /**
   * Files that are written into the container, read-only. A change replaces the pod. At most 8 items.
   * @default none
   */
  readonly files?: readonly WorkspaceFileProps[]
  /**
   * Ports that may be reached from outside the workspace. At most 16 items.
   * @default none
   */
  readonly portMappings?: readonly WorkspaceContainerPortMappingProps[]
}

/** Until it succeeds, the other probes wait, and its failure restarts the container. */
export interface WorkspaceProbeProps {
  /**
   * A program in the container.
   * @default none
   */
  readonly exec?: WorkspaceProbeExecProps
  /**
   * A request that is answered with a status from 200 to 399.
   * @default none
   */
  readonly httpGet?: WorkspaceProbeHttpGetProps
  /**
   * A port that takes connections.
   * @default none
   */
  readonly tcpSocket?: WorkspaceProbeTcpSocketProps
  /**
   * Seconds from the start of the container to the first try. From 0 to 86400.
   * @default 0
   * @example 5
   */
  readonly initialDelaySeconds?: number
  /**
   * Seconds between two tries. From 1 to 86400.
   * @default 10
   * @example 30
   */
  readonly periodSeconds?: number
  /**
   * Seconds that one try may take. From 1 to 86400.
   * @default 1
   * @example 5
   */
  readonly timeoutSeconds?: number
  /**
   * Failed tries in a row that count as a failure. From 1 to 86400.
   * @default 3
   * @example 5
   */
  readonly failureThreshold?: number
}

/** A program in the container. */
export interface WorkspaceProbeExecProps {
  /**
   * Program and arguments. Exit code 0 is success. At most 64 items. Each: One word. At most 32768 characters.
   * @example ['healthy']
   */
  readonly command: readonly string[]
}

/** A request that is answered with a status from 200 to 399. */
export interface WorkspaceProbeHttpGetProps {
  /**
   * Path and query, such as /healthz. At most 512 characters.
   * @default /
   */
  readonly path?: string
  /**
   * Port of the container, on the pod network. From 1 to 65535.
   * @example 8080
   */
  readonly port: number
  /**
   * HTTP or HTTPS, whose certificate is not checked.
   * @default HTTP
   */
  readonly scheme?: 'HTTP' | 'HTTPS'
}

/** A port that takes connections. */
export interface WorkspaceProbeTcpSocketProps {
  /**
   * Port of the container, on the pod network. From 1 to 65535.
   * @example 8080
   */
  readonly port: number
}

/** One port that may be reached from outside the workspace. */
export interface WorkspaceContainerPortMappingProps {
  /**
   * Port that the container listens on. From 1 to 65535.
   * @example 53
   */
  readonly containerPort: number
  /**
   * tcp, udp or sctp.
   * @default tcp
   */
  readonly protocol?: 'tcp' | 'udp' | 'sctp'
  /**
   * Port of the node that leads to it, where the policy key allowHostPorts is true. From 1 to 65535.
   * @default none
   * @example 53
   */
  readonly hostPort?: number
}

/** One volume. */
export interface WorkspaceVolumeProps {
  /**
   * Name of the volume: of its claim, and what volumeMounts refer to. Must be lower-case letters, digits and "-", at most 63, with a letter or digit
   * at both ends. Must not be ansible: that is the volume with the inventory and the plays, which every workspace has.
   * @example 'config'
   */
  readonly name: string
  /** Size of the volume as a quantity such as 1Gi. Must be a quantity such as 24Gi or 500M. Must be between 1Mi and 1Pi. */
  readonly size: number | string | Size
  /**
   * Where the policy key localVolumeRoot is set: folder of the volume on its node, below <localVolumeRoot>/<workspace>. Otherwise it is an annotation
   * of the claim and nothing else. Must be one folder such as /config, of letters, digits, ".", "_", "-", "+" and "@", without another "/". At most
   * 256 characters.
   * @default none
   * @example '/config'
   */
  readonly localPath?: string
}

/** One network of the workspace, which no other workspace reaches. */
export interface WorkspaceNetworkProps {
  /**
   * Name of the network, which interfaces refer to. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @example 'mgmt'
   */
  readonly name: string
  /**
   * An existing NetworkAttachmentDefinition that is this network, such as vlans/vlan-100 for a VLAN of the site. Nothing is made for it. Who else is
   * on it reaches the members. The policy key attachableNetworks must list it. Must be the namespace and the name of a NetworkAttachmentDefinition,
   * such as vlans/vlan-100. At most 317 characters.
   * @default none
   */
  readonly attach?: string
  /**
   * Addresses of the network in CIDR form, such as 10.10.0.0/24, IPv4 or IPv6: its first address, then its length. Must be the first address of the
   * network and its length, such as 10.10.0.0/24 (8 to 32) or fd00:10::/64 (16 to 128). Must begin with the first address of the network, in the
   * usual short way. Must not be a network of unspecified, loopback, link-local, multicast or reserved addresses. At most 49 characters.
   * @default none, a network of layer 2 alone. Its members have any addresses, of IPv4 and IPv6, or none
   */
  readonly cidr?: string
  /**
   * In place of cidr for both kinds of addresses (dual stack): one of IPv4 and one of IPv6. Must be one of IPv4 and one of IPv6. At most 2 items.
   * Each: One of them, as cidr is written. Cidr must be the first address of the network and its length, such as 10.10.0.0/24 (8 to 32) or
   * fd00:10::/64 (16 to 128). Cidr must begin with the first address of the network, in the usual short way. Cidr must not be a network of
   * unspecified, loopback, link-local, multicast or reserved addresses. At most 49 characters.
   * @default none
   * @example ['10.10.0.0/24']
   */
  readonly cidrs?: readonly string[]
  /**
   * Address of the gateway. A member of this network must have it, because nobody else is on the network. It is the default route of everything with
   * an interface on this network, where routes has no default route. Must be an address such as 10.10.0.1 or fd00:10::1, without the length of a
   * network. Must be written in the usual short way. At most 45 characters.
   * @default none
   * @example '10.10.0.1'
   */
  readonly rangeGateway?: string
  /**
   * Routes that everything with an interface on this network has. At most 31 items.
   * @default none
   */
  readonly routes?: readonly WorkspaceNetworkRouteProps[]
  /**
   * Largest packet in bytes, such as 1400. From 576 to 9216.
   * @default that of the nodes
   */
  readonly mtu?: number
  /**
   * DNS servers for every member with an interface on this network.
   * @default not set
   */
  readonly nameservers?: WorkspaceNetworkNameserversProps
}

/** One route. */
export interface WorkspaceNetworkRouteProps {
  /**
   * Network that the route leads to, such as 172.26.0.0/15; 0.0.0.0/0 is all that no other route names. Must be the first address of a network and
   * its length, such as 172.26.0.0/15, fd00:10::/64 or 0.0.0.0/0. Must begin with the first address of the network, in the usual short way. At most
   * 49 characters.
   */
  readonly destinationNetworkCidr: string
  /**
   * Address in this network that packets are sent to. On the machine whose own address it is, the route is left out. Must be an address such as
   * 10.10.0.1 or fd00:10::1, without the length of a network. Must be written in the usual short way. At most 45 characters.
   * @example '10.10.0.1'
   */
  readonly nextHopIpAddress: string
}

/** DNS servers for every member with an interface on this network. */
export interface WorkspaceNetworkNameserversProps {
  /**
   * Name servers, the first one asked first. At most 8 items. Each: Address of one name server. It may be in another network. Must be an address such
   * as 10.10.0.1 or fd00:10::1, without the length of a network. Must be written in the usual short way. At most 45 characters.
   * @example ['10.10.0.7']
   */
  readonly addresses: readonly string[]
}

/** One user, or one group of users. */
export interface WorkspaceOwnerProps {
  /** What the name is of. */
  readonly kind: 'User' | 'Group'
  /**
   * Name as the API server knows it, such as alice@example.com, or that of a group of the identity provider. Must not begin with system:: such users
   * and groups are of Kubernetes, ServiceAccounts among them. At most 253 characters.
   */
  readonly name: string
}

/** One Service. */
export interface WorkspaceServiceProps {
  /**
   * Name of the Service, by which pods of the cluster reach it: <name>.<workspace>.svc. Must be lower-case letters, digits and "-", at most 63, with
   * a letter first and a letter or digit last.
   * @example 'web'
   */
  readonly name: string
  /**
   * Name of the machine or the container cluster that answers. A machine must be on the pod network, as it is without interfaces. Must be lower-case
   * letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @example 'kali'
   */
  readonly member: string
  /**
   * Ports of the Service. Only these are opened, and only to this member. Every port must be given once for each protocol. Must each have a name of
   * their own. At most 16 items.
   */
  readonly ports: readonly WorkspaceServicePortProps[]
  /**
   * Who reaches it. ClusterIP: pods of the cluster. NodePort: everybody who reaches a node, at a port that Kubernetes chooses. LoadBalancer:
   * everybody who reaches the address of a load balancer of the cluster. The policy key allowedServiceTypes must name it.
   * @default ClusterIP
   */
  readonly type?: 'ClusterIP' | 'NodePort' | 'LoadBalancer'
}

/** One port. */
export interface WorkspaceServicePortProps {
  /**
   * Name of the port, for programs that look it up. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends. Must
   * not be such as tcp-80 or udp-53: these are the names of ports without one.
   * @default such as tcp-80
   */
  readonly name?: string
  /**
   * Port of the Service, from 1 to 65535. From 1 to 65535.
   * @example 80
   */
  readonly port: number
  /**
   * Port that the member listens on, from 1 to 65535. From 1 to 65535.
   * @default that of port
   * @example 8080
   */
  readonly targetPort?: number
  /**
   * TCP or UDP.
   * @default TCP
   */
  readonly protocol?: 'TCP' | 'UDP'
}

/** One Secret. */
export interface WorkspaceSecretProps {
  /**
   * Name of the Secret in the namespace of the workspace. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a
   * letter or digit at both ends. Must not end with -cloudinit: Secrets with such names have the cloud-init data of machines. At most 253 characters.
   * @example 'students'
   */
  readonly name: string
  /**
   * Keys of the Secret, each with a random value: ASCII letters and digits without 0, O, 1, I and l, a letter first, with at least one capital
   * letter, one small letter and one digit. A value is made once, and never changed. A key that is added is made beside the others; one that is
   * removed from here stays in the Secret. At most 16 items.
   * @default none
   */
  readonly generate?: readonly WorkspaceSecretGenerateProps[]
  /**
   * It is a copy of this one, and follows it. Its owner labels it pelotech.ot/shared: "true"; who writes this needs the right to get it.
   * @default none
   */
  readonly from?: WorkspaceSecretFromProps
}

/** One random value. */
export interface WorkspaceSecretGenerateProps {
  /**
   * Key of the Secret whose value is made. Must be a key of a Secret: letters, digits, "-", "_" and ".", and no "." first. At most 253 characters.
   * @example 'alice'
   */
  readonly key: string
  /**
   * Characters of the value, from 8 to 128. From 8 to 128.
   * @default 24
   * @example 12
   */
  readonly length?: number
}

/** It is a copy of this one, and follows it. Its owner labels it pelotech.ot/shared: "true"; who writes this needs the right to get it. */
export interface WorkspaceSecretFromProps {
  /**
   * One that the policy key sharedSecretNamespaces lists. At most 63 characters.
   * @example 'registry-logins'
   */
  readonly namespace: string
  /**
   * Its name. At most 253 characters.
   * @example 'registry-login'
   */
  readonly name: string
}

/** Who plays the roles of the machines, and how. */
export interface WorkspaceAnsibleProps {
  /**
   * Image with ansible-playbook and the roles. Must be the reference of a container image such as ghcr.io/demo/app:1.0.2, without blanks. At most 512
   * characters.
   * @default that of the policy key ansibleImage, unless a container mounts the volume ansible. Without one, nobody plays the roles
   * @example 'registry.example.com/ansible:2.19'
   */
  readonly image?: string
  /**
   * Secrets with the logins for the image. At most 4 items. Each: Name of one Secret. Must be the name of a Kubernetes object: lower-case letters,
   * digits, "-" and ".", with a letter or digit at both ends. At most 253 characters.
   * @default none
   * @example ['registry-login']
   */
  readonly pullSecrets?: readonly string[]
  /**
   * Private key, in the namespace of the workspace, of the first user with ssh_authorized_keys.
   * @default none; the first user with passwordSecretRef logs in with that
   */
  readonly sshKeySecretRef?: WorkspaceAnsibleSshKeySecretRefProps
  /**
   * How long the roles of one machine may take. Must be a duration such as 72h, 1h30m, 45s or 500ms: numbers with h, m, s or ms behind each. At most
   * 48 characters.
   * @default 30m
   * @example '45m'
   */
  readonly timeout?: string | Duration
}

/** Private key, in the namespace of the workspace, of the first user with ssh_authorized_keys. */
export interface WorkspaceAnsibleSshKeySecretRefProps {
  /**
   * Name of the Secret. Must be lower-case letters, digits and "-", at most 63, with a letter or digit at both ends.
   * @example 'ansible'
   */
  readonly name: string
  /**
   * Key whose value is the private key. Must be a key of a Secret: letters, digits, "-", "_" and ".". At most 63 characters.
   * @example 'id_ed25519'
   */
  readonly key: string
}

/** How a new version reaches machines that exist. */
export interface WorkspaceUpdateStrategyProps {
  /**
   * OnRequest: a disk is replaced only when somebody asks for it. Recreate: machines whose spec changed get new disks one after the other, which
   * loses the data on the old ones.
   * @default OnRequest
   */
  readonly type?: 'OnRequest' | 'Recreate'
  /**
   * With Recreate: how many machines may be not Ready at once. From 1 to 100.
   * @default 1
   * @example 2
   */
  readonly maxUnavailable?: number
}

/** How the point in time is taken. It cannot be changed. */
export interface WorkspaceSnapshotSpecInput {
  /**
   * What this point in time is, for people. Must have at most 253 characters.
   * @default none
   * @example 'before the exam'
   */
  readonly description?: string
  /**
   * Volume snapshot class of the snapshots of spec.volumes. Must be the name of a Kubernetes object: lower-case letters, digits, "-" and ".", with a
   * letter or digit at both ends. At most 253 characters.
   * @default the default class of the cluster for their driver. KubeVirt chooses that of the disks of machines itself
   * @example 'ebs-snapshot'
   */
  readonly snapshotClass?: string
  /**
   * How long a snapshot may take until it has failed. 0s: without a limit. Must be a duration such as 72h, 1h30m, 45s or 500ms: numbers with h, m, s
   * or ms behind each. At most 48 characters.
   * @default 5m
   * @example '10m'
   */
  readonly failureDeadline?: string | Duration
}
