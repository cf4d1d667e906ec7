import {
  ANNOTATIONS,
  cloudInitFingerprint,
  cloudInitHash,
  renderCloneDataVolume,
  renderCloudInitSecret,
  renderKubeVirtVirtualMachine,
  uuidFrom,
  type VirtualMachineStatus,
  withMacAddresses,
} from '@open-terrain/constructs'
import type { KubeObject } from '../../kube/kube-object.ts'
import { fromTime, toTime } from '../../runtime/conditions.ts'
import { ownsEqual } from '../../runtime/owned-fields.ts'
import { standingOfDisk, standingOfMachine } from './judge.ts'
import { type Draft, failed, removalAsSeen, removalOf, type Step, waiting } from './machine-plan.ts'
import type { ImageState } from './plan-image.ts'
import type { Remark, Standing } from './status.ts'
import type { CloneFacts } from './views.ts'
import type { World } from './world.ts'

/** How CDI makes a clone, on its DataVolume. */
const CLONE_TYPE = 'cdi.kubevirt.io/cloneType'
/** What is read by a clone may go without a word to us. */
const CLONE_LOOK_MS = 60_000

/** Disk, Secret and machine, of an image that is ready, or of a disk that is there already. */
export function planDeploy(draft: Draft, image: ImageState): Step {
  return obstacle(draft) ?? planDisk(draft, image) ?? planRun(draft)
}

function obstacle(draft: Draft): Step | undefined {
  const { conflict, hasDataVolumes, hasKubeVirt, cloudInit, machine } = draft.world
  if (conflict !== undefined) {
    const message = `${conflict} exists and is not ours: it is left alone; delete or rename it, or give the virtual machine another name`
    return { standing: failed('NameConflict', message) }
  }
  if (!hasDataVolumes) return { standing: waiting('CDIMissing', 'the cluster does not serve DataVolumes: install CDI') }
  if (!hasKubeVirt) {
    const message = 'the cluster does not serve VirtualMachines of KubeVirt: install KubeVirt'
    return { standing: waiting('KubeVirtMissing', message) }
  }
  if (cloudInit.kind === 'rendered') return undefined
  if (machine === undefined) return { standing: waiting('MissingPasswordSecret', cloudInit.message) }
  // The guest read its password at its first start.
  const { message, ...stands } = standing(draft.world)
  return judged(draft, { ...stands, message: `${message}; ${cloudInit.message}` }, {})
}

/** The disk and the Secret; undefined when the disk is there, or as good as there. */
function planDisk(draft: Draft, image: ImageState): Step | undefined {
  const { world } = draft
  const { clone, vm, claim, machine } = world
  const hasClaim = claim !== undefined
  if (clone === undefined) return hasClaim ? undefined : newDisk(draft, image)
  const status = cloneStatus(vm.status, clone)
  // A guest that has started may have written to its disk: from then on only people decide about it.
  const hasBooted = vm.status.bootedAt !== undefined || world.instance?.phase === 'Running'
  if (hasBooted || clone.phase === 'Succeeded')
    return hasClaim ? undefined : judged(draft, standingOfDisk(clone), { status })
  if (clone.metadata.deletionTimestamp !== undefined) {
    const message = `DataVolume ${clone.metadata.name} is being deleted: the root disk is made anew when it is gone`
    return judged(draft, waiting('Cloning', message), { status, remove: removalOf(machine) })
  }
  if (clone.phase === 'Failed') {
    const text = clone.running.message || clone.bound.message || 'CDI gives no reason'
    return { standing: failed('CloneFailed', `DataVolume ${clone.metadata.name} is Failed: ${text}`), status }
  }
  if (!world.hasCloneSource) {
    const message = 'what the root disk was being cloned from is gone: it is made anew from the present artifact'
    return judged(draft, waiting('CloneSourceGone', message), { status, remove: removalAsSeen(clone, clone.cloneOf) })
  }
  const secret = wantedSecret(world)
  if (hasClaim && (secret.length === 0 || machine !== undefined)) return undefined
  return judged(draft, standingOfDisk(clone), { apply: secret, status })
}

/** A disk for a machine that has none: the first one, or one in place of what people have deleted. */
function newDisk(draft: Draft, image: ImageState): Step {
  if (image.kind !== 'ready') return image.step
  const wanted = wantedClone(draft, image)
  const source = image.image.status.artifact
  const which = `${source?.kind} ${image.shown?.namespace}/${source?.name}`
  return judged(draft, waiting('Cloning', `the root disk is cloned from ${which}`), {
    apply: [...wantedSecret(draft.world), wanted],
    status: {
      clone: { name: wanted.metadata.name, ...(source && { sourceRevision: source.revision }) },
      // It has not booted.
      bootedAt: undefined,
      specHash: undefined,
    },
  })
}

