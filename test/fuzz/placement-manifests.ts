import fc from 'fast-check'
import { objectName, oddName, oddText, slipOf, textAround } from './odd-values.ts'
import { rawNumber } from './spec-manifests.ts'

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 })
const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const

const value = fc.constantFrom('', 'ssd', 'A_b.c-1', 'x'.repeat(63))
const key = fc.oneof(
  fc.constantFrom('disk', 'kubernetes.io/hostname', 'A_b.c', `${'a'.repeat(253)}/${'b'.repeat(63)}`),
  objectName.map((name) => `${name}/lab`),
)
const toleration = fc.oneof(
  fc.record({ operator: fc.constant('Exists'), key: maybe(key), effect: maybe(fc.constantFrom(...EFFECTS)) }),
  fc.record({ key, operator: maybe(fc.constant('Equal')), value: maybe(value) }),
  fc.record({ key, effect: fc.constant('NoExecute'), tolerationSeconds: maybe(fc.nat(2 ** 31 - 1)) }),
)

/** Placement of a machine or a container cluster, as its spec has it. */
export const placement = {
  nodeSelector: maybe(fc.dictionary(key, value, { maxKeys: 3 })),
  tolerations: maybe(fc.array(toleration, { maxLength: 3 })),
}

const oddValue = fc.oneof(slipOf(value), oddName, textAround(63, ['a', 'ä', '.']))
const oddKey = fc.oneof(slipOf(key), oddText, textAround(317, ['a', 'ä', '/']), fc.constantFrom('', 'a/b/c', 'A.io/a'))

export const oddNodeSelector = fc.oneof(
  fc.dictionary(oddKey, value, { maxKeys: 2 }),
  fc.dictionary(key, fc.oneof(oddValue, rawNumber, fc.constantFrom<unknown>(true, null)), { maxKeys: 2 }),
  fc
    .integer({ min: 15, max: 18 })
    .map((count) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, '']))),
  fc.constantFrom<unknown>([], 'ssd'),
  // Each breaks one rule.
  fc.constantFrom({ disk: 'a b' }, { disk: '-a' }, { '': 'a' }),
)

export const oddTolerations = fc.oneof(
  oddKey.map((one) => [{ key: one }]),
  oddValue.map((one) => [{ key: 'a', value: one }]),
  {
    // Each of the three breaks one of the rules between the fields.
    arbitrary: fc.constantFrom(
      [{ effect: 'NoSchedule' }],
      [{ key: 'a', operator: 'Exists', value: 'b' }],
      [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }],
    ),
    weight: 3,
  },
  fc
    .tuple(toleration, fc.oneof(rawNumber, fc.constantFrom<unknown>(-1, 2 ** 31, '1')))
    .map(([one, tolerationSeconds]) => [{ ...one, effect: 'NoExecute', tolerationSeconds }]),
  fc.tuple(toleration, fc.constantFrom<unknown>('', 'exists', null, 'NoExecute')).map(([one, odd]) => [
    { ...one, operator: odd },
    { ...one, effect: odd },
  ]),
  fc.integer({ min: 15, max: 18 }).map((count) => Array.from({ length: count }, () => ({ operator: 'Exists' }))),
)

/** A readiness that a machine with interfaces may have too. */
export const readiness = maybe(
  fc.record({
    ...{ guestAgent: fc.constant(true), cloudInit: maybe(fc.constant(false)) },
    timeoutSeconds: maybe(fc.integer({ min: 1, max: 86_400 })),
  }),
)

export const oddReadiness = fc.oneof(
  fc.record({
    guestAgent: maybe(fc.constantFrom<unknown>(true, false, 'true')),
    cloudInit: maybe(fc.boolean()),
    tcpPort: maybe(fc.constantFrom<unknown>(0, 22, 65_535, 65_536, '22')),
    timeoutSeconds: maybe(fc.constantFrom<unknown>(0, 1, 86_400, 86_401, 1.5)),
  }),
  // Alone wrong where there are interfaces.
  fc.constant({ tcpPort: 22 }),
  fc.constant({}),
)
