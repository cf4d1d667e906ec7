import type { VirtualMachineSpec } from '@open-terrain/constructs'
import { effectiveRunStrategy, vmChildNames } from '@open-terrain/constructs/operator'
import { isApiError } from '../../kube/api-error.ts'
import type { KubeClient } from '../../kube/kube-client.ts'
import { isTerminating, type KubeObject, keyOf, type Raw } from '../../kube/kube-object.ts'
import { listWhole } from '../../kube/list-all.ts'
import { VIRTUAL_MACHINE_RESTORE } from '../../kube/resource-types.ts'
import type { MachineCaches } from './caches.ts'
import type { MachineView, Restoring } from './world.ts'

/**
 * In the condition Progressing while KubeVirt waits for a guest to stop: until 1.5, and since 1.6. Until the guest is gone it asks again for the stop, and notes
 * that this is refused.
 */
const WAITS = [
  'Waiting for target to be ready',
  'Automatically stopping restore target for restore operation',
  'only supports manual stop requests with a shorter graceperiod',
  'VM is not running',
]

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

/** A restore that has met an error does not begin by itself. One with another policy waits until people have switched the machine off. */
function isAboutToRestore(restore: KubeObject, machine: string): boolean {
  const { spec, status }: Raw = restore
  const conditions: Raw[] = status?.conditions ?? []
  const isTrue = (type: string) => conditions.some((one) => one.type === type && one.status === 'True')
  const progressing = conditions.find(({ type }) => type === 'Progressing')
  const said = `${progressing?.reason} ${progressing?.message}`
  const hasError = progressing?.status === 'False' && !WAITS.some((text) => said.includes(text))
  const isOfIt = spec?.target?.kind === 'VirtualMachine' && spec.target.name === machine
  const isOver = status?.complete === true || isTrue('Failure') || isTerminating(restore)
  return isOfIt && spec.targetReadinessPolicy === 'StopTarget' && !hasError && !isOver
}
