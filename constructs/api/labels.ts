/** Labels that the operator sets on children. It copies nothing else to them, in particular no labels of the user's object. */
export const LABELS = {
  /** UID of the VMDiskImage. Also on the claim and the importer pod: CDI copies the labels of a DataVolume there. */
  imageUid: 'pelotech.ot/image-uid',
  /** Name of the VMDiskImage, for people and selectors, shortened to 63 characters if it is longer. */
  imageName: 'pelotech.ot/image',
  /** `spec.name` of the VMDiskImage, converted to a label value. */
  specName: 'pelotech.ot/name',
  /** Revision (8 hexadecimal digits) that the child was created for. */
  revision: 'pelotech.ot/revision',
  /** Always `MANAGER`, on children. */
  managedBy: 'app.kubernetes.io/managed-by',
  /** On images that were created for a VirtualMachine, Workspace or DataSync: that kind. */
  createdBy: 'pelotech.ot/created-by',
  /** UID of the VirtualMachine. Also on the pod of the machine and the claim of its disk. */
  vmUid: 'pelotech.ot/virtualmachine-uid',
  /** Name of the VirtualMachine, shortened to 63 characters if it is longer. */
  vmName: 'pelotech.ot/virtualmachine',
  /** Name of the Workspace that an object belongs to, shortened to 63 characters if it is longer. */
  workspace: 'pelotech.ot/workspace',
  /** UID of the Workspace. On its children and on the pods of its container clusters. */
  workspaceUid: 'pelotech.ot/workspace-uid',
  /** Name of the WorkspaceSnapshot that a snapshot of a machine or volume belongs to, shortened to 63 characters if it is longer. */
  workspaceSnapshot: 'pelotech.ot/workspace-snapshot',
  /** On a claim that a volume of a Workspace was restored to: name of the claim that the volume had before its first restore. */
  volume: 'pelotech.ot/volume',
  /** Name of the container cluster of a Workspace: on its Deployment and its pods. */
  containerCluster: 'pelotech.ot/container-cluster',
  /** On pods, including those of machines. Pods with the same group run on one node. */
  nodeGroup: 'pelotech.ot/node-group',
  /** On KubeVirt's VirtualMachine, its instance and its pod: `baseVm`, `baseVmVersion` and `version` of the spec. */
  baseVm: 'pelotech.ot/base-vm',
  baseVmVersion: 'pelotech.ot/base-vm-version',
  version: 'pelotech.ot/version',
  /** On the Jobs that play the roles of a Workspace's machines, and on their pods: name of the Job. */
  play: 'pelotech.ot/play',
  /** On the instance of KubeVirt: hash of the host names that its guest started with. In the template of the KubeVirt VirtualMachine: of those for its next start. */
  hosts: 'pelotech.ot/hosts',
} as const

/** Label that people set to `true` on a Secret that Workspaces may copy. It marks nothing that is ours. */
export const SHARED_LABEL = 'pelotech.ot/shared'

/**
 * Where the pods that isolate nodes from the networks of workspaces are. A pod with this label elsewhere proves nothing: anybody who may create pods there
 * can give it the label.
 */
export const LAB_ISOLATION = { namespace: 'open-terrain-nodes', label: 'pelotech.ot/lab-isolation' } as const

/** Value of `LABELS.managedBy`, and the field manager's name. */
export const MANAGER = 'open-terrain-operator'

