import { expect, it } from 'vitest'
import type { Line } from '../../sandbox/demo/live-view.ts'
import type { Recording } from '../../sandbox/demo/recorder.ts'
import { animatedPicture } from './animated-picture.ts'

const PACE = { speed: 2, frameMs: 1_000, summaryMs: 3_000, still: 'half' }
const line = (text: string): Line => [{ text, style: 'dim' }]
const bar: Line = [
  { text: 'a ', style: 'plain' },
  { text: '██', style: 'busy' },
  { text: '░░', style: 'dim' },
]
const recording: Recording = {
  columns: 20,
  rows: 3,
  frames: [
    { atMs: 0, lines: [line('begun'), line('same')] },
    { atMs: 500, lines: [line('too soon'), line('same')] },
    { atMs: 1_000, lines: [line('half <b>'), line('same'), bar] },
  ],
  summary: ['ok      it held'],
}
const picture = animatedPicture(recording, PACE)

it('paints what has changed in each frame, at its share of the time', () => {
  expect(picture).toContain('@keyframes k1{0%{visibility:hidden}11.11%{visibility:visible}}')
  expect(picture).toContain('@keyframes k2{0%{visibility:hidden}33.33%{visibility:visible}}')
  expect(picture).toContain('svg>g{animation:4.5s step-end infinite}')
  expect(picture.match(/>same</g)).toHaveLength(1)
  expect(picture).not.toContain('too soon')
  expect(picture.match(/<rect class="b[^>]*>/g)).toHaveLength(2)
})

it('shows one still to those who want nothing to move, and moves by styles alone', () => {
  expect(picture.match(/<g id="f\d"( class="later")?>/g)).toEqual([
    '<g id="f0">',
    '<g id="f1">',
    '<g id="f2" class="later">',
  ])
  expect(picture.split('prefers-reduced-motion:no-preference')[0]).not.toContain('animation')
  expect(picture).not.toMatch(/<script|<animate|<b>|href="[^#]/)
  expect(() => animatedPicture(recording, { ...PACE, still: 'never' })).toThrow('no frame of the recording has "never"')
})
