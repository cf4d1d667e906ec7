import { SOURCE_TYPES, type SourceType } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { conditionWith, judge } from '../../../../test/prepared/vm-disk-image/judge.ts'
import { FINAL_ERRORS, isUnknownError, PASSING_ERRORS } from './final-errors.ts'

const judged = (text: string, sourceType: SourceType, errorBefore?: string) =>
  judge({ running: conditionWith('False', 'Error', text) }, {}, { sourceType, errorBefore })

const RETRIED = { state: 'failed', reason: 'ImporterFailed', permanent: false, downloads: 1 }

const FINAL = Object.entries(FINAL_ERRORS).flatMap(([type, errors]) =>
  errors.flatMap(({ samples, reason, isHint = false }) =>
    samples.map((text) => ({ type: type as SourceType | 'every', reason, text, isHint })),
  ),
)
const OF_ONE_TYPE = FINAL.flatMap((one) => (one.type === 'every' ? [] : [{ ...one, type: one.type }]))

describe('an error of the importer that no retry can fix', () => {
  it.each(FINAL)('is final: $type, $reason: $text', ({ type, reason, text, isHint }) => {
    for (const sourceType of type === 'every' ? SOURCE_TYPES : [type])
      expect(judged(text, sourceType, isHint ? text : undefined)).toMatchObject({ ...RETRIED, reason, permanent: true })
  })

  it.each(OF_ONE_TYPE)('makes none of another source type final: $type: $text', ({ type, text }) => {
    for (const sourceType of SOURCE_TYPES)
      if (sourceType !== type) expect(judged(text, sourceType, text)).toMatchObject(RETRIED)
  })

  it('is tried again once where the importer says the same of something that may pass', () => {
    const hints = OF_ONE_TYPE.filter(({ isHint }) => isHint)
    expect(hints).not.toEqual([])
    for (const { type, text } of hints) {
      expect(judged(text, type)).toMatchObject(RETRIED)
      expect(judged(text, type, 'Unable to process data: unexpected EOF')).toMatchObject(RETRIED)
    }
  })

  it('is known, whether it is final or passes', () => {
    for (const { type, text } of OF_ONE_TYPE) expect(isUnknownError(text, type), text).toBe(false)
    for (const { text } of FINAL.filter(({ type }) => type === 'every'))
      expect(isUnknownError(text, 'http')).toBe(false)
  })
})

describe('an error that a retry may fix', () => {
  it.each(PASSING_ERRORS.flatMap(({ samples }) => samples))('is none of the final ones: %s', (text) => {
    for (const sourceType of SOURCE_TYPES) {
      expect(judged(text, sourceType, text)).toMatchObject(RETRIED)
      expect(isUnknownError(text, sourceType)).toBe(false)
    }
  })

  it.each([
    'RequestTimeout: status code: 408, request id: 404',
    'InternalError: status code: 500, request id: A404B, host id: 403',
    'unexpected EOF after 404 bytes',
    'dial tcp 10.0.0.1:404: connect: connection refused',
    'expected status code 200, got 503. Status: 503 Service Unavailable (request 404403)',
    'expected status code 200, got 4040. Status: 4040',
    'Unable to connect to s3 data source: could not get s3 object: "NoSuchKey/AccessDenied: ": SlowDown: Please reduce your request rate.',
    'Unable to connect to gcs data source: googleapi: got HTTP response code 500 with body: 403 forbidden, Error 404: ',
    'Failed to read registry image: failed to pull image: reading manifest denied in h/manifest unknown/unauthorized: received unexpected HTTP status: 503',
    'Unable to process data: Get "https://h/backing%20file/Invalid%20format": unexpected EOF',
  ])('is one that only looks like a final one: %s', (text) => {
    for (const sourceType of SOURCE_TYPES) expect(judged(text, sourceType, text)).toMatchObject(RETRIED)
  })

  it.each(['an error of a later version', 'Conversion to Raw failed: could not convert image to raw: exit status 1'])(
    'is unknown where no table has it: %s',
    (text) => {
      expect(judged(text, 'http')).toMatchObject(RETRIED)
      expect(isUnknownError(text, 'http')).toBe(true)
    },
  )
})