/** Annotations that people set to ask for something, and those by which the operator knows what it did. */
export const ANNOTATIONS = {
  /** On a VMDiskImage, or on a DataSync for all its images. Set by people and pipelines: a new value requests a refresh (it is in the revision). */
  syncRequestedAt: 'pelotech.ot/sync-requested-at',
  /** On a VMDiskImage, or on a DataSync for all its images. Set by people: a new value gives a failed revision a new budget of downloads. */
  retryRequestedAt: 'pelotech.ot/retry-requested-at',
  /**
   * On a VMDiskImage. Set by people: `<kind>/<name>` of a DataVolume, PersistentVolumeClaim or VolumeSnapshot in its namespace, which becomes its artifact
   * without a download, for the revision that it has then.
   */
  adopt: 'pelotech.ot/adopt',
  /** On such an image. Set by people: `any` takes the disk even if its DataVolume has been filled from another source than that of the spec. */
  adoptSource: 'pelotech.ot/adopt-source',
  /**
   * On a VirtualMachine, or on a Workspace for all its machines. Set by people: a new value has a new disk made for a machine that has lost the disk that
   * its guest ran from.
   */
  rebuildRequestedAt: 'pelotech.ot/rebuild-requested-at',
  /** On a VirtualMachine, or on a Workspace for all its machines. Set by people: a new value sets a machine back to its image. */
  resetRequestedAt: 'pelotech.ot/reset-requested-at',
  /**
   * On a VirtualMachine. Set by people: the value that its condition Replacing tells while a quota has no room for a second root disk. The present one is
   * then deleted before the new one is made. It counts for that disk and that request alone.
   */
  deleteDiskFirst: 'pelotech.ot/delete-disk-first',
  /** On a WorkspaceSnapshot. Set by people: a new value puts the machines and volumes of the workspace back to it, while the workspace is off. */
  restoreRequestedAt: 'pelotech.ot/restore-requested-at',
  /** On a WorkspaceSnapshot. Set by people, with the above: `Machines` leaves the volumes as they are. */
  restoreScope: 'pelotech.ot/restore-scope',
  /** On a VirtualMachine of a Workspace. Set by the operator: which value of the workspace it was given last, so that none is given twice. */
  givenRebuild: 'pelotech.ot/given-rebuild',
  givenReset: 'pelotech.ot/given-reset',
  /**
   * On a Workspace. Set by people: a new value has the roles of its machines played again that failed, or were never played, and those for each start.
   */
  playRequestedAt: 'pelotech.ot/play-requested-at',
  /** On a VMDiskImage that a VirtualMachine, Workspace or DataSync made: which one, and the generation that it wrote. */
  creator: 'pelotech.ot/creator',
  /** On a VMDiskImage that was created for DataSyncs: its vm and workspace. Without a version, workspaceVersion is absent. */
  workspaceId: 'pelotech.ot/workspace-id',
  workspaceVersion: 'pelotech.ot/workspace-version',
  workspaceVm: 'pelotech.ot/workspace-vm',
  /** On such an image: fingerprints of the DataSync requests that were applied to it, so that each is applied only once. */
  requestsReached: 'pelotech.ot/requests-reached',
  /** On a DataVolume: its attempt number. */
  attempt: 'pelotech.ot/attempt',
  /** On children: the image's name in full, where the label had to shorten it. */
  imageNameFull: 'pelotech.ot/image-name',
  /**
   * On a machine's cloud-init Secret: hash of what it holds. On the KubeVirt VirtualMachine: fingerprint of what the guest
   * was given when it first started.
   */
  cloudInit: 'pelotech.ot/cloud-init',
  /** On the claim of a Workspace's volume that is not in a directory of the nodes: `localPath` of the spec. */
  localPath: 'pelotech.ot/local-path',
  /**
   * On a Workspace. Set by the operator, in one write for all volumes of a restore: their present claims, as JSON (see `volumeClaimsIn`). Absent until volumes
   * were restored.
   */
  volumeClaims: 'pelotech.ot/volume-claims',
  /** On children of a Workspace: hash of the rendered object. It distinguishes what is no longer wanted from what others added. */
  rendered: 'pelotech.ot/rendered',
  /**
   * On a VirtualMachine of a Workspace: the run strategy that the Workspace gave it. It tells that from one that people have set there. Absent until the
   * Workspace gave one; empty when it does not any more.
   */
  runStrategy: 'pelotech.ot/run-strategy',
  /** On a Secret of a Workspace whose values the operator makes: `<key>=<length>` of each, separated by commas. */
  generatedKeys: 'pelotech.ot/generated-keys',
  /** On a Secret of a Workspace that is a copy: `<namespace>/<name>` of its source. */
  copiedFrom: 'pelotech.ot/copied-from',
  /** On such a copy: `<uid>/<resourceVersion>` of the source that it was made from. */
  copiedVersion: 'pelotech.ot/copied-version',
  /** On the pod of a container cluster: hash of the host names that it started with. On a machine's cloud-init Secret: of those for its next start. */
  hosts: 'pelotech.ot/hosts',
  /** On the Deployment of a container cluster whose pod fitted no node beside the others: nodes on which all of them were tried, separated by commas. */
  avoidedNodes: 'pelotech.ot/avoided-nodes',
  /**
   * On the VirtualMachine of KubeVirt: names of its interfaces whose MAC address the spec gives, separated by commas. It tells them from those that people
   * have added.
   */
  givenMacAddresses: 'pelotech.ot/given-mac-addresses',
  /**
   * On the VirtualMachine of KubeVirt: which of the fields that people may set there as well are from the spec, and what was decided when it was made,
   * separated by commas. Absent until there was one.
   */
  fieldsFromSpec: 'pelotech.ot/fields-from-spec',
  /**
   * On the VirtualMachine of KubeVirt: the instance type and the preference that it was given, as `<field>=<kind>/<name>`, separated by commas. KubeVirt may put
   * what they say into the machine, and take them away. Absent until one was given.
   */
  matchers: 'pelotech.ot/matchers',
  /** On the VirtualMachine of KubeVirt: `<disk>=<claim>` of each further disk that the operator gave it, separated by commas. */
  disks: 'pelotech.ot/disks',
  /**
   * On the VirtualMachine of KubeVirt, and on the Deployment of a container cluster: paths, below its spec, of the values that `overrides` has set, separated by
   * commas. It tells them from what others have set. Absent until one was; on a Deployment
   * it is left over when none is any more.
   */
  overrides: 'pelotech.ot/overrides',
  /** On the VirtualMachine of KubeVirt or its instance: when the operator last made KubeVirt retry what was refused. */
  retriedAt: 'pelotech.ot/retried-at',
} as const

/** Scheduling gate of the pods of container clusters. The operator removes it when the pod may start: nothing else holds its addresses, and its node suits all. */
export const PLACEMENT_GATE = 'pelotech.ot/placement'

/** Finalizers that the operator sets on objects of its own kinds. */
export const FINALIZERS = {
  /** Holds a VMDiskImage until its download has ended and nobody uses it. */
  vmDiskImage: 'pelotech.ot/disk-image',
  /** Holds a VirtualMachine until its machine, disk and Secret are gone. */
  virtualMachine: 'pelotech.ot/virtual-machine',
  /** Holds a Workspace until all of its components are gone. */
  workspace: 'pelotech.ot/workspace',
  /** Holds a WorkspaceSnapshot that is the only place where the data of a restored claim is. Absent until one is to be restored from that has such storage. */
  workspaceSnapshot: 'pelotech.ot/workspace-snapshot',
} as const
