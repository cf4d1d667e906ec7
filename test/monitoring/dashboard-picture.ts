import type { Panel } from './panels.ts'
import type { QueriedSeries } from './prometheus-server.ts'

/** A panel with what its queries returned. */
export interface DrawnPanel extends Panel {
  /** By the name of each series. */
  readonly series: ReadonlyMap<string, QueriedSeries['points']>
}

const COLUMNS = 3
const TILE = { width: 400, height: 210 } as const
const GRAPH = { x: 56, y: 34, width: 330, height: 120 } as const
const ROW_HEIGHT = 30
const COLOURS = ['#3274d9', '#e0752d', '#299c46', '#c4162a', '#8f3bb8', '#b58900', '#5794f2', '#767171']
const LEGENDS_MAX = 6

/** Draws graphs of these panels, as Grafana lays them out: each row under its question. */
export function dashboardPicture(panels: readonly DrawnPanel[], fromMs: number, toMs: number): string {
  const parts: string[] = []
  let y = 10
  for (const [row, those] of Map.groupBy(panels, (panel) => panel.row)) {
    parts.push(`<text x="12" y="${y + 20}" class="row">${escaped(row)}</text>`)
    y += ROW_HEIGHT
    for (const [at, panel] of those.entries()) {
      const place = `translate(${(at % COLUMNS) * TILE.width + 8},${y + Math.floor(at / COLUMNS) * TILE.height})`
      parts.push(`<g transform="${place}">${tile(panel, fromMs / 1_000, toMs / 1_000)}</g>`)
    }
    y += Math.ceil(those.length / COLUMNS) * TILE.height
  }
  const style =
    'text{font:11px sans-serif;fill:#444}.row{font-size:16px;font-weight:bold}.title{font-size:12px;font-weight:bold}.tile{fill:#fff;stroke:#ddd}.grid{stroke:#eee}'
  const width = COLUMNS * TILE.width + 16
  const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y + 10}" viewBox="0 0 ${width} ${y + 10}">`
  return [
    head,
    `<style>${style}</style>`,
    `<rect width="100%" height="100%" fill="#f4f5f5"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

function tile(panel: DrawnPanel, from: number, to: number): string {
  const layers = panel.isStacked ? stacked(panel.series) : [...panel.series]
  const most = Math.max(0, ...layers.flatMap(([, points]) => points.map(([, value]) => value)))
  const top = most === 0 ? 1 : most * 1.1
  const x = (at: number) => GRAPH.x + ((at - from) / (to - from)) * GRAPH.width
  const y = (value: number) => GRAPH.y + GRAPH.height * (1 - value / top)
  const lines = layers.map(([, points], at) => {
    const path = points.map(([time, value], step) => {
      // A gap, where there was no value.
      const isNew = step === 0 || time - (points[step - 1]?.[0] ?? 0) > 300
      return `${isNew ? 'M' : 'L'}${round(x(time))},${round(y(value))}`
    })
    return `<path d="${path.join('')}" fill="none" stroke="${colour(at)}" stroke-width="1.5"/>`
  })
  const grid = [0, 0.5, 1].map((share) => {
    const level = y(most * share)
    const text = `<text x="${GRAPH.x - 6}" y="${round(level + 4)}" text-anchor="end">${valueText(most * share, panel.unit)}</text>`
    return `<line x1="${GRAPH.x}" x2="${GRAPH.x + GRAPH.width}" y1="${round(level)}" y2="${round(level)}" class="grid"/>${text}`
  })
  const named = layers.slice(0, LEGENDS_MAX)
  const legends = named.map(([name], at) => {
    const [left, line] = [GRAPH.x - 40 + (at % 3) * 124, GRAPH.y + GRAPH.height + 18 + Math.floor(at / 3) * 14]
    const swatch = `<rect x="${left}" y="${line - 7}" width="8" height="3" fill="${colour(at)}"/>`
    return `${swatch}<text x="${left + 11}" y="${line}">${escaped(name.length > 18 ? `${name.slice(0, 17)}…` : name)}</text>`
  })
  const frame = `<rect class="tile" x="4" y="4" width="${TILE.width - 8}" height="${TILE.height - 8}" rx="3"/>`
  const title = `<text x="14" y="22" class="title">${escaped(panel.title)}</text>`
  return [frame, title, ...grid, ...lines, ...legends].join('')
}

/** Each series on top of those before it. */
function stacked(series: DrawnPanel['series']): readonly (readonly [string, QueriedSeries['points']])[] {
  const below = new Map<number, number>()
  return Array.from(series, ([name, points]) => [
    name,
    points.map(([at, value]) => {
      const top = (below.get(at) ?? 0) + value
      below.set(at, top)
      return [at, top] as const
    }),
  ])
}

function colour(at: number): string {
  return COLOURS[at % COLOURS.length] ?? '#767171'
}

function valueText(value: number, unit: string): string {
  if (unit === 'bytes') return `${round(value / 2 ** 30)} GiB`
  if (unit === 'percentunit') return `${Math.round(value * 100)} %`
  if (unit !== 's') return `${round(value)}`
  return value >= 120 ? `${Math.round(value / 60)} min` : `${round(value)} s`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
