// Loaded before the clock of a test moves: `ot` loads a command when somebody says its name.
import '../commands/queue.ts'
import type { VMDiskImageStatus } from '@open-terrain/constructs/operator'
import { beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../operator/kube/kube-object.ts'
import { OtRunner } from '../../test/prepared/cli/ot-runner.ts'
import { apiError } from '../../test/prepared/kube/api-error.ts'
import { EXIT_CODES } from '../exit-codes.ts'

let ot: OtRunner
beforeEach(() => {
  ot = new OtRunner()
})

function image(name: string, status: VMDiskImageStatus): void {
  ot.client.put({
    apiVersion: 'pelotech.ot/v1alpha1',
    kind: 'VMDiskImage',
    metadata: { namespace: 'images', name, uid: `uid-${name}` },
    spec: {},
    status,
  } as KubeObject)
}

function ledger(limit: number, ...names: readonly string[]): void {
  const holders = names.map((name) => ({
    ...{ uid: `uid-${name}`, namespace: 'images', name, revision: '01234567', attempt: 1, claimant: 'me' },
  }))
  ot.client.put({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'sync-operator', name: 'sync-operator-slots' },
    data: { limit: String(limit), holders: JSON.stringify(holders) },
  } as KubeObject)
}

/** Two slots, two in line, and two that wait for something else. */
function busy(): void {
  ledger(2, 'kali', 'debian')
  const names = (...list: readonly string[]) => ({ count: list.length, names: [...list] })
  image('kali', {
    ...{ phase: 'Syncing', reason: 'Syncing', message: 'downloading, attempt 1 of 3', progress: '40.0%' },
    ...{ startedAt: '2025-12-31T23:56:00Z', attempt: 1 },
    references: names('VirtualMachine/lab-1/web', 'VirtualMachine/lab-2/web', 'Workspace/lab-1', 'Workspace/lab-2'),
  })
  image('debian', { phase: 'Queued', reason: 'Queued', ticket: '7', queuedAt: '2025-12-31T23:50:00Z' })
  // A place in a status may be of a while ago, and tickets are numbers.
  image('later', { phase: 'Queued', reason: 'Queued', ticket: '1000', queuePosition: 1 })
  image('sooner', {
    ...{ phase: 'Queued', reason: 'Queued', ticket: '999', queuePosition: 1, queuedAt: '2025-12-31T23:58:00Z' },
    references: names('DataSync/team/exam'),
  })
  image('failing', {
    ...{ phase: 'Queued', reason: 'RetryBackoff', message: 'attempt 1 failed', ticket: '3' },
    nextRetryTime: '2026-01-01T00:03:00Z',
  })
  image('secret', { phase: 'Queued', reason: 'SecretMissing', message: 'waiting for Secret s3 in namespace images' })
  image('done', { phase: 'Succeeded', reason: 'Synced' })
  image('new', {})
}