function wantedClone({ world, spec }: Draft, image: Extract<ImageState, { kind: 'ready' }>) {
  const { artifact, defaults } = image.image.status
  if (artifact === undefined) throw new Error('an image that is ready has an artifact')
  const { storageClass } = (image.image.spec ?? {}) as { readonly storageClass?: string }
  const className = storageClass ?? defaults?.storageClass
  return renderCloneDataVolume({
    vm: refOf(world),
    artifact,
    imageNamespace: image.image.metadata.namespace ?? '',
    ...(className !== undefined && { storageClass: className }),
    ...(spec.resources.diskSize !== undefined && { diskSize: spec.resources.diskSize }),
  })
}

function refOf({ vm: { metadata } }: World) {
  return { name: metadata.name, namespace: metadata.namespace ?? '', uid: metadata.uid ?? '' }
}

/** The Secret as it should be, unless it is. */
function wantedSecret(world: World): KubeObject[] {
  const { cloudInit, secret } = world
  if (cloudInit.kind !== 'rendered') return []
  const has = secret?.metadata.annotations?.[ANNOTATIONS.cloudInit]
  if (has === cloudInitHash(cloudInit.data)) return []
  return [renderCloudInitSecret({ vm: refOf(world), data: cloudInit.data })]
}

/** KubeVirt's machine: there, as it should be, and how it is doing. */
function planRun(draft: Draft): Step {
  const { world } = draft
  const { vm, machine, clone, instance } = world
  // The machine names its Secret, and tells by a hash that is salted with its uid what is in it.
  if (world.secret === undefined) return judged(draft, standing(world), { apply: wantedSecret(world) })
  const wanted = wantedMachine(draft)
  const isGoing = machine?.metadata.deletionTimestamp !== undefined
  const apply = isGoing || (machine !== undefined && ownsEqual(wanted, machine)) ? [] : [wanted]
  const fingerprint = wanted.metadata.annotations[ANNOTATIONS.cloudInit]
  const hasBooted = vm.status.bootedAt !== undefined || instance?.phase === 'Running'
  const status: Partial<VirtualMachineStatus> = {
    ...(clone && cloneStatus(vm.status, clone)),
    kubevirt: {
      name: wanted.metadata.name,
      ...(machine?.metadata.uid !== undefined && { uid: machine.metadata.uid }),
      ...(machine !== undefined && machine.printableStatus !== '' && { printableStatus: machine.printableStatus }),
      ...(instance?.nodeName !== undefined && { nodeName: instance.nodeName }),
    },
    addresses: instance === undefined || instance.addresses.length === 0 ? undefined : [...instance.addresses],
    bootedAt: hasBooted ? (vm.status.bootedAt ?? toTime(draft.now)) : undefined,
    specHash: hasBooted ? bootedWith(world, fingerprint) : undefined,
  }
  return judged(draft, standing(world), {
    apply: [...wantedSecret(world), ...apply],
    status,
    remarks: remarksOn(world, status, fingerprint),
  })
}

/**
 * What the guest was told at its first start. The fingerprint of a Secret that was made anew since says nothing about its content:
 * then the present one counts.
 */
function bootedWith({ vm: { status }, secret }: World, fingerprint: string | undefined): string | undefined {
  const bootedAt = fromTime(status.bootedAt)
  const madeAt = fromTime(secret?.metadata.creationTimestamp)
  const isNewSecret = bootedAt !== undefined && madeAt !== undefined && madeAt > bootedAt
  return isNewSecret ? fingerprint : (status.specHash ?? fingerprint)
}

function standing({ machine, clone, claim }: World): Standing {
  if (machine === undefined) return waiting('Starting', 'the machine is created')
  if (machine.metadata.deletionTimestamp !== undefined)
    return waiting(
      'Starting',
      `VirtualMachine ${machine.metadata.name} of KubeVirt is being deleted: it is made anew when it is gone`,
    )
  // Before the disk is complete, what KubeVirt shows is stale or about something else.
  if (clone !== undefined && clone.phase !== 'Succeeded' && !machine.isReady) return standingOfDisk(clone, machine)
  const stands = standingOfMachine(machine)
  const isLost = (clone ?? claim)?.metadata.deletionTimestamp !== undefined
  const warning = '; its disk is being deleted, and is gone when the guest stops: save what is needed'
  return isLost ? { ...stands, message: `${stands.message}${warning}` } : stands
}

function remarksOn(
  { machine, clone }: World,
  { specHash }: Partial<VirtualMachineStatus>,
  fingerprint: string | undefined,
): Remark[] {
  const remarks: Remark[] = []
  if (clone?.metadata.annotations?.[CLONE_TYPE] === 'copy') {
    const message = `CDI copies the disk instead of cloning it: see the annotation cloneFallbackReason of PersistentVolumeClaim ${clone.metadata.name}`
    remarks.push({ type: 'FullCopy', reason: 'FullCopy', message })
  }
  if (machine !== undefined && machine.restartRequired !== '') {
    const message = `a change of the spec waits for a restart: ${machine.restartRequired}`
    remarks.push({ type: 'RestartRequired', reason: 'RestartRequired', message })
  }
  if (specHash !== undefined && specHash !== fingerprint) {
    const message =
      'users, host name or addresses changed after the first start: the guest has read the old ones, and only a new disk takes the new'
    remarks.push({ type: 'RebuildRequired', reason: 'RebuildRequired', message })
  }
  return remarks
}

