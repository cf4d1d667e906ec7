import { groupOf, isTerminating, type KubeObject, type Raw } from '../../operator/kube/kube-object.ts'

/** What an object of a neighbour, or of Kubernetes, says of itself. */
export interface NeighbourState {
  /** In its own words: `Bound`, `ImportInProgress 42.0%`. */
  readonly state: string
  /** Whether it is as it should be, or on its way. */
  readonly isWell: boolean
  readonly message?: string | undefined
}

type Judge = (object: Raw) => NeighbourState

/** Returns what an object says of itself. One of a kind that says nothing is well because it exists. */
export function objectStateOf(object: KubeObject): NeighbourState {
  const judge = JUDGES[`${groupOf(object.apiVersion)}/${object.kind}`]
  const found = judge?.(object) ?? { state: '', isWell: true }
  if (!isTerminating(object)) return found
  const { finalizers = [] } = object.metadata
  const kept = finalizers.length === 0 ? undefined : `kept by ${finalizers.join(', ')}`
  return { state: 'Terminating', isWell: false, message: kept ?? found.message }
}

const JUDGES: Readonly<Record<string, Judge>> = {
  'cdi.kubevirt.io/DataVolume': ofDataVolume,
  'kubevirt.io/VirtualMachine': ofKubeVirtMachine,
  'kubevirt.io/VirtualMachineInstance': ofInstance,
  '/Pod': ofPod,
  '/PersistentVolumeClaim': ({ status }) => ({ state: status?.phase ?? '', isWell: status?.phase === 'Bound' }),
  '/Namespace': ({ status }) => ({ state: status?.phase ?? '', isWell: status?.phase !== 'Terminating' }),
  '/Service': ofService,
  'apps/Deployment': ofDeployment,
  'batch/Job': ofJob,
  'snapshot.storage.k8s.io/VolumeSnapshot': ofVolumeSnapshot,
  'snapshot.kubevirt.io/VirtualMachineSnapshot': ofMachineSnapshot,
  'snapshot.kubevirt.io/VirtualMachineRestore': ofMachineRestore,
}

function conditionIn({ status }: Raw, type: string): Raw {
  const conditions: readonly Raw[] = Array.isArray(status?.conditions) ? status.conditions : []
  return conditions.find((one) => one.type === type) ?? {}
}

/** Returns what a condition says unless it holds. */
function troubleIn(object: Raw, type: string): string | undefined {
  const { status, reason, message } = conditionIn(object, type)
  return status === undefined || status === 'True' ? undefined : saying(reason, message)
}

function saying(reason: string | undefined, message: string | undefined): string | undefined {
  const parts = [reason, message].filter((one) => one !== undefined && one !== '')
  return parts.length === 0 ? undefined : parts.join(': ')
}

const MOVING: ReadonlySet<string> = new Set(['ImportInProgress', 'CloneInProgress', 'CSICloneInProgress'])

function ofDataVolume(object: Raw): NeighbourState {
  const { phase = '', progress = '' } = object.status ?? {}
  const isMoving = MOVING.has(phase) && conditionIn(object, 'Running').status === 'True'
  const isDone = phase === 'Succeeded'
  return {
    state: isDone || !progress.endsWith('%') ? phase : `${phase} ${progress}`,
    isWell: isDone || isMoving,
    message: isDone ? undefined : (troubleIn(object, 'Bound') ?? troubleIn(object, 'Running')),
  }
}

function ofKubeVirtMachine(object: Raw): NeighbourState {
  const { printableStatus = '' } = object.status ?? {}
  const failure = conditionIn(object, 'Failure')
  const isFailure = failure.status === 'True'
  return {
    state: printableStatus,
    isWell: !isFailure && (printableStatus === 'Running' || printableStatus === 'Stopped'),
    message: isFailure ? saying(failure.reason, failure.message) : troubleIn(object, 'Ready'),
  }
}

function ofInstance(object: Raw): NeighbourState {
  const { phase = '', nodeName } = object.status ?? {}
  const trouble = troubleIn(object, 'Ready')
  const state = nodeName === undefined ? phase : `${phase} on ${nodeName}`
  return { state, isWell: phase === 'Running' && trouble === undefined, message: trouble }
}

function ofPod(object: Raw): NeighbourState {
  const { phase = '', nodeName, message, reason } = { ...object.status, nodeName: object.spec?.nodeName }
  const trouble = containerTrouble(object) ?? troubleIn(object, 'PodScheduled') ?? saying(reason, message)
  const isWell = phase === 'Succeeded' || (phase === 'Running' && trouble === undefined)
  return { state: nodeName === undefined ? phase : `${phase} on ${nodeName}`, isWell, message: trouble }
}

function containerTrouble({ status }: Raw): string | undefined {
  const containers: readonly Raw[] = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  return containers.map(troubleOfContainer).find((one) => one !== undefined)
}

/** What every container waits for before it starts. */
const STARTING: ReadonlySet<string> = new Set(['PodInitializing', 'ContainerCreating'])

function troubleOfContainer({ name, state, lastState, ready }: Raw): string | undefined {
  const { waiting, terminated } = state ?? {}
  if (waiting !== undefined && !STARTING.has(waiting.reason))
    return `container ${name}: ${saying(waiting.reason, waiting.message) ?? 'waiting'}`
  const ended = terminated ?? (ready === false ? lastState?.terminated : undefined)
  if (ended === undefined || ended.exitCode === 0) return undefined
  return `container ${name}: ${saying(ended.reason ?? 'Error', ended.message)} (exit code ${ended.exitCode})`
}

function ofService({ spec, status }: Raw): NeighbourState {
  const { type = 'ClusterIP', clusterIP } = spec ?? {}
  const [ingress] = status?.loadBalancer?.ingress ?? []
  if (type !== 'LoadBalancer') return { state: `${type} ${clusterIP ?? ''}`.trim(), isWell: true }
  const address = ingress?.ip ?? ingress?.hostname
  return { state: `${type} ${address ?? 'without an address'}`, isWell: address !== undefined }
}

function ofDeployment(object: Raw): NeighbourState {
  const { spec, status } = object
  const { replicas: wanted = 1 } = spec ?? {}
  const ready = status?.readyReplicas ?? 0
  const failure = conditionIn(object, 'ReplicaFailure')
  const refused = failure.status === 'True' ? saying(failure.reason, failure.message) : undefined
  return { state: `${ready}/${wanted}`, isWell: ready >= wanted, message: refused ?? troubleIn(object, 'Available') }
}

function ofJob(object: Raw): NeighbourState {
  const failed = conditionIn(object, 'Failed')
  if (failed.status === 'True')
    return { state: 'Failed', isWell: false, message: saying(failed.reason, failed.message) }
  const isComplete = conditionIn(object, 'Complete').status === 'True'
  return { state: isComplete ? 'Complete' : 'Running', isWell: true }
}

function ofVolumeSnapshot({ status }: Raw): NeighbourState {
  const isReady = status?.readyToUse === true
  const message = isReady ? undefined : status?.error?.message
  return { state: isReady ? 'Ready' : 'not ready', isWell: isReady, message }
}

function ofMachineSnapshot({ status }: Raw): NeighbourState {
  const { phase, readyToUse, error } = status ?? {}
  return {
    state: phase ?? (readyToUse === true ? 'Ready' : 'not ready'),
    isWell: readyToUse === true,
    message: error?.message,
  }
}

function ofMachineRestore(object: Raw): NeighbourState {
  const isComplete = object.status?.complete === true
  return { state: isComplete ? 'Complete' : 'not complete', isWell: isComplete, message: troubleIn(object, 'Ready') }
}
