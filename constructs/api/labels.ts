/** Labels that we put on children. Nothing else is copied to them, least of all labels of the user's object. */
export const LABELS = {
  /** Uid of the VMDiskImage. Reaches the claim and the importer pod too: CDI copies a DataVolume's labels there. */
  imageUid: 'pelotech.ot/image-uid',
  /** Name of the VMDiskImage, for people and selectors; shortened to 63 characters where it is longer. */
  imageName: 'pelotech.ot/image',
  /** `spec.name` of the VMDiskImage, made a label value. */
  specName: 'pelotech.ot/name',
  /** Revision (8 hexadecimal digits) that a child was made for. */
  revision: 'pelotech.ot/revision',
  /** Always `MANAGER` on what we made. */
  managedBy: 'app.kubernetes.io/managed-by',
  /** On images that a VirtualMachine, Workspace or DataSync made: the kind that did. */
  createdBy: 'pelotech.ot/created-by',
  /** Uid of the VirtualMachine. Reaches the machine's pod and its disk's claim too. */
  vmUid: 'pelotech.ot/virtualmachine-uid',
  /** Name of the VirtualMachine; shortened to 63 characters where it is longer. */
  vmName: 'pelotech.ot/virtualmachine',
  /** Name of the Workspace that an object belongs to; shortened to 63 characters where it is longer. */
  workspace: 'pelotech.ot/workspace',
  /** Uid of the Workspace. On all that is made for one, and on the pods of its container clusters. */
  workspaceUid: 'pelotech.ot/workspace-uid',
  /** Name of the container cluster of a Workspace: on its Deployment and its pods. */
  containerCluster: 'pelotech.ot/container-cluster',
  /** On pods, those of machines included: what has the same group runs on one node. */
  nodeGroup: 'pelotech.ot/node-group',
  /** On KubeVirt's VirtualMachine, its instance and its pod: `baseVm`, `baseVmVersion` and `version` of the spec. */
  baseVm: 'pelotech.ot/base-vm',
  baseVmVersion: 'pelotech.ot/base-vm-version',
  version: 'pelotech.ot/version',
} as const

/** Value of `LABELS.managedBy`, and the field manager's name. */
export const MANAGER = 'open-terrain-operator'

export const ANNOTATIONS = {
  /** On a VMDiskImage, or on a DataSync for all of its images, set by people and pipelines: any new value asks for a refresh (it is part of the revision). */
  syncRequestedAt: 'pelotech.ot/sync-requested-at',
  /** On a VMDiskImage, or on a DataSync for all of its images, set by people: any new value gives a failed revision a new budget of downloads. */
  retryRequestedAt: 'pelotech.ot/retry-requested-at',
  /** On a VMDiskImage that a VirtualMachine, Workspace or DataSync made: which one, and the generation that it wrote. */
  creator: 'pelotech.ot/creator',
  /** On a VMDiskImage that DataSyncs made: which vm of which workspace it is for. A workspace without a version has no such annotation. */
  workspaceId: 'pelotech.ot/workspace-id',
  workspaceVersion: 'pelotech.ot/workspace-version',
  workspaceVm: 'pelotech.ot/workspace-vm',
  /** On such an image: fingerprints of the requests of DataSyncs that have reached it, so that each reaches it once. */
  requestsReached: 'pelotech.ot/requests-reached',
  /** On a DataVolume: number of the attempt that it is. */
  attempt: 'pelotech.ot/attempt',
  /** On children: the image's name in full, where the label had to shorten it. */
  imageNameFull: 'pelotech.ot/image-name',
  /**
   * On a machine's cloud-init Secret: hash of what it holds. On the KubeVirt VirtualMachine: fingerprint of what the guest
   * was given when it first started.
   */
  cloudInit: 'pelotech.ot/cloud-init',
  /** On the claim of a Workspace's volume, where no folder of the nodes holds it: `localPath` of the spec. */
  localPath: 'pelotech.ot/local-path',
  /** On children of a Workspace: hash of what they were rendered as, which tells what is not wanted any more from what others have added. */
  rendered: 'pelotech.ot/rendered',
  /** On KubeVirt's VirtualMachine or its instance: when we last had KubeVirt try again what was refused. */
  retriedAt: 'pelotech.ot/retried-at',
} as const

/** Finalizers that the operator sets on objects of its own kinds. */
export const FINALIZERS = {
  /** Holds a VMDiskImage until its download has ended and nobody uses it. */
  vmDiskImage: 'pelotech.ot/disk-image',
  /** Holds a VirtualMachine until its machine, disk and Secret are gone. */
  virtualMachine: 'pelotech.ot/virtual-machine',
  /** Holds a Workspace until all that it consists of is gone. */
  workspace: 'pelotech.ot/workspace',
} as const
