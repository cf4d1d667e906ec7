import { ANNOTATIONS } from '@open-terrain/constructs'
import { shortHash } from '@open-terrain/constructs/operator'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Wish } from '../world.ts'
import { newRequests } from './requests.ts'

const SYNC = ANNOTATIONS.syncRequestedAt
const REACHED = ANNOTATIONS.requestsReached

const asks = (dataSync: string, value: string): Wish => {
  const triple = { workspaceId: '035', version: undefined, vm: 'attacker' }
  return {
    dataSync,
    metadata: { name: dataSync },
    triple,
    spec: { url: 'https://images.example/a.qcow2' },
    requests: { [SYNC]: value },
  }
}

let image: Readonly<Record<string, string>> = {}
beforeEach(() => {
  image = {}
})

/** All that share the image plan the same, and one of them writes it. Returns what it asks of the image, if anything is new. */
function plan(...wishes: readonly Wish[]): string | undefined {
  const requests = newRequests(wishes, wishes, image)
  expect(newRequests(wishes.toReversed(), wishes.toReversed(), image)).toEqual(requests)
  image = { ...image, ...requests }
  return requests?.[SYNC]
}

describe('the request of a DataSync that was away', () => {
  it('does not come back with it, and does not undo what another one has asked for meanwhile', () => {
    expect(plan(asks('a', '1'))).toBe('1')
    expect(plan(asks('b', '2'))).toBe('2')
    expect(plan(asks('a', '1'), asks('b', '2'))).toBeUndefined()
    expect(plan(asks('a', '3'), asks('b', '2'))).toBe('3')
  })

  it('is forgotten when many others have gone after it, so that an image does not collect them for ever', () => {
    plan(asks('first', 'first'))
    for (let at = 0; at < 100; at += 1) plan(asks(`run-${at}`, String(at)))
    expect(image[REACHED]?.length).toBeLessThan(500)
    expect(plan(asks('run-90', '90'), asks('run-99', '99'))).toBeUndefined()
    expect(plan(asks('first', 'first'), asks('run-99', '99'))).toBe('first')
  })
})

describe('a request', () => {
  it('is new where its DataSync has asked for something else in between', () => {
    for (const value of ['1', '2', '1']) expect(plan(asks('a', value))).toBe(value)
  })

  it('is none where another DataSync made the same before', () => {
    plan(asks('a', '1'))
    expect(plan(asks('a', '1'), asks('b', '1'))).toBeUndefined()
    expect(plan(asks('a', '2'), asks('b', '1'))).toBe('2')
    expect(plan(asks('a', '2'), asks('b', '1'))).toBeUndefined()
  })

  it('that an earlier version of the operator recorded, without the DataSync, does not reach the image again', () => {
    image = { [REACHED]: [shortHash([SYNC, '1']), shortHash([SYNC, '2'])].toSorted().join(',') }
    expect(plan(asks('a', '1'), asks('b', '2'))).toBeUndefined()
    expect(plan(asks('a', '1'), asks('b', '3'))).toBe('3')
    expect(plan(asks('a', '1'), asks('b', '3'))).toBeUndefined()
  })
})
