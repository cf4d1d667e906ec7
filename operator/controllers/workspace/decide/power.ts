import { isHalted, virtualMachine } from '@open-terrain/constructs/operator'
import type { KubeObject } from '../../../kube/kube-object.ts'
import { DEPLOYMENT } from '../../../kube/resource-types.ts'
import { referTo, type Touch } from '../../../runtime/plan.ts'
import type { WorkspaceWorld } from '../world.ts'

/** Reports whether the workspace is to be off. One whose spec cannot be read stays as it is. */
export function isLabHalted({ spec }: Pick<WorkspaceWorld, 'spec'>): boolean {
  return spec.ok && isHalted(spec.spec)
}

interface Switched {
  readonly replicas?: number
  readonly powerState?: 'Running' | 'Halted'
}

/** Reports whether an object that runs something is switched off. */
export function isSwitchedOff({ kind, spec }: KubeObject & { readonly spec?: unknown }): boolean {
  const has = (spec ?? {}) as Switched
  if (kind === DEPLOYMENT.kind) return has.replicas === 0
  return kind === virtualMachine.kind && isHalted(has)
}

/** Returns what a write would do to an object that exists; undefined if it stays on or off. */
export function switchedBy(wanted: KubeObject, actual: KubeObject | undefined): 'on' | 'off' | undefined {
  if (actual === undefined || isSwitchedOff(wanted) === isSwitchedOff(actual)) return undefined
  return isSwitchedOff(wanted) ? 'off' : 'on'
}

/** Switches an object on or off and leaves all else of it as it is; undefined if there is nothing to switch. */
export function switchOf(wanted: KubeObject, actual: KubeObject | undefined): Touch | undefined {
  if (actual === undefined || switchedBy(wanted, actual) === undefined) return undefined
  const isOff = isSwitchedOff(wanted)
  const spec = actual.kind === DEPLOYMENT.kind ? { replicas: isOff ? 0 : 1 } : { powerState: isOff ? 'Halted' : null }
  return { ...referTo(actual), annotations: {}, spec }
}
