import { RESOURCES } from '../api/resources.ts'

/** A kind of the API: its names, and its place. */
export interface ApiKind {
  /** API group, pelotech.ot. */
  readonly group: string
  /** Version of the API, such as v1alpha1. */
  readonly version: string
  /** Group and version as in manifests, such as pelotech.ot/v1alpha1. */
  readonly apiVersion: string
  /** Name in manifests, such as VMDiskImage. */
  readonly kind: string
  /** Name in URLs and in rights, such as vmdiskimages. */
  readonly plural: string
  /** Name of the CustomResourceDefinition, such as vmdiskimages.pelotech.ot. */
  readonly crdName: string
  /** True: its objects are in namespaces. */
  readonly namespaced: boolean
}

/** Every kind of the API, in the order of the API reference. */
export const API_KINDS: readonly ApiKind[] = RESOURCES.map(
  ({ group, version, apiVersion, kind, plural, crdName, namespaced }) => ({
    group,
    version,
    apiVersion,
    kind,
    plural,
    crdName,
    namespaced,
  }),
)
