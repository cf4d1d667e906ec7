import { expect, it } from 'vitest'
import { ApiError, type ApiErrorReason, classify, isApiError, isNamespaceTerminating } from './api-error.ts'

it.each<[number, string, ApiErrorReason]>([
  [400, 'BadRequest', 'Rejected'],
  [401, 'Unauthorized', 'Rejected'],
  [403, 'Forbidden', 'Rejected'],
  [404, 'NotFound', 'NotFound'],
  [404, '', 'NotFound'],
  [408, '', 'Unavailable'],
  [409, 'AlreadyExists', 'AlreadyExists'],
  [409, 'Conflict', 'Conflict'],
  [409, '', 'Conflict'],
  [410, 'Expired', 'Expired'],
  [410, 'Gone', 'Expired'],
  [422, 'Invalid', 'Rejected'],
  [429, 'TooManyRequests', 'Unavailable'],
  [500, 'InternalError', 'Unavailable'],
  [503, 'ServiceUnavailable', 'Unavailable'],
  [504, 'Timeout', 'Unavailable'],
])('%i %s is %s', (status, serverReason, reason) => {
  expect(classify(status, serverReason)).toBe(reason)
})

const error = (more: object) => new ApiError({ reason: 'Rejected', status: 403, message: 'm', ...more })

it('is told from other errors, by reason', () => {
  expect(isApiError(error({}))).toBe(true)
  expect(isApiError(error({}), 'Conflict', 'Rejected')).toBe(true)
  expect(isApiError(error({}), 'Conflict')).toBe(false)
  expect(isApiError(new Error('x'))).toBe(false)
})

it('has a message that others may read, however long the one of a webhook is', () => {
  const secret = 'https://user:s3cr3t@a.example/b?X-Amz-Signature=s3cr3t'
  const { message, serverReason, causes } = error({
    message: `denied: ${secret} ${'a.'.repeat(1_500_000)}`,
    serverReason: `${secret}${'x'.repeat(1_500_000)}`,
    causes: Array.from({ length: 10_000 }, () => secret),
  })
  expect(message).toMatch(/^denied: https:\/\/a[.]example\/b[?]…/)
  expect(message.length + serverReason.length).toBeLessThan(2_100)
  expect(causes).toHaveLength(100)
  expect(JSON.stringify([message, serverReason, causes])).not.toContain('s3cr3t')
})

it.each([
  [{ causes: ['NamespaceTerminating'] }, true],
  [{ serverReason: 'NamespaceTerminating' }, true],
  [{ serverReason: 'Forbidden' }, false],
])('knows a namespace that is being deleted: %j', (more, expected) => {
  expect(isNamespaceTerminating(error(more))).toBe(expected)
})
