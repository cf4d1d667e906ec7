/** The fields that the rules between the parts of a workspace use. */
export interface WorkspaceParts {
  readonly vms?: readonly InterfaceOwner[] | undefined
  readonly containerClusters?: readonly ContainerClusterPart[] | undefined
  readonly networks?: readonly NetworkPart[] | undefined
  readonly volumes?: readonly { readonly name: string }[] | undefined
}

interface InterfaceOwner {
  readonly name: string
  readonly interfaces?: readonly { readonly network: string; readonly ipAddress: string }[] | undefined
}

interface ContainerClusterPart extends InterfaceOwner {
  readonly containers: readonly {
    readonly volumeMounts?: readonly { readonly name: string; readonly containerPath: string }[] | undefined
    readonly portMappings?:
      | readonly { readonly hostPort?: number | undefined; readonly protocol?: string | undefined }[]
      | undefined
  }[]
}

interface NetworkPart {
  readonly name: string
  readonly cidr: string
  readonly rangeGateway?: string | undefined
}

/** A CEL list that may be absent, and the name of its items. */
export const optionalLoop = (item: string, list: string, says = '') => ({ item, list, isOptional: true, says })

/** CEL: whether an item of a list that may be absent meets the condition. */
export const celExists = (item: string, list: string, such: string) =>
  `(has(${list}) && ${list}.exists(${item}, ${such}))`
