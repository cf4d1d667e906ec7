import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { inNamespaces } from '../harness/own-objects.ts'
import type { NodeStage } from './node-stage.ts'

interface ContainerState {
  readonly running?: object
  readonly terminated?: { readonly exitCode: number }
}

export interface ImporterPod extends KubeObject {
  readonly spec?: { readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName: string } }[] }
  readonly status?: {
    readonly phase?: string
    readonly containerStatuses?: readonly { readonly state?: ContainerState }[]
  }
}

export function importersOf(stage: NodeStage): ImporterPod[] {
  return inNamespaces(stage.mirror.pods, [stage.namespace]) as ImporterPod[]
}

export function isRunning(pod: ImporterPod | undefined): boolean {
  return pod?.status?.containerStatuses?.some(({ state }) => state?.running !== undefined) === true
}

/** Reports whether it has scratch space. */
export function hasScratch(pod: ImporterPod | undefined): boolean {
  return pod?.spec?.volumes?.some(({ persistentVolumeClaim: claim }) => claim?.claimName.endsWith('-scratch')) === true
}

/** Reports whether it downloads or may begin to. */
export function isDownloading({ status }: ImporterPod): boolean {
  const hasEnded = status?.phase === 'Succeeded' || status?.phase === 'Failed'
  return !hasEnded && status?.containerStatuses?.some(({ state }) => state?.terminated?.exitCode === 0) !== true
}
