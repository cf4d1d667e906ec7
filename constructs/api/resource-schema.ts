import { celMatches } from '../schema/cel.ts'
import type { NameRule, Resource } from '../schema/define-resource.ts'
import { type StructuralSchema, structural, type ValidationRule } from '../schema/structural.ts'
import { NOT_SEEN } from './shared.ts'

/** Returns the schema of the whole object: what every Kubernetes object has, and our spec and status. */
export function resourceSchema(resource: Resource): StructuralSchema {
  const { name } = resource
  return {
    description: resource.description,
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { description: `Always ${resource.apiVersion}.`, type: 'string' },
      kind: { description: `Always ${resource.kind}.`, type: 'string' },
      // The API server has its own description and refuses one here. A rule can only refer to a field that is listed.
      metadata: { type: 'object', ...(name === undefined ? {} : { properties: { name: { type: 'string' } } }) },
      spec: structural(resource.spec, `${resource.kind}.spec`),
      status: { ...structural(resource.status, `${resource.kind}.status`), default: { observedGeneration: NOT_SEEN } },
    },
    ...(name === undefined ? {} : { 'x-kubernetes-validations': [nameRule(name)] }),
  }
}

function nameRule({ pattern, message }: NameRule): ValidationRule {
  return { rule: celMatches('self.metadata.name', pattern), message, fieldPath: '.metadata.name' }
}
