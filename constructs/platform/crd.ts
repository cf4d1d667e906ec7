import { ApiObject } from 'cdk8s'
import type { Construct } from 'constructs'
import { celMatches } from '../schema/cel.ts'
import type { NameRule, PrinterColumn, Resource } from '../schema/define-resource.ts'
import { type StructuralSchema, structural, type ValidationRule } from '../schema/structural.ts'

/** The CustomResourceDefinition of one kind of ours, with its status subresource. */
export class Crd extends ApiObject {
  constructor(scope: Construct, id: string, resource: Resource) {
    super(scope, id, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: resource.crdName },
      spec: crdSpec(resource),
    })
  }
}

function crdSpec(resource: Resource): object {
  const { group, kind, plural, singular, shortNames, categories, namespaced, version } = resource
  return {
    group,
    names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: resourceSchema(resource) },
        subresources: { status: {} },
        additionalPrinterColumns: resource.printerColumns.map(column),
      },
    ],
  }
}

/** Schema of the whole object: what every Kubernetes object has, and our spec and status. */
export function resourceSchema(resource: Resource): StructuralSchema {
  const { name } = resource
  return {
    description: resource.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { description: `Always ${resource.apiVersion}.`, type: 'string' },
      kind: { description: `Always ${resource.kind}.`, type: 'string' },
      // The API server describes it itself, and refuses a description here. A rule can only be about a field that is listed.
      metadata: { type: 'object', ...(name === undefined ? {} : { properties: { name: { type: 'string' } } }) },
      spec: structural(resource.spec, `${resource.kind}.spec`),
      status: structural(resource.status, `${resource.kind}.status`),
    },
    ...(name === undefined ? {} : { 'x-kubernetes-validations': [nameRule(name)] }),
  }
}

function nameRule({ pattern, message }: NameRule): ValidationRule {
  return { rule: celMatches('self.metadata.name', pattern), message, fieldPath: '.metadata.name' }
}

/** A missing priority means 0, which the API server would leave out. */
function column({ name, type, jsonPath, description, priority }: PrinterColumn): object {
  return { name, type, jsonPath, description, ...(priority === undefined ? {} : { priority }) }
}
