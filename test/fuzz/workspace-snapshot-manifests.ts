import fc from 'fast-check'
import { anyJson, duration, objectName, oddDuration, oddName, oddText, textAround } from './odd-values.ts'
import { manifestsOf, UNKNOWN } from './spec-manifests.ts'

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })

const validSpec = fc.record({
  description: maybe(fc.constantFrom('before the exam', 'Ä 世 😀', '😀'.repeat(253))),
  snapshotClass: maybe(objectName),
  failureDeadline: maybe(duration),
})

const oddFields: fc.Arbitrary<object> = fc.oneof(
  fc.oneof(oddText, textAround(253)).map((description) => ({ description })),
  oddName.map((snapshotClass) => ({ snapshotClass })),
  oddDuration.map((failureDeadline) => ({ failureDeadline })),
  fc
    .tuple(fc.constantFrom('description', 'snapshotClass', 'failureDeadline'), anyJson)
    .map(([field, value]) => ({ [field]: value })),
  fc
    .tuple(fc.constantFrom(...UNKNOWN.filter((field) => field !== '__proto__')), anyJson)
    .map(([field, value]) => ({ [field]: value })),
)

export const workspaceSnapshotManifest = manifestsOf('WorkspaceSnapshot', {
  valid: validSpec,
  nearValid: fc
    .tuple(validSpec, fc.array(oddFields, { minLength: 1, maxLength: 2 }))
    .map(([spec, odd]) => Object.assign({}, spec, ...odd) as object),
  noise: fc.oneof(anyJson, fc.constant(undefined), oddFields),
})
