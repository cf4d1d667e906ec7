import type { InterfaceWords } from './interface-words.ts'

/** The fields that the rules between the parts of a workspace use. */
export interface WorkspaceParts {
  readonly vms?: readonly MachinePart[] | undefined
  readonly containerClusters?: readonly ContainerClusterPart[] | undefined
  readonly networks?: readonly NetworkPart[] | undefined
  readonly volumes?: readonly { readonly name: string }[] | undefined
  readonly services?: readonly { readonly name: string; readonly member: string }[] | undefined
}

interface InterfaceOwner {
  readonly name: string
  readonly interfaces?: readonly InterfaceWords[] | undefined
}

interface ContainerPart {
  readonly volumeMounts?: readonly { readonly name: string; readonly containerPath: string }[] | undefined
}

interface MachinePart extends InterfaceOwner {
  readonly userData?: string | undefined
  readonly disks?: readonly { readonly name: string; readonly volume?: string | undefined }[] | undefined
}

interface ContainerClusterPart extends InterfaceOwner {
  readonly initContainers?: readonly ContainerPart[] | undefined
  readonly containers: readonly (ContainerPart & {
    readonly portMappings?:
      | readonly { readonly hostPort?: number | undefined; readonly protocol?: string | undefined }[]
      | undefined
  })[]
}

interface NetworkPart {
  readonly name: string
  readonly cidr?: string | undefined
  readonly rangeGateway?: string | undefined
}

/** A CEL list that may be absent, and the name of its items. */
export const optionalLoop = (item: string, list: string, says = '') => ({ item, list, isOptional: true, says })

/**
 * A loop over a list whose only item is a list of texts, made from a list that may be absent. To look for a text in it costs a small part of what it costs
 * to walk the list of objects again.
 */
export const textsLoop = (item: string, list: string, text: string, such = 'true') => ({
  item,
  list: `[has(${list}) ? ${list}.map(each, ${such}, ${text}) : []]`,
})
