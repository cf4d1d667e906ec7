import { internalErrorHelp, NOTHING, namesIn, notRespondingHelp, type ReasonHelp, refusedHelp } from './reason-help.ts'

/**
 * Every reason that a condition or an Event of a VirtualMachine can have, with its meaning and its remedy. The API reference is generated from this
 * table, so every reason has a remedy.
 */
export const VIRTUAL_MACHINE_REASON_HELP = {
  /** The image exists and waits in the queue, or for a missing object. */
  WaitingForImage: {
    meaning: 'The image is not ready yet; the message gives its place in the queue, or what it waits for itself.',
    remedy: `${NOTHING} If it lasts, see the conditions of the VMDiskImage.`,
  },
  /** The image is about to be created from the template. */
  ImageMissing: {
    meaning:
      'The image does not exist and is being created from the template. Or it has been deleted, and the machine already has its disk.',
    remedy: 'No action needed, unless it lasts: then the message says why the image cannot be created.',
  },
  /** Downloading, or being snapshotted. */
  ImageSyncing: {
    meaning: 'The image is being downloaded or its snapshot is being taken.',
    remedy: `${NOTHING} status.progress of the VMDiskImage shows the progress.`,
  },
  /** The image from a template was wrong, and all that refer to it want the same. */
  ImageCorrected: {
    meaning:
      'The image was created from a template, never had an artifact, and all that refer to it want the same: it is corrected from the template, which has changed since.',
    remedy: NOTHING,
  },
  /** The image failed. */
  ImageFailed: {
    meaning: 'The image is Failed and has no artifact; the message is its own.',
    remedy:
      'Do what the message says, as the reason of the VMDiskImage itself says. Where the template of this virtual machine made the image and nothing else refers to it, correct spec.vmDiskImageTemplate. Otherwise correct the image, or delete it: it is then created from the template. The virtual machine then continues by itself.',
  },
  /** The image is being deleted, and the machine has no disk from it. */
  ImageTerminating: {
    meaning: 'The image is being deleted, so no disk is cloned from it any more.',
    remedy:
      'No action needed with a template: the image is created again when it has been deleted. Otherwise create it, or name another in spec.vmDiskImageRef.',
  },
  /** The mode is FailIfNotExist, or there is no template. */
  ImageNotFound: {
    meaning:
      'The image does not exist, and the virtual machine may not create it: it has no template, its mode is FailIfNotExist, or only a disk of spec.disks is cloned from it.',
    remedy:
      'Create the VMDiskImage, correct spec.vmDiskImageRef or spec.disks, or set spec.vmDiskImageTemplate with the mode CreateIfNotExist.',
  },
  /** The image differs from the template. */
  ImageMismatch: {
    meaning:
      'The image exists and differs from the template. The image is used as it is. The message names the fields, and who had it created. It is the reason of a machine that runs from another disk than it asks for.',
    remedy:
      'Correct spec.vmDiskImageTemplate, or name another image in spec.vmDiskImageRef. If the image is wrong, have it deleted; a machine that has its disk gets another one only when it is deleted and created again.',
  },
  /** The image has an artifact. */
  ImageReady: { meaning: 'The image has an artifact that a disk can be cloned from.', remedy: 'No action needed.' },
  /** The disk is being cloned. */
  Cloning: {
    meaning: 'The root disk, or one of spec.disks, is being cloned from its image.',
    remedy: `${NOTHING} status.clone.progress shows the progress, if CDI reports it.`,
  },
  /** CDI failed, or cannot start. */
  CloneFailed: {
    meaning:
      'A disk could not be cloned, or the clone cannot start because of a quota or an invalid claim. The message is the answer of CDI or of the API server.',
    remedy:
      'Read the message. The cause may be a quota, a storage class or the rights of the operator. If the phase is Provisioning, the machine continues by itself when that is fixed. If it is Failed, the disk is recreated when the spec changes or somebody deletes the DataVolume.',
  },
  /** The artifact disappeared before or during the clone. */
  CloneSourceGone: {
    meaning:
      'The source of the clone of the root disk does not exist any more. The disk is cloned from the next artifact of the image.',
    remedy: `${NOTHING} If it lasts, see the conditions of the VMDiskImage: its status names an artifact that does not exist.`,
  },
  /** CDI copied every byte. */
  FullCopy: {
    meaning: 'CDI copied the whole disk instead of taking a clone of the storage, which costs time and space.',
    remedy:
      'Give image and clone one storage class and volume mode whose driver can clone or restore snapshots. The events of the DataVolume may say why CDI did not.',
  },
  /** KubeVirt is starting the machine. */
  Starting: { meaning: 'KubeVirt is starting the machine.', remedy: NOTHING },
  /** Running, but not ready. */
  NotReady: {
    meaning: 'The instance runs, and KubeVirt does not report it as ready; the message is that of its condition Ready.',
    remedy:
      'No action needed, unless it lasts: then check the console of the guest and the events of the VirtualMachineInstance. An instance that stays so is restarted, within the policy keys vmProvisionTimeout and kickLimit.',
  },
  /** Running, and the guest does not answer as spec.readiness asks. */
  WaitingForGuest: {
    meaning:
      'The guest runs, and does not show yet that it is ready for use, as spec.readiness asks; the message says what is missing. It is never restarted for that. After spec.readiness.timeoutSeconds, or the policy key vmProvisionTimeout, the machine is Failed (Timeout) until the guest answers.',
    remedy:
      'No action needed, unless it lasts: then check the console of the guest. For guestAgent and cloudInit the image needs qemu-guest-agent, for cloudInit one that may run programs (guest-exec). A change of spec.readiness takes effect at the next start.',
  },
  /** The pod does not start, and its events say why. */
  PodNotStarting: {
    meaning: 'The virt-launcher pod of the machine does not start; the message is its most relevant Warning event.',
    remedy:
      'Read the message: a volume, a network, a Secret, a device or an image is missing on the node. The kubelet tries again by itself.',
  },
  /** Refused by the policy. */
  NetworkNotAllowed: {
    meaning:
      'An interface is to be attached to an existing NetworkAttachmentDefinition that the policy key attachableNetworks does not list. The machine is not created or changed. What runs on it already stays.',
    remedy:
      'Remove attach from the interface that the message names, or have the NetworkAttachmentDefinition added to attachableNetworks. The machine then continues by itself.',
  },
  /** Refused by the policy, or by all of them. */
  OverrideNotAllowed: {
    meaning:
      'Something in overrides is not allowed by the policy key allowedOverrides, cannot be overridden at all, or is nothing that KubeVirt starts a guest with. The message names the path. The machine is not created or changed. What runs already stays.',
    remedy:
      'Remove the path that the message names from overrides. If the message says so, have it added to allowedOverrides, or take another value instead. The machine then continues by itself.',
  },
  /** An interface names a NetworkAttachmentDefinition that does not exist. */
  NetworkMissing: {
    meaning:
      'The machine does not start: a network in spec.interfaces is no NetworkAttachmentDefinition of its namespace, or the cluster does not serve that kind.',
    remedy:
      'Create the NetworkAttachmentDefinition that the message names, correct spec.interfaces, or install Multus. The machine then continues by itself.',
  },
  /** The volume waits for a node to be chosen. */
  WaitingForVolumeBinding: {
    meaning: 'The volume of the root disk waits for a node to be chosen, or for its data.',
    remedy: 'No action needed, unless it lasts: then check the claim of the root disk and its storage class.',
  },
  /** No node has room. */
  Unschedulable: {
    meaning: 'No node can take the machine; the message is that of the scheduler.',
    remedy:
      'Lower spec.resources, correct spec.nodeSelector, tolerate a taint with spec.tolerations, or add nodes: the message says which of these fits. It is tried again by itself.',
  },
  /** KubeVirt reports FailedCreate. */
  StartFailed: {
    meaning: 'KubeVirt cannot create the instance or its pod; the message is the answer of the API server.',
    remedy:
      'Read the message: a quota, Pod Security or an admission rule refuses it. Once that is fixed, the machine starts by itself, within 5 minutes; the command in the message makes KubeVirt try immediately.',
  },
  /** Fails repeatedly before it runs. */
  CrashLoop: {
    meaning:
      'The machine failed several times before it ran; KubeVirt waits longer before each retry, and the message says when the next one is.',
    remedy: 'See the events of the VirtualMachineInstance and the log of its virt-launcher pod.',
  },
  /** The guest stopped by itself. */
  GuestStopped: {
    meaning: 'The guest was shut down or crashed; KubeVirt starts it again.',
    remedy:
      'No action needed, unless it recurs: then check the console of the guest. virtctl stop is undone immediately: to stop the machine, set spec.runStrategy to Halted.',
  },
  /** Being stopped. */
  Stopping: {
    meaning:
      'The guest is being stopped: its instance or its pod is being deleted, for example because its node is drained or spec.runStrategy or spec.powerState is Halted. KubeVirt does not start it on another node before its pod has ended.',
    remedy:
      'No action needed, unless it lasts: then check whether the node that the message names is Ready. If the node is permanently lost and powered off, delete its Node object or taint it with node.kubernetes.io/out-of-service=nodeshutdown:NoExecute.',
  },
  /** Off, as intended. */
  Halted: {
    meaning:
      'The machine is off, as spec.runStrategy or spec.powerState specifies (Halted), or because it was stopped (Manual). Its disk is kept.',
    remedy:
      'No action needed. To start it, set spec.powerState of its Workspace to Running if that is Halted, or spec.runStrategy to Always; with Manual, use virtctl start.',
  },
  /** KubeVirt restores it from a snapshot. */
  Restoring: {
    meaning:
      'KubeVirt restores the machine from a VirtualMachineSnapshot. The operator writes nothing to it meanwhile, and no time limit applies.',
    remedy:
      'No action needed, unless it lasts: then see the conditions of the VirtualMachineRestore. If its disk was deleted and is not created again, delete the DataVolume that the message names: the reason is then DiskLost, and a new disk is made if you ask for it.',
  },
  /** A restore has replaced the disk. */
  DiskRestored: {
    meaning:
      'A restore of KubeVirt has replaced the root disk: the message names its PersistentVolumeClaim. The DataVolume of the machine, if it has another name, has the disk from before the restore, and is not used.',
    remedy:
      'No action needed. When nobody needs the disk from before the restore, its DataVolume can be deleted to free its space.',
  },
  /** The disk that the guest ran from is gone. */
  DiskLost: {
    meaning:
      'The disk that the guest ran from is gone: somebody deleted its PersistentVolumeClaim or DataVolume, or its volume is lost. Or KubeVirt starts the machine from another disk than that of the last restore, as an earlier release makes it do: the message names both. No other disk is made by itself, because it would hide the loss. A guest that still runs from a deleted disk has the last copy.',
    remedy:
      'Save what can be saved: from the guest if it still runs, from a VirtualMachineSnapshot by a restore, or from the PersistentVolume if it still exists (docs/virtual-machines.md). To start again from the image, set annotation pelotech.ot/rebuild-requested-at to a new value, on the VirtualMachine or on its Workspace.',
  },
  /** The disk that the guest runs from is being deleted. */
  DiskBeingDeleted: {
    meaning:
      'Somebody deleted the disk. It stays as long as the guest runs, and is gone when the guest stops. A deletion cannot be taken back.',
    remedy:
      'Save what is needed while the guest runs, and do not stop it before: for example take a VirtualMachineSnapshot, or copy the data over the network. After that the reason is DiskLost.',
  },
  /** Warning: the restored disk is gone. */
  RestoredDiskLost: {
    meaning:
      'The disk of a restore belongs to the VirtualMachine of KubeVirt, and was deleted with it. The machine has the disk from before the restore again, or has lost its disk (DiskLost) if that is gone, too.',
    remedy:
      'Restore the machine again if its VirtualMachineSnapshot is still there. Otherwise, the data on the restored disk is lost.',
  },
  /** Others have added disks or interfaces to KubeVirt's machine. */
  AddedByOthers: {
    meaning:
      'The VirtualMachine of KubeVirt has disks, volumes, interfaces or networks that the operator did not render, for example from virtctl addvolume. They stay as they are.',
    remedy: 'No action needed. Who added them can remove them.',
  },
  /** Warning: another root disk, without a restore. */
  ChangeUndone: {
    meaning:
      'Somebody made the VirtualMachine of KubeVirt start from another root disk, and not by a restore of KubeVirt. The operator has put the disk of the machine back.',
    remedy: 'No action needed. To give the machine the disk of a snapshot, use a VirtualMachineRestore.',
  },
  /** As an Event: the spec does not have an interface any more. */
  InterfaceRemoved: {
    meaning:
      'The spec does not name a network any more, so its interface is removed from the VirtualMachine of KubeVirt.',
    remedy: 'No action needed. To have it back, name the network in spec.interfaces.',
  },
  /** virtctl pause, or a migration. */
  Paused: {
    meaning:
      'Somebody paused the machine, or KubeVirt did until its migration ends; the message says which. This is not an error, and no time limit applies.',
    remedy: 'Unpause it, for instance with virtctl unpause, or wait for the end of the migration.',
    isOffer: true,
  },
  /** Storage full or lost. */
  PausedIOError: {
    meaning:
      'KubeVirt has paused the machine because its storage is full or lost: the guest cannot write or read its disk. The operator does not restart it. It is Failed (Timeout) after the time in the policy key vmProvisionTimeout.',
    remedy:
      'Free space on the storage of the root disk, or restore it. KubeVirt resumes the guest by itself within minutes; virtctl unpause resumes it immediately.',
  },
  /** Took too long. */
  Timeout: {
    meaning:
      'The machine was not ready in the time that the policy or spec.readiness gives it, not counting the wait for its image.',
    remedy:
      'The message names the step that hangs. The step that has started continues, and a disk that lost its source is cloned again. The machine leaves this state by itself when it becomes ready or its spec changes.',
  },
  /** The kick limit is reached. */
  KickBudgetSpent: {
    meaning:
      'The machine was restarted, or its root disk cloned again, as often as the policy allows, and it still hangs.',
    remedy:
      'See why: for a guest its console and the events of the VirtualMachineInstance; for a disk the events of its DataVolume and claim, and whether CDI and the storage driver run. A change of the spec gives a new budget.',
  },
  /** The operator restarted the machine, or cloned its disk again. */
  Kicked: {
    meaning:
      'The instance ran and was not ready for too long, or the clone of the root disk made no progress, so it was deleted; it is recreated.',
    remedy: NOTHING,
  },
  /** Only the image is wanted. */
  IgnoredOnDeploy: {
    meaning: 'spec.ignoreOnDeploy is true: the image is kept ready, and no machine is created.',
    remedy: 'Set spec.ignoreOnDeploy to false to deploy the machine.',
    isOffer: true,
  },
  /** ignoreOnDeploy became true after the deployment. */
  NotDeployedAnyMore: {
    meaning:
      'spec.ignoreOnDeploy became true after the machine was deployed. It is left as it is, and not maintained any more.',
    remedy: 'Set spec.ignoreOnDeploy to false, or delete the virtual machine to remove it.',
    isOffer: true,
  },
  /** An object that is not ours has a name that the machine needs. */
  NameConflict: {
    meaning:
      'An object that does not belong to the virtual machine, or that has lost its ownerReference to it, has a name that it needs. The operator does not change that object.',
    remedy:
      'Delete the object that the message names if nobody needs it, or give the virtual machine another name. If it was made for this virtual machine, put its ownerReference back instead.',
  },
  /** An object that is not ours has a name that the machine needs, and is being deleted. */
  NamesakeTerminating: {
    meaning: 'An object that does not belong to the virtual machine has a name that it needs, and is being deleted.',
    remedy: `${NOTHING} If it lasts, see the finalizers of the object that the message names.`,
  },
  /** The stored spec breaks a rule. */
  InvalidSpec: {
    meaning: 'The spec breaks a rule of the API; the message names the field.',
    remedy: 'Correct the field that the message names.',
  },
  /** The operator keeps only a part of it. */
  TooLarge: {
    meaning:
      'The object is larger, has more values or is nested deeper than the operator reads: the message gives the limit. A machine that runs goes on; nothing is created, changed or deleted for it, and what it refers to is kept.',
    remedy:
      'Make the spec smaller, and remove annotations of pelotech.ot that are not needed. It then continues by itself.',
  },
  /** The password of passwordSecretRef is missing or unusable. */
  MissingPasswordSecret: {
    meaning:
      'A Secret, or its key, that passwordSecretRef of a user names does not exist, its value is not a password, or the operator is not allowed to read it. The message names all that is missing, with one command.',
    remedy:
      'Run the command with a password, one line of text, in place of each PASSWORD, correct spec.users, or give the operator the right to get Secrets in the namespace; where the message is an error of the API server, fix that. It then continues by itself.',
  },
  /** The user data of userDataSecretRef is missing or unusable. */
  MissingUserDataSecret: {
    meaning:
      'The Secret that spec.userDataSecretRef names, or its key, does not exist, its value is not user data for cloud-init, or the operator is not allowed to read it. Or what the guest is to get is larger than a Secret. The message says which.',
    remedy:
      'Run the command of the message, correct the value, make it smaller, or give the operator the right to get Secrets in the namespace; where the message is an error of the API server, fix that. It then continues by itself.',
  },
  /** KubeVirt is not installed. */
  KubeVirtMissing: {
    meaning: 'The cluster does not serve the VirtualMachines of KubeVirt.',
    remedy: 'Install KubeVirt. The virtual machine then continues by itself.',
  },
  /** CDI is not installed. */
  CDIMissing: {
    meaning: 'The cluster does not serve DataVolumes: CDI is not installed.',
    remedy: 'Install the Containerized Data Importer. The virtual machine then continues by itself.',
  },
  /** KubeVirt is installed, and does not work. */
  KubeVirtNotResponding: notRespondingHelp('KubeVirt', 'virtual machine'),
  /** CDI is installed, and does not work. */
  CDINotResponding: notRespondingHelp('CDI', 'virtual machine'),
  /** Nothing can be created any more. */
  NamespaceTerminating: {
    meaning:
      'The namespace of the virtual machine, or of its image, is being deleted, so nothing can be created in it.',
    remedy: 'Use another namespace.',
  },
  /** A change takes effect at a restart. */
  RestartRequired: {
    meaning: 'A change of the spec takes effect when the machine restarts.',
    remedy: 'Restart the machine, for instance with virtctl restart, or undo the change.',
  },
  /** The guest started with other host names. */
  NamesNotCurrent: {
    meaning:
      'spec.hostAliases, or in a Workspace the names of the members, changed after the guest was started, so its /etc/hosts has the names of then, or none. Nothing is restarted for that.',
    remedy:
      'No action needed unless the guest has to know the names of now: then restart the machine, for instance with virtctl restart. Where the message says that they cannot be written yet, do first what it asks for: a restart before does not help.',
  },
  /** A change takes effect only on a new disk. */
  RebuildRequired: {
    meaning:
      'A change of the spec, or of a password or user data in its Secret, takes effect only on a new disk. The guest reads users, user data and network at its first start. Its disk is a copy of the image that the spec named when it was created, and is replaced only if somebody asks for that.',
    remedy:
      'Undo the change. Or set annotation pelotech.ot/reset-requested-at to a new value, which replaces the root disk and loses the data on it.',
  },
  /** The root disk is about to be replaced, or is being replaced. */
  Replacing: {
    meaning:
      'Somebody has set pelotech.ot/reset-requested-at or pelotech.ot/rebuild-requested-at, so the root disk is replaced by a new one from the image. The guest runs on until the new disk is complete. Then it is stopped, and starts from the new one. The message names the disk that is lost.',
    remedy:
      'No action needed. Save before what is needed of the disk that the message names. It is kept for a while after that (policy key resetGrace).',
  },
  /** The root disk is to be replaced, and cannot be yet. */
  ReplacementBlocked: {
    meaning:
      'Somebody asks for a new root disk, which cannot be made yet: its image is missing or Failed, a ResourceQuota leaves no room for a second disk, or an earlier root disk is still there. Nothing is stopped or deleted for it. The message says which.',
    remedy:
      'Do what the message says: mend the image, make room for the second disk, or delete what is not needed. The replacement then goes on by itself. Where there is room for one disk alone, the message has the annotation that has the present one deleted first, with all that is on it.',
  },
  /** As an Event: the root disk goes before the new one is there. */
  DiskDeletedFirst: {
    meaning:
      'A ResourceQuota has no room for a second root disk. Somebody has set pelotech.ot/delete-disk-first for this disk and this request, so the present one is deleted, with all that the guest has written to it. The new one is made when it is gone.',
    remedy: 'No action needed. The disk is not kept, and cannot be brought back but by a restore of a snapshot.',
  },
  /** The root disk that was replaced is still there. */
  OldDiskKept: {
    meaning:
      'The root disk was replaced as somebody had asked. The one from before is kept until the time in the message, and is then deleted with what the guest had written to it.',
    remedy:
      'No action needed. If something on it is needed, clone the PersistentVolumeClaim that the message names before that time (docs/virtual-machines.md).',
  },
  /** As an Event: its time is over. */
  OldDiskDeleted: {
    meaning:
      'The root disk from before a reset was kept for the time in the policy key resetGrace, and is deleted now.',
    remedy: 'No action needed.',
  },
  /** As an Event: the root disk stays. */
  ReplacementCancelled: {
    meaning:
      'Somebody had asked for a new root disk. Before it was in place, the present one became up to date again, or a restore put another one in its place. So the present one stays, and the new one is deleted.',
    remedy:
      'No action needed. To have the root disk replaced all the same, set pelotech.ot/reset-requested-at to a new value.',
  },
  /** As an Event: somebody asks in vain. */
  ResetNotCounted: {
    meaning:
      'The annotation pelotech.ot/reset-requested-at was there when the machine was created, or before the operator first looked for it, has a value again that it had before, or is set while spec.ignoreOnDeploy is true. It does not count, and the root disk stays.',
    remedy: 'Set the annotation to another value to replace the root disk.',
  },
  /** As an Event: somebody asks in vain. */
  RebuildNotCounted: {
    meaning:
      'The annotation pelotech.ot/rebuild-requested-at does not count, and the root disk stays: the message says why, such as that the disk is neither lost nor outdated.',
    remedy:
      'Set the annotation to another value when a disk is lost or outdated. To replace the root disk all the same, set pelotech.ot/reset-requested-at, which loses the data on it.',
  },
  /** Of the condition UpToDate. */
  UpToDate: {
    meaning:
      'The root disk was made from the image that the spec names, at the revision that the image has now, and nothing waits for a restart. Or no machine is to be made.',
    remedy: 'No action needed.',
  },
  /** Of the condition UpToDate: the spec wants another disk. */
  SpecChanged: {
    meaning:
      'The spec names another image, or another size of the disk, than the disk was made with. Or it has changed in what the guest reads at its first start only: os, name, users without their passwords, userData, interfaces. The message names each. A password that changed, and the content of a Secret, do not count.',
    remedy:
      'Undo the change, or ask for a new disk with annotation pelotech.ot/rebuild-requested-at, which loses the data on the disk.',
  },
  /** Of the condition UpToDate: the image was refreshed. */
  ImageRefreshed: {
    meaning:
      'The image has been refreshed, or made again, after the disk was cloned from it. The disk is a copy, and stays as it is.',
    remedy:
      'No action needed if the disk may stay as it is. Otherwise ask for a new disk with annotation pelotech.ot/rebuild-requested-at, which loses the data on the disk.',
  },
  /** Of the condition UpToDate: nobody knows. */
  NotRecorded: {
    meaning:
      'It is not recorded what the root disk was made from, or what its guest read at its first start: the machine is from an earlier version of the operator, or the disk was restored or made by others. So nobody can tell whether it is of the present spec.',
    remedy:
      'No action needed if the machine may stay as it is. It is recorded when the machine gets a new disk: ask for one with annotation pelotech.ot/rebuild-requested-at, which loses the data on the disk.',
  },
  /** Warning: the name is not a valid login. */
  LoginRenamed: {
    meaning:
      'The name of a user is not a valid Linux login, or images use it for a user or group of the system. The message gives the login that is used instead.',
    remedy: 'Log in with that one, or change name in spec.users.',
  },
  /** Warning: groups conflict with users of the image. */
  GroupsOfImage: {
    meaning:
      'A group of a user has the name of the default user of some images, so such an image does not get its default user. Or the spec sets groups for root, which keeps those of the image. The message tells which.',
    remedy: 'Change groups in spec.users, or do nothing if the default user of the image has another name.',
  },
  /** Warning: a password that nobody can use. */
  PasswordLocked: {
    meaning:
      'A user has a password that cannot be used, because lock_passwd is true, which is the default of cloud-init.',
    remedy: 'Set lock_passwd to false for that user in spec.users, or remove the password.',
  },
  /** Warning: users without password and key. */
  NoLogin: {
    meaning:
      'The spec has users, but none of them has a password or a key, and no user data that could give them one. So nobody can log in to the guest as one of them.',
    remedy:
      'Give a user of spec.users a passwordSecretRef with lock_passwd: false, or ssh_authorized_keys. Do nothing if the image has a login.',
  },
  /** Warning: no node can have a label that is asked for. */
  NoSuchNodeLabel: {
    meaning:
      'A key of spec.nodeSelector is no name that a label can have, so no node has it: Kubernetes refuses the pod of the guest, and the guest does not start.',
    remedy: 'Correct the key in spec.nodeSelector, such as example.com/lab, or remove it.',
  },
  /** Warning: overrides win over the spec. */
  Overridden: {
    meaning: 'overrides replaces values that follow from the rest of the spec. The message names their paths.',
    remedy: 'Do nothing if that is meant. Otherwise remove the paths from overrides.',
  },
  /** Warning: a login that Windows may refuse. */
  WindowsLogin: {
    meaning:
      'A login may not work in Windows: the image may set its password itself, Windows may refuse the password, or it may not look for the keys. Or a user is called Administrator, and os is not windows. The message says which, and for whom.',
    remedy: 'Do what the message says: set os: windows, or change spec.users or the image.',
  },
  /** Warning: Windows cannot be set up as the spec says. */
  WindowsGuest: {
    meaning:
      'Windows, or cloudbase-init in it, does something else than the spec says: it shortens a host name, asks a DHCP server where it should not, leaves out a key of the user data that it does not know, or has only what an earlier version told it of its cards. The message says which.',
    remedy: 'Change what the message names. Without a change, the guest is as the message says.',
  },
  /** Warning: the spec and its user data set the same. */
  UserDataOverridden: {
    meaning:
      'The user data sets something that other fields of the spec decide, so what it says there has no effect: users and their passwords, the host name, or the network. The message names the keys.',
    remedy: 'Remove those keys from the user data. Or remove spec.users: then those of the user data are made.',
  },
  /** Warning: cloud-init cannot read a part of the user data. */
  UserDataUnreadable: {
    meaning:
      'cloud-init cannot read a part of the user data, and leaves it out in the guest. The message says which part, and in which of its lines the trouble begins.',
    remedy: 'Correct that part. cloud-init schema --config-file FILE checks a cloud-config before it is used.',
  },
  /** Warning: the requested disk is smaller than that of the image. */
  DiskSmallerThanImage: {
    meaning:
      'spec.resources.diskSize, or the size of one of spec.disks, is less than the disk of the image; the disk gets the size of the image.',
    remedy: 'Raise or remove that size. Without a change, the disk has the size of the image.',
  },
  /** A disk has no claim. */
  DiskMissing: {
    meaning:
      'A PersistentVolumeClaim of spec.disks does not exist, or is being deleted. A machine that has not been made waits for it. One that runs gets the disk when the claim is there.',
    remedy:
      'Create the PersistentVolumeClaim or the VMDiskImage that the message names, or correct spec.disks. The machine then continues by itself.',
  },
  /** Warning: a disk that was taken out of the spec. */
  DiskKept: {
    meaning:
      'spec.disks does not use a disk any more that the operator has made, empty or from an image. Its PersistentVolumeClaim stays, with its data, until the virtual machine is deleted.',
    remedy:
      'No action needed. Put the disk into spec.disks again to use it, or delete the PersistentVolumeClaim or DataVolume that the message names if nobody needs what is on it.',
  },
  /** Warning: the size of a disk was changed. */
  DiskSizeKept: {
    meaning: 'The size of a disk in spec.disks was changed after it was made. The disk keeps the size that it has.',
    remedy: 'Undo the change, or add a disk with another name and the new size, and move the data in the guest.',
  },
  /** Warning: the image of a disk is looked for in another namespace. */
  DiskImageKept: {
    meaning:
      'The namespace of the image of a disk in spec.disks, or the policy key imageNamespace of a workspace, was changed after the disk was cloned. The disk keeps what it has.',
    remedy:
      'No action needed if the disk may stay as it is. Otherwise undo the change, or add a disk with another name, and move the data in the guest.',
  },
  /** CDI cannot grow a clone. */
  NoVolumeExpansion: {
    meaning:
      'spec.resources.diskSize is more than the disk of the image, and the StorageClass does not allow a clone to grow; CDI copies the whole disk instead.',
    remedy:
      'No action needed if the longer copy is acceptable. Otherwise lower or remove spec.resources.diskSize, raise spec.diskSize of the image, or set allowVolumeExpansion: true on the StorageClass, if its driver can grow volumes.',
  },
  /** The machine runs and is ready. */
  Running: { meaning: 'The machine runs and is ready for use.', remedy: 'No action needed.' },
  /** Being removed. */
  Deleting: {
    meaning:
      'The virtual machine is being removed: first the machine, then its disk, then its Secret. The image stays.',
    remedy: NOTHING,
  },
  /** As an Event: the image was created for this machine. */
  ImageCreated: { meaning: 'The image was created from the template.', remedy: 'No action needed.' },
  /** The API server refused a write. */
  Refused: refusedHelp('virtual machine'),
  /** A bug in the operator. */
  InternalError: internalErrorHelp('virtual machine'),
} as const satisfies Record<string, ReasonHelp>

export type VirtualMachineReason = keyof typeof VIRTUAL_MACHINE_REASON_HELP

/** `VIRTUAL_MACHINE_REASONS.Cloning` is `'Cloning'`, and so on for every key of `VIRTUAL_MACHINE_REASON_HELP`. */
export const VIRTUAL_MACHINE_REASONS = namesIn(VIRTUAL_MACHINE_REASON_HELP)
