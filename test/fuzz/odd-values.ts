import fc from 'fast-check'

/** Values of every JSON type, for a place where something else is expected. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, 1, -1, 1.5, 2 ** 53, [], {}, '', 'true', '1', [''], { a: null }),
  fc.jsonValue({ maxDepth: 2 }),
)
/** JSON omits undefined. A key may be anything, even `__proto__`. */
export const anyObject = fc
  .array(fc.tuple(fc.oneof(fc.constantFrom('__proto__', 'constructor', ''), fc.string({ maxLength: 5 })), anyJson), {
    maxLength: 3,
  })
  .map((entries): object => Object.fromEntries(entries))
/** No object. */
export const noObject = fc.constantFrom<unknown>('a', 1, true, [], [{}])

const UNITS = [
  'a',
  'Z',
  '9',
  '-',
  '.',
  '/',
  ' ',
  '\u0000',
  '\u007f',
  '\u0085',
  'ä',
  'e\u0301',
  '\u202e',
  '世',
  '😀',
  '\ud800',
]

/** Texts in every alphabet, with control characters, lone surrogates and direction marks. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...UNITS), maxLength: 8 }),
  fc.constantFrom('', ' ', '\n', 'null', 'true', '{}', '__proto__', 'constructor', "'", '"', '\\', '$(id)', '{{.}}'),
  fc.tuple(fc.constantFrom(...UNITS), fc.constantFrom(1_000, 70_000)).map(([unit, times]) => unit.repeat(times)),
)

/** Texts of nearly this many characters, in any of the ways in which programs count characters. */
export function textAround(length: number, units: readonly string[] = UNITS): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...units), fc.constantFrom(1, 2), fc.integer({ min: -1, max: 1 }))
    .map(([unit, share, off]) => unit.repeat(Math.max(0, Math.floor(length / share) + off)))
}

/** Returns the text with an insertion, a deletion or a replacement at one place, or a similar slip. */
export function slipOf(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const slip = fc.constantFrom<(text: string, at: number, odd: string) => string>(
    (whole, at, odd) => whole.slice(0, at) + odd + whole.slice(at),
    (whole, at) => whole.slice(0, at) + whole.slice(at + 1),
    (whole, at, odd) => whole.slice(0, at) + odd + whole.slice(at + 1),
    (whole, at) => whole.slice(0, at) + whole.slice(at).toUpperCase(),
    (whole, at) => whole.slice(0, at),
    (whole) => ` ${whole}`,
    (whole) => `${whole}\n`,
    (whole) => whole + whole,
  )
  const odd = fc.oneof(fc.constantFrom(...UNITS), fc.constantFrom('@', ':', '%2e', '%', '[', ']', '?', '#', '_', '0'))
  return fc.tuple(text, slip, fc.nat(200), odd).map(([whole, act, at, put]) => act(whole, at % (whole.length + 1), put))
}

const LABEL_EDGES = 'abcxyz0189'
const edge = fc.constantFrom(...LABEL_EDGES)
const label = fc
  .tuple(edge, fc.string({ unit: fc.constantFrom(...LABEL_EDGES, '-'), maxLength: 8 }), edge)
  .map((parts) => parts.join(''))

/** Names of Kubernetes objects, up to the longest one. */
export const objectName: fc.Arbitrary<string> = fc.oneof(
  label,
  edge,
  fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.')),
  fc.constantFrom('a'.repeat(63), 'a'.repeat(253), `${'a.'.repeat(126)}a`, 'a--b', 'xn--bcher-kva.example', '0'),
)

/** Names that are invalid, or only just valid. */
export const oddName: fc.Arbitrary<string> = fc.oneof(
  slipOf(objectName),
  textAround(253, ['a', 'a.', '-', 'A', 'ä', '😀']),
  fc.constantFrom('', '.', '..', 'a.', '.a', 'a..b', '-a', 'a-', 'a.-b', 'a_b', 'A', 'a/b', 'a%2fb', 'a:b', 'Ⅷ', 'ａ'),
  oddText,
)

const digits = fc.oneof(
  fc.nat(2_000).map(String),
  fc.bigInt(0n, 2n ** 70n).map(String),
  fc.constantFrom('0', '00', '007', '1048575', '1048576', '1048577', '1125899906842624', '1125899906842625', '1e', ''),
  fc.constantFrom('9223372036854775807', '9223372036854775808', '18446744073709551616', '٤', '１'),
)
const fraction = fc.oneof(
  { arbitrary: fc.constant(''), weight: 4 },
  fc.constantFrom('.', '.0', '.5', '.000000001', '.9999999999', '.0000000000000000001', '..5', ',5'),
  fc.nat(99_999).map((part) => `.${part}`),
)
const SUFFIXES = ['', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'E', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
const suffix = fc.oneof(
  { arbitrary: fc.constantFrom(...SUFFIXES), weight: 4 },
  fc.constantFrom('K', 'ki', 'mi', 'GB', 'GiB', 'b', 'i', 'e', 'E+', ' Gi', 'Zi', 'µ', 'e3', 'E6', 'e+9', 'e-3', 'E-0'),
  fc.integer({ min: -70, max: 70 }).map((exponent) => `e${exponent}`),
  fc.constantFrom('e9999999999', 'e-9999999999', 'E19', 'e15', 'e16', 'e007'),
)
const sign = fc.oneof({ arbitrary: fc.constant(''), weight: 6 }, fc.constantFrom('+', '-', '--', '−', ' '))

/** Quantities in every spelling, valid and invalid. */
export const oddQuantity: fc.Arbitrary<string> = fc.tuple(sign, digits, fraction, suffix).map((parts) => parts.join(''))

/** Valid sizes of a disk. */
export const diskSize: fc.Arbitrary<string> = fc.oneof(
  fc.nat(1_000).map((size) => `${size + 1}Gi`),
  fc.nat(1_000).map((size) => `${size + 2}M`),
  fc.nat(999_999).map((part) => `1.${part}Ti`),
  fc.constantFrom(
    '1Mi',
    '1Pi',
    '1048576',
    '1048575.1',
    '1048575000001u',
    '2e9',
    '2E+9',
    '.5Gi',
    '5.Gi',
    '+1Gi',
    '01Gi',
  ),
  fc.constantFrom('1125899906842624', '1125899906842624000m', '1048575000000001n', '1024Ki', '1024Ti', '1P', '1.1P'),
)

/** Durations in the part of Go's syntax that is accepted. */
export const duration: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('0', '0s', '72h', '1h30m', '9999999h', '1.5h', '0.001ms', '0000001s', '1s1s1s1s'),
  fc
    .array(fc.tuple(fc.nat(9_999), fc.constantFrom('', '.5', '.125'), fc.constantFrom('h', 'm', 's', 'ms')), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.map((part) => part.join('')).join('')),
)

export const oddDuration: fc.Arbitrary<string> = fc.oneof(
  slipOf(duration),
  fc.constantFrom('', '5', '-1h', '+1h', '1d', '1w', 'PT5M', '5 m', '1h ', '1µs', '1us', '1ns', '.5h', '5.h', '1e3s'),
  fc.constantFrom('10000000h', '1.0001h', '1s1s1s1s1s', '00', '0h0', 'h', '∞', `${'1'.repeat(47)}s`, '１h'),
)
