import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { describe, expect, it } from 'vitest'
import { toTime } from '../../base/time.ts'
import { ImageWaits } from './image-metrics.ts'

const at = (seconds: number) => Date.UTC(2026, 0, 1) + seconds * 1_000
const said = (reason: string, phase: VMDiskImageStatus['phase'] = 'Queued', more: VMDiskImageStatus = {}) => ({
  phase,
  queuedAt: toTime(at(0)),
  conditions: [
    { type: 'Reconciling' as const, status: 'True' as const, reason, message: '', lastTransitionTime: toTime(at(0)) },
  ],
  ...more,
})
const QUEUED = said('Queued')
const SECRET = said('SecretMissing')

describe('the wait of an image', () => {
  it('for a slot begins with its ticket where nothing is missing', () => {
    const waits = new ImageWaits()
    expect(waits.take('a', undefined, QUEUED, at(1))).toBeUndefined()
    expect(waits.freeSince('a', QUEUED, at(900))).toBe(at(0))
    expect(waits.freeSince('a', {}, at(900))).toBeUndefined()
  })

  it('for a slot begins when what was missing is there, and the other wait is over', () => {
    const waits = new ImageWaits()
    waits.take('a', undefined, SECRET, at(10))
    expect(waits.take('a', SECRET, SECRET, at(50))).toBeUndefined()
    expect(waits.take('a', SECRET, QUEUED, at(70))).toEqual({ reason: 'SecretMissing', seconds: 60 })
    expect(waits.freeSince('a', QUEUED, at(900))).toBe(at(70))
    expect(waits.freeSince('b', QUEUED, at(900))).toBe(at(0))
  })

  it('for one thing ends when it is another one that is missing', () => {
    const waits = new ImageWaits()
    waits.take('a', undefined, SECRET, at(10))
    expect(waits.take('a', SECRET, said('QuotaExceeded'), at(20))).toEqual({ reason: 'SecretMissing', seconds: 10 })
    expect(waits.take('a', said('QuotaExceeded'), QUEUED, at(25))).toEqual({ reason: 'QuotaExceeded', seconds: 5 })
  })

  it('for a slot has not begun where the status does not say yet that nothing is missing', () => {
    const waits = new ImageWaits()
    waits.take('a', undefined, SECRET, at(10))
    expect(waits.freeSince('a', SECRET, at(70))).toBe(at(70))
  })

  it('is as old as its ticket for who begins to look while it lasts', () => {
    const waits = new ImageWaits()
    expect(waits.take('a', SECRET, QUEUED, at(70))).toEqual({ reason: 'SecretMissing', seconds: 70 })
  })

  it('counts from a later ticket, after a retry', () => {
    const waits = new ImageWaits()
    waits.take('a', SECRET, QUEUED, at(70))
    expect(waits.freeSince('a', { ...QUEUED, queuedAt: toTime(at(500)) }, at(900))).toBe(at(500))
  })

  it.each(['Paused', 'RetryBackoff', 'Suspended', 'Stopping', 'Unreferenced'])(
    'is not for something missing: %s',
    (reason) => {
      const waits = new ImageWaits()
      waits.take('a', undefined, said(reason), at(1))
      expect(waits.take('a', said(reason), QUEUED, at(9))).toBeUndefined()
    },
  )

  it('is forgotten with the image', () => {
    const waits = new ImageWaits()
    waits.take('a', undefined, SECRET, at(10))
    expect(waits.take('a', SECRET, undefined, at(20))).toBeUndefined()
    expect(waits.take('a', undefined, QUEUED, at(30))).toBeUndefined()
    expect(waits.freeSince('a', QUEUED, at(900))).toBe(at(0))
  })
})
