import type { Manifest } from './api-server.ts'

const WAIT_FOR = 'pulumi.com/waitFor'
const SKIP = 'pulumi.com/skipAwait'

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly observedGeneration?: number
}

/**
 * Describes what an object still lacks before Pulumi considers it done. Undefined if it lacks nothing. A Deployment must be available, a
 * CustomResourceDefinition must be served, and anything else must meet its annotation `pulumi.com/waitFor`.
 */
export function missingOf(object: Manifest): string | undefined {
  const annotations = annotationsOf(object)
  if (annotations[SKIP] === 'true') return undefined
  const asked = annotations[WAIT_FOR]
  if (asked !== undefined) return firstMissing(object, asked)
  if (object.kind === 'Deployment' && object.apiVersion === 'apps/v1') return missingOfDeployment(object)
  if (object.kind === 'CustomResourceDefinition') return missingCondition(object, 'Established')
  return undefined
}

/** Kinds of which the real provider does not await the deletion either, if they skip waiting. Of all others it does. */
const GO_UNAWAITED = ['Namespace', 'Pod', 'ReplicationController', 'DaemonSet', 'Deployment', 'StatefulSet', 'Job']

export function goesUnawaited(object: Manifest): boolean {
  return annotationsOf(object)[SKIP] === 'true' && GO_UNAWAITED.includes(object.kind)
}

export function annotationsOf({ metadata }: Manifest): Readonly<Record<string, string>> {
  return (metadata['annotations'] ?? {}) as Record<string, string>
}

/** Checks all expressions of a JSON list, or one expression. */
function firstMissing(object: Manifest, asked: string): string | undefined {
  const expressions: string[] = asked.startsWith('[') ? JSON.parse(asked) : [asked]
  for (const expression of expressions) {
    const missing = missingExpression(object, expression)
    if (missing !== undefined) return missing
  }
  return undefined
}

function missingExpression(object: Manifest, expression: string): string | undefined {
  const condition = /^condition=([^=]+)(?:=(.+))?$/.exec(expression)
  if (condition?.[1] !== undefined) return missingCondition(object, condition[1], condition[2])
  const path = /^jsonpath=\{\.([\w.]+)\}(?:=(.+))?$/.exec(expression)
  if (path?.[1] === undefined) throw new Error(`${WAIT_FOR}: the stand-in does not understand ${expression}`)
  const value = path[1]
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object)
  const isThere = path[2] === undefined ? value !== undefined : String(value) === path[2]
  return isThere ? undefined : `${expression} (it is ${value ?? 'absent'})`
}

function missingCondition(object: Manifest, type: string, wanted = 'True'): string | undefined {
  const found = conditionOf(object, type)
  if (found !== undefined && isOutdated(object, found)) return `condition ${type}=${wanted} of its present spec`
  if (found?.status.toLowerCase() === wanted.toLowerCase()) return undefined
  const why = found === undefined ? 'there is no such condition' : `${found.reason ?? found.status}: ${found.message}`
  return `condition ${type}=${wanted} (${why})`
}

/** Reports whether the condition reflects an earlier spec, as `kubectl wait` decides it. */
function isOutdated({ metadata, status }: Manifest, condition: Condition): boolean {
  const { generation = 0 } = metadata as { generation?: number }
  const { observedGeneration } = (status ?? {}) as { observedGeneration?: number }
  return (condition.observedGeneration ?? observedGeneration ?? generation) < generation
}

function missingOfDeployment(object: Manifest): string | undefined {
  const { generation = 0 } = object.metadata as { generation?: number }
  const {
    observedGeneration = 0,
    updatedReplicas = 0,
    replicas = 0,
  } = (object['status'] ?? {}) as Record<string, number>
  const { replicas: wanted = 1 } = (object['spec'] ?? {}) as { replicas?: number }
  if (observedGeneration < generation) return 'a controller that has seen it'
  if (updatedReplicas < wanted) return `${wanted} updated replicas (there are ${updatedReplicas})`
  if (replicas > updatedReplicas) return `the end of ${replicas - updatedReplicas} replicas of before`
  return missingCondition(object, 'Available')
}

function conditionOf(object: Manifest, type: string): Condition | undefined {
  // The API server stores a fresh CustomResourceDefinition with null.
  const { conditions } = (object['status'] ?? {}) as { conditions?: readonly Condition[] | null }
  return conditions?.find((condition) => condition.type.toLowerCase() === type.toLowerCase())
}