describe('ot queue', () => {
  it('shows who has the slots, who is in line, and who waits for something else', async () => {
    busy()
    expect(await ot.run('queue')).toBe(EXIT_CODES.done)
    expect(ot.printed).toMatchInlineSnapshot(`
      "slots: 2 of 2 in use

      SLOT   IMAGE           STATE     SINCE   PROGRESS   RATE      LEFT   ATTEMPT   FOR
      1      images/kali     Syncing   4m      40%        10%/min   ~6m    1         Workspace/lab-1, Workspace/lab-2 and 2 more
      2      images/debian   Claimed                                       1

      PLACE   IMAGE           WAITS   STARTS   FOR
      1       images/sooner   2m               DataSync/team/exam
      2       images/later

      IMAGE            REASON          NEXT    FOR   MESSAGE
      images/failing   RetryBackoff    in 3m         attempt 1 failed
      images/new       New
      images/secret    SecretMissing                 waiting for Secret s3 in namespace images

      8 images: 5 Queued, 1 Succeeded, 1 Syncing, 1 New
      "
    `)
  })

  it('says about when an image starts, once enough attempts have ended', async () => {
    busy()
    const attempts = [60, 120].map((durationSeconds) => ({ outcome: 'Succeeded', durationSeconds }))
    const cancelled = { outcome: 'Cancelled', durationSeconds: 9_000 }
    for (const name of ['one', 'two']) image(name, { phase: 'Succeeded', reason: 'Synced', attempts } as never)
    await ot.run('queue')
    expect(ot.printed).not.toContain('in ~')
    image('three', { phase: 'Succeeded', reason: 'Synced', attempts: [...attempts, cancelled] } as never)
    ot.printed = ''
    await ot.run('queue')
    // 90 s on average; debian has begun nothing, kali has 6 minutes left.
    expect(ot.printed).toMatch(/^1 {7}images\/sooner {3}2m {6}in ~1m {3}DataSync/m)
    expect(ot.printed).toMatch(/^2 {7}images\/later {12}in ~3m$/m)
  })

  it('is data for programs', async () => {
    busy()
    expect(await ot.run('queue', '-o', 'json')).toBe(EXIT_CODES.done)
    const { limit, slots, line, heldUp } = JSON.parse(ot.printed)
    expect([limit, slots.length, slots[0].secondsLeft, line, heldUp[0].until]).toEqual([
      2,
      2,
      360,
      [
        {
          place: 1,
          image: 'images/sooner',
          since: '2025-12-31T23:58:00Z',
          for: { count: 1, names: ['DataSync/team/exam'] },
        },
        { place: 2, image: 'images/later', for: { count: 0, names: [] } },
      ],
      '2026-01-01T00:03:00Z',
    ])
    ot.printed = ''
    expect(await ot.run('queue', '-o', 'yaml')).toBe(EXIT_CODES.done)
    expect(ot.printed).toMatch(/^limit: 2\nslots:\n/)
  })

  it('says what the caller may not see, and shows the rest', async () => {
    busy()
    ot.client.before = ({ kind }) => {
      if (kind === 'ConfigMap') throw apiError('Rejected', { status: 403, serverReason: 'Forbidden' })
    }
    expect(await ot.run('queue')).toBe(EXIT_CODES.done)
    expect(ot.printed).toContain(
      'slots: 1 in use; the limit is not visible to you: that needs get of configmaps in sync-operator\n',
    )
  })

  it('takes places from the statuses where it does not list all images', async () => {
    busy()
    expect(await ot.run('queue', '-n', 'images')).toBe(EXIT_CODES.done)
    expect(ot.printed).toMatch(/^1 +images\/later/m)
    expect(ot.printed).toMatch(/^1 +images\/sooner/m)
  })

  it('shows the first of many, with few requests', async () => {
    ledger(0)
    for (let at = 0; at < 30; at += 1) image(`i${at}`, { phase: 'Queued', reason: 'Paused', ticket: String(100 + at) })
    expect(await ot.run('queue')).toBe(EXIT_CODES.done)
    expect(ot.printed).toContain('slots: 0 of 0 in use: the policy key concurrency is 0, so nothing starts\n')
    expect(ot.printed).toContain('\n20      images/i19\n… and 10 more: --all shows them\n')
    expect(ot.client.callsOf()).toEqual(['get ConfigMap sync-operator/sync-operator-slots', 'list VMDiskImage '])
    ot.printed = ''
    expect(await ot.run('queue', '--all')).toBe(EXIT_CODES.done)
    expect(ot.printed).toMatch(/^30 +images\/i29$/m)
  })

  it('goes on with -w: prints a block for each change, and ends well with Ctrl-C', async () => {
    busy()
    const done = ot.run('queue', '-w')
    await ot.client.clock.advance(1_000)
    const first = ot.printed
    expect(first).toMatch(/^1 +images\/sooner/m)
    await ot.client.clock.advance(60_000)
    expect(ot.printed).toBe(first)
    ot.client.drop('VMDiskImage', 'images/sooner')
    await ot.client.clock.advance(1_000)
    expect(ot.printed.slice(first.length)).toMatch(/^1 +images\/later/m)
    ledger(3, 'kali')
    await ot.client.clock.advance(1_000)
    expect(ot.printed).toContain('slots: 1 of 3 in use')
    ot.interrupt()
    await ot.client.clock.advance(1_000)
    expect(await done).toBe(EXIT_CODES.done)
  })

  it('draws a terminal anew in one place, with what fits on it', async () => {
    busy()
    ot.screen = { columns: 30, rows: 6 }
    const done = ot.run('queue', '-w')
    await ot.client.clock.advance(1_000)
    const lines = ot.printed.split('\n')
    expect(ot.printed.startsWith('\u001b[2J\u001b[H\u001b[Hslots: 2 of 2 in use\u001b[K\n')).toBe(true)
    expect([lines.length, lines[4]]).toEqual([6, '… 12 more lines\u001b[K'])
    ot.interrupt()
    await ot.client.clock.advance(1_000)
    expect(await done).toBe(EXIT_CODES.done)
  })

  it('ends with one sentence where images may not be listed', async () => {
    ot.client.before = ({ kind }) => {
      if (kind === 'VMDiskImage') throw apiError('Rejected', { status: 403, message: 'you may not list vmdiskimages' })
    }
    expect(await ot.run('queue')).toBe(EXIT_CODES.failed)
    expect(ot.told).toBe('ot: you may not list vmdiskimages\n')
    const done = ot.run('queue', '-w')
    await ot.client.clock.advance(2_000)
    expect(await done).toBe(EXIT_CODES.failed)
  })
})
