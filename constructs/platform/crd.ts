import { k8s } from 'cdk8s-plus-29'
import type { Construct } from 'constructs'
import { resourceSchema } from '../api/resource-schema.ts'
import type { PrinterColumn, Resource } from '../schema/define-resource.ts'
import type { StructuralSchema } from '../schema/structural.ts'
import { RETAINED } from './retained.ts'

/** The CustomResourceDefinition of one kind of the API, with its status subresource. It outlives the installation, as its objects do. */
export class Crd extends k8s.KubeCustomResourceDefinition {
  constructor(scope: Construct, id: string, resource: Resource) {
    super(scope, id, { metadata: { name: resource.crdName, annotations: { ...RETAINED } }, spec: crdSpec(resource) })
  }
}

function crdSpec(resource: Resource): k8s.CustomResourceDefinitionSpec {
  const { group, kind, plural, singular, shortNames, categories, namespaced, version } = resource
  return {
    group,
    names: {
      kind,
      listKind: `${kind}List`,
      plural,
      singular,
      shortNames: [...shortNames],
      categories: [...categories],
    },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openApiv3Schema: typed(resourceSchema(resource)) },
        subresources: { status: {} },
        additionalPrinterColumns: resource.printerColumns.map(column),
      },
    ],
  }
}

/**
 * Returns the schema with Kubernetes keywords (`x-kubernetes-list-type`) named as in the typed construct (`xKubernetesListType`). The construct
 * accepts the content of `items` and `additionalProperties` unchanged.
 */
function typed(schema: StructuralSchema): k8s.JsonSchemaProps {
  const { properties, ...rest } = schema
  const keywords = Object.entries(rest).map(([keyword, value]) => [camelCase(keyword), value])
  const fields = Object.entries(properties ?? {}).map(([name, one]) => [name, typed(one)])
  return Object.fromEntries([
    ...keywords,
    ...(properties === undefined ? [] : [['properties', Object.fromEntries(fields)]]),
  ])
}

function camelCase(keyword: string): string {
  return keyword.replace(/-([a-z])/g, (_dash, letter: string) => letter.toUpperCase())
}

/** A missing priority means 0, which the API server would drop. */
function column({ name, type, jsonPath, description, priority }: PrinterColumn): k8s.CustomResourceColumnDefinition {
  return { name, type, jsonPath, description, ...(priority === undefined ? {} : { priority }) }
}
