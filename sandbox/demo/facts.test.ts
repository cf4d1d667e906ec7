import { expect, it } from 'vitest'
import { dataVolumeFact } from './facts.ts'

it('tells clones from downloads by their source', () => {
  const kindOf = (source: object) => {
    const object = { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume', metadata: { name: 'a' } }
    return dataVolumeFact({ ...object, spec: { source } } as typeof object).kind
  }
  expect([{ http: {} }, { blank: {} }].map(kindOf)).toEqual(['dataVolume', 'dataVolume'])
  expect([{ snapshot: { name: 'b' } }, { pvc: { name: 'b' } }].map(kindOf)).toEqual(['disk', 'disk'])
})
