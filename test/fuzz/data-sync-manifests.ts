import { SOURCE_TYPES } from '@open-terrain/constructs/operator'
import fc from 'fast-check'
import { anyJson, diskSize, objectName, oddName, oddQuantity, oddText, textAround } from './odd-values.ts'
import { manifestsOf, nearValidImageSpec, rawNumber, UNKNOWN, validImageSpec } from './spec-manifests.ts'

type Fields = Readonly<Record<string, unknown>>

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const text = fc.oneof(
  objectName.map((name) => name.slice(0, 63)),
  fc.constantFrom('035', 'Ä 世 😀', '😀'.repeat(63), '1.0.0'),
)

/** A vm with the fields of an image's spec that vms have too. */
const vmOf = (image: fc.Arbitrary<object>) =>
  fc.tuple(text, image).map(([name, spec]): Fields => {
    const { name: _name, reclaimPolicy: _policy, unreferencedTTL: _ttl, suspend: _suspend, ...fields } = spec as Fields
    return { name, ...fields }
  })
const vm = vmOf(validImageSpec)
const oddVm = vmOf(nearValidImageSpec)
const vms = fc.uniqueArray(vm, { minLength: 1, maxLength: 4, selector: ({ name }) => name })

const shared = fc.record({
  diskSize: maybe(fc.oneof(diskSize, fc.integer({ min: 2 ** 20, max: 2 ** 50 }))),
  storageClass: maybe(objectName),
  snapshotClass: maybe(objectName),
  secretRef: maybe(objectName),
  certConfigMap: maybe(objectName),
})
const head = fc.record({ workspaceId: text, version: maybe(text) })

/** With a sourceType for all vms that have the same one, and without. */
const validSpec = fc.tuple(head, shared, vms, fc.boolean()).map(([one, fields, list, isShared]): Fields => {
  const [{ sourceType } = {}] = list
  if (!isShared || sourceType === undefined) return { ...one, ...fields, vms: list }
  const alike = list.filter((each) => each['sourceType'] === sourceType)
  const bare = alike.map(({ sourceType: _type, ...each }) => each)
  return { ...one, ...fields, sourceType, vms: bare }
})

const many = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `vm-${at}`, sourceType: 'blank' }))

const oddFields: fc.Arbitrary<Fields> = fc.oneof(
  fc.oneof(oddText, textAround(63), rawNumber).map((workspaceId) => ({ workspaceId })),
  fc.oneof(oddText, textAround(63), rawNumber).map((version) => ({ version })),
  { arbitrary: fc.constantFrom(...SOURCE_TYPES, 'S3', '').map((sourceType) => ({ sourceType })), weight: 4 },
  fc.oneof(oddQuantity, rawNumber).map((size) => ({ diskSize: size })),
  fc
    .tuple(fc.constantFrom('storageClass', 'snapshotClass', 'secretRef', 'certConfigMap'), oddName)
    .map(([field, name]) => ({ [field]: name })),
  fc
    .tuple(fc.constantFrom(...UNKNOWN.filter((field) => field !== '__proto__')), anyJson)
    .map(([field, value]) => ({ [field]: value })),
  fc.oneof(anyJson, fc.constantFrom(many(100), many(101), [])).map((list) => ({ vms: list })),
  vm.map((one) => ({ vms: [one, one] })),
  { arbitrary: fc.tuple(vms, oddVm).map(([list, odd]) => ({ vms: [odd, ...list.slice(1)] })), weight: 12 },
  // With a type that only the spec sets, or without one.
  {
    arbitrary: fc.tuple(oddVm, maybe(fc.constantFrom(...SOURCE_TYPES))).map(([odd, sourceType]) => {
      const { sourceType: _type, ...one } = odd
      return { vms: [one], sourceType }
    }),
    weight: 8,
  },
  fc.oneof(oddText, textAround(63), anyJson).map((name) => ({ vms: [{ name, sourceType: 'blank' }] })),
)

const nearValidSpec = fc
  .tuple(validSpec, fc.array(oddFields, { minLength: 1, maxLength: 2 }))
  .map(([spec, odd]) => Object.assign({}, spec, ...odd) as Fields)
const noiseSpec = fc.oneof(anyJson, fc.constant(undefined), oddFields)

export const dataSyncManifest = manifestsOf('DataSync', {
  valid: validSpec,
  nearValid: nearValidSpec,
  noise: noiseSpec,
})
