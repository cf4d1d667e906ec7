import { expect, it } from 'vitest'
import { raw } from '../../test/prepared/cluster/raw-object.ts'
import { viewImage } from './image-view.ts'

const wrote = (manager: string, second: number, fieldsV1: object, more: object = {}) => {
  return { manager, time: `2026-01-01T00:00:0${second}Z`, fieldsV1, ...more }
}
const retry = { 'f:metadata': { 'f:annotations': { 'f:pelotech.ot/retry-requested-at': {} } } }

it.each<[string, object[], string | undefined]>([
  ['nobody, where nothing says so', [{}], undefined],
  ['who wrote the spec last', [wrote('argocd', 2, { 'f:spec': {} }), wrote('kubectl', 1, { 'f:spec': {} })], 'argocd'],
  ['who asked for a retry after that', [wrote('argocd', 2, { 'f:spec': {} }), wrote('kubectl', 3, retry)], 'kubectl'],
  ['not who labelled it', [wrote('kubectl', 1, { 'f:spec': {} }), wrote('labels', 2, { 'f:metadata': {} })], 'kubectl'],
  ['not who writes its status', [wrote('us', 2, { 'f:spec': {} }, { subresource: 'status' })], undefined],
])('an image is changed by %s', (_who, managedFields, manager) => {
  expect(viewImage(raw({ spec: {} }, { managedFields })).changedBy).toBe(manager)
})
