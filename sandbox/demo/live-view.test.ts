import { describe, expect, it } from 'vitest'
import { type LiveImage, type LiveState, renderFrame } from './live-view.ts'

const image = (name: string, changes: Partial<LiveImage> = {}): LiveImage => ({
  name,
  phase: 'Queued',
  reason: 'Queued',
  position: undefined,
  progress: undefined,
  message: '',
  ...changes,
})

const state: LiveState = {
  seconds: 75.9,
  title: 'raised concurrency',
  slots: { used: 1, limit: 3 },
  users: [
    { name: 'VM desk', phase: 'Provisioning', message: 'its image is Queued' },
    { name: 'DataSync a', phase: 'Syncing', message: '1/3 of its images are ready' },
  ],
  images: [
    image('ready', { phase: 'Succeeded', reason: 'Synced', message: 'VolumeSnapshot ready-1 can be cloned' }),
    image('second', { position: 2 }),
    image('first', { position: 1 }),
    image('waits', { reason: 'SecretMissing', message: 'waiting for Secret a' }),
    image('runs', { phase: 'Syncing', reason: 'Syncing', progress: 0.5, message: 'downloading, attempt 1 of 3' }),
  ],
  events: Array.from({ length: 30 }, (_, at) => `event ${at}`),
}

function render(columns: number, rows: number, shown: LiveState = state): string[] {
  return renderFrame(shown, { columns, rows }).map((line) => line.map(({ text }) => text).join(''))
}

describe('the live view', () => {
  it('shows slots, machines, DataSyncs, phases, progress and places in the queue, what runs first', () => {
    expect(render(80, 17)).toEqual([
      'Open Terrain 1:15  slots ■□□ 1/3',
      'Queued 3   Syncing 1   Snapshotting 0   Succeeded 1   Failed 0   ',
      'raised concurrency',
      '',
      'VM desk     Provisioning its image is Queued',
      'DataSync a  Syncing      1/3 of its images are ready',
      'runs        Syncing      ██████████░░░░░░░░░░  50 % attempt 1 of 3',
      'first       Queued       1.   in the queue',
      'second      Queued       2.   in the queue',
      'waits       Queued       SecretMissing: waiting for Secret a',
      'ready       Succeeded    VolumeSnapshot ready-1 can be cloned',
      '',
      'event 25',
      'event 26',
      'event 27',
      'event 28',
      'event 29',
    ])
  })

  it('never has more rows and columns than the terminal, and says what it leaves out', () => {
    for (const columns of [1, 5, 20, 40, 79, 300]) {
      for (const rows of [1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 24, 60]) {
        const lines = render(columns, rows)
        expect(lines.length).toBeLessThanOrEqual(rows)
        expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns)
      }
    }
    expect(render(80, 10)).toContain('… and 4 more')
  })

  it('shows first an image whose deletion waits for a machine, and whom it waits for', () => {
    const blocked = image('golden', {
      phase: 'Terminating',
      reason: 'Synced',
      message: 'deletion is blocked: the image is used by VM desk',
    })
    const lines = render(80, 24, { ...state, images: [...state.images, blocked] })
    expect(lines[6]).toBe('golden      Terminating  deletion is blocked: the image is used by VM desk')
  })

  it('can be drawn before there is anything', () => {
    expect(render(80, 24, { ...state, users: [], images: [], events: [] }).length).toBeLessThanOrEqual(5)
  })

  it('lets no text of others steer the terminal', () => {
    const evil = image('evil', { reason: 'RetryBackoff', message: '\u001b[2Jgone\r\n' })
    const users = [{ name: 'VM evil', phase: 'Failed', message: '\u001b[2Jgone' }]
    const shown = { ...state, users, images: [evil], events: ['\u001b[31mred'] }
    expect(render(80, 24, shown).join('')).not.toMatch(/\p{Cc}/u)
  })
})
