import type { MemberToleration } from '../api/machine-placement.ts'

export interface NodePlacement {
  readonly nodeSelector?: Readonly<Record<string, string>> | undefined
  readonly tolerations?: readonly MemberToleration[] | undefined
}

/** Returns the placement without what the API server, and KubeVirt's webhook, leave out: empty lists, maps and texts. */
export function placementOf({ nodeSelector = {}, tolerations = [] }: NodePlacement): NodePlacement {
  return {
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(tolerations.length > 0 && {
      tolerations: tolerations.map(({ value, ...toleration }) => ({ ...toleration, ...(value && { value }) })),
    }),
  }
}
