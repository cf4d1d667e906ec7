import { expect, it } from 'vitest'
import { apiVersionOf, compareResourceVersions, keyOf } from './kube-object.ts'
import { DATA_VOLUME, POD } from './resource-types.ts'

it.each([
  ['9', '10', -1],
  ['10', '9', 1],
  ['10', '10', 0],
  ['18446744073709551615', '18446744073709551614', 1],
  ['99999999999999999999', '100000000000000000000', -1],
])('%s against %s', (a, b, sign) => {
  expect(Math.sign(compareResourceVersions(a, b))).toBe(sign)
})

it.each([
  [{ name: 'a' }, 'a'],
  [{ namespace: 'n', name: 'a.b' }, 'n/a.b'],
])('keys %j as %s', (key, expected) => {
  expect(keyOf(key)).toBe(expected)
})

it('names the version of a kind as objects do', () => {
  expect([apiVersionOf(POD), apiVersionOf(DATA_VOLUME)]).toEqual(['v1', 'cdi.kubevirt.io/v1beta1'])
})
