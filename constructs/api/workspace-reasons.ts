import { internalErrorHelp, NOTHING, namesIn, notRespondingHelp, type ReasonHelp, refusedHelp } from './reason-help.ts'

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
  /** Switched off, as somebody wanted it. */
  Halted: {
    severity: 'normal',
    meaning:
      'spec.powerState is Halted, and every member is off. Disks, volumes, addresses, networks, Services and Secrets stay, and images stay in use. Of a component: it is off, as the workspace or its own run strategy says.',
    remedy:
      'No action needed. To switch it on, set spec.powerState to Running; a machine that its own run strategy keeps off, its runStrategy.',
  },
  /** On the way to it. */
  Halting: {
    severity: 'silent',
    meaning: 'spec.powerState is Halted, and members are still being stopped; the message names the first of them.',
    remedy: `${NOTHING} Roles that are being played are let end first.`,
  },
  /** Of an Event: the end of the workspace is near. */
  ExpiresSoon: {
    severity: 'warning',
    meaning:
      'The end of the workspace is near. The message says when it is, and whether the workspace is then switched off or deleted. Nothing happens before this warning is as old as the policy key expiryNotice said.',
    remedy:
      'No action needed if it may end. To extend it: kubectl patch otws NAME --type merge -p \'{"spec":{"expiresAt":"2026-01-31T18:00:00Z"}}\', with the time that you want.',
  },
  /** It has ended, and is off. */
  Expired: {
    severity: 'normal',
    meaning:
      'The workspace has ended (spec.expiresAt, spec.lifetime, or the policy key workspaceLifetime), and is off, or is being deleted where spec.onExpiry is Delete. One that is off keeps what one with powerState Halted keeps.',
    remedy:
      'No action needed. To have it on again, set spec.expiresAt to a time that is still to come, with spec.powerState Running.',
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
  /** An image cannot be used, and nobody in the workspace needs it. */
  ImageNotNeeded: {
    severity: 'warning',
    meaning:
      'An image is gone, is being deleted, or cannot be used, and every machine of it has its disk. Disks are copies: the machines go on. The image is not made again before a machine needs it.',
    remedy:
      'No action needed, unless somebody wants new machines of it or new disks: then see the conditions of the VMDiskImage that the message names.',
  },
  /** A change waits for a restart of a machine. */
  RestartRequired: {
    severity: 'warning',
    meaning: 'A change of the spec takes effect when a machine restarts; the message is that of the machine.',
    remedy: 'Restart the machine, for instance with virtctl restart, or undo the change.',
  },
  /** A change waits for a new disk of a machine. */
  RebuildRequired: {
    severity: 'warning',
    meaning: 'A change of the spec takes effect only on a new disk of a machine; the message is that of the machine.',
    remedy:
      'Undo the change. Or remove the machine from the spec, wait until it is gone, and add it again, which loses the data on its disk.',
  },
  /** Of the condition UpToDate: a machine is to have another disk. */
  SpecChanged: {
    severity: 'silent',
    meaning:
      'The disk of a machine was made from another image or size than the spec has now, or what its guest read at its first start has changed. The message is that of the machine. Passwords do not count.',
    remedy:
      'Undo the change, or ask for new disks with annotation pelotech.ot/rebuild-requested-at of the Workspace, which loses the data on the old ones. With updateStrategy Recreate, the operator asks for them by itself.',
  },
  /** The image of a machine was refreshed. */
  ImageRefreshed: {
    severity: 'silent',
    meaning:
      'An image was refreshed, or made again, after the disk of a machine was cloned from it. The disk is a copy, and stays as it is.',
    remedy:
      'No action needed if the disks may stay as they are. Otherwise ask for new ones with annotation pelotech.ot/rebuild-requested-at of the Workspace, which loses the data on the old ones.',
  },
  /** Of the condition UpToDate: nobody knows. */
  NotRecorded: {
    severity: 'silent',
    meaning:
      'It is not recorded what the disk of a machine was made from, or what its guest read at its first start. The message is that of the machine.',
    remedy: 'No action needed if the machine may stay as it is. It is recorded when the machine gets a new disk.',
  },
  /** As an Event: a machine gets a new disk. */
  Recreating: {
    severity: 'normal',
    meaning:
      'updateStrategy is Recreate, and the disk of a machine is of an earlier spec: the operator asks the machine for a new disk, which loses the data on the old one.',
    remedy: `${NOTHING} To stop it before the next machine, set spec.updateStrategy.type to OnRequest.`,
  },
  /** The root disk of a machine is being replaced. */
  Replacing: {
    severity: 'normal',
    meaning: 'Somebody asks for a new root disk of a machine, which is being made; the message is that of the machine.',
    remedy: 'No action needed. Save before what is needed of the disk that the message names.',
  },
  /** As an Event: somebody asks in vain. */
  ResetNotCounted: {
    severity: 'warning',
    meaning:
      'The annotation pelotech.ot/reset-requested-at was there when the Workspace was created, or before the operator first looked for it, or has a value again that it had before. It does not count, and all machines keep their disks.',
    remedy: 'Set the annotation to another value to replace the root disks of all machines.',
  },
  /** As an Event: somebody asks in vain. */
  RebuildNotCounted: {
    severity: 'warning',
    meaning:
      'The annotation pelotech.ot/rebuild-requested-at does not count for machines, and they keep their disks: the message says why, such as that no disk is lost or outdated.',
    remedy:
      'Set the annotation to another value when something is lost or outdated. To replace the root disks all the same, set pelotech.ot/reset-requested-at, which loses the data on them.',
  },
  /** As an Event: somebody asks in vain. */
  PlayNotCounted: {
    severity: 'normal',
    meaning:
      'The annotation pelotech.ot/play-requested-at does not count for the build roles of the machines that the message names: they have succeeded on the present disks.',
    remedy: 'No action needed. To have them played on a new disk, reset the machine, which loses the data on its disk.',
  },
  /** Of the condition UpToDate. */
  UpToDate: { severity: 'silent', meaning: 'Everything is as the spec says.', remedy: 'No action needed.' },
  /** An image differs from the template. */
  ImageMismatch: {
    severity: 'warning',
    meaning:
      'An image exists and is another one than vmDiskImageTemplate asks for. The image is used as it is. The message names the fields, and who had it created.',
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
  NetworkNotAllowed: {
    severity: 'warning',
    meaning:
      'A network of the workspace is to be an existing NetworkAttachmentDefinition that the policy key attachableNetworks does not list. Its members are not created. Those that exist stay as they are.',
    remedy:
      'Remove attach from the network that the message names, so that the workspace gets a network of its own, or have the NetworkAttachmentDefinition added to attachableNetworks.',
  },
  AddressOutsideNetwork: {
    severity: 'warning',
    meaning:
      'An address of a member, or the gateway or a next hop of a network, is in none of cidrs of its network. The member or the network is not created. What exists stays as it is.',
    remedy: 'Correct the address, or cidrs of the network, as the message says.',
  },
  DependencyInvalid: {
    severity: 'warning',
    meaning:
      'dependsOn of a member names the member itself, or no member, or leads back to it, so it can never be created. What exists is not affected.',
    remedy: 'Correct dependsOn of the member as the message says.',
  },
  AliasNotPossible: {
    severity: 'warning',
    meaning:
      'An alias of a member is no host name, or is a name of another member, too. The member is not created. One that exists goes on without the alias.',
    remedy: 'Correct aliases of the member as the message says.',
  },
  /** Refused by the policy, or by all of them. */
  OverrideNotAllowed: {
    severity: 'warning',
    meaning:
      'Something in overrides of a member is not allowed by the policy key allowedOverrides, or cannot be overridden at all. The member is not created. One that exists stays as it is.',
    remedy:
      'Remove the path that the message names from overrides. If the message says so, have it added to allowedOverrides instead.',
  },
  /** Refused by the policy. */
  PrivilegedNotAllowed: {
    severity: 'warning',
    meaning:
      'A container is to be privileged, and the policy key allowPrivileged is not true. Its cluster is not created. One that exists stays as it is.',
    remedy:
      'Remove privileged from the container that the message names, and give it the capabilities that it needs, or have allowPrivileged set to true.',
  },
  /** Refused by the policy. */
  CapabilityNotAllowed: {
    severity: 'warning',
    meaning:
      'A container adds a capability that the policy key allowedCapabilities does not name. Its cluster is not created. One that exists stays as it is.',
    remedy:
      'Remove the capability that the message names from capabilities.add, or have it added to allowedCapabilities.',
  },
  /** Refused by the policy. */
  DeviceNotAllowed: {
    severity: 'warning',
    meaning:
      'A container asks for a device that the policy key allowedDevices does not name. Its cluster is not created. One that exists stays as it is.',
    remedy: 'Remove the device that the message names from devices, or have it added to allowedDevices.',
  },
  /** Refused by the policy. */
  ServiceTypeNotAllowed: {
    severity: 'warning',
    meaning:
      'A service asks for a type that the policy key allowedServiceTypes does not name. It is not created. One that exists stays as it is.',
    remedy:
      'Give the service that the message names a type that is allowed, or have its type added to allowedServiceTypes.',
  },
  /** Refused by the policy. */
  InternetAccessNotAllowed: {
    severity: 'warning',
    meaning:
      'spec.internetAccess is Enabled, and the policy key allowInternetAccess is not true, or its denied ranges leave no public address. Members run, and reach no public address. Access that they had is taken away.',
    remedy:
      'Remove internetAccess from the spec, or have allowInternetAccess set to true, and internetDeniedCidrs leave something.',
  },
  /** The cluster has not given it an address yet. */
  LoadBalancerPending: {
    severity: 'silent',
    meaning: 'A service of type LoadBalancer has no address yet. The workspace waits for it without a limit.',
    remedy:
      'No action needed while the load balancer is made. If it lasts, the cluster may have nothing that makes load balancers: see the Events of the Service, or take type NodePort.',
  },
  /** Multus is not installed. */
  NetworkDriverMissing: {
    severity: 'warning',
    meaning: 'The cluster does not serve NetworkAttachmentDefinitions: Multus is not installed.',
    remedy: 'Install Multus and the plug-ins of the policy key networkDriver. The workspace then continues by itself.',
  },
  /** The cidr of a network is in use by the cluster. */
  ClusterCidrOverlap: {
    severity: 'warning',
    meaning:
      'The cidr of a network overlaps a range of Services or pods of the cluster, which the message names. Packets between members may go to a Service instead. A new network is not made, and members do not move into such a network. One that exists stays, and is only warned of.',
    remedy:
      'Give the network another cidr, and its members addresses in it. If all nodes have the rules of labIsolation, the policy key clusterCidrs: none allows it.',
  },
  /** Another network of the cluster has the bridge or the name of a network. */
  NetworkNameTaken: {
    severity: 'warning',
    meaning:
      'Another NetworkAttachmentDefinition, which the message names, has the bridge or the name of a network of the workspace: on a node, the members of both are on one network. A new network is not made. One that exists stays, and is warned of.',
    remedy:
      'Find out who made the other one, and delete it, or the workspace. Nobody but the operator needs a bridge whose name begins with ot.',
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
  /** KubeVirt is installed, and does not work. */
  KubeVirtNotResponding: { severity: 'warning', ...notRespondingHelp('KubeVirt', 'workspace') },
  /** CDI is installed, and does not work. */
  CDINotResponding: { severity: 'warning', ...notRespondingHelp('CDI', 'workspace') },
  /** A Secret that the spec names, or the key of a password, does not exist. */
  SecretMissing: {
    severity: 'warning',
    meaning:
      'A Secret that passwordSecretRef of a user, userDataSecretRef of a machine, a variable, envFrom or files of a container, or pullSecrets of a container cluster names does not exist in the namespace of the workspace, or lacks the key of a password or of user data. The message of the workspace names all that is missing, for whom, with one command; that of a machine or a container cluster has the command for its own part.',
    remedy:
      'Run the command with the values in place of the words in capitals. It creates Secrets, and adds keys to those that exist, or creates them again where the workspace has owners, who may not change Secrets. The machine or the container cluster then continues by itself.',
  },
  /** A ConfigMap that a container cluster names does not exist. */
  ConfigMapMissing: {
    severity: 'warning',
    meaning:
      'A ConfigMap that a variable, envFrom or files of a container names does not exist in the namespace of the workspace. Where Secrets are missing too, the reason is SecretMissing. The message of the workspace names all that is missing, for whom, with one command.',
    remedy:
      'Run the command with your own content in place of the words in capitals. The container cluster then continues by itself.',
  },
  /** A machine is not ready yet. */
  VirtualMachinePending: {
    severity: 'silent',
    meaning: 'A machine is not ready yet: its disk is being cloned, or it starts.',
    remedy: `${NOTHING} If it lasts, see the VirtualMachine (otvm) of that name.`,
  },
  /** A machine has lost the disk that its guest ran from. */
  DiskLost: {
    severity: 'warning',
    meaning:
      'The disk that the guest of a machine ran from is gone, or somebody deleted the namespace with the machine. No other disk is made by itself, because it would hide the loss. The message names the machine.',
    remedy:
      'Save what can be saved, as the message says. To have such machines start again from their images, set annotation pelotech.ot/rebuild-requested-at of the Workspace to a new value: machines that have their disks keep them.',
  },
  /** The disk that a guest runs from is being deleted. */
  DiskBeingDeleted: {
    severity: 'warning',
    meaning:
      'Somebody deleted the disk of a machine. It stays as long as the guest runs, and is gone when the guest stops. The message names the machine.',
    remedy: 'Save what is needed while the guest runs, and do not stop it before. After that the reason is DiskLost.',
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
      'Containers of a cluster do not start, end again and again, or run without their networks: an image that cannot be pulled, a command that fails, too little memory, no node with room, or a node without Multus.',
    remedy:
      'Read the message and the log of the container, and correct the container in the spec, or the node. It then continues by itself.',
  },
  /** A claim is not bound. */
  VolumePending: {
    severity: 'silent',
    meaning:
      'A volume is not there yet: its claim waits for storage, or for the first container or machine that uses it.',
    remedy: `${NOTHING} If it lasts, see the Events of the claim that the message names.`,
  },
  /** A volume was restored. */
  OldVolumeKept: {
    severity: 'silent',
    meaning:
      'The volume was restored to a point in time. The claim that it had before is kept, with what is on it, until somebody deletes it.',
    remedy:
      'No action needed. If nobody needs what is on that claim, run the command in the message: the next restore of the volume needs its place.',
  },
  /** What was on a volume is gone, or about to be. */
  VolumeLost: {
    severity: 'warning',
    meaning:
      'The storage of a volume is gone, or somebody deletes its claim, with what containers have written to it. The message names the claim. It is not made again before somebody asks for it. The condition VolumeLost stays.',
    remedy:
      'While the claim is being deleted, pods that mount it still have the data: copy what is needed from them. If its PersistentVolume is still there, the data may be, too. If nothing can be saved, set the annotation pelotech.ot/rebuild-requested-at of the Workspace to a new value, as the message says: all that is lost is made again, empty.',
  },
  /** Random values of a Secret are gone. */
  SecretLost: {
    severity: 'warning',
    meaning:
      'Somebody has deleted, or deletes, a Secret that the operator made (spec.secrets), or keys of it. It is made again with other values, because the old ones are nowhere else. The condition SecretLost stays.',
    remedy:
      'Containers that run have the old values until they are restarted. Guests have those of their first start: each such machine has the reason RebuildRequired. Data that was written with the old values, such as the users of a database, keeps them. Use the new values there, or put the old ones into the Secret if you still have them: the operator changes no value.',
  },
  /** A Secret that is to be a copy is none. */
  SecretNotShared: {
    severity: 'warning',
    meaning:
      'A Secret of spec.secrets is to be a copy of one of another namespace that cannot be copied: it does not exist, its owner has not labelled it pelotech.ot/shared: "true", it is of a type that is never copied, the policy key sharedSecretNamespaces does not list its namespace, or the cluster does not check who may have it copied. There is no copy, and one that was there is deleted. The message says which it is.',
    remedy:
      'Do what the message says. The workspace then continues by itself. What has started with the values of a copy keeps them; a container that needs it does not start again without it.',
  },
  /** Larger than a ConfigMap can be. */
  AnsibleTooLarge: {
    severity: 'warning',
    meaning: 'The inventory and the plays of all machines are together more than a ConfigMap holds (1 MiB).',
    remedy: 'Shorten the variables of the roles: keep large ones in files of the container that runs the plays.',
  },
  /** Roles are being played. */
  Playing: {
    severity: 'silent',
    meaning: 'Roles of machines are being played by Ansible, or wait for their machine. The message says which.',
    remedy: `${NOTHING} status.plays of the Workspace has all of them, and the log of the Job that the message names what happens now.`,
  },
  /** Roles were not played to their end. */
  PlayFailed: {
    severity: 'warning',
    meaning:
      'A role of a machine failed, or nobody saw how its Job ended. The message names the machine, the task where it is known, and the Job with the log. What follows it is not played. It is not played again by itself: it may have done half of its work.',
    remedy:
      'Correct the role, or the machine, and set annotation pelotech.ot/play-requested-at of the Workspace to a new value: what failed is played again. Or have the machine get a new disk.',
  },
  /** Machines were there before anybody played. */
  NotPlayed: {
    severity: 'silent',
    meaning:
      'A machine was made before an image for its plays was named, or before it had roles: nobody knows what was done on its disk. The message names it.',
    remedy:
      'No action needed if the machine is as it should be. To have the roles played on it, set annotation pelotech.ot/play-requested-at of the Workspace to a new value.',
  },
  /** Nothing is to be created. */
  IgnoredOnDeploy: {
    severity: 'silent',
    meaning: 'ignoreOnDeploy of the component is true: it is not created.',
    remedy: 'Set ignoreOnDeploy to false to deploy it.',
    isOffer: true,
  },
  /** Existing objects stay. */
  NotDeployedAnyMore: {
    severity: 'silent',
    meaning: 'The component was deployed before its ignoreOnDeploy became true: it is left as it is.',
    remedy:
      'To delete it, remove it from the spec. To have the operator maintain it again, set ignoreOnDeploy to false.',
    isOffer: true,
  },
  /** A change that cannot be made to an existing object. */
  NotChangeable: {
    severity: 'warning',
    meaning:
      'A change cannot be made to a volume that exists: a smaller size, a larger one in a folder of a node or of a StorageClass whose volumes cannot grow, or another place. It stays as it is. The message says which.',
    remedy:
      'Undo the change of the spec, or of the policy key localVolumeRoot. A volume grows by itself when allowVolumeExpansion of its StorageClass is set. Or give the volume another name: it is then created without its data.',
  },
  /** Warnings of the members. */
  SpecWarning: {
    severity: 'silent',
    meaning:
      'The spec is valid, and something in it is not applied as written, or may not work. The message has the number of these warnings, and each with the machine, container cluster, network or volume that it is about.',
    remedy:
      'No action needed where what the message says is acceptable. Otherwise change what it names in the spec, or the policy key that it names.',
  },
  /** A port of the node and a default route of a network exclude each other. */
  DefaultRouteLeftOut: {
    severity: 'warning',
    meaning:
      'A container has a hostPort, and one of its networks has a default route. Its pod gets routes to all networks of the workspace, but no default route: replies to clients of the hostPort would leave by the workspace and be lost.',
    remedy:
      'No action needed if the container only talks to networks of the workspace. Otherwise add routes to the network for what else it has to reach, or remove hostPort.',
  },
  /** Rendered by an earlier version, or before another pod became a next hop. */
  Outdated: {
    severity: 'silent',
    meaning:
      'An earlier version of the operator made it, or it was made before another pod became the next hop of a route. A change would replace what runs, so it stays as it is. The message says what it lacks.',
    remedy:
      'When an interruption is acceptable, run the command in the message: the operator makes it again. A change of its part of the spec does the same.',
    isOffer: true,
  },
  /** With names: hosts. */
  NamesNotCurrent: {
    severity: 'silent',
    meaning:
      'The names of the members were changed after it started, so what runs in it has those of then in /etc/hosts, or none. Nothing is restarted for that.',
    remedy:
      'No action needed unless it has to know the others by the names of now: then run the command in the message, which restarts it.',
  },
  /** Of the condition NetworksIsolated. */
  NodeIsolated: {
    severity: 'silent',
    meaning: 'Every node with members of the workspace has the rules that keep it out of the networks of workspaces.',
    remedy: 'No action needed.',
  },
  /** Of the condition NetworksIsolated. */
  NodeNotIsolated: {
    severity: 'silent',
    meaning:
      'A node with members of the workspace does not have the rules that keep it out of the networks of workspaces: members reach its services, and a Service of the cluster may answer in place of a member.',
    remedy: 'See the pod of DaemonSet open-terrain-lab-isolation on that node, in namespace open-terrain-nodes.',
  },
  /** Of the condition NetworksIsolated. */
  IsolationUnknown: {
    severity: 'silent',
    meaning:
      'Nothing shows whether members of the workspace reach their node over its networks: no member runs yet, the DaemonSet that loads and checks the rules is not on the node, or the networks are of another driver than bridge.',
    remedy:
      'Install the DaemonSet: set labIsolation, with a container image, in the configuration of the installation. What each driver isolates: docs/access.md.',
    isOffer: true,
  },
  /** The stored spec breaks a rule. */
  InvalidSpec: {
    severity: 'warning',
    meaning: 'The spec breaks a rule of the API; the message names the field.',
    remedy: 'Correct the field that the message names.',
  },
  /** The operator keeps only a part of it. */
  TooLarge: {
    severity: 'warning',
    meaning:
      'The object is larger, has more values or is nested deeper than the operator reads: the message gives the limit. What runs goes on; nothing is created, changed or deleted for it, and what it refers to is kept.',
    remedy:
      'Make the spec smaller, and remove annotations of pelotech.ot that are not needed. It then continues by itself.',
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
