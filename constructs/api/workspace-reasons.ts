import { internalErrorHelp, NOTHING, namesIn, type ReasonHelp, refusedHelp } from './reason-help.ts'

/** Whether an Event reports it, and of which type. */
export type ReasonSeverity = 'normal' | 'warning' | 'silent'

interface WorkspaceReasonHelp extends ReasonHelp {
  readonly severity: ReasonSeverity
}

/**
 * Every reason that a condition, a component in the status or an Event of a Workspace can have, in addition to the reasons of its machines and
 * images, with its meaning and its remedy. The API reference is generated from this table, so every reason has a remedy.
 */
export const WORKSPACE_REASON_HELP = {
  /** Components are being created or changed. */
  Provisioning: {
    severity: 'silent',
    meaning: 'Components are being made or changed; the message names the first that is not ready.',
    remedy: `${NOTHING} status.components shows what each of them waits for.`,
  },
  /** Images are not ready yet. */
  WaitingForImages: {
    severity: 'silent',
    meaning:
      'Images that machines need are not ready yet: they are being downloaded or are queued. The message names one.',
    remedy: `${NOTHING} kubectl get vmdi -n <imageNamespace> shows the queue and the progress of each download.`,
  },
  /** An image does not exist, and nothing says how to create it. */
  ImageMissing: {
    severity: 'warning',
    meaning:
      'An image does not exist and cannot be created: its machine has no vmDiskImageTemplate and the policy no imageUrlTemplate, these give no valid image, or the namespace of images does not exist. The message says which.',
    remedy:
      'Create the VMDiskImage of that name in the namespace of images, set vmDiskImageTemplate of the machine, or the policy key imageUrlTemplate. If the namespace of images does not exist, create it, or correct the policy key imageNamespace. The workspace then continues by itself.',
  },
  /** An image failed. */
  ImageFailed: {
    severity: 'warning',
    meaning: 'An image is Failed and has no artifact; the message is its own.',
    remedy:
      'Do what the message says: correct the image, or vmDiskImageTemplate of the machine. The workspace then continues by itself.',
  },
  /** An image differs from the template. */
  ImageMismatch: {
    severity: 'warning',
    meaning:
      'An image exists and differs from vmDiskImageTemplate. The image is used as it is. The message names the fields.',
    remedy: 'Correct vmDiskImageTemplate, or name another image in backingVMDiskImage.',
  },
  /** The namespace, or that of the images, is being deleted. */
  NamespaceTerminating: {
    severity: 'warning',
    meaning:
      'The namespace of the workspace, or that of the images, is being deleted, so nothing can be created in it.',
    remedy: `${NOTHING} The namespace of the workspace is created again when it has been deleted. That of the images is not: create it, or set the policy key imageNamespace to another one. If it lasts, see the conditions of the namespace.`,
  },
  /** An object that is not ours has a name that the workspace needs. */
  NameConflict: {
    severity: 'warning',
    meaning:
      'An object that is not of this workspace has the name of one that it needs, such as its namespace. The operator does not change it. The message names it.',
    remedy:
      'Give the workspace or the component another name, or delete the object that the message names if nobody needs it.',
  },
  /** The API server refused a write. */
  Refused: { severity: 'warning', ...refusedHelp('workspace') },
  /** Refused by the policy. */
  HostPortNotAllowed: {
    severity: 'warning',
    meaning:
      'A container asks for a port of its node, and the policy key allowHostPorts is false. Its cluster is not created. One that exists stays as it is.',
    remedy: 'Remove hostPort from the port mappings that the message names, or have allowHostPorts set to true.',
  },
  /** Refused by the policy. */
  CapabilityNotAllowed: {
    severity: 'warning',
    meaning:
      'A container adds a capability that the policy key allowedCapabilities does not name. Its cluster is not created. One that exists stays as it is.',
    remedy:
      'Remove the capability that the message names from capabilities.add, or have it added to allowedCapabilities.',
  },
  /** Multus is not installed. */
  NetworkDriverMissing: {
    severity: 'warning',
    meaning: 'The cluster does not serve NetworkAttachmentDefinitions: Multus is not installed.',
    remedy: 'Install Multus and the plug-ins of the policy key networkDriver. The workspace then continues by itself.',
  },
  /** KubeVirt is not installed. */
  KubeVirtMissing: {
    severity: 'warning',
    meaning: 'The cluster does not serve the VirtualMachines of KubeVirt.',
    remedy: 'Install KubeVirt. The workspace then continues by itself.',
  },
  /** CDI is not installed. */
  CDIMissing: {
    severity: 'warning',
    meaning: 'The cluster does not serve DataVolumes: CDI is not installed.',
    remedy: 'Install the Containerized Data Importer. The workspace then continues by itself.',
  },
  /** The Secret in passwordSecretRef, or its key, does not exist. */
  SecretMissing: {
    severity: 'warning',
    meaning:
      'A Secret that passwordSecretRef of a user names does not exist in the namespace of the workspace, or lacks the key. If the Secret does not exist, the message is the command that creates it. Otherwise the message names Secret and key.',
    remedy:
      'Run the command with the passwords in place of PASSWORD, or add the key to the Secret. The machine then continues by itself.',
  },
  /** A machine is not ready yet. */
  VirtualMachinePending: {
    severity: 'silent',
    meaning: 'A machine is not ready yet: its disk is being cloned, or it starts.',
    remedy: `${NOTHING} If it lasts, see the VirtualMachine (otvm) of that name.`,
  },
  /** A machine failed. */
  VirtualMachineFailed: {
    severity: 'warning',
    meaning: 'A machine is Failed; the message is its own.',
    remedy: 'Do what the message says. See the VirtualMachine (otvm) of that name in the namespace of the workspace.',
  },
  /** Pods are starting. */
  ContainersPending: {
    severity: 'silent',
    meaning: 'Containers of a cluster are being started; the message says what they wait for.',
    remedy: `${NOTHING} If it lasts, see the pod of the cluster and its Events.`,
  },
  /** Pods do not start. */
  ContainersFailed: {
    severity: 'warning',
    meaning:
      'Containers of a cluster do not start or end again and again: an image that cannot be pulled, a command that fails, or no node with room.',
    remedy:
      'Read the message and the log of the container, and correct the container in the spec. It then continues by itself.',
  },
  /** A claim is not bound. */
  VolumePending: {
    severity: 'silent',
    meaning:
      'A volume is not there yet: its claim waits for storage, or for the first container that mounts it. Or its storage is lost: then the component is Failed.',
    remedy: `${NOTHING} If it lasts, see the Events of the claim that the message names. If its storage is lost, delete the claim: it is made again without its data.`,
  },
  /** Larger than a ConfigMap can be. */
  AnsibleTooLarge: {
    severity: 'warning',
    meaning: 'The inventory and the plays of all machines are together more than a ConfigMap holds (1 MiB).',
    remedy: 'Shorten the variables of the roles: keep large ones in files of the container that runs the plays.',
  },
  /** Nothing is to be created. */
  IgnoredOnDeploy: {
    severity: 'silent',
    meaning: 'ignoreOnDeploy of the component is true: it is not created.',
    remedy: 'Set ignoreOnDeploy to false to deploy it.',
  },
  /** Existing objects stay. */
  NotDeployedAnyMore: {
    severity: 'silent',
    meaning: 'The component was deployed before its ignoreOnDeploy became true: it is left as it is.',
    remedy:
      'To delete it, remove it from the spec. To have the operator maintain it again, set ignoreOnDeploy to false.',
  },
  /** A change that cannot be made to an existing object. */
  NotChangeable: {
    severity: 'warning',
    meaning:
      'A change cannot be made to a volume that exists: a smaller size, a larger one in a folder of a node, or another place. It stays as it is. The message says which.',
    remedy:
      'Undo the change of the spec, or of the policy key localVolumeRoot. Or give the volume another name: it is then created without its data.',
  },
  /** The stored spec breaks a rule. */
  InvalidSpec: {
    severity: 'warning',
    meaning: 'The spec breaks a rule of the API; the message names the field.',
    remedy: 'Correct the field that the message names.',
  },
  /** Every component is ready. */
  Ready: { severity: 'normal', meaning: 'Every component is ready for use.', remedy: 'No action needed.' },
  /** Being removed. */
  Deleting: {
    severity: 'silent',
    meaning:
      'The workspace is being removed: first its machines, then its containers, its volumes, its networks, and at last its namespace. Its images are deleted only if nothing else refers to them and their reclaimPolicy is Delete.',
    remedy: NOTHING,
  },
  /** A bug in the operator. */
  InternalError: { severity: 'warning', ...internalErrorHelp('workspace') },
} as const satisfies Record<string, WorkspaceReasonHelp>

export type WorkspaceReason = keyof typeof WORKSPACE_REASON_HELP

/** `WORKSPACE_REASONS.Provisioning` is `'Provisioning'`, and so on for every key of `WORKSPACE_REASON_HELP`. */
export const WORKSPACE_REASONS = namesIn(WORKSPACE_REASON_HELP)
