import { effectiveRunStrategy, type VirtualMachineSpec, vmChildNames } from '@open-terrain/constructs/operator'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { isTerminating, type KubeObject, keyOf, type Raw } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { VIRTUAL_MACHINE_RESTORE } from '../../kube/resource-types.ts'
import type { MachineCaches } from './caches.ts'
import type { MachineView, Restoring } from './world.ts'

/**
 * Returns the restore that has switched a machine off and is about to begin, by a live list: KubeVirt's machine shows a restore only when it has
 * begun. The list is read only when somebody else has switched the machine off, before it is switched on again. Returns undefined if there is none, if the
 * cluster serves no restores, or if they may not be read. Throws ApiError.
 */
export async function waitingRestoreOf(
  { metadata: { namespace = '', name: own } }: MachineView,
  spec: VirtualMachineSpec,
  { kubevirt }: Pick<MachineCaches, 'kubevirt'>,
  client: KubeClient,
  signal: AbortSignal,
): Promise<Restoring | undefined> {
  const { machine: name } = vmChildNames(own)
  const machine = kubevirt.get(keyOf({ namespace, name }))
  const isOff = machine?.runStrategy === 'Halted' && machine.restoreInProgress === ''
  if (!isOff || effectiveRunStrategy(spec) === 'Halted' || spec.ignoreOnDeploy === true) return undefined
  const project = (object: KubeObject) => (isAboutToRestore(object, name) ? object.metadata.name : undefined)
  try {
    const names = await listWhole(client, VIRTUAL_MACHINE_RESTORE, { namespace, signal, project })
    const restore = names.find((one) => one !== undefined)
    return restore === undefined ? undefined : { restore, isAwaited: true }
  } catch (error) {
    if (isApiError(error, 'Rejected')) return undefined
    throw error
  }
}

/**
 * One that has met an error is tried again by KubeVirt, which stops the guest each time that it sees one: a guest that is started meanwhile is stopped again.
 * One with another policy waits until people have switched the machine off.
 */
function isAboutToRestore(restore: KubeObject, machine: string): boolean {
  const { spec, status }: Raw = restore
  const conditions: Raw[] = status?.conditions ?? []
  const hasFailed = conditions.some(({ type, status: is }) => type === 'Failure' && is === 'True')
  const isOfIt = spec?.target?.kind === 'VirtualMachine' && spec.target.name === machine
  const isOver = status?.complete === true || hasFailed || isTerminating(restore)
  return isOfIt && spec.targetReadinessPolicy === 'StopTarget' && !isOver
}
