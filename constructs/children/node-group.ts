import { LABELS } from '../api/labels.ts'

export interface NodeGroupAffinity {
  readonly podAffinity: {
    readonly requiredDuringSchedulingIgnoredDuringExecution: readonly {
      readonly topologyKey: string
      readonly labelSelector: { readonly matchLabels: Readonly<Record<string, string>> }
    }[]
  }
}

/** For a pod that has the label itself: all pods of the group are scheduled to one node. The first one satisfies its own term. */
export function sameNodeAs(nodeGroup: string): NodeGroupAffinity {
  const term = {
    topologyKey: 'kubernetes.io/hostname',
    labelSelector: { matchLabels: { [LABELS.nodeGroup]: nodeGroup } },
  }
  return { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } }
}
