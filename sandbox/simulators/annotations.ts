/** Annotations that the real CDI uses. The simulator keeps in them what must survive its restart. */
export const POD_PHASE = 'cdi.kubevirt.io/storage.pod.phase'
export const POD_RESTARTS = 'cdi.kubevirt.io/storage.pod.restarts'
export const USE_POPULATOR = 'cdi.kubevirt.io/storage.usePopulator'
export const CREATED_FOR = 'cdi.kubevirt.io/createdForDataVolume'
export const POPULATOR_PRIME = 'cdi.kubevirt.io/storage.populator.pvcPrime'
export const POPULATOR_KIND = 'cdi.kubevirt.io/storage.populator.kind'
export const POPULATOR_PROGRESS = 'cdi.kubevirt.io/storage.populator.progress'
export const IMMEDIATE_BINDING = 'cdi.kubevirt.io/storage.bind.immediate.requested'
export const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
export const CONTENT_TYPE = 'cdi.kubevirt.io/storage.contentType'
export const PREALLOCATION = 'cdi.kubevirt.io/storage.preallocation.requested'
export const IMPORT_ENDPOINT = 'cdi.kubevirt.io/storage.import.endpoint'
export const IMPORT_SOURCE = 'cdi.kubevirt.io/storage.import.source'
export const IMPORT_SECRET = 'cdi.kubevirt.io/storage.import.secretName'
export const IMPORT_POD = 'cdi.kubevirt.io/storage.import.importPodName'
export const FATAL_ERROR = 'cdi.kubevirt.io/storage.import.fatalError'
export const REQUIRES_SCRATCH = 'cdi.kubevirt.io/storage.import.requiresScratch'
export const RUNNING = 'cdi.kubevirt.io/storage.condition.running'
export const RUNNING_MESSAGE = 'cdi.kubevirt.io/storage.condition.running.message'
export const RUNNING_REASON = 'cdi.kubevirt.io/storage.condition.running.reason'
export const RETAIN_POD = 'cdi.kubevirt.io/storage.pod.retainAfterCompletion'
export const CLONE_TYPE = 'cdi.kubevirt.io/cloneType'
export const CLONE_PHASE = 'cdi.kubevirt.io/clonePhase'
export const CLONE_FALLBACK = 'cdi.kubevirt.io/cloneFallbackReason'
/** On a DataVolume: something else fills its claim. CDI creates none for it, and later replaces the value by the name of the claim. */
export const PRE_POPULATED = 'cdi.kubevirt.io/storage.prePopulated'
/** On a claim that has no owner: the DataVolume that is to become its owner. */
export const POPULATED_FOR = 'cdi.kubevirt.io/storage.populatedFor'
/** On a claim that was cloned by a DataVolume without a size: the size of its disk, and the capacity that it had then. */
export const VIRTUAL_SIZE = 'cdi.Kubervirt.io/virtualSize'
export const SOURCE_CAPACITY = 'cdi.Kubervirt.io/sourceCapacity'
export const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed'
export const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class'

/** Not a CDI annotation: links a prime claim or importer pod to its DataVolume, so that a restarted simulator finds it. */
export const DATA_VOLUME_NAME = 'sandbox.open-terrain.dev/data-volume'
/** Not a CDI annotation: links the helpers of a clone, possibly in another namespace, to its DataVolume, as `namespace/name`. */
export const CLONE = 'sandbox.open-terrain.dev/clone'
/** Not a CDI annotation: what a claim is cloned from, as `kind/namespace/name`. CDI resolves a DataSource only once. */
export const CLONE_SOURCE = 'sandbox.open-terrain.dev/clone-source'
/** Not a Kubernetes finalizer: holds a deleted pod until what it runs has stopped, as the grace period of a kubelet does. */
export const KUBELET_FINALIZER = 'sandbox.open-terrain.dev/kubelet'

export const IMPORTER_LABEL = 'cdi.kubevirt.io'
export const IMPORTER_LABEL_VALUE = 'importer'

/** CDI sets this on the helpers of a clone instead of an owner reference: the UID of the claim to fill. */
export const OWNED_BY_UID = 'cdi.kubevirt.io/OwnedByUID'
/** On the DataVolume of a clone from another namespace, until the clone has ended. */
export const DATA_VOLUME_FINALIZER = 'cdi.kubevirt.io/dataVolumeFinalizer'
/** On the claim that a clone fills, until the clone has ended. */
export const CLONE_FINALIZER = 'cdi.kubevirt.io/clonePopulator'

/** Not a Kubernetes annotation: the node that a pod runs on. Only a binding could write it into the spec. */
export const SANDBOX_NODE = 'sandbox.open-terrain.dev/node'