function wantedMachine({ world, spec }: Draft) {
  const { vm, cloudInit, secret, machine, clone } = world
  if (cloudInit.kind !== 'rendered') throw new Error('a machine is planned with its cloud-init data')
  const ref = refOf(world)
  return renderKubeVirtVirtualMachine({
    vm: ref,
    hostname: spec.name ?? vm.metadata.name,
    // Of the disk as long as that lasts: cloud-init takes another one for another machine, and sets it up again.
    firmwareUuid: machine?.firmwareUuid ?? uuidFrom([ref.uid, clone?.metadata.uid]),
    cpu: spec.resources.cpu,
    memory: spec.resources.memory,
    interfaces: withMacAddresses(ref.uid, ref.name, spec.interfaces ?? []),
    cloudInit: {
      fingerprint: cloudInitFingerprint(secret?.metadata.uid ?? '', cloudInitHash(cloudInit.data)),
      hasNetworkData: cloudInit.data.networkdata !== undefined,
    },
  })
}

function cloneStatus({ clone: before }: VirtualMachineStatus, clone: CloneFacts): Partial<VirtualMachineStatus> {
  const { name, uid } = clone.metadata
  const isSame = before?.name === name
  return {
    clone: {
      name,
      ...(uid !== undefined && { uid }),
      ...(isSame && before.sourceRevision !== undefined && { sourceRevision: before.sourceRevision }),
      ...(clone.phase !== '' && { phase: clone.phase }),
      ...(clone.progress !== '' && { progress: clone.progress }),
    },
  }
}

/** A standing in the light of how long it has lasted: a machine that hangs is kicked, within a budget, or has failed. */
function judged({ world, now }: Draft, standing: Standing, step: Omit<Step, 'standing'>): Step {
  const { vm, policy, instance, clone } = world
  const { metadata, status } = vm
  if (standing.phase !== 'Provisioning' || standing.reason === 'Paused')
    return { ...step, standing, status: { ...step.status, provisioningSince: undefined, kicks: undefined } }
  // A change of the spec is a new try.
  const isNewSpec = status.observedGeneration !== metadata.generation
  const began = (isNewSpec ? undefined : fromTime(status.provisioningSince)) ?? now
  const leftMs = began + policy.vmProvisionTimeoutMs - now
  const kept = { ...step.status, provisioningSince: toTime(began), ...(isNewSpec && { kicks: undefined }) }
  if (leftMs <= 0) return overdue(world, standing, { ...step, status: kept }, now)
  // A kick that was written down, and not carried out before a crash.
  const isOwed = !isNewSpec && instance !== undefined && instance.metadata.uid === status.kicks?.instanceUID
  const isCloning = clone !== undefined && clone.phase !== 'Succeeded'
  return {
    ...step,
    standing,
    status: kept,
    remove: [...(step.remove ?? []), ...(isOwed ? removalAsSeen(instance) : [])],
    wake: isCloning
      ? { afterMs: Math.min(leftMs, CLONE_LOOK_MS), because: 'what the disk is cloned from may be gone by then' }
      : { afterMs: leftMs, because: 'the machine should be ready by then' },
  }
}

function overdue(
  { vm, policy, instance, machine }: World,
  standing: Standing,
  step: Omit<Step, 'standing'>,
  now: number,
): Step {
  const minutes = Math.round(policy.vmProvisionTimeoutMs / 60_000)
  const { kicks = { count: 0 } } = vm.status
  // An instance that has never run is not helped by deleting it: KubeVirt only counts one more failure.
  const isRunning = instance?.phase === 'Running' && machine?.printableStatus === 'Running' && !machine.isReady
  const isKickable = isRunning && instance.metadata.uid !== kicks.instanceUID
  if (isKickable && kicks.count < policy.kickLimit) {
    const count = kicks.count + 1
    const message = `the instance runs and was not ready for ${minutes} min: it is deleted, so that KubeVirt starts it anew (${count} of ${policy.kickLimit})`
    return {
      ...step,
      standing: waiting('Kicked', message),
      remove: removalAsSeen(instance),
      status: {
        ...step.status,
        provisioningSince: toTime(now),
        kicks: { count, lastTime: toTime(now), ...(instance.metadata.uid && { instanceUID: instance.metadata.uid }) },
      },
    }
  }
  if (isKickable) {
    const message = `restarted ${kicks.count} times and not ready still: ${standing.message}; see its console, and the events of VirtualMachineInstance ${instance.metadata.name}`
    return { ...step, standing: failed('KickBudgetSpent', message) }
  }
  const message = `not ready after ${minutes} min: ${standing.message}`
  return { ...step, standing: failed('Timeout', message) }
}
